// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "core/early_stop_replay.h"

namespace concur {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = EarlyStop::State;

EarlyStopRule Asha(int64_t min, int64_t max, int64_t eta) {
  return {.method = EarlyStopMethod::kAsha, .min = min, .max = max, .eta = eta};
}
EarlyStopRule Median(int64_t min, int64_t max) {
  return {.method = EarlyStopMethod::kMedian, .min = min, .max = max};
}

TEST(EarlyStopTest, RulesThatMeanNothingAreRefused) {
  EXPECT_TRUE(CheckEarlyStopRule(Asha(1, 1, 2)).ok());
  EXPECT_THAT(CheckEarlyStopRule(Asha(0, 9, 3)).message(), HasSubstr("min: expected at least 1"));
  EXPECT_THAT(CheckEarlyStopRule(Asha(5, 4, 3)).message(), HasSubstr("max: expected at least min"));
  EXPECT_THAT(CheckEarlyStopRule(Asha(1, 9, 1)).message(), HasSubstr("eta: expected at least 2"));
  EXPECT_EQ(*EarlyStopMethodFromName(EarlyStopMethodName(EarlyStopMethod::kMedian)),
            EarlyStopMethod::kMedian);
  EXPECT_THAT(EarlyStopMethodFromName("ahsa").status().message(), HasSubstr("asha"));
}

// One in three goes on, as soon as three have come.
TEST(EarlyStopTest, TheBestOfThreeGoesOnBeforeOthersBegin) {
  EarlyStop asha(Asha(1, 9, 3), 9);
  for (uint32_t s = 0; s < 3; ++s) {
    EXPECT_EQ(asha.Next(), (EarlyStop::Run{s, 0, 1}));
    EXPECT_FALSE(asha.Report(s, 1, s == 1 ? 0.9 : 0.5));
    EXPECT_EQ(asha.StateOf(s), State::kPaused);
  }
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 3}));
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{3, 0, 1})) << "nobody else may go on yet";
  EXPECT_TRUE(asha.Report(1, 2, 0.95)) << "before its rung";
  EXPECT_FALSE(asha.Report(1, 3, 0.9));
  EXPECT_EQ(asha.StateOf(1), State::kPaused) << "one of one is no third";
}

TEST(EarlyStopTest, OneSettingReachesTheEndHoweverFewThereAre) {
  for (uint32_t settings = 1; settings <= 7; ++settings) {
    EarlyStop asha(Asha(1, 27, 3), settings);
    while (const std::optional<EarlyStop::Run> run = asha.Next()) {
      asha.Report(run->setting, run->until, run->setting);
    }
    EXPECT_TRUE(asha.done());
    EXPECT_EQ(asha.Selected(), settings - 1) << settings;
  }
}

TEST(EarlyStopTest, LessMayBeBetter) {
  EarlyStopRule rule = Asha(1, 3, 3);
  rule.minimize = true;
  EarlyStop asha(rule, 3);
  for (const double loss : {2.0, 0.5, 1.0}) {
    const std::optional<EarlyStop::Run> run = asha.Next();
    asha.Report(run->setting, 1, loss);
  }
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 3}));
}

TEST(EarlyStopTest, WhatEndsByItselfGoesOnAtNoCostAndWhatFailsComesLast) {
  EarlyStop asha(Asha(1, 9, 3), 3);
  asha.Next();
  asha.End(0);  // failed
  asha.Next();
  asha.Report(1, 1, 0.9);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{2, 0, 1}));
  asha.Report(2, 1, 0.1);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 3}));
  asha.Report(1, 2, 0.8);
  asha.End(1);
  EXPECT_EQ(asha.Next(), std::nullopt);
  EXPECT_TRUE(asha.done());
  EXPECT_EQ(asha.StateOf(1), State::kFinished);
  EXPECT_EQ(asha.Selected(), 1u);

  EarlyStop failed(Asha(1, 9, 3), 1);
  failed.Next();
  failed.End(0);
  EXPECT_EQ(failed.Next(), std::nullopt);
  EXPECT_EQ(failed.Selected(), std::nullopt);
}

TEST(EarlyStopTest, TheMedianStopsWhatIsWorseThanMostOnceThreeHaveComeAsFar) {
  EarlyStop median(Median(2, 4), 5);
  for (uint32_t s = 0; s < 5; ++s) {
    EXPECT_EQ(median.Next(), (EarlyStop::Run{s, 0, 4}));
  }
  EXPECT_TRUE(median.Report(0, 1, 0.1)) << "before min";
  EXPECT_TRUE(median.Report(0, 2, 0.1)) << "none has come as far";
  for (const uint32_t s : {1u, 2u}) {
    EXPECT_TRUE(median.Report(s, 1, 0.6));
    EXPECT_TRUE(median.Report(s, 2, 0.6));
  }
  EXPECT_TRUE(median.Report(3, 1, 0.5));
  EXPECT_FALSE(median.Report(3, 2, 0.59)) << "the median of 0.1, 0.6 and 0.6";
  EXPECT_EQ(median.StateOf(3), State::kStopped);
  EXPECT_TRUE(median.Report(4, 2, 0.7));
  EXPECT_FALSE(median.Report(4, 4, 0.7));
  EXPECT_EQ(median.StateOf(4), State::kFinished);
  EXPECT_EQ(median.Selected(), 4u);
}

