// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/optimizer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/tensors.h"
#include "studies/readers/training/settings.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using Kind = UpdateRule::Kind;

// One optimizer of the fixtures, by the options in its config.json.
struct OptimizerCase {
  const char* file;
  UpdateRule rule;
  double clip = 0;          // norm of all gradients
  double weight_decay = 0;  // applies to W and E
  // The name of the multipliers of the learning rate that the fixture's rates leave out.
  const char* schedule = nullptr;
};

std::vector<OptimizerCase> Cases() {
  UpdateRule adam;
  UpdateRule bidaf = adam;
  bidaf.beta2 = 0.9;
  UpdateRule qanet = adam;
  qanet.beta1 = 0.8;
  qanet.epsilon = 1e-7;
  UpdateRule adamax = adam;
  adamax.kind = Kind::kAdamax;
  UpdateRule adadelta = adam;
  adadelta.kind = Kind::kAdadelta;
  adadelta.epsilon = 1e-6;
  UpdateRule sgd = adam;
  sgd.kind = Kind::kSgd;
  sgd.momentum = 0.9;
  UpdateRule adamw = adam;
  adamw.kind = Kind::kAdamW;
  UpdateRule uncorrected = adamw;
  uncorrected.correct_bias = false;
  uncorrected.epsilon = 1e-6;
  UpdateRule bertadam = adam;
  bertadam.kind = Kind::kBertAdam;
  bertadam.epsilon = 1e-6;
  bertadam.parameter_norm_max = 1;
  return {{"adamax-drqa", adamax, 10},
          {"adamax-fastfusionnet", adamax, 2},
          {"adadelta", adadelta, 10},
          {"adam-bidaf", bidaf, 5},
          {"adam-qanet", qanet, 5},
          {"sgd-momentum-bidafpp", sgd, 0},
          {"adamw-hf", adamw, 1, 0.01},
          {"adamw-hf-nocorrect", uncorrected, 1, 0.01},
          {"bertadam-spanbert", bertadam, 0, 0.01, "bertadam.warmup_linear.0.3.total7"}};
}

torch::Tensor Get(const SafeTensors& file, const std::string& name) {
  const auto stored = file.Find(name);
  CONCUR_CHECK_OK(stored.status());
  return ToTensor(*stored);
}

TEST(OptimizerTest, ParametersAfterEachStepEqualThoseOfTheOriginals) {
  CONCUR_FIXTURE_OR_SKIP(directory, "optimizers");
  const auto problem = ReadSafeTensors(directory + "/problem.safetensors");
  ASSERT_TRUE(problem.ok()) << problem.status();
  const auto config = nlohmann::json::parse(*ReadFile(directory + "/config.json"));
  for (const OptimizerCase& c : Cases()) {
    const auto expected = ReadSafeTensors(absl::StrCat(directory, "/", c.file, ".safetensors"));
    ASSERT_TRUE(expected.ok()) << expected.status();
    std::vector<Trained> parameters;
    for (const std::string name : {"W", "b", "E"}) {
      parameters.push_back(
          {name, Get(*problem, "init." + name).requires_grad_(), name == "b" ? 0 : c.weight_decay});
    }
    ParameterUpdates updates(c.rule, parameters);
    for (int step = 1; step <= 5; ++step) {
      for (const Trained& parameter : parameters) {
        parameter.tensor.mutable_grad() =
            Get(*problem, absl::StrCat("grad.step", step, ".", parameter.name)).clone();
      }
      const double norm = ClipGradients(parameters, c.clip);
      const auto total = expected->Find(absl::StrCat("total_norm.step", step));
      if (total.ok()) {
        EXPECT_NEAR(norm, ToTensor(*total).item<double>(), 1e-5 * norm) << c.file;
      }
      const torch::Tensor rates = Get(*expected, absl::StrCat("lr.step", step));
      const double factor =
          c.schedule == nullptr
              ? 1
              : config["schedules"][c.schedule][static_cast<size_t>(step - 1)].get<double>();
      updates.Step(factor * rates.flatten()[0].item<double>());
      for (const Trained& parameter : parameters) {
        const torch::Tensor target =
            Get(*expected, absl::StrCat("param.step", step, ".", parameter.name));
        const double difference = (parameter.tensor - target).abs().max().item<double>();
        EXPECT_LE(difference, 1e-6) << c.file << ", step " << step << ", " << parameter.name;
      }
    }
  }
}

