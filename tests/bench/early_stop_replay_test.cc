// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/early_stop_replay.h"

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
#include "core/early_stop/early_stop.h"
#include "core/early_stop/early_stop_brackets.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using State = EarlyStop::State;

EarlyStopRule Asha(int64_t min, int64_t max, int64_t eta) {
  return {.method = EarlyStopMethod::kAsha, .min = min, .max = max, .eta = eta};
}
EarlyStopRule Median(int64_t min, int64_t max) {
  return {.method = EarlyStopMethod::kMedian, .min = min, .max = max};
}
EarlyStopRule Hyperband(int64_t min, int64_t max, int64_t eta) {
  return {.method = EarlyStopMethod::kHyperband, .min = min, .max = max, .eta = eta};
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

// The settings that go on are checked against the definition, from the events alone.
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
    // Once nobody else can come to a rung, all that may go on from it have done so.
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

// Two curves that are best only late: one that every rung stops, beside many that start well.
TEST(EarlyStopReplayTest, ALateRiserIsSelectedWhereHalvingAloneStopsIt) {
  std::vector<LearningCurve> curves;
  for (uint32_t s = 0; s < 13; ++s) {
    LearningCurve& curve = curves.emplace_back();
    for (int64_t step = 1; step <= 9; ++step) {
      curve.points.push_back({step, 50.0 + s});
    }
  }
  const EarlyStopRule rule = Hyperband(1, 9, 3);
  const EarlyStopBrackets brackets(rule, 13);
  const uint32_t late = brackets.SettingAt({2, 0});  // where nothing stops
  for (LearningCurve::Point& point : curves[late].points) {
    point.value = point.step < 9 ? 10 : 90;
  }
  EarlyStopRule halving = rule;
  halving.method = EarlyStopMethod::kAsha;
  EXPECT_NE(ReplayEarlyStop(halving, curves, 4).selected, late);
  const EarlyStopReplay replay = ReplayEarlyStop(rule, curves, 4);
  EXPECT_EQ(replay.selected, late);
  EXPECT_EQ(replay.selected_value, 90);
  EXPECT_LT(replay.cost, replay.full_cost);
}

// Against the definition: each bracket decides as an EarlyStop of its settings alone.
TEST(EarlyStopReplayTest, AReplayIsThatOfEachBracketByItself) {
  const EarlyStopRule rule = Hyperband(1, 9, 3);
  const EarlyStopBrackets brackets(rule, 20);
  std::vector<LearningCurve> curves(20);
  for (uint32_t s = 0; s < 20; ++s) {
    for (int64_t step = 1; step <= 9; ++step) {
      curves[s].points.push_back({step, static_cast<double>((s * 7 + 3) % 20) + 0.1 * step});
    }
  }
  double cost = 0;
  uint32_t finished = 0;
  for (uint32_t b = 0; b < brackets.rules().size(); ++b) {
    std::vector<LearningCurve> own;
    for (uint32_t number = 0; number < brackets.SizeOf(b, 20); ++number) {
      own.push_back(curves[brackets.SettingAt({b, number})]);
    }
    const EarlyStopReplay replay = ReplayEarlyStop(brackets.rules()[b], own, 1);
    cost += replay.cost;
    finished += replay.finished;
  }
  const EarlyStopReplay whole = ReplayEarlyStop(rule, curves, 1);
  EXPECT_EQ(whole.cost, cost);
  EXPECT_EQ(whole.finished, finished);
  EXPECT_EQ(whole.selected, whole.best);
}

}  // namespace
}  // namespace concur
