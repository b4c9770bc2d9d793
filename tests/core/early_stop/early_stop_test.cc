// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
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

TEST(EarlyStopTest, WhoIsFurthestGoesOnFirst) {
  EarlyStop asha(Asha(1, 4, 2), 4);
  for (uint32_t s = 0; s < 4; ++s) {  // four workers
    EXPECT_EQ(asha.Next(), (EarlyStop::Run{s, 0, 1}));
  }
  asha.Report(0, 1, 0.5);
  asha.Report(1, 1, 0.6);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 2}));
  asha.Report(2, 1, 0.7);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{2, 1, 2}));
  asha.Report(1, 2, 0.8);
  asha.Report(2, 2, 0.7);
  asha.Report(3, 1, 0.9);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 2, 4}));
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{3, 1, 2}));
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

TEST(EarlyStopTest, ARungThatAReportWentBeyondIsNoReasonToTrain) {
  EarlyStop asha(Asha(1, 9, 3), 3);  // rungs at 1, 3 and 9; reports at 5 and 10
  for (const double score : {0.1, 0.3, 0.2}) {
    const std::optional<EarlyStop::Run> run = asha.Next();
    asha.Report(run->setting, 5, score);
  }
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 5, 9}));
  asha.Report(1, 10, 0.3);
  EXPECT_TRUE(asha.done());
  EXPECT_EQ(asha.Selected(), 1U);
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
  const auto report = [&](uint32_t setting, double first, double second) {
    EXPECT_TRUE(median.Report(setting, 1, first)) << "before min";
    return median.Report(setting, 2, second);
  };
  EXPECT_TRUE(report(0, 0.2, 0.6));
  EXPECT_TRUE(report(1, 0.6, 0.6));
  EXPECT_TRUE(report(2, 0.1, 0.1)) << "two others are too few";
  EXPECT_TRUE(report(3, 0.5, 0.5)) << "the median of the means 0.4, 0.6 and 0.1";
  EXPECT_FALSE(report(4, 0.05, 0.44)) << "the mean of the middle two of 0.1, 0.4, 0.5, 0.6";
  EXPECT_EQ(median.StateOf(4), State::kStopped);
  EXPECT_FALSE(median.Report(3, 4, 0.3));
  EXPECT_EQ(median.StateOf(3), State::kFinished);
  EXPECT_EQ(median.Selected(), 3u);
}

// What failed would have kept a place among those that go on.
TEST(EarlyStopTest, WhatIsWithdrawnGivesItsPlaceToTheNextAndMayBeginAnew) {
  EarlyStop asha(Asha(1, 9, 3), 3);
  for (uint32_t s = 0; s < 3; ++s) {
    asha.Next();
    asha.Report(s, 1, 0.3 - 0.1 * s);
  }
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{0, 1, 3}));
  EXPECT_EQ(asha.Next(), std::nullopt);
  asha.Withdraw(0);
  EXPECT_EQ(asha.StateOf(0), State::kOut);
  EXPECT_TRUE(asha.Report(0, 2, 0.9)) << "it may train on, and nobody is compared with it";
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 3}));
  asha.Return(0);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{0, 0, 1})) << "from the start";
  asha.Withdraw(0);
  asha.Withdraw(1);
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{2, 1, 3})) << "the only one that is left";
  asha.Report(2, 3, 0.1);
  asha.Next();
  asha.Report(2, 9, 0.1);
  EXPECT_TRUE(asha.done());
  EXPECT_EQ(asha.Selected(), 2u);
}

TEST(EarlyStopTest, WhatIsStoppedForGoodGoesOnNoMoreThoughOthersFail) {
  EarlyStop asha(Asha(1, 9, 3), 3);
  for (uint32_t s = 0; s < 3; ++s) {
    asha.Next();
    asha.Report(s, 1, s);
  }
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{2, 1, 3}));
  asha.End(2);
  EXPECT_EQ(asha.Next(), std::nullopt);
  ASSERT_TRUE(asha.done());
  asha.Stop(0);
  asha.Stop(1);
  asha.Withdraw(2);
  EXPECT_EQ(asha.Next(), std::nullopt);
  EXPECT_EQ(asha.StateOf(1), State::kStopped);
}

