// SPDX-License-Identifier: Apache-2.0
// `concur plan` and the coefficient that it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/temp_dir.h"

namespace concur::cli {
namespace {

using ::testing::HasSubstr;

TEST(PlanCommandTest, PowerIsThatOfTheCoefficient) {
  EXPECT_THAT(RunConcur({"plan", "--power", "-o", "csv"}).out, HasSubstr("approaches,100,0.1329"));
  EXPECT_THAT(RunConcur({"plan", "--power", "--coefficient", "pearson", "-o", "csv"}).out,
              HasSubstr("approaches,100,0.1969"));
}

TEST(PlanCommandTest, ACoefficientWithoutPlansIsRefused) {
  const Output top = RunConcur({"plan", "--power", "--coefficient", "top-k"});
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("--coefficient: expected kendall, pearson or spearman"));
}

TEST(PlanCommandTest, UntilNamesTheCoefficientOfAReplay) {
  const testing::TempDir dir;
  std::string scores = "approach,one,two\n";
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&scores, "a", i, ",", i, ",", i * 7 % 12, "\n");
  }
  CONCUR_CHECK_OK(WriteFileAtomically(dir.File("scores.csv"), scores));
  const Output replay = RunConcur({"plan", "--replay", dir.File("scores.csv"), "--until",
                                   "rho ±0.5", "--budgets", "0.8", "--replays", "5"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("Spearman's rho of every pair is known to ± 0.5"));
  EXPECT_THAT(replay.out, HasSubstr("Spearman's rho from part of a table"));
  const Output two = RunConcur({"plan", "--replay", dir.File("scores.csv"), "--until", "rho ±0.5",
                                "--coefficient", "pearson"});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("--coefficient: expected that of --until rho ±0.5"));
}

}  // namespace
}  // namespace concur::cli
