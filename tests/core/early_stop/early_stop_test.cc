// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop/early_stop.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
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

// A setting that failed would have kept a place among those that go on.
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

}  // namespace
}  // namespace concur
