// Log-linear ranking of candidate spans, learned by AdaGrad on the likelihood of the right ones:
// the strong baseline of Rajpurkar et al., "SQuAD" (2016), without a parser.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "approaches/approach.h"
#include "approaches/linear_ranker.h"
#include "approaches/math.h"
#include "base/status_macros.h"

namespace concur::approaches {
namespace {

struct Options {
  double lr = 0.03;
  double l2 = 0;
  int64_t epochs = 3;
};

// Turns scores into probabilities, in place.
void Softmax(std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = Exp(score - top);
    sum += score;
  }
  for (double& score : scores) {
    score /= sum;
  }
}

class Learner {
 public:
  Learner(LinearRanker& ranker, const Options& options)
      : ranker_(ranker), options_(options), squares_(ranker.weights().size()) {}

  void Learn(LinearRanker::Example& example) {
    Softmax(example.scores);
    double right = 0;
    for (const int32_t i : example.gold) {
      right += example.scores[static_cast<size_t>(i)];
    }
    // d(-log of the right candidates' mass) / d(score)
    for (const int32_t i : example.gold) {
      double& p = example.scores[static_cast<size_t>(i)];
      p -= p / std::max(right, 1e-12);
    }
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
      const double g = gradient + options_.l2 * weight;
      squares_[index] += static_cast<float>(g * g);
      weight -= static_cast<float>(options_.lr * g / (std::sqrt(squares_[index]) + 1e-3));
    }
  }

  LinearRanker& ranker_;
  const Options options_;
  std::vector<float> squares_;
};

class LogisticRegression : public Approach {
 public:
  std::string name() const override { return "logistic-regression"; }
  std::string summary() const override {
    return "log-linear ranker of candidate spans over overlap, form and neighbouring words";
  }
  uint32_t version() const override { return 1; }
  std::vector<ParameterSpec> parameters() const override {
    std::vector<ParameterSpec> specs = {
        {.name = "lr", .default_value = 0.03, .low = 1e-6, .high = 10, .help = "AdaGrad's step"},
        {.name = "epochs",
         .kind = ParameterSpec::Kind::kInteger,
         .default_value = 3,
         .low = 1,
         .high = 100,
         .help = "passes over the training data"},
        {.name = "l2",
         .default_value = 0.0001,
         .low = 0,
         .high = 1,
         .help = "weight decay, applied where features occur"}};
    for (ParameterSpec& spec : RankerParameters()) {
      specs.push_back(std::move(spec));
    }
    return specs;
  }
  absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                               const Parameters& parameters,
                                               uint64_t seed) const override {
    const Options options{parameters.Real("lr"), parameters.Real("l2"),
                          parameters.Integer("epochs")};
    auto ranker = std::make_unique<LinearRanker>(RankerOptionsOf(parameters), &SpanFeatures);
    CONCUR_RETURN_IF_ERROR(ranker->Prepare(data));
    Learner learner(*ranker, options);
    for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      ranker->ForEachExample(data, seed, epoch,
                             [&](LinearRanker::Example& example) { learner.Learn(example); });
    }
    ranker->EndTraining();
    return ranker;
  }
  absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const override {
    return LoadRanker(reader, &SpanFeatures);
  }
};

}  // namespace

std::unique_ptr<Approach> MakeLogisticRegression() {
  return std::make_unique<LogisticRegression>();
}

}  // namespace concur::approaches
