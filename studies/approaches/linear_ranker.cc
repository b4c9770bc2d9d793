// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/linear_ranker.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "studies/approaches/candidates.h"
#include "studies/approaches/training.h"

namespace concur::approaches {
namespace {

constexpr int32_t kHashBitsMin = 8;
constexpr int32_t kHashBitsMax = 24;

}  // namespace

LinearRanker::LinearRanker(const RankerOptions& options, Featurizer featurizer)
    : options_(options),
      featurizer_(featurizer),
      mask_((uint32_t{1} << static_cast<uint32_t>(options.hash_bits)) - 1),
      weights_(size_t{mask_} + 1) {}

void LinearRanker::Score(const PassageText& passage, const qa::Question& question,
                         Example& example) const {
  const QuestionText text(question.text);
  FeatureGroups& groups = example.groups;
  groups.Clear();
  featurizer_(passage, text, Matching(passage, text, frequency_), example.candidates, groups);
  example.group_scores.assign(groups.groups(), 0);
  for (size_t g = 0; g < groups.groups(); ++g) {
    double sum = 0;
    for (const uint32_t* f = groups.begin(g); f != groups.end(g); ++f) {
      sum += weights_[*f & mask_];
    }
    example.group_scores[g] = sum;
  }
  example.scores.clear();
  for (const std::array<int32_t, 4>& candidate : groups.candidates()) {
    double sum = 0;
    for (const int32_t g : candidate) {
      sum += example.group_scores[static_cast<size_t>(g)];
    }
    example.scores.push_back(sum);
  }
}

absl::Status LinearRanker::Train(const qa::Dataset& data, uint64_t seed, int64_t epochs,
                                 Learner& learner) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<PassageText> passages,
                          ReadTrainingPassages(data, frequency_, options_.tokens_max));
  Example example;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<std::pair<size_t, size_t>> order = QuestionIndexes(data);
    Random(seed, absl::StrCat("epoch ", epoch)).Shuffle(order);
    for (const auto& [p, q] : order) {
      const qa::Question& question = data.passages[p].questions[q];
      example.candidates = Candidates(passages[p], options_.tokens_max);
      example.gold = GoldCandidates(passages[p], question, example.candidates);
      if (!example.gold.empty()) {
        Score(passages[p], question, example);
        learner.Learn(example);
      }
    }
  }
  learner.Finish();
  return absl::OkStatus();
}

TokenSpan LinearRanker::Answer(const PassageText& passage, const qa::Question& question) const {
  Example example;
  example.candidates = Candidates(passage, options_.tokens_max);
  Score(passage, question, example);
  TokenSpan best;
  double best_score = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < example.candidates.size(); ++i) {
    if (example.scores[i] > best_score) {
      best_score = example.scores[i];
      best = example.candidates[i];
    }
  }
  return best;
}

void LinearRanker::Save(ModelWriter& writer) const {
  writer.Number(options_.tokens_max);
  writer.Number(options_.hash_bits);
  frequency_.Save(writer);
  std::vector<uint32_t> indexes;
  std::vector<float> values;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] != 0) {
      indexes.push_back(static_cast<uint32_t>(i));
      values.push_back(weights_[i]);
    }
  }
  writer.Numbers(indexes);
  writer.Numbers(values);
}

absl::Status LinearRanker::LoadFrom(ModelReader& reader) {
  frequency_.Load(reader);
  const auto indexes = reader.Numbers<uint32_t>();
  const auto values = reader.Numbers<float>();
  reader.Require(indexes.size() == values.size());
  for (size_t i = 0; i < std::min(indexes.size(), values.size()); ++i) {
    reader.Require(indexes[i] <= mask_);
    weights_[indexes[i] & mask_] = values[i];
  }
  return absl::OkStatus();
}

std::vector<ParameterSpec> RankerApproach::parameters() const {
  std::vector<ParameterSpec> specs = LearnerParameters();
  specs.push_back(SpanTokensParameter(8));
  specs.push_back({.name = "hash_bits",
                   .kind = ParameterSpec::Kind::kInteger,
                   .default_value = 20,
                   .low = kHashBitsMin,
                   .high = kHashBitsMax,
                   .help = "features share 2^hash_bits weights"});
  return specs;
}

absl::StatusOr<std::unique_ptr<Model>> RankerApproach::Train(const qa::Dataset& data,
                                                             const Parameters& parameters,
                                                             uint64_t seed) const {
  RankerOptions options;
  options.tokens_max = static_cast<int32_t>(parameters.Integer("max_span_tokens"));
  options.hash_bits = static_cast<int32_t>(parameters.Integer("hash_bits"));
  auto ranker = std::make_unique<LinearRanker>(options, featurizer_);
  const std::unique_ptr<LinearRanker::Learner> learner = NewLearner(*ranker, parameters);
  CONCUR_RETURN_IF_ERROR(ranker->Train(data, seed, parameters.Integer("epochs"), *learner));
  return ranker;
}

absl::StatusOr<std::unique_ptr<Model>> RankerApproach::Load(ModelReader& reader) const {
  RankerOptions options;
  options.tokens_max = reader.Number<int32_t>();
  options.hash_bits = reader.Number<int32_t>();
  if (options.tokens_max < 1 || options.tokens_max > kSpanTokensMax ||
      options.hash_bits < kHashBitsMin || options.hash_bits > kHashBitsMax) {
    return absl::DataLossError("model: its contents do not fit the approach; train it again");
  }
  auto ranker = std::make_unique<LinearRanker>(options, featurizer_);
  CONCUR_RETURN_IF_ERROR(ranker->LoadFrom(reader));
  return ranker;
}

}  // namespace concur::approaches
