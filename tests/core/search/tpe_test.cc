// SPDX-License-Identifier: Apache-2.0
#include "core/search/tpe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

double Real(const Setting& setting, const std::string& name) {
  return std::get<double>(setting.at(name));
}
double Integer(const Setting& setting, const std::string& name) {
  return static_cast<double>(std::get<int64_t>(setting.at(name)));
}
std::string Word(const Setting& setting, const std::string& name) {
  return std::get<std::string>(setting.at(name));
}

Hyperparameters MixedSpace() {
  Hyperparameters space;
  space.defaults = {{"lr", 0.1}, {"layers", int64_t{2}}, {"optimizer", "sgd"}, {"name", "a"}};
  space.space = {{"lr", LogUniformRange{1e-5, 1.0}},
                 {"layers", IntegerRange{2, 20, 2}},
                 {"optimizer", Choice{{"sgd", "adam", "adagrad", "rmsprop"}}}};
  return space;
}

// Least at lr 0.001, 8 layers, adam.
double MixedLoss(const Setting& setting) {
  const double lr = std::log10(Real(setting, "lr")) + 3;
  const double layers = (Integer(setting, "layers") - 8) / 6;
  return lr * lr + layers * layers + (Word(setting, "optimizer") == "adam" ? 0 : 1);
}

Trial Scored(Setting setting, double score) {
  return {.setting = std::move(setting), .state = Trial::State::kScored, .score = score};
}

std::vector<Trial> Sampled(const Hyperparameters& space, uint32_t count,
                           const std::function<double(const Setting&)>& loss, uint64_t seed) {
  std::vector<Trial> trials;
  for (uint32_t i = 0; i < count; ++i) {
    Setting setting = SampleSetting(space, seed, "a", i);
    const double score = loss(setting);
    trials.push_back(Scored(std::move(setting), score));
  }
  return trials;
}

Setting Choose(const Hyperparameters& space, const std::vector<Trial>& trials, uint64_t seed) {
  Random random(seed, "test");
  const std::optional<Setting> chosen = ChooseByTpe(space, Goal::kMinimize, trials, random);
  EXPECT_TRUE(chosen.has_value());
  return chosen.value_or(Setting());
}

TEST(TpeTest, NothingIsChosenWhileFewerThanTwoTrialsHaveAScore) {
  std::vector<Trial> trials = Sampled(MixedSpace(), 5, MixedLoss, 1);
  for (size_t i = 1; i < trials.size(); ++i) {
    trials[i].state = i % 2 == 0 ? Trial::State::kPending : Trial::State::kFailed;
  }
  Random random(1, "test");
  EXPECT_EQ(ChooseByTpe(MixedSpace(), Goal::kMinimize, trials, random), std::nullopt);
}

TEST(TpeTest, TrialsOutsideTheSpaceArePassedOver) {
  std::vector<Trial> trials = Sampled(MixedSpace(), 3, MixedLoss, 1);
  const Setting without = Choose(MixedSpace(), trials, 1);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, ParamValue>>{{"lr", 2.0},
                                                       {"lr", -1.0},
                                                       {"lr", "fast"},
                                                       {"lr", WrittenNumber{"1e3"}},
                                                       {"layers", int64_t{22}},
                                                       {"layers", int64_t{-1}},
                                                       {"optimizer", "lion"},
                                                       {"optimizer", 0.5}}) {
    Trial outside = trials[0];
    outside.setting[name] = value;
    outside.score = -100;
    trials.push_back(outside);
  }
  trials.push_back(trials[0]);
  trials.back().setting.erase("lr");
  EXPECT_EQ(Choose(MixedSpace(), trials, 1), without);
}

TEST(TpeTest, AWrittenNumberTeachesAsItsValueDoes) {
  std::vector<Trial> trials = Sampled(MixedSpace(), 12, MixedLoss, 1);
  const Setting as_number = Choose(MixedSpace(), trials, 1);
  trials[0].setting["lr"] = WrittenNumber{"1e-1"};
  EXPECT_EQ(Choose(MixedSpace(), trials, 1), as_number);
}

