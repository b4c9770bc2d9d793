// SPDX-License-Identifier: Apache-2.0
// Large-margin ranking of candidate spans: passive-aggressive updates (Crammer et al., 2006, PA-I)
// against the most violating candidate, with averaged weights. A wrong candidate must score less
// than the right one by a margin that grows as its overlap with the answer shrinks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "studies/approaches/approach.h"
#include "studies/approaches/linear_ranker.h"
#include "studies/approaches/parameters.h"

namespace concur::approaches {
namespace {

// 1 - word F1 of two token ranges.
double Cost(const TokenSpan& a, const TokenSpan& b) {
  const int32_t shared = std::min(a.last, b.last) - std::max(a.first, b.first) + 1;
  return shared <= 0 ? 1 : 1 - 2.0 * shared / (a.last - a.first + 1 + b.last - b.first + 1);
}

class MarginLearner : public LinearRanker::Learner {
 public:
  MarginLearner(LinearRanker& ranker, double aggressiveness, double margin)
      : ranker_(ranker),
        aggressiveness_(aggressiveness),
        margin_(margin),
        sums_(ranker.weights().size()) {}

  void Learn(LinearRanker::Example& example) override {
    ++steps_;
    size_t right = static_cast<size_t>(example.gold[0]);
    for (const int32_t i : example.gold) {
      right = example.scores[static_cast<size_t>(i)] > example.scores[right]
                  ? static_cast<size_t>(i)
                  : right;
    }
    size_t wrong = right;
    double worst = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < example.scores.size(); ++i) {
      double cost = 1;
      for (const int32_t g : example.gold) {
        cost =
            std::min(cost, Cost(example.candidates[i], example.candidates[static_cast<size_t>(g)]));
      }
      const double violation = example.scores[i] + margin_ * cost;
      if (cost > 0 && violation > worst) {
        worst = violation;
        wrong = i;
      }
    }
    const double loss = worst - example.scores[right];
    if (wrong == right || loss <= 0) {
      return;
    }
    double norm = 0;
    ForEachDifference(example, right, wrong, [&](int32_t g, double) {
      norm += static_cast<double>(example.groups.end(static_cast<size_t>(g)) -
                                  example.groups.begin(static_cast<size_t>(g)));
    });
    if (norm <= 0) {
      return;
    }
    const double step = std::min(aggressiveness_, loss / norm);
    ForEachDifference(example, right, wrong, [&](int32_t g, double sign) {
      const uint32_t* end = example.groups.end(static_cast<size_t>(g));
      for (const uint32_t* f = example.groups.begin(static_cast<size_t>(g)); f != end; ++f) {
        const size_t index = ranker_.IndexOf(*f);
        ranker_.weights()[index] += static_cast<float>(sign * step);
        sums_[index] += static_cast<float>(sign * step * static_cast<double>(steps_ - 1));
      }
    });
  }

  // Replaces the weights by their mean over all steps.
  void Finish() override {
    for (size_t i = 0; i < sums_.size() && steps_ > 0; ++i) {
      ranker_.weights()[i] -= sums_[i] / static_cast<float>(steps_);
    }
  }

 private:
  // The groups that only one of the two candidates has, with sign +1 for the right one's.
  template <typename Use>
  static void ForEachDifference(const LinearRanker::Example& example, size_t right, size_t wrong,
                                Use use) {
    const auto& a = example.groups.candidates()[right];
    const auto& b = example.groups.candidates()[wrong];
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] != b[k]) {
        use(a[k], 1.0);
        use(b[k], -1.0);
      }
    }
  }

  LinearRanker& ranker_;
  const double aggressiveness_;
  const double margin_;
  std::vector<float> sums_;
  int64_t steps_ = 0;
};

class MaxMargin : public RankerApproach {
 public:
  MaxMargin() : RankerApproach(&PairFeatures) {}

  std::string name() const override { return "max-margin"; }
  std::string summary() const override {
    return "large-margin ranker over pairs of question words and words around the span";
  }

 private:
  std::vector<ParameterSpec> LearnerParameters() const override {
    return {{.name = "aggressiveness",
             .default_value = 0.003,
             .low = 1e-6,
             .high = 10,
             .help = "largest step (C of PA-I)"},
            {.name = "margin",
             .default_value = 1,
             .low = 0,
             .high = 100,
             .help = "margin against a span without any answer word"},
            EpochsParameter(3)};
  }
  std::unique_ptr<LinearRanker::Learner> NewLearner(LinearRanker& ranker,
                                                    const Parameters& parameters) const override {
    return std::make_unique<MarginLearner>(ranker, parameters.Real("aggressiveness"),
                                           parameters.Real("margin"));
  }
};

}  // namespace

std::unique_ptr<Approach> MakeMaxMargin() { return std::make_unique<MaxMargin>(); }

}  // namespace concur::approaches
