// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/params.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Hyperparameters OneParameter(Distribution distribution) {
  Hyperparameters hyperparameters;
  hyperparameters.defaults = {{"p", int64_t{1}}};
  hyperparameters.space = {{"p", std::move(distribution)}};
  return hyperparameters;
}

TEST(ParamsTest, ARangeThatHoldsNoValueIsRefused) {
  const std::vector<Distribution> bad = {
      Choice{},
      Choice{{1.0, kInfinity}},
      UniformRange{1, 1},
      UniformRange{2, 1},
      UniformRange{0, kInfinity},
      UniformRange{std::nan(""), 1},
      LogUniformRange{0, 1},
      LogUniformRange{-1, 1},
      LogUniformRange{1, 1},
      LogUniformRange{1, kInfinity},
      IntegerRange{2, 1, 1},
      IntegerRange{1, 2, 0},
      IntegerRange{1, 2, -1},
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THAT(ValidateHyperparameters(OneParameter(bad[i])),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("space.p: expected")))
        << "case " << i;
  }
}

TEST(ParamsTest, ARangeWithoutADefaultIsRefused) {
  Hyperparameters hyperparameters = OneParameter(UniformRange{0, 1});
  hyperparameters.defaults.clear();
  EXPECT_THAT(
      ValidateHyperparameters(hyperparameters),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("space.p: expected a default")));
}

TEST(ParamsTest, ADefaultThatIsNotFiniteIsRefused) {
  Hyperparameters hyperparameters;
  hyperparameters.defaults = {{"p", kInfinity}};
  EXPECT_THAT(ValidateHyperparameters(hyperparameters),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("default.p")));
}

