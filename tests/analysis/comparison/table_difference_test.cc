// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/table_difference.h"

#include <string>

#include "report/comparison_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseTableDifference(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "test.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

TEST(TableDifferenceTest, NamesTheFlipAndTheCellThatDidIt) {
  const TableDifference difference =
      CompareTables(ParseTableDifference("a,x,y\nm,50,10\nn,40,20\no,30,30\n"),
                    ParseTableDifference("a,x,y\nm,35,10\nn,40,20\no,30,30\n"));
  ASSERT_THAT(difference.flips, SizeIs(1));
  const Flip& flip = difference.flips[0];
  EXPECT_EQ(flip.benchmark, "x");
  EXPECT_EQ(flip.first, "m");
  EXPECT_EQ(flip.second, "n");
  EXPECT_EQ(flip.first_after, 35);
  EXPECT_EQ(flip.cause, Flip::Cause::kFirst);
  EXPECT_EQ(difference.pairs, 6);
  EXPECT_EQ(difference.changed_cells, 1);
  EXPECT_EQ(difference.common_cells, 6);
}

TEST(TableDifferenceTest, WithoutSwapsASentenceStandsForTheTable) {
  const ScoreTable table = ParseTableDifference("a,x\nm,50\nn,40\n");
  const std::string text =
      WriteTable(DifferenceTable(CompareTables(table, table), "old", "new"), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("No two approaches changed order on any benchmark."));
  EXPECT_THAT(text, Not(HasSubstr("ahead before"))) << "a bare header";
}

TEST(TableDifferenceTest, CausesAreToldApart) {
  const auto cause = [](const char* before, const char* after) {
    const TableDifference difference =
        CompareTables(ParseTableDifference(before), ParseTableDifference(after));
    EXPECT_THAT(difference.flips, SizeIs(1));
    return difference.flips.at(0).cause;
  };
  EXPECT_EQ(cause("a,x\nm,50\nn,40\n", "a,x\nm,50\nn,60\n"), Flip::Cause::kSecond);
  EXPECT_EQ(cause("a,x\nm,50\nn,40\n", "a,x\nm,30\nn,60\n"), Flip::Cause::kEither);
  EXPECT_EQ(cause("a,x\nm,50\nn,40\n", "a,x\nm,44\nn,46\n"), Flip::Cause::kBothTogether);
  EXPECT_EQ(cause("a,x\nn,40\nm,50\n", "a,x\nn,60\nm,50\n"), Flip::Cause::kSecond);
}

TEST(TableDifferenceTest, TiesAreNoFlipsAndAreCounted) {
  const TableDifference difference = CompareTables(ParseTableDifference("a,x\nm,50\nn,40\n"),
                                                   ParseTableDifference("a,x\nm,50\nn,50\n"));
  EXPECT_THAT(difference.flips, IsEmpty());
  EXPECT_EQ(difference.ties, 1);
}

TEST(TableDifferenceTest, ListsWhatOnlyOneHas) {
  const TableDifference difference =
      CompareTables(ParseTableDifference("a,x,y\nm,1,2\ngone,3,4\nk,,9\n"),
                    ParseTableDifference("a,x,z\nm,1,2\nk,5,9\nnew,1,1\n"));
  EXPECT_THAT(
      DifferenceTable(difference, "a", "b").notes,
      ElementsAre("No two approaches changed order on any benchmark.",
                  "Only in the first table: approaches gone",
                  "Only in the second table: approaches new",
                  "Only in the first table: benchmarks y", "Only in the second table: benchmarks z",
                  "k on x: — before, 5.00 after"));
}

TEST(TableDifferenceTest, TableSaysHowMuchChanged) {
  const std::string text =
      WriteTable(DifferenceTable(CompareTables(ParseTableDifference("a,x\nm,50\nn,40\n"),
                                               ParseTableDifference("a,x\nm,35\nn,40\n")),
                                 "s1", "s2"),
                 TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("1 of 1 pairs of approaches changed order from s1 to s2; 1 of 2 "
                              "common scores changed"));
  EXPECT_THAT(CompareTables(ParseTableDifference("a,x\n"), ParseTableDifference("a,x\n")).flips,
              IsEmpty());
}

}  // namespace
}  // namespace concur::analysis
