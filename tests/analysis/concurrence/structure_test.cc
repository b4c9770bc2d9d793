// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/structure.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "report/writers.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseStructure(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

constexpr char kOneOutlier[] = "approach,A,B\na,1,1\nb,2,2\nc,3,3\nodd,4,90\nd,5,5\ne,6,6\nf,7,7\n";

TEST(StructureTest, TheApproachThatBreaksAgreementHasTheLargestInfluence) {
  const ScoreTable table = ParseStructure(kOneOutlier);
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman}) {
    const std::vector<std::vector<Influence>> influences = LeaveOneOut(table, coefficient, 2);
    ASSERT_EQ(influences.size(), 1U);
    ASSERT_EQ(influences[0].size(), 2U);
    EXPECT_EQ(influences[0][0].approach, 3U);
    EXPECT_NEAR(*influences[0][0].without, 1, 1e-12);
    EXPECT_LT(influences[0][0].change, 0);
  }
}

TEST(StructureTest, ApproachesThatAPairCannotDoWithoutComeFirst) {
  const ScoreTable table = ParseStructure("approach,A,B\na,1,1\nb,1,2\nc,2,3\nd,,4\n");
  const std::vector<std::vector<Influence>> influences =
      LeaveOneOut(table, Coefficient::kKendall, 9);
  ASSERT_EQ(influences[0].size(), 3U) << "d has no score on A";
  EXPECT_EQ(influences[0][0].approach, 2U);
  EXPECT_FALSE(influences[0][0].without.has_value());
}

TEST(StructureTest, SwapsAreTheDiscordantPairsClearestFirst) {
  const ScoreTable table = ParseStructure("approach,A,B\na,1,4\nb,2,3\nc,9,1\nd,9,0\n");
  const std::vector<Swap> swaps = FindSwaps(table, 0, 1);
  ASSERT_EQ(swaps.size(), 5U) << "c and d tie on A";
  EXPECT_EQ(swaps[0].first, 3U);
  EXPECT_EQ(swaps[0].second, 0U);
  EXPECT_EQ(swaps[0].margin_a, 8);
  EXPECT_EQ(swaps[0].margin_b, 4);
  EXPECT_EQ(swaps[4].first, 1U);
  EXPECT_EQ(swaps[4].second, 0U);
  EXPECT_THAT(FindSwaps(table, 0, 0), IsEmpty());
}

TEST(StructureTest, CrowdedBenchmarksAreFlagged) {
  const ScoreTable table = ParseStructure(
      "approach,ok,top,low,same\na,10,100,0,50\nb,20,99.5,0.9,50\nc,30,70,40,50\n"
      "d,99.9,60,50,50\n");
  std::vector<std::pair<size_t, std::string>> flags;
  for (const BenchmarkFlag& flag : FlagBenchmarks(table)) {
    flags.emplace_back(flag.benchmark, BenchmarkFlagName(flag.kind));
  }
  EXPECT_EQ(flags, (std::vector<std::pair<size_t, std::string>>{
                       {1, "ceiling"}, {2, "floor"}, {3, "constant"}}));
}

TEST(StructureTest, TextAndJsonShowWhatWasAskedFor) {
  MatrixOptions options;
  options.influences = 1;
  options.swaps = true;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix,
                       ComputeMatrix(ParseStructure(kOneOutlier), options));
  const std::string text = WriteMatrix(matrix, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("A  B  odd        0.71        1.00"));
  EXPECT_THAT(text, HasSubstr("A – B: 3 of 21 pairs of approaches swap places\n"));
  EXPECT_THAT(text, HasSubstr("  f ahead by 3.00, then odd by 83.00\n"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson),
              HasSubstr(R"("influences":[{"approach":"odd","without":1.0,)"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson),
              HasSubstr(R"("swaps":[{"first":"f","second":"odd")"));
}

TEST(PublishedStructureTest, DocumentReaderIsTheOutlierOnCnnAndBabiIsAtTheCeiling) {
  CONCUR_LOAD_REFERENCE(table, "concurrence-em.csv");
  ASSERT_OK_AND_ASSIGN(const ScoreTable two, table.SelectBenchmarks({"SQuAD", "CNN (100K)"}));
  const std::vector<std::vector<Influence>> influences = LeaveOneOut(two, Coefficient::kKendall, 2);
  EXPECT_EQ(two.approaches()[influences[0][1].approach].name, "DocumentReader");
  const std::vector<Swap> swaps = FindSwaps(two, 0, 1);
  ASSERT_EQ(swaps.size(), 18U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(two.approaches()[swaps[i].first].name, HasSubstr("DocumentReader"));
  }
  ASSERT_OK_AND_ASSIGN(const ScoreTable plain, two.Where({"pretrained=no"}));
  const std::vector<std::vector<Influence>> among_plain =
      LeaveOneOut(plain, Coefficient::kPearson, 1);
  EXPECT_EQ(plain.approaches()[among_plain[0][0].approach].name, "DocumentReader");
  std::vector<std::string> ceilings;
  for (const BenchmarkFlag& flag : FlagBenchmarks(table)) {
    if (flag.kind == BenchmarkFlag::Kind::kCeiling) {
      ceilings.push_back(table.benchmarks()[flag.benchmark].name);
    }
  }
  for (const char* name : {"bAbI 1", "bAbI 11", "bAbI 12", "bAbI 13"}) {
    EXPECT_THAT(ceilings, Contains(name));
  }
  EXPECT_THAT(ceilings, Not(Contains("SQuAD")));
}

}  // namespace
}  // namespace concur::analysis
