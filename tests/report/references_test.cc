// SPDX-License-Identifier: Apache-2.0
#include "analysis/references.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analysis/comparison/fit.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/score_table.h"
#include "report/figures/figures.h"
#include "report/ranking_tables.h"
#include "report/table.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseReferences(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed.status());
  return parsed.ok() ? parsed->table : ScoreTable();
}

constexpr char kWithPeople[] =
    "system,x,y\nHuman-0,99,95\nm,80,70\nn,70,65\no,60,50\nHuman-1,98,94\n";

TEST(ReferencesTest, PeopleAreListedWithoutARankAndMoveNobodysRank) {
  ScoreTable table = ParseReferences(kWithPeople);
  ASSERT_OK(AddReferences(std::vector<std::string>{"Human-*"}, table));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::nullopt));
  EXPECT_THAT(RankedApproaches(ranking), ElementsAre(1u, 2u, 3u));
  EXPECT_EQ(ranking.approaches[0].rank, 1);
  EXPECT_EQ(ranking.approaches[3].rank, 0);
  const Table ranks = GeneralizationTable(table, ranking);
  EXPECT_THAT(ranks.notes, Contains(kReferenceNote));
  EXPECT_THAT(WriteTable(ranks, TableFormat::kText), HasSubstr("Human-0 ‡"));
  EXPECT_THAT(WriteTable(ranks, TableFormat::kCsv), HasSubstr("\n,Human-0,97\n"));
}

TEST(ReferencesTest, PeopleAreNeitherFittedNorRankedByAShift) {
  ScoreTable table = ParseReferences(kWithPeople);
  const std::vector<std::string> to = {"y"};
  FitOptions options;
  options.exclude = {"Human-0", "Human-1"};
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> excluded, FitShift(table, "x", to, options));
  ASSERT_OK(AddReferences(std::vector<std::string>{"Human-*"}, table));
  ASSERT_OK_AND_ASSIGN(const std::vector<ShiftFit> fits, FitShift(table, "x", to, {}));
  EXPECT_EQ(fits[0].slope, excluded[0].slope);
  EXPECT_EQ(fits[0].n, 3);
  for (const FittedSystem& system : fits[0].systems) {
    EXPECT_EQ(system.rank == 0, system.is_reference) << system.name;
    EXPECT_EQ(system.fitted, !system.is_reference) << system.name;
    EXPECT_EQ(system.name == "m", system.rank == 1) << system.name;
    EXPECT_TRUE(system.residual.has_value()) << "how far beyond the line people are";
  }
  const std::string json = WriteShift(fits, TableFormat::kJson);
  EXPECT_THAT(json, HasSubstr("\"reference\":true"));
  EXPECT_THAT(json, HasSubstr("\"rank\":null"));
  const std::string text = WriteShift(fits, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("Human-0 ‡"));
  EXPECT_THAT(text, Not(HasSubstr("†")));
  const std::string svg = ShiftSvg(fits);
  EXPECT_THAT(svg, HasSubstr("Human-0: 99.00, 95.00 (reference)"));
  EXPECT_THAT(svg, HasSubstr("Diamonds and dotted lines: Human-0;"));
}

TEST(ReferencesTest, ScoresMayBeStatedOrBeTagsOfBenchmarks) {
  ScoreTable table = ParseReferences("system,x,\"y, z\"\nm,80,70\n");
  ASSERT_OK(AddReferences(std::vector<std::string>{"all=90.5", "some=\"y, z:91\",x:92", "one=x:93"},
                          table));
  ASSERT_EQ(table.approaches().size(), 4u);
  EXPECT_EQ(table.cell(1, 0).value, 90.5);
  EXPECT_EQ(table.cell(1, 1).value, 90.5);
  EXPECT_EQ(table.cell(2, 0).value, 92);
  EXPECT_EQ(table.cell(2, 1).value, 91);
  EXPECT_EQ(table.cell(3, 1).state, CellState::kMissing);
  EXPECT_FALSE(table.approaches()[0].is_reference);
  EXPECT_TRUE(table.approaches()[3].is_reference);

  ASSERT_OK_AND_ASSIGN(ScoreTable tagged,
                       ScoreTable::Create({{"m", {}}}, {{"x", {{"human", "91.2"}}}, {"y", {}}}));
  ASSERT_OK(AddReferences(std::vector<std::string>{"human"}, tagged));
  EXPECT_EQ(tagged.cell(1, 0).value, 91.2);
  EXPECT_EQ(tagged.cell(1, 1).state, CellState::kMissing);
}

TEST(ReferencesTest, ReferencesStandAtTheEndAndAreNotAmongTheApproachesThatLackScores) {
  ScoreTable table = ParseReferences("system,x,y\nHuman-0,99,95\nhole,80,\nm,80,70\n");
  ASSERT_OK(AddReferences(std::vector<std::string>{"Human-*", "human=x:81.6"}, table));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::nullopt));
  std::vector<std::string> order;
  for (const RankedApproach& one : ranking.approaches) {
    order.push_back(table.approaches()[one.approach].name);
  }
  EXPECT_THAT(order, ElementsAre("m", "hole", "Human-0", "human"));
  const std::string text = WriteTable(GeneralizationTable(table, ranking), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("(1 of 2 approaches)"));
  EXPECT_THAT(text, HasSubstr("  hole: y"));
  EXPECT_THAT(text, Not(HasSubstr("  human: y")));
}

TEST(ReferencesTest, ANameThatIsBothAnApproachAndATagIsRefused) {
  ASSERT_OK_AND_ASSIGN(ScoreTable table, ScoreTable::Create({{"human", {}}, {"m", {}}},
                                                            {{"x", {{"human", "91.2"}}}}));
  EXPECT_THAT(AddReferences(std::vector<std::string>{"human"}, table),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"human\" is both an approach and a tag of benchmarks")));
}

TEST(ReferencesTest, WhatCannotBeReadIsRefusedAndChangesNothing) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"Humen", "neither an approach nor a tag of benchmarks \"Humen\""},
      {"h=x:nan", "reference: x: expected a finite score, got \"nan\""},
      {"h=inf", "expected a finite score, got \"inf\""},
      {"h=z:1", "reference: unknown column \"z\""},
      {"h=many", "expected SCORE or BENCHMARK:SCORE, got \"many\""},
      {"m=1", "\"m\""},
  };
  for (const auto& test : cases) {
    ScoreTable table = ParseReferences(kWithPeople);
    EXPECT_THAT(AddReferences(std::vector<std::string>{"o", test.text}, table),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)))
        << test.text;
    EXPECT_EQ(table.approaches(), ParseReferences(kWithPeople).approaches()) << test.text;
  }
}

}  // namespace
}  // namespace concur::analysis
