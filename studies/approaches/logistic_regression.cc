// SPDX-License-Identifier: Apache-2.0
// Log-linear ranking of candidate spans, learned by AdaGrad on the likelihood of the right ones:
// the strong baseline of Rajpurkar et al., "SQuAD" (2016), without a parser.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "studies/approaches/approach.h"
#include "studies/approaches/linear_ranker.h"
#include "studies/approaches/parameters.h"
#include "studies/approaches/training.h"

namespace concur::approaches {
namespace {

// AdaGrad (Duchi et al., 2011).
class LikelihoodLearner : public LinearRanker::Learner {
 public:
  LikelihoodLearner(LinearRanker& ranker, double lr, double l2)
      : ranker_(ranker), lr_(lr), l2_(l2), squares_(ranker.weights().size()) {}

  void Learn(LinearRanker::Example& example) override {
    LikelihoodGradient(example.gold, example.scores);
    std::vector<double>& gradients = example.group_scores;
    std::fill(gradients.begin(), gradients.end(), 0.0);
    for (size_t i = 0; i < example.scores.size(); ++i) {
      if (std::abs(example.scores[i]) > kNegligible) {
        for (const int32_t g : example.groups.candidates()[i]) {
          gradients[static_cast<size_t>(g)] += example.scores[i];
        }
      }
    }
    for (size_t g = 0; g < gradients.size(); ++g) {
      if (std::abs(gradients[g]) > kNegligible) {
        Update(example.groups.begin(g), example.groups.end(g), gradients[g]);
      }
    }
  }

 private:
  static constexpr double kNegligible = 1e-4;

  void Update(const uint32_t* begin, const uint32_t* end, double gradient) {
    for (const uint32_t* f = begin; f != end; ++f) {
      const size_t index = ranker_.IndexOf(*f);
      float& weight = ranker_.weights()[index];
      const double g = gradient + l2_ * weight;
      squares_[index] += static_cast<float>(g * g);
      weight -= static_cast<float>(lr_ * g / (std::sqrt(squares_[index]) + 1e-3));
    }
  }

  LinearRanker& ranker_;
  const double lr_;
  const double l2_;
  std::vector<float> squares_;
};

class LogisticRegression : public RankerApproach {
 public:
  LogisticRegression() : RankerApproach(&SpanFeatures) {}

  std::string name() const override { return "logistic-regression"; }
  std::string summary() const override {
    return "log-linear ranker of candidate spans over overlap, form and neighbouring words";
  }

 private:
  std::vector<ParameterSpec> LearnerParameters() const override {
    return {
        {.name = "lr", .default_value = 0.03, .low = 1e-6, .high = 10, .help = "AdaGrad's step"},
        EpochsParameter(3),
        {.name = "l2",
         .default_value = 0.0001,
         .low = 0,
         .high = 1,
         .help = "weight decay, applied where features occur"}};
  }
  std::unique_ptr<LinearRanker::Learner> NewLearner(LinearRanker& ranker,
                                                    const Parameters& parameters) const override {
    return std::make_unique<LikelihoodLearner>(ranker, parameters.Real("lr"),
                                               parameters.Real("l2"));
  }
};

}  // namespace

std::unique_ptr<Approach> MakeLogisticRegression() {
  return std::make_unique<LogisticRegression>();
}

}  // namespace concur::approaches