// A turn may bring more reports after the one that pauses, and the end.
TEST(EarlyStopTest, WhatArrivesAfterAPauseIsRememberedAndCountsOnceTheSettingGoesOn) {
  EarlyStop asha(Asha(1, 4, 2), 2);
  asha.Next();
  asha.Next();
  EXPECT_FALSE(asha.Report(0, 1, 0.1));
  EXPECT_FALSE(asha.Report(0, 2, 0.9));
  asha.End(0);
  EXPECT_EQ(asha.StateOf(0), State::kPaused);
  EXPECT_FALSE(asha.Report(1, 1, 0.2));
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 1, 2})) << "0.9 was reported after the first step";
  EXPECT_FALSE(asha.Report(1, 2, 0.3));
  EXPECT_EQ(asha.Next(), (EarlyStop::Run{1, 2, 4}));
}

TEST(EarlyStopTest, ARestoredRuleRefusesWhatCannotHaveBeen) {
  EarlyStop asha(Asha(1, 9, 3), 4);
  EXPECT_TRUE(asha.Restore(0, 1, {{1, 0.5}}, false, false).ok());
  EXPECT_EQ(asha.StateOf(0), State::kRunning);
  EXPECT_THAT(asha.Restore(1, 1, {}, false, false).message(), HasSubstr("let go on to rung 1"));
  EXPECT_THAT(asha.Restore(2, 9, {{1, 0.5}}, true, false).message(), HasSubstr("rung 9 of 3"));
  EXPECT_THAT(asha.Restore(3, 0, {{2, 0.5}, {1, 0.5}}, false, false).message(),
              HasSubstr("do not grow"));
  EarlyStop other(Asha(1, 9, 3), 1);
  EXPECT_THAT(other.Restore(0, 0, {}, false, true).message(), HasSubstr("had not come to a rung"));
}

// Random reports, ends, failures and retries: what rungs and reports restore is what there was.
TEST(EarlyStopTest, RungsAndReportsRestoreEveryDecision) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed, "restore");
    const auto settings = static_cast<uint32_t>(random.Between(1, 9));
    EarlyStopRule rule = random.Chance(0.3) ? Median(random.Between(1, 2), 12)
                                            : Asha(random.Between(1, 2), 12, random.Between(2, 3));
    rule.minimize = random.Chance(0.3);
    EarlyStop live(rule, settings);
    std::vector<std::vector<EarlyStop::Point>> points(settings);
    std::vector<bool> ended(settings, false);
    const auto let_go = [](EarlyStop& which) {
      while (which.Next()) {
      }
    };
    let_go(live);
    for (int event = 0; event < 60; ++event) {
      const auto s = static_cast<uint32_t>(random.Below(settings));
      const State state = live.StateOf(s);
      if (random.Chance(0.05)) {
        live.Withdraw(s);
      } else if (random.Chance(0.05) && (state == State::kOut || state == State::kStopped)) {
        live.Return(s);
        points[s].clear();
        ended[s] = false;
      } else if (random.Chance(0.1) && state != State::kOut &&
                 (state != State::kStopped || rule.method == EarlyStopMethod::kMedian)) {
        live.End(s);
        ended[s] = true;
      } else if (!ended[s] && state != State::kOut) {
        const int64_t last = points[s].empty() ? 0 : points[s].back().step;
        points[s].push_back({last + random.Between(1, 3), random.Between(0, 5) / 5.0});
        live.Report(s, points[s].back().step, points[s].back().value);
      }
      let_go(live);
      if (live.done() && random.Chance(0.5)) {
        for (uint32_t other = 0; other < settings; ++other) {
          if (live.StateOf(other) == State::kPaused && !ended[other]) {
            live.Stop(other);
          }
        }
      }
      EarlyStop restored(rule, settings);
      for (uint32_t other = 0; other < settings; ++other) {
        if (live.StateOf(other) == State::kOut) {
          restored.Withdraw(other);
        } else {
          const absl::Status status =
              restored.Restore(other, live.RungOf(other), points[other], ended[other],
                               live.StateOf(other) == State::kStopped);
          ASSERT_TRUE(status.ok()) << status;
        }
      }
      EXPECT_EQ(restored.Next(), std::nullopt);
      EXPECT_EQ(restored.done(), live.done());
      EXPECT_EQ(restored.Selected(), live.Selected());
      for (uint32_t other = 0; other < settings; ++other) {
        ASSERT_EQ(restored.StateOf(other), live.StateOf(other)) << "setting " << other;
        ASSERT_EQ(restored.RungOf(other), live.RungOf(other));
        ASSERT_EQ(restored.ReachedRungOf(other), live.ReachedRungOf(other));
      }
    }
  }
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
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
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