TEST(TpeTest, ChosenSettingsAreOfTheSpaceAndKeepWhatIsOutsideIt) {
  const Hyperparameters space = MixedSpace();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Setting setting = Choose(space, Sampled(space, 2 + seed % 30, MixedLoss, seed), seed);
    ASSERT_EQ(setting.size(), 4u);
    EXPECT_GE(Real(setting, "lr"), 1e-5);
    EXPECT_LT(Real(setting, "lr"), 1.0);
    const auto layers = std::get<int64_t>(setting.at("layers"));
    EXPECT_TRUE(layers >= 2 && layers <= 20 && layers % 2 == 0) << layers;
    EXPECT_THAT(Word(setting, "optimizer"), AnyOf("sgd", "adam", "adagrad", "rmsprop"));
    EXPECT_EQ(Word(setting, "name"), "a");
  }
}

TEST(TpeTest, TheWidestIntegersAreChosenWithoutOverflow) {
  Hyperparameters space;
  space.defaults = {{"n", int64_t{0}}};
  space.space = {{"n", IntegerRange{INT64_MIN, INT64_MAX, 1}}};
  const auto loss = [](const Setting& setting) { return -Integer(setting, "n"); };
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_NE(Choose(space, Sampled(space, 10, loss, seed), seed), Setting());
  }
}

TEST(TpeTest, TheGoalTurnsTheChoiceAround) {
  Hyperparameters space;
  space.defaults = {{"x", 0.5}};
  space.space = {{"x", UniformRange{0, 1}}};
  const std::vector<Trial> trials = Sampled(
      space, 20, [](const Setting& setting) { return Real(setting, "x"); }, 3);
  Random low(1, "test");
  Random high(1, "test");
  EXPECT_LT(Real(*ChooseByTpe(space, Goal::kMinimize, trials, low), "x"), 0.3);
  EXPECT_GT(Real(*ChooseByTpe(space, Goal::kMaximize, trials, high), "x"), 0.7);
}

