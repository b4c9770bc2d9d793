// SPDX-License-Identifier: Apache-2.0
// `concur next`: its coefficients and forms.

#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

TEST(PlanCommandTest, PowerIsThatOfTheCoefficient) {
  EXPECT_THAT(RunConcur({"next", "--power", "-o", "csv"}).out, HasSubstr("approaches,100,0.1402"));
  EXPECT_THAT(RunConcur({"next", "--power", "--coefficient", "pearson", "-o", "csv"}).out,
              HasSubstr("approaches,100,0.2030"));
}

TEST(PlanCommandTest, ACoefficientWithoutPlansIsRefused) {
  const Output top = RunConcur({"next", "--power", "--coefficient", "top-k"});
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("--coefficient: expected kendall, pearson or spearman"));
}

TEST(PlanCommandTest, NoFigureIsDrawn) {
  EXPECT_EQ(RunConcur({"plan", "--power", "--format", "svg"}).code, 2);
}

}  // namespace
}  // namespace concur::cli
