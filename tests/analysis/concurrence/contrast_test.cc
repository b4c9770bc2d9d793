// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/contrast.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/comparison_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// Twenty approaches of either kind; B follows A among the new ones only, C follows A among all.
ScoreTable TwoKinds() {
  Random random(3, "contrast_test");
  std::string csv = "approach,kind,A,B,C\n";
  for (int i = 0; i < 40; ++i) {
    const double a = random.Normal();
    const double b = i < 20 ? a + 0.2 * random.Normal() : random.Normal();
    absl::StrAppend(&csv, "x", i, i < 20 ? ",new," : ",old,", a, ",", b, ",",
                    a + 0.3 * random.Normal(), "\n");
  }
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

TEST(ContrastTest, DifferencesBetweenGroupsAreFoundWhereTheyAre) {
  const ScoreTable table = TwoKinds();
  BootstrapOptions options;
  options.replicates = 1000;
  ASSERT_OK_AND_ASSIGN(const GroupContrast contrast,
                       ContrastGroups(table, Coefficient::kKendall, "kind", options));
  EXPECT_EQ(contrast.first, "new");
  EXPECT_EQ(contrast.first_count, 20);
  const PairContrast& ab = contrast.pairs[0];
  EXPECT_GT(ab.interval->low, 0.2);
  EXPECT_LT(*ab.p_value_holm, 0.05);
  const PairContrast& ac = contrast.pairs[1];
  EXPECT_LT(ac.interval->low, 0);
  EXPECT_GT(ac.interval->high, 0);
  EXPECT_GT(*ac.p_value, 0.05);
  // The other way round, with the same draws, is the same with the other sign.
  ASSERT_OK_AND_ASSIGN(const GroupContrast back,
                       ContrastGroups(table, Coefficient::kKendall, "kind=old,new", options));
  EXPECT_DOUBLE_EQ(*back.pairs[0].difference, -*ab.difference);
  EXPECT_THAT(WriteTable(ContrastTable(table, contrast, options), TableFormat::kText),
              HasSubstr("kendall among 20 approaches with kind=new less that among 20 with "
                        "kind=old"));
}

TEST(ContrastTest, WhatCannotBeContrastedIsNamed) {
  const ScoreTable table = TwoKinds();
  EXPECT_THAT(ContrastGroups(table, Coefficient::kKendall, "kin", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no approach has the tag")));
  EXPECT_THAT(ContrastGroups(table, Coefficient::kKendall, "kind=new,odd", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(new, old), got")));
}

}  // namespace
}  // namespace concur::analysis