// Curves that rise towards a level, which differs by setting.
std::vector<LearningCurve> Curves(uint64_t seed, uint32_t settings, int64_t steps) {
  std::vector<LearningCurve> curves(settings);
  Random random(seed, "curves");
  for (LearningCurve& curve : curves) {
    const double level = random.Uniform();
    const double noise = 0.05 * random.Uniform();
    const int64_t last = 1 + static_cast<int64_t>(random.Uniform() * static_cast<double>(steps));
    curve.cost_per_step = 0.5 + random.Uniform();
    for (int64_t step = 1; step <= last; ++step) {
      curve.points.push_back(
          {step, level * static_cast<double>(step) / static_cast<double>(step + 2) +
                     noise * random.Uniform()});
    }
  }
  return curves;
}

std::string TextOf(const EarlyStopReplay& replay) {
  std::string text;
  for (const EarlyStopEvent& event : replay.events) {
    absl::StrAppend(&text, event.time, " ", EarlyStopEventName(event.kind), " ", event.setting, " ",
                    event.step, "\n");
  }
  return text;
}

TEST(EarlyStopReplayTest, TheLogOfArrivalsGivesTheSameDecisionsAgain) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const auto settings = static_cast<uint32_t>(1 + seed % 20);
    EarlyStopRule rule = seed % 3 == 0 ? Median(2, 20)
                                       : Asha(1 + static_cast<int64_t>(seed % 2), 20,
                                              2 + static_cast<int64_t>(seed % 3));
    const std::vector<LearningCurve> curves = Curves(seed, settings, 20);
    const auto workers = static_cast<uint32_t>(1 + seed % 5);
    const EarlyStopReplay replay = ReplayEarlyStop(rule, curves, workers);
    EXPECT_EQ(TextOf(ReplayEarlyStop(rule, curves, workers)), TextOf(replay));
    ASSERT_TRUE(replay.selected);
    EXPECT_GE(replay.finished, 1u);
    EXPECT_LE(replay.cost, replay.full_cost * (1 + 1e-12));
    EXPECT_LE(replay.selected_value, replay.best_value);

    // Another machine is told what arrived, in that order, and nothing else.
    EarlyStop again(rule, settings);
    for (const EarlyStopEvent& event : replay.events) {
      switch (event.kind) {
        case EarlyStopEvent::Kind::kBegin:
        case EarlyStopEvent::Kind::kGoOn: {
          const std::optional<EarlyStop::Run> run = again.Next();
          ASSERT_TRUE(run);
          EXPECT_EQ(run->setting, event.setting);
          EXPECT_EQ(run->from, event.step);
          break;
        }
        case EarlyStopEvent::Kind::kReport:
          again.Report(event.setting, event.step, event.value);
          break;
        default:
          if (again.StateOf(event.setting) == State::kRunning) {
            again.End(event.setting);
          }
          EXPECT_NE(again.StateOf(event.setting), State::kRunning);
      }
    }
    EXPECT_EQ(again.Next(), std::nullopt);
    EXPECT_EQ(again.Selected(), replay.selected);
  }
}

// With one worker and curves that never cross, halving costs what it should and loses nothing.
TEST(EarlyStopReplayTest, NineSettingsAtEtaThreeCostAThird) {
  std::vector<LearningCurve> curves(9);
  for (size_t s = 0; s < curves.size(); ++s) {
    for (int64_t step = 1; step <= 9; ++step) {
      curves[s].points.push_back({step, static_cast<double>(s) + 0.01 * static_cast<double>(step)});
    }
  }
  const EarlyStopReplay worst_first = ReplayEarlyStop(Asha(1, 9, 3), curves, 1);
  EXPECT_EQ(worst_first.best, 8u);
  EXPECT_EQ(worst_first.selected, 8u);
  EXPECT_EQ(worst_first.full_cost, 81);
  std::reverse(curves.begin(), curves.end());
  const EarlyStopReplay best_first = ReplayEarlyStop(Asha(1, 9, 3), curves, 1);
  EXPECT_EQ(best_first.selected, 0u);
  EXPECT_EQ(best_first.finished, 1u);
  EXPECT_EQ(best_first.cost, 9 + 3 * 2 + 6) << "9 to rung 1, 3 on to rung 3, 1 on to 9";
  EXPECT_GE(worst_first.cost, best_first.cost);
}

TEST(EarlyStopReplayTest, EventsAreInTheOrderInWhichTheyHappen) {
  LearningCurve good;
  good.points = {{1, 0.5}, {2, 0.9}};
  LearningCurve bad = good;
  bad.points = {{1, 0.1}, {2, 0.2}};
  const EarlyStopReplay replay = ReplayEarlyStop(Asha(1, 2, 2), {bad, good, {}}, 3);
  std::vector<std::string> lines;
  for (const EarlyStopEvent& event : replay.events) {
    lines.push_back(absl::StrCat(event.time, " ", EarlyStopEventName(event.kind), " ",
                                 event.setting, " ", event.step));
  }
  EXPECT_THAT(
      lines, ElementsAre("0 begin 0 0", "0 begin 1 0", "0 begin 2 0", "0 pause 2 0", "1 report 0 1",
                         "1 pause 0 1", "1 go on 0 1", "1 report 1 1", "1 pause 1 1", "1 go on 1 1",
                         "2 report 0 2", "2 finish 0 2", "2 report 1 2", "2 finish 1 2"));
}

}  // namespace
}  // namespace concur