// What goes on is checked against the definition, from the events alone.
TEST(EarlyStopReplayTest, OnlyTheBestOfARungGoOnAndOneReachesTheEnd) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const auto settings = static_cast<uint32_t>(1 + seed % 25);
    const auto eta = static_cast<int64_t>(2 + seed % 3);
    std::vector<LearningCurve> curves = Curves(seed, settings, 20);
    for (LearningCurve& curve : curves) {  // none ends by itself
      while (curve.points.size() < 20) {
        curve.points.push_back({curve.points.back().step + 1, curve.points.back().value});
      }
    }
    const EarlyStopReplay replay =
        ReplayEarlyStop(Asha(1, 20, eta), curves, static_cast<uint32_t>(1 + seed % 7));
    std::map<int64_t, std::map<uint32_t, double>> reached;  // by steps: setting, best score
    std::vector<double> best(settings, 0);
    uint32_t begun = 0;
    std::set<int64_t> rounded_up;  // rungs
    for (const EarlyStopEvent& event : replay.events) {
      double& own = best[event.setting];
      switch (event.kind) {
        case EarlyStopEvent::Kind::kBegin:
          EXPECT_EQ(event.setting, begun++);
          break;
        case EarlyStopEvent::Kind::kReport:
          own = std::max(own, event.value);
          break;
        case EarlyStopEvent::Kind::kGoOn: {
          const std::map<uint32_t, double>& rung = reached[event.step];
          const auto better = std::count_if(rung.begin(), rung.end(), [&](const auto& other) {
            return other.second > own || (other.second == own && other.first < event.setting);
          });
          const auto size = static_cast<int64_t>(rung.size());
          if (better >= size / eta) {
            EXPECT_LT(better, (size + eta - 1) / eta);
            EXPECT_EQ(begun, settings);
            rounded_up.insert(event.step);
          }
          break;
        }
        case EarlyStopEvent::Kind::kPause:
        case EarlyStopEvent::Kind::kFinish:
          EXPECT_FALSE(rounded_up.contains(event.step)) << "although others may come";
          reached[event.step][event.setting] = own;
          break;
        case EarlyStopEvent::Kind::kStop:
          ADD_FAILURE() << "halving stops nobody for good";
      }
    }
    EXPECT_EQ(reached[1].size(), settings);
    EXPECT_EQ(reached[20].size(), replay.finished);
    // Of a rung that nobody else can come to, all that may go on have.
    for (auto rung = reached.begin(); std::next(rung) != reached.end(); ++rung) {
      EXPECT_GE(static_cast<int64_t>(std::next(rung)->second.size()),
                (static_cast<int64_t>(rung->second.size()) + eta - 1) / eta);
    }
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
