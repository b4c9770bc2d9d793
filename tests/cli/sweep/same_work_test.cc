// SPDX-License-Identifier: Apache-2.0
// Approaches of one sweep whose jobs are the same work.
#include "cli/sweep/same_work.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

SweepSpec ThreeNamesOfOneCommand() {
  SweepSpec spec;
  spec.name = "half";
  spec.approaches = {testing::UntrainedApproach("good"), testing::UntrainedApproach("close"),
                     testing::UntrainedApproach("flaky")};
  spec.benchmarks = {testing::Benchmark("x"), testing::Benchmark("y")};
  spec.seeds = {1};
  return spec;
}

std::vector<std::string> WarningsOf(const SweepSpec& spec) {
  const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  EXPECT_OK(expansion.status());
  return expansion.ok() ? WarnOfSameWork(*expansion) : std::vector<std::string>();
}

TEST(SameWorkTest, ApproachesThatDifferInTheirNamesAloneAreNamed) {
  // Each read CONCUR_APPROACH; all got the scores of the one that ran, without a word.
  EXPECT_THAT(WarningsOf(ThreeNamesOfOneCommand()),
              ElementsAre(HasSubstr("approaches good, close, flaky run the same work")));
}

// 3,000 names on one line, or 1,000 lines.
TEST(SameWorkTest, ManyApproachesAreOneShortWarning) {
  SweepSpec spec = ThreeNamesOfOneCommand();
  spec.approaches.clear();
  for (int i = 0; i < 40; ++i) {
    spec.approaches.push_back(testing::UntrainedApproach(absl::StrCat("a", i)));
    spec.approaches.back().env = {{"HOW", absl::StrCat(i < 20 ? 0 : i / 2)}};
  }
  EXPECT_THAT(WarningsOf(spec),
              ElementsAre(HasSubstr("approaches a0, a1, a2, a3, a4, a5 and 14 more; a20, a21; a22, "
                                    "a23; a24, a25; a26, a27; a28, a29 and 5 more run the same")));
}

TEST(SameWorkTest, WhatCountsInAKeyTellsApproachesApart) {
  SweepSpec spec = ThreeNamesOfOneCommand();
  spec.approaches[0].env = {{"HOW", "good"}};
  EXPECT_THAT(WarningsOf(spec), ElementsAre(HasSubstr("approaches close, flaky run")));
  spec.approaches[1].hyperparameters.defaults = {{"how", std::string("close")}};
  spec.approaches[1].predict_command.push_back("{hp.how}");
  EXPECT_THAT(WarningsOf(spec), IsEmpty());
}

TEST(SameWorkTest, AnEqualCommandWithAnotherSettingIsOtherWork) {
  SweepSpec spec = ThreeNamesOfOneCommand();
  spec.approaches.pop_back();
  for (ApproachSpec& approach : spec.approaches) {
    approach.predict_command.push_back("{hp.how}");
    approach.hyperparameters.defaults = {{"how", approach.name}};
  }
  EXPECT_THAT(WarningsOf(spec), IsEmpty());
}

}  // namespace
}  // namespace concur::cli
