// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/candidates.h"

namespace concur::approaches {
namespace {

class RandomSpanModel : public Model {
 public:
  RandomSpanModel(uint64_t seed, int32_t tokens_max) : seed_(seed), tokens_max_(tokens_max) {}

  void Save(ModelWriter& writer) const override {
    writer.Number(seed_);
    writer.Number(tokens_max_);
  }
  TokenSpan Answer(const PassageText& passage, const qa::Question& question) const override {
    const std::vector<TokenSpan> candidates = Candidates(passage, tokens_max_);
    if (candidates.empty()) {
      return {};
    }
    // Each question has its own stream, so that answers do not depend on other questions.
    return candidates[Random(seed_, question.id).Below(candidates.size())];
  }

 private:
  const uint64_t seed_;
  const int32_t tokens_max_;
};

class RandomSpan : public Approach {
 public:
  std::string name() const override { return "random-span"; }
  std::string summary() const override {
    return "a candidate span at random; learns only how long answers are";
  }
  uint32_t version() const override { return 1; }
  std::vector<ParameterSpec> parameters() const override { return {SpanTokensParameter(6)}; }
  absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                               const Parameters& parameters,
                                               uint64_t seed) const override {
    return std::make_unique<RandomSpanModel>(
        seed, LongestCandidate(data, static_cast<int32_t>(parameters.Integer("max_span_tokens"))));
  }
  absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const override {
    const auto seed = reader.Number<uint64_t>();
    const auto tokens_max = reader.Number<int32_t>();
    reader.Require(tokens_max >= 1 && tokens_max <= kSpanTokensMax);
    return std::make_unique<RandomSpanModel>(seed, tokens_max);
  }
};

}  // namespace

std::unique_ptr<Approach> MakeRandomSpan() { return std::make_unique<RandomSpan>(); }

}  // namespace concur::approaches