TEST(TpeTest, FailedAndPendingTrialsKeepLaterOnesAway) {
  Hyperparameters space;
  space.defaults = {{"x", 0.5}};
  space.space = {{"x", UniformRange{0, 1}}};
  const auto loss = [](const Setting& setting) { return std::abs(Real(setting, "x") - 0.5); };
  for (const Trial::State state : {Trial::State::kFailed, Trial::State::kPending}) {
    double distance = 0;
    double distance_beside = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      std::vector<Trial> trials = Sampled(space, 10, loss, seed);
      const Setting first = Choose(space, trials, seed);
      const Setting same = Choose(space, trials, seed + 1'000);
      for (int i = 0; i < 3; ++i) {
        trials.push_back({.setting = first, .state = state});
      }
      const Setting beside = Choose(space, trials, seed + 1'000);
      distance += std::abs(Real(first, "x") - Real(same, "x"));
      distance_beside += std::abs(Real(first, "x") - Real(beside, "x"));
    }
    EXPECT_GT(distance_beside, 1.5 * distance);
  }
}

TEST(TpeTest, ASettingIsTriedTwiceOnlyWhenNoneIsLeft) {
  Hyperparameters space;
  space.defaults = {{"a", "0"}, {"b", int64_t{0}}};
  space.space = {{"a", Choice{{"0", "1"}}}, {"b", IntegerRange{0, 2, 1}}};
  const auto loss = [](const Setting& setting) { return Integer(setting, "b"); };
  std::vector<Trial> trials = {Scored({{"a", "0"}, {"b", int64_t{0}}}, 0),
                               Scored({{"a", "1"}, {"b", int64_t{2}}}, 2)};
  for (uint64_t seed = 0; trials.size() < 6; ++seed) {
    ASSERT_LT(seed, 8u);  // 24 candidates may miss a setting
    const Setting chosen = Choose(space, trials, seed);
    if (std::none_of(trials.begin(), trials.end(),
                     [&](const Trial& trial) { return trial.setting == chosen; })) {
      trials.push_back(Scored(chosen, loss(chosen)));
    }
  }
  Choose(space, trials, 1);  // all were tried: it ends
}

// The best of 30 trials, of which the search samples ten.
double BestOf30(const Hyperparameters& space, const std::function<double(const Setting&)>& loss,
                uint64_t seed, bool by_tpe) {
  std::vector<Trial> trials = Sampled(space, by_tpe ? 10 : 30, loss, seed);
  while (trials.size() < 30) {
    const Setting setting = Choose(space, trials, seed * 100 + trials.size());
    trials.push_back(Scored(setting, loss(setting)));
  }
  return std::min_element(trials.begin(), trials.end(),
                          [](const Trial& a, const Trial& b) { return a.score < b.score; })
      ->score;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

struct Problem {
  std::string name;
  Hyperparameters space;
  std::function<double(const Setting&)> loss;
};

std::vector<Problem> Problems() {
  Hyperparameters plane;
  plane.defaults = {{"x", -4.0}, {"y", 14.0}};
  plane.space = {{"x", UniformRange{-5, 10}}, {"y", UniformRange{0, 15}}};
  Hyperparameters logs;
  logs.defaults = {{"decay", 1e-6}, {"dropout", 0.9}, {"lr", 1.0}};
  logs.space = {{"decay", LogUniformRange{1e-8, 1e-1}},
                {"dropout", UniformRange{0, 1}},
                {"lr", LogUniformRange{1e-6, 10}}};
  Hyperparameters table;
  table.defaults = {{"batch", int64_t{8}}, {"depth", int64_t{1}}, {"loss", "mse"}, {"warm", false}};
  table.space = {{"batch", Choice{{int64_t{8}, int64_t{16}, int64_t{32}, int64_t{64}}}},
                 {"depth", IntegerRange{1, 12, 1}},
                 {"loss", Choice{{"mse", "mae", "huber"}}},
                 {"warm", Choice{{false, true}}}};
  return {
      {"mixed", MixedSpace(), MixedLoss},
      {"branin", plane,
       [](const Setting& s) {
         const double x = Real(s, "x");
         const double y = Real(s, "y");
         const double a = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;
         return a * a + 10 * (1 - 1 / (8 * M_PI)) * std::cos(x) + 10;
       }},
      {"valley of two logarithms", logs,
       [](const Setting& s) {  // the best value of one depends on the other
         const double lr = std::log10(Real(s, "lr"));
         const double decay = std::log10(Real(s, "decay"));
         return std::pow(lr + 2, 2) + std::pow(lr - decay - 2, 2) / 4 +
                3 * std::pow(Real(s, "dropout") - 0.2, 2);
       }},
      {"table of integers and choices", table,
       [](const Setting& s) {
         const double batch = std::log2(Integer(s, "batch"));
         return std::pow(Integer(s, "depth") - 7, 2) / 4 + std::pow(batch - 5, 2) +
                (Word(s, "loss") == "huber" ? 0
                 : Word(s, "loss") == "mae" ? 2
                                            : 3) +
                (std::get<bool>(s.at("warm")) ? 0 : 2);
       }},
  };
}

TEST(TpeTest, FindsBetterSettingsThanSamplingOnEveryProblem) {
  for (const Problem& problem : Problems()) {
    std::vector<double> sampled;
    std::vector<double> chosen;
    int wins = 0;
    for (uint64_t seed = 1; seed <= 41; ++seed) {
      sampled.push_back(BestOf30(problem.space, problem.loss, seed, /*by_tpe=*/false));
      chosen.push_back(BestOf30(problem.space, problem.loss, seed, /*by_tpe=*/true));
      wins += chosen.back() < sampled.back() ? 1 : 0;
    }
    std::cout << problem.name << ": median best " << MedianOf(chosen) << ", sampled "
              << MedianOf(sampled) << "; better with " << wins << " of 41 seeds\n";
    EXPECT_LT(MedianOf(chosen), MedianOf(sampled)) << problem.name;
    EXPECT_GT(wins, 20) << problem.name;
  }
}

}  // namespace
}  // namespace concur
