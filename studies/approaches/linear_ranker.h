// SPDX-License-Identifier: Apache-2.0
// A linear ranker of candidate spans: score = sum of the weights of hashed binary features.
// Candidates share most of their features (for example, all spans that start at the same token), so
// features form groups, and each group is scored and updated once.
//
// FeatureGroups is a value; LinearRanker is thread-compatible.
#ifndef CONCUR_STUDIES_APPROACHES_LINEAR_RANKER_H_
#define CONCUR_STUDIES_APPROACHES_LINEAR_RANKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "qa/example.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/matching.h"
#include "studies/approaches/text.h"

namespace concur::approaches {

// The features of all candidates of one question.
class FeatureGroups {
 public:
  // Starts a group, to which Add appends, and returns its number.
  int32_t Begin() {
    begins_.push_back(static_cast<uint32_t>(features_.size()));
    return static_cast<int32_t>(begins_.size()) - 1;
  }
  void Add(uint32_t kind, Hash a, Hash b = 0) {
    features_.push_back(static_cast<uint32_t>(Mix(Mix(a, kind), b) >> 32U));
  }
  // The next candidate has the features of these groups.
  void Candidate(const std::array<int32_t, 4>& groups) { candidates_.push_back(groups); }

  void Clear() {
    features_.clear();
    begins_.clear();
    candidates_.clear();
  }
  size_t groups() const { return begins_.size(); }
  const std::vector<std::array<int32_t, 4>>& candidates() const { return candidates_; }
  const uint32_t* begin(size_t group) const { return features_.data() + begins_[group]; }
  const uint32_t* end(size_t group) const {
    return features_.data() + (group + 1 < begins_.size() ? begins_[group + 1] : features_.size());
  }

 private:
  std::vector<uint32_t> features_;
  std::vector<uint32_t> begins_;
  std::vector<std::array<int32_t, 4>> candidates_;
};

// Fills `groups` with the features of `candidates`, in their order.
using Featurizer = void (*)(const PassageText& passage, const QuestionText& question,
                            const Matching& matching, const std::vector<TokenSpan>& candidates,
                            FeatureGroups& groups);

// Features in the manner of SQuAD's logistic regression: overlap, lengths, shapes, neighbouring
// words, question word and focus crossed with the answer's form.
void SpanFeatures(const PassageText& passage, const QuestionText& question,
                  const Matching& matching, const std::vector<TokenSpan>& candidates,
                  FeatureGroups& groups);

// Features that pair single words of the question with the span and its surroundings.
void PairFeatures(const PassageText& passage, const QuestionText& question,
                  const Matching& matching, const std::vector<TokenSpan>& candidates,
                  FeatureGroups& groups);

struct RankerOptions {
  int32_t tokens_max = 8;  // longest candidate
  int32_t hash_bits = 20;  // 2^bits weights
};

class LinearRanker : public Model {
 public:
  LinearRanker(const RankerOptions& options, Featurizer featurizer);

  // One question with its candidates, for training.
  struct Example {
    FeatureGroups groups;
    std::vector<double> group_scores;
    std::vector<double> scores;  // one for each candidate
    std::vector<int32_t> gold;   // right candidates, sorted; never empty
    std::vector<TokenSpan> candidates;
  };
  // The rule by which an approach updates the weights.
  class Learner {
   public:
    virtual ~Learner() = default;
    // Learns from an example that has the scores of the current weights; may change it.
    virtual void Learn(Example& example) = 0;
    // Called after the last example.
    virtual void Finish() {}
  };
  // Learns `epochs` times from each question that has a right candidate, in an order fixed by
  // `seed` and the epoch. InvalidArgument when no answer is a span of its passage.
  absl::Status Train(const qa::Dataset& data, uint64_t seed, int64_t epochs, Learner& learner);

  size_t IndexOf(uint32_t feature) const { return feature & mask_; }
  std::vector<float>& weights() { return weights_; }

  void Save(ModelWriter& writer) const override;
  absl::Status LoadFrom(ModelReader& reader);
  TokenSpan Answer(const PassageText& passage, const qa::Question& question) const override;

 private:
  // Fills in groups and scores for the example's candidates.
  void Score(const PassageText& passage, const qa::Question& question, Example& example) const;

  RankerOptions options_;
  const Featurizer featurizer_;
  uint32_t mask_ = 0;
  std::vector<float> weights_;
  DocumentFrequency frequency_;
};

// An approach that ranks candidates by `featurizer`; subclasses add the learner.
class RankerApproach : public Approach {
 public:
  explicit RankerApproach(Featurizer featurizer) : featurizer_(featurizer) {}

  uint32_t version() const override { return 1; }
  // Those of the learner, `max_span_tokens` and `hash_bits`.
  std::vector<ParameterSpec> parameters() const final;
  absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                               const Parameters& parameters,
                                               uint64_t seed) const final;
  absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const final;

 private:
  // One of them is `epochs`.
  virtual std::vector<ParameterSpec> LearnerParameters() const = 0;
  // The ranker outlives the learner.
  virtual std::unique_ptr<LinearRanker::Learner> NewLearner(LinearRanker& ranker,
                                                            const Parameters& parameters) const = 0;

  const Featurizer featurizer_;
};

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_LINEAR_RANKER_H_
