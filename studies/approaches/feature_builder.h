// SPDX-License-Identifier: Apache-2.0
// Builds the features of all candidates of one question. Features of a span's start, of its end and
// of its sentence are built once and shared by all candidates that have them.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_APPROACHES_FEATURE_BUILDER_H_
#define CONCUR_STUDIES_APPROACHES_FEATURE_BUILDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "studies/approaches/linear_ranker.h"

namespace concur::approaches {

class FeatureBuilder {
 public:
  // `salt` tells the features that depend on the kind of question from those of other builders. The
  // arguments must outlive the builder.
  FeatureBuilder(const PassageText& passage, const QuestionText& question, const Matching& matching,
                 Hash salt, FeatureGroups& groups)
      : p_(passage),
        q_(question),
        m_(matching),
        out_(groups),
        kind_(Mix(static_cast<Hash>(question.kind), salt)),
        focus_(question.focus == 0 ? kind_ : question.focus) {}
  virtual ~FeatureBuilder() = default;

  void Build(const std::vector<TokenSpan>& candidates) {
    std::vector<int32_t> starts(static_cast<size_t>(p_.size()), -1);
    std::vector<int32_t> ends(static_cast<size_t>(p_.size()), -1);
    std::vector<int32_t> sentences(m_.sentences.size(), -1);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const TokenSpan& span = candidates[i];
      int32_t& start = starts[static_cast<size_t>(span.first)];
      int32_t& end = ends[static_cast<size_t>(span.last)];
      const int32_t s = p_.sentence[static_cast<size_t>(span.first)];
      int32_t& sentence = sentences[static_cast<size_t>(s)];
      start = start < 0 ? Boundary(span.first, -1) : start;
      end = end < 0 ? Boundary(span.last, 1) : end;
      sentence = sentence < 0 ? Sentence(s) : sentence;
      out_.Candidate({start, end, sentence, Span(span, i)});
    }
  }

 protected:
  static constexpr Hash kEdge = 1;  // stands for the word beyond the passage

  // A share of 0..1 as one of 0..steps-1.
  static uint32_t Step(double share, uint32_t steps) {
    return std::min(steps - 1, static_cast<uint32_t>(std::clamp(share, 0.0, 1.0) * steps));
  }

  // Null beyond the passage.
  const Token* At(int32_t i) const {
    return i >= 0 && i < p_.size() ? &p_.tokens[static_cast<size_t>(i)] : nullptr;
  }

  const PassageText& p_;
  const QuestionText& q_;
  const Matching& m_;
  FeatureGroups& out_;
  const Hash kind_;
  const Hash focus_;

 private:
  // Each makes a group of features and returns its number.
  // `i` is the end of a span, `step` points out of it: -1 for a start, 1 for a last token.
  virtual int32_t Boundary(int32_t i, int32_t step) = 0;
  virtual int32_t Sentence(int32_t s) = 0;
  virtual int32_t Span(const TokenSpan& span, size_t candidate) = 0;
};

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_FEATURE_BUILDER_H_