// "lr" and "LR" overwrote each other in CONCUR_HP_LR.
TEST(ParamsTest, NamesThatShareAVariableAreRefused) {
  ASSERT_OK(CheckHyperparameterVariables({{"lr", 1.0}, {"lr2", 1.0}}));
  for (const char* other : {"warm_up", "Warm-Up", "WARM.UP"}) {
    EXPECT_THAT(CheckHyperparameterVariables({{"warm-up", 1.0}, {other, 2.0}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both $CONCUR_HP_WARM_UP")));
  }
}

TEST(ParamsTest, TextTellsRealsFromIntegersAndReadsBack) {
  EXPECT_EQ(ParamText(true), "true");
  EXPECT_EQ(ParamText(int64_t{3}), "3");
  EXPECT_EQ(ParamText(3.0), "3.0");
  EXPECT_EQ(ParamText(0.1), "0.1");
  EXPECT_EQ(ParamText(1e-05), "1e-05");
  EXPECT_EQ(ParamText(1e22), "1e+22");
  EXPECT_EQ(ParamText(-0.0), "-0.0");
  EXPECT_EQ(ParamText(std::string("adam")), "adam");
  for (double value : {0.1, 1.0 / 3, 123456.789, 5e-324, 1.7976931348623157e308}) {
    EXPECT_EQ(std::stod(ParamText(value) == "5e-324" ? "0" : ParamText(value)),
              value == 5e-324 ? 0 : value);
  }
  EXPECT_EQ(SettingText({{"b", 0.5}, {"a", int64_t{1}}}), "{a=1, b=0.5}");
  EXPECT_EQ(SettingText({}), "{}");
}

TEST(ParamsTest, SettingZeroIsTheDefault) {
  const Hyperparameters hyperparameters = OneParameter(UniformRange{5, 6});
  EXPECT_EQ(SampleSetting(hyperparameters, 7, "a", 0), hyperparameters.defaults);
}

// Guards promise P5: these bytes must never change between releases, or finished cells would run
// again under other settings.
TEST(ParamsTest, SampledSettingsAreTheSameOnEveryMachine) {
  Hyperparameters hyperparameters;
  hyperparameters.defaults = {{"batch", int64_t{32}}, {"lr", 0.1}, {"mix", 0.5}, {"opt", "sgd"}};
  hyperparameters.space = {{"batch", IntegerRange{16, 128, 16}},
                           {"lr", LogUniformRange{1e-4, 1}},
                           {"mix", UniformRange{0, 1}},
                           {"opt", Choice{{std::string("sgd"), std::string("adam")}}}};
  EXPECT_EQ(SettingText(SampleSetting(hyperparameters, 42, "bert", 1)),
            "{batch=48, lr=0.0830633, mix=0.456414, opt=sgd}");
  EXPECT_EQ(SettingText(SampleSetting(hyperparameters, 42, "bert", 2)),
            "{batch=96, lr=0.490901, mix=0.634206, opt=adam}");
}

TEST(ParamsTest, AddingAParameterChangesNoOtherDraw) {
  Hyperparameters one = OneParameter(UniformRange{0, 1});
  Hyperparameters two = one;
  two.defaults["a"] = 1.0;
  two.space["a"] = UniformRange{0, 1};
  EXPECT_EQ(SampleSetting(one, 1, "x", 3).at("p"), SampleSetting(two, 1, "x", 3).at("p"));
}

TEST(ParamsTest, DrawsDifferByApproachIndexAndSeed) {
  const Hyperparameters hyperparameters = OneParameter(UniformRange{0, 1});
  std::set<std::string> seen;
  for (uint64_t seed : {1, 2}) {
    for (const char* approach : {"a", "b"}) {
      for (uint32_t index = 1; index <= 20; ++index) {
        seen.insert(SettingText(SampleSetting(hyperparameters, seed, approach, index)));
      }
    }
  }
  EXPECT_EQ(seen.size(), 80u);
}

TEST(ParamsTest, DrawsStayInTheirRangesAndReachBothEnds) {
  std::set<int64_t> integers;
  double low = 1;
  double high = 0;
  for (uint32_t index = 1; index <= 2000; ++index) {
    const auto integer = std::get<int64_t>(
        SampleSetting(OneParameter(IntegerRange{-3, 8, 5}), 1, "a", index).at("p"));
    integers.insert(integer);
    const auto real = std::get<double>(
        SampleSetting(OneParameter(UniformRange{0.25, 0.75}), 1, "a", index).at("p"));
    low = std::min(low, real);
    high = std::max(high, real);
    EXPECT_GE(real, 0.25);
    EXPECT_LT(real, 0.75);
    const auto log_real = std::get<double>(
        SampleSetting(OneParameter(LogUniformRange{1e-6, 1e-5}), 1, "a", index).at("p"));
    EXPECT_GE(log_real, 1e-6);
    EXPECT_LT(log_real, 1e-5);
  }
  EXPECT_EQ(integers, (std::set<int64_t>{-3, 2, 7}));
  EXPECT_LT(low, 0.26);
  EXPECT_GT(high, 0.74);
}

std::vector<std::string> TextsOf(const Hyperparameters& hyperparameters, uint32_t random) {
  std::vector<std::string> texts;
  for (const Setting& setting : AllSettings(hyperparameters, 1, "a", random)) {
    texts.push_back(SettingText(setting));
  }
  EXPECT_EQ(texts.size(), CountSettings(hyperparameters, random));
  return texts;
}

TEST(ParamsTest, AGridHasEachCombinationOnceBesideTheDefault) {
  Hyperparameters grid;
  grid.defaults = {{"lr", 0.1}, {"depth", int64_t{2}}, {"mode", std::string("fast")}};
  grid.space["lr"] = Choice{{0.1, WrittenNumber{"1e-3"}}, true};
  grid.space["depth"] = Choice{{int64_t{2}, int64_t{3}}, true};
  const std::vector<std::string> all = {
      "{depth=2, lr=0.1, mode=fast}", "{depth=3, lr=0.1, mode=fast}",
      "{depth=2, lr=1e-3, mode=fast}", "{depth=3, lr=1e-3, mode=fast}"};
  EXPECT_EQ(TextsOf(grid, 0), all);
  EXPECT_EQ(TextsOf(grid, 7), all) << "there is nothing to draw";
  grid.space["depth"] = Choice{{int64_t{3}, int64_t{4}}, true};  // without the default
  EXPECT_THAT(TextsOf(grid, 0), SizeIs(5));
}

TEST(ParamsTest, EachCombinationOfAGridHasItsOwnDraws) {
  Hyperparameters mixed;
  mixed.defaults = {{"lr", 0.1}, {"depth", int64_t{2}}};
  mixed.space["depth"] = Choice{{int64_t{2}, int64_t{3}}, true};
  mixed.space["lr"] = UniformRange{0, 1};
  EXPECT_THAT(TextsOf(mixed, 0), ElementsAre("{depth=2, lr=0.1}", "{depth=3, lr=0.1}"));
  const std::vector<std::string> drawn = TextsOf(mixed, 3);
  EXPECT_THAT(drawn, SizeIs(7));
  EXPECT_THAT(std::set<std::string>(drawn.begin(), drawn.end()), SizeIs(7));
  EXPECT_EQ(std::count_if(drawn.begin(), drawn.end(),
                          [](const std::string& text) { return text.find("depth=3") == 1; }),
            3);
}

TEST(ParamsTest, AGridThatIsTooLargeOrHasAValueTwiceIsRefused) {
  Hyperparameters large;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "p" + std::to_string(i);
    large.defaults[name] = int64_t{0};
    large.space[name] = Choice{{int64_t{0}, int64_t{1}}, true};
  }
  EXPECT_EQ(CountSettings(large, 0), UINT32_MAX);
  Hyperparameters twice = OneParameter(Choice{{0.5, WrittenNumber{"0.5"}}, true});
  EXPECT_THAT(ValidateHyperparameters(twice),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("different values")));
}

TEST(ParamsTest, ExtremeRangesDoNotOverflow) {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  constexpr double kMax = std::numeric_limits<double>::max();
  for (uint32_t index = 1; index <= 200; ++index) {
    SampleSetting(OneParameter(IntegerRange{kLow, kHigh, 1}), 1, "a", index);
    const auto stepped = std::get<int64_t>(
        SampleSetting(OneParameter(IntegerRange{kLow, kHigh, kHigh}), 1, "a", index).at("p"));
    EXPECT_TRUE(stepped == kLow || stepped == -1 || stepped == kHigh - 1) << stepped;
    const auto real = std::get<double>(
        SampleSetting(OneParameter(UniformRange{-kMax, kMax}), 1, "a", index).at("p"));
    EXPECT_TRUE(std::isfinite(real));
    const auto narrow = std::get<double>(
        SampleSetting(OneParameter(UniformRange{1.0, std::nextafter(1.0, 2.0)}), 1, "a", index)
            .at("p"));
    EXPECT_EQ(narrow, 1.0);
  }
}

TEST(ParamsTest, RealDrawsHaveSixSignificantDigits) {
  const auto drawn =
      std::get<double>(SampleSetting(OneParameter(UniformRange{0, 1}), 3, "a", 1).at("p"));
  EXPECT_LE(ParamText(drawn).size(), std::string("0.0123456").size()) << ParamText(drawn);
}

}  // namespace
}  // namespace concur
