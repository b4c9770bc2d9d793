// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_until.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/plan/plan.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// An ability and noise of each benchmark, so that tau is about .5.
ScoreTable NoisyAbilities(size_t approaches, size_t benchmarks, uint64_t seed) {
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  std::vector<AxisEntry> columns;
  for (size_t b = 0; b < benchmarks; ++b) {
    columns.push_back({absl::StrCat("b", b), {}});
  }
  ScoreTable table = *ScoreTable::Create(std::move(rows), std::move(columns));
  Random random(seed, "plan_until");
  for (size_t i = 0; i < approaches; ++i) {
    const double ability = random.Normal();
    for (size_t b = 0; b < benchmarks; ++b) {
      table.cell(i, b).state = CellState::kValue;
      table.cell(i, b).value = ability + random.Normal();
    }
  }
  return table;
}

TEST(PlanUntilTest, AWidthIsReadAsItIsWritten) {
  for (const char* text : {"tau ±0.1", "tau +-0.1", "tau 0.1", " tau ± 0.1 ", "tau±0.1"}) {
    ASSERT_OK_AND_ASSIGN(const UntilRule rule, ParseUntil(text));
    EXPECT_EQ(rule.within, 0.1) << text;
    EXPECT_EQ(rule.coefficient, Coefficient::kKendall) << text;
    EXPECT_EQ(UntilText(rule), "tau ±0.1");
  }
  for (const char* text : {"", "0.1", "tau", "tau ±0", "tau ±1", "tau ±-0.1", "tau ±nan", "rh ±0.1",
                           "taur ±0.1", "tau ±0.1 x"}) {
    EXPECT_THAT(ParseUntil(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected \"tau ±W\"")))
        << text;
  }
}

TEST(PlanUntilTest, ARuleNamesItsCoefficient) {
  ASSERT_OK_AND_ASSIGN(const UntilRule r, ParseUntil("r ±0.2"));
  EXPECT_EQ(r.coefficient, Coefficient::kPearson);
  EXPECT_EQ(UntilText(r), "r ±0.2");
  ASSERT_OK_AND_ASSIGN(const UntilRule rho, ParseUntil("rho +-0.05"));
  EXPECT_EQ(rho.coefficient, Coefficient::kSpearman);
  EXPECT_EQ(rho.within, 0.05);
  EXPECT_EQ(UntilText(rho), "rho ±0.05");
}

TEST(PlanUntilTest, BatchesAreFixedBeforehandGrowAndEndWithTheWholeTable) {
  const ScoreTable table = NoisyAbilities(40, 3, 1);
  const CellPlan plan(EqualCosts(table), 7);
  const std::vector<CellBatch> batches = BatchesOf(plan, 40);
  ASSERT_GT(batches.size(), 4u);
  EXPECT_NEAR(batches.front().cost, 0.2, 0.03) << "what eight of forty approaches cost";
  EXPECT_EQ(batches.back().cells, 120u);
  EXPECT_EQ(batches.back().cost, 1);
  EXPECT_TRUE(std::isinf(batches.back().threshold));
  for (size_t k = 0; k + 1 < batches.size(); ++k) {
    EXPECT_LT(batches[k].cells, batches[k + 1].cells);
    // A threshold takes the cells that were released by then.
    size_t below = 0;
    for (const PlannedCell& cell : plan.cells()) {
      below += cell.key < batches[k].threshold ? 1 : 0;
    }
    EXPECT_EQ(below, batches[k].cells);
  }
}

TEST(PlanUntilTest, FewApproachesAreRunWhole) {
  const CellPlan plan(EqualCosts(NoisyAbilities(6, 2, 1)), 1);
  EXPECT_EQ(BatchesOf(plan, 6).size(), 1u);
  EXPECT_EQ(LevelOfLook(0.95, 1), 0.95);
}

TEST(PlanUntilTest, AllLooksButTheLastShareTheChanceOfError) {
  EXPECT_NEAR(LevelOfLook(0.95, 6), 0.99, 1e-12);
  EXPECT_NEAR(5 * (1 - LevelOfLook(0.9, 6)), 0.1, 1e-12);
}

}  // namespace
}  // namespace concur::analysis
