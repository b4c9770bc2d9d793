#include "approaches/linear_ranker.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "approaches/candidates.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace concur::approaches {

std::vector<ParameterSpec> RankerParameters() {
  return {{.name = "max_span_tokens",
           .kind = ParameterSpec::Kind::kInteger,
           .default_value = 8,
           .low = 1,
           .high = 30,
           .help = "longest candidate, in tokens"},
          {.name = "hash_bits",
           .kind = ParameterSpec::Kind::kInteger,
           .default_value = 20,
           .low = 8,
           .high = 24,
           .help = "features share 2^hash_bits weights"}};
}

RankerOptions RankerOptionsOf(const Parameters& parameters) {
  RankerOptions options;
  options.tokens_max = static_cast<int32_t>(parameters.Integer("max_span_tokens"));
  options.hash_bits = static_cast<int32_t>(parameters.Integer("hash_bits"));
  return options;
}

LinearRanker::LinearRanker(const RankerOptions& options, Featurizer featurizer)
    : options_(options),
      featurizer_(featurizer),
      mask_((uint32_t{1} << static_cast<uint32_t>(options.hash_bits)) - 1),
      weights_(size_t{mask_} + 1) {}

absl::Status LinearRanker::Prepare(const qa::Dataset& data) {
  passages_.reserve(data.passages.size());
  for (const qa::Passage& passage : data.passages) {
    frequency_.Add(passages_.emplace_back(passage.context));
  }
  const int32_t longest = LongestAnswer(passages_, data, options_.tokens_max);
  if (longest == 0) {
    return NothingToLearn();
  }
  options_.tokens_max = longest;
  return absl::OkStatus();
}

void LinearRanker::EndTraining() { passages_ = {}; }

void LinearRanker::Score(Example& example) const {
  const FeatureGroups& groups = example.groups;
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

void LinearRanker::ForEachExample(const qa::Dataset& data, uint64_t seed, int64_t epoch,
                                  const Learn& learn) {
  std::vector<std::pair<int32_t, int32_t>> order;  // passage, question
  for (size_t p = 0; p < data.passages.size(); ++p) {
    for (size_t q = 0; q < data.passages[p].questions.size(); ++q) {
      order.emplace_back(static_cast<int32_t>(p), static_cast<int32_t>(q));
    }
  }
  Random(seed, absl::StrCat("epoch ", epoch)).Shuffle(order);
  Example example;
  for (const auto& [p, q] : order) {
    const PassageText& passage = passages_[static_cast<size_t>(p)];
    const qa::Question& question =
        data.passages[static_cast<size_t>(p)].questions[static_cast<size_t>(q)];
    example.candidates = Candidates(passage, options_.tokens_max);
    example.gold = GoldCandidates(passage, question, example.candidates);
    if (example.gold.empty()) {
      continue;
    }
    const QuestionText text(question.text);
    example.groups.Clear();
    featurizer_(passage, text, Matching(passage, text, frequency_), example.candidates,
                example.groups);
    Score(example);
    learn(example);
  }
}

TokenSpan LinearRanker::Answer(const PassageText& passage, const qa::Question& question) const {
  Example example;
  example.candidates = Candidates(passage, options_.tokens_max);
  const QuestionText text(question.text);
  featurizer_(passage, text, Matching(passage, text, frequency_), example.candidates,
              example.groups);
  Score(example);
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

absl::StatusOr<std::unique_ptr<Model>> LoadRanker(ModelReader& reader, Featurizer featurizer) {
  RankerOptions options;
  options.tokens_max = reader.Number<int32_t>();
  options.hash_bits = reader.Number<int32_t>();
  if (options.tokens_max < 1 || options.tokens_max > 30 || options.hash_bits < 8 ||
      options.hash_bits > 24) {
    return absl::DataLossError("model: its contents do not fit the approach; train it again");
  }
  auto ranker = std::make_unique<LinearRanker>(options, featurizer);
  CONCUR_RETURN_IF_ERROR(ranker->LoadFrom(reader));
  return ranker;
}

}  // namespace concur::approaches