TEST(OptimizerTest, ParametersThatAreChangedTogetherBecomeWhatTheyWouldAlone) {
  for (const OptimizerCase& c : Cases()) {
    UpdateRule rule = c.rule;
    const auto after = [&rule](int64_t group_elements) {
      torch::manual_seed(1);
      std::vector<Trained> parameters;
      for (int64_t i = 0; i < 6; ++i) {
        parameters.push_back({absl::StrCat(i), torch::randn({3, i + 1}, torch::requires_grad()),
                              i % 2 == 0 ? 0.1 : 0.0, i == 4 ? 2 : -1, i < 3 ? 1.0 : 0.5});
      }
      ParameterUpdates updates(rule, parameters, group_elements);
      for (int step = 0; step < 3; ++step) {
        for (Trained& parameter : parameters) {
          const torch::Tensor gradient = torch::randn_like(parameter.tensor.detach());
          parameter.tensor.mutable_grad() = parameter.name == "1" ? torch::Tensor() : gradient;
        }
        const torch::Tensor before = parameters[0].tensor.grad().clone();
        updates.Step(0.01);
        EXPECT_TRUE(parameters[0].tensor.grad().equal(before));
      }
      std::vector<torch::Tensor> flat;
      for (const Trained& parameter : parameters) {
        flat.push_back(parameter.tensor.detach().flatten());
      }
      return torch::cat(flat);
    };
    const torch::Tensor alone = after(0);
    for (const int64_t group_elements : {1, 12, 1000}) {
      EXPECT_LE((after(group_elements) - alone).abs().max().item<double>(), 1e-6)
          << c.file << ", " << group_elements;
    }
  }
}

TEST(OptimizerTest, RowsBeyondTheLimitStay) {
  const torch::Tensor table = torch::ones({4, 2}, torch::requires_grad());
  ParameterUpdates updates({}, {{"table", table, 0, 3}});
  table.mutable_grad() = torch::ones({4, 2});
  updates.Step(0.1);
  EXPECT_LT(table[2][0].item<float>(), 0.95F);
  EXPECT_EQ(table[3][0].item<float>(), 1.0F);
}

TEST(WeightAverageTest, FollowsTheWeightsAndChangesPlaces) {
  const torch::Tensor weight = torch::zeros({2}, torch::requires_grad());
  const std::vector<Trained> parameters = {{"w", weight}};
  WeightAverage average(0.5, parameters);
  {
    const torch::NoGradGuard no_gradients;
    weight.fill_(1);
  }
  average.Update(1);    // decay 2/11
  average.Update(100);  // decay 0.5
  average.Swap();
  EXPECT_NEAR(weight[0].item<double>(), 1 - 0.5 * 2 / 11, 1e-6);
  average.Swap();
  EXPECT_EQ(weight[0].item<double>(), 1);
  WeightAverage(0.5, {}).Update(1);
}

TEST(LearningRateTest, FollowsItsSchedule) {
  Settings settings;
  settings.learning_rate = 1;
  settings.schedule = Schedule::kDecayEverySteps;
  settings.schedule_factor = 0.5;
  settings.schedule_period = 10;
  EXPECT_EQ(LearningRate(settings).At(10), 1);
  EXPECT_EQ(LearningRate(settings).At(11), 0.5);
  EXPECT_EQ(LearningRate(settings).At(21), 0.25);

  settings.schedule = Schedule::kOnPlateau;
  settings.schedule_period = 1;
  LearningRate rate(settings);
  EXPECT_TRUE(rate.EpochEnded(5));
  EXPECT_FALSE(rate.EpochEnded(5));
  EXPECT_EQ(rate.At(1), 1);
  EXPECT_FALSE(rate.EpochEnded(4));
  EXPECT_EQ(rate.At(1), 0.5);
  LearningRate restored(settings);
  restored.Restore(rate.state());
  EXPECT_EQ(restored.At(1), 0.5);
  EXPECT_EQ(restored.stale_epochs(), 2);
  EXPECT_TRUE(restored.EpochEnded(6));
  EXPECT_EQ(restored.stale_epochs(), 0);
}

}  // namespace
}  // namespace concur::readers
