// SPDX-License-Identifier: Apache-2.0
// Matches of a question's words in a passage, which all approaches that learn use.
//
// Immutable after construction; does not refer to its arguments.
#ifndef CONCUR_STUDIES_APPROACHES_MATCHING_H_
#define CONCUR_STUDIES_APPROACHES_MATCHING_H_

#include <cstdint>
#include <vector>

#include "qa/example.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/model_file.h"
#include "studies/approaches/text.h"

namespace concur::approaches {

// Inverse document frequency of stems, each passage a document. Stems share 2^16 counters.
class DocumentFrequency {
 public:
  DocumentFrequency() : counts_(kCounters) {}

  void Add(const PassageText& passage);
  // log((documents + 1) / (count + 0.5)); large for unseen stems, above 0.
  double Idf(Hash stem) const;

  void Save(ModelWriter& writer) const;
  void Load(ModelReader& reader);

 private:
  static constexpr size_t kCounters = size_t{1} << 16;

  uint32_t documents_ = 0;
  std::vector<uint32_t> counts_;
};

struct Matching {
  Matching(const PassageText& passage, const QuestionText& question,
           const DocumentFrequency& frequency);

  // One distinct content stem of the question (of any word if it has no content words).
  struct Term {
    Hash stem = 0;
    double weight = 0;               // idf
    std::vector<int32_t> positions;  // in the passage, ascending
  };
  std::vector<Term> terms;
  double weight_sum = 0;          // sum over all terms; > 0 unless there is none
  std::vector<int16_t> term_of;   // index of each passage token's term, or -1
  std::vector<int32_t> left;      // the nearest matched token before each token, or -1
  std::vector<int32_t> right;     // the nearest matched token after it, or size()
  std::vector<double> sentences;  // share of the weight that each sentence's words match
  std::vector<int32_t> bigrams;   // adjacent pairs of the question found in each sentence

  bool Matched(int32_t token) const { return term_of[static_cast<size_t>(token)] >= 0; }

  // Share of the weight matched outside the span, each term discounted by 1 / (1 + gap / scale)
  // where gap counts tokens from the span to the term's nearest occurrence. 0..1.
  double Proximity(const TokenSpan& span, double scale) const;
};

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_MATCHING_H_
