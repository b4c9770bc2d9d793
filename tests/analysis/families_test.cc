// SPDX-License-Identifier: Apache-2.0
#include "analysis/families.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "base/check.h"
#include "base/random.h"
#include "report/notes.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseFamilies(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "scores.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

// Why the table's approaches look like relatives; empty when they do not.
std::string RelativesOf(const ScoreTable& table) {
  const std::optional<Relatives> relatives = LikelyRelatives(table);
  return relatives.has_value() ? RelativesText(*relatives) : "";
}

constexpr char kThreeFamilies[] =
    "approach,family,A,B\n"
    "x1,a,1,1\nx2,a,2,3\nx3,a,1.5,2\ny1,b,4,6\ny2,b,5,5\n"
    "z1,c,9,8\nz2,c,8,9\nz3,c,8.5,7\nz4,c,9.5,10\n";

TEST(FamiliesTest, SizesAndIntraclassCorrelationMakeTheEffectiveNumber) {
  const ScoreTable table = ParseFamilies(kThreeFamilies);
  ASSERT_OK_AND_ASSIGN(const Families families, FamiliesOf(table, ""));
  EXPECT_EQ(families.tag, "family");
  EXPECT_THAT(families.members,
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4), ElementsAre(5, 6, 7, 8)));
  EXPECT_DOUBLE_EQ(families.effective, 81.0 / (9 + 4 + 16));
  // By anova(lm(A ~ family)) of R 4.2.2 and the estimate (MSB - MSW) / (MSB + (n0 - 1) MSW).
  ASSERT_OK_AND_ASSIGN(const ScoreTable first, table.SelectBenchmarks({"A"}));
  ASSERT_OK_AND_ASSIGN(const Families of_a, FamiliesOf(first, "family"));
  EXPECT_NEAR(of_a.intraclass, 0.976840855106888, 1e-12);
  EXPECT_NEAR(of_a.approaches, 9 / (1 + (29.0 / 9 - 1) * of_a.intraclass), 1e-12);
}

TEST(FamiliesTest, WithoutATagEveryApproachStandsAlone) {
  const ScoreTable table = ParseFamilies("approach,A\nx,1\ny,2\nz,3\n");
  ASSERT_OK_AND_ASSIGN(const Families families, FamiliesOf(table, ""));
  EXPECT_FALSE(families.declared());
  EXPECT_EQ(families.effective, 3);
  EXPECT_EQ(families.approaches, 3);
  ASSERT_OK_AND_ASSIGN(const Families none, FamiliesOf(ParseFamilies(kThreeFamilies), "none"));
  EXPECT_FALSE(none.declared());
  // Imports write Org as org, and --families Org knew no such tag.
  ASSERT_OK_AND_ASSIGN(const Families capital, FamiliesOf(ParseFamilies(kThreeFamilies), "FAMILY"));
  EXPECT_EQ(capital.tag, "family");
  EXPECT_THAT(FamiliesOf(ParseFamilies(kThreeFamilies), "famly"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("family")));
}

// 1 - 2 pnorm(-sqrt(u / (u - 1)) qt(.975, u - 1)) of R 4.2.2.
TEST(FamiliesTest, ExpandedLevelsAreHesterbergs) {
  EXPECT_NEAR(ExpandedLevel(0.95, 5), 0.998091798896235, 1e-12);
  EXPECT_NEAR(ExpandedLevel(0.95, 8), 0.98852495896594, 1e-12);
  EXPECT_NEAR(ExpandedLevel(0.95, 3.2), 0.999998086356851, 1e-12);
  EXPECT_NEAR(ExpandedLevel(0.95, 1e6), 0.95, 1e-5);
}

// Families of twins tell what one of each tells: the same draws give the same replicates, and r
// counts strangers as it counts families.
TEST(FamiliesTest, FamiliesOfTwinsAreDrawnLikeSingleApproaches) {
  std::string singles = "approach,A,B,C\n";
  std::string twins = "approach,family,A,B,C\n";
  Random random(5, "families_test");
  constexpr size_t kFamilies = 12;
  for (size_t i = 0; i < kFamilies; ++i) {
    const std::string scores = absl::StrCat(",", random.Below(1000), ",", random.Below(1000), ",",
                                            random.Below(1000), "\n");
    absl::StrAppend(&singles, "s", i, scores);
    absl::StrAppend(&twins, "s", i, ",f", i, scores);
    absl::StrAppend(&twins, "t", i, ",f", i, scores);
  }
  for (const BootstrapMethod method : {BootstrapMethod::kPercentile, BootstrapMethod::kBca}) {
    BootstrapOptions options;
    options.method = method;
    options.replicates = 500;
    ASSERT_OK_AND_ASSIGN(const auto of_twins,
                         BootstrapPairs(ParseFamilies(twins), Coefficient::kPearson, options));
    ASSERT_OK_AND_ASSIGN(const auto of_singles,
                         BootstrapPairs(ParseFamilies(singles), Coefficient::kPearson, options));
    for (size_t i = 0; i < of_twins.size(); ++i) {
      EXPECT_NEAR(of_twins[i].interval->low, of_singles[i].interval->low, 1e-12);
      EXPECT_NEAR(of_twins[i].interval->high, of_singles[i].interval->high, 1e-12);
    }
  }
}

TEST(FamiliesTest, TwoFamiliesHaveNoInterval) {
  MatrixOptions options;
  options.bootstrap = BootstrapOptions{.replicates = 100};
  ASSERT_OK_AND_ASSIGN(
      const ConcurrenceMatrix matrix,
      ComputeMatrix(ParseFamilies("approach,family,A,B\na,x,1,2\nb,x,2,1\nc,y,3,3\nd,y,4,5\n"),
                    options));
  EXPECT_FALSE(matrix.pairs[0].interval.has_value());
  EXPECT_THAT(matrix.pairs[0].warning, HasSubstr("fewer than 3 families"));
}

TEST(FamiliesTest, TheMatrixSaysHowManyUnrelatedApproachesTellAsMuch) {
  MatrixOptions options;
  options.bootstrap = BootstrapOptions{.replicates = 100};
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix,
                       ComputeMatrix(ParseFamilies(kThreeFamilies), options));
  const std::string text = WriteMatrix(matrix, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("9 approaches in 3 families tell about as much as"));
  EXPECT_THAT(text, HasSubstr("bootstrap over families"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson), HasSubstr("\"effective_approaches\""));
}

TEST(FamiliesTest, LikelyRelativesAreNamed) {
  EXPECT_THAT(RelativesOf(ParseFamilies(
                  "approach,A\nllama-7b,1\nLlama-2-13b,2\norg/llama-3,3\nqwen-7b,4\nqwen-14b,5\n"
                  "gemma,6\n")),
              HasSubstr("5 of 6 approaches have names that start like another one's (llama-7b, "
                        "Llama-2-13b"));
  EXPECT_THAT(RelativesOf(ParseFamilies("approach,organization,A\na,o,1\nb,o,2\nc,p,3\nd,p,4\n"
                                        "e,q,5\n")),
              HasSubstr("4 of 5 approaches share the tag organization"));
  EXPECT_THAT(
      RelativesOf(ParseFamilies(
          "approach,A\nbidaf,1\nbert,2\nrasor,3\nsliding-window,4\nsliding-dist,5\nqa,6\n")),
      IsEmpty())
      << "two of six";
  EXPECT_THAT(RelativesOf(ParseFamilies("approach,A\nmodel-1,1\nmodel-2,2\nmodel-3,3\n"
                                        "model-4,4\nother,5\n")),
              IsEmpty())
      << "a word that says nothing";
}

// "scores deviate almost as another one's do" was said in 60 of 60 tables of strangers.
TEST(FamiliesTest, StrangersOnTwoKindsOfBenchmarksAreNoRelatives) {
  Random random(6, "families_test");
  std::string csv = "approach,a1,a2,a3,a4,b1,b2,b3,b4";
  for (const char* name : {"ant", "bee", "cat", "dog", "eel", "fox"}) {
    const double ability = random.Normal();
    const double skill = random.Normal();
    absl::StrAppend(&csv, "\n", name);
    for (int b = 0; b < 8; ++b) {
      absl::StrAppend(&csv, ",", ability + (b < 4 ? skill : -skill) + 0.1 * random.Normal());
    }
  }
  EXPECT_THAT(RelativesOf(ParseFamilies(csv)), IsEmpty());
}

// Twenty families counted where a column knows four: intervals held the truth in 73 %.
TEST(FamiliesTest, APairCountsTheFamiliesThatBothItsColumnsKnow) {
  std::string all = "approach,family,A,B\n";
  std::string four = all;
  for (int i = 0; i < 40; ++i) {
    const int family = i / 2;
    const std::string row = absl::StrCat("a", i, ",f", family, ",", i * 7 % 41, ",");
    absl::StrAppend(&all, row, family < 4 ? absl::StrCat(i * 11 % 43) : "", "\n");
    absl::StrAppend(&four, family < 4 ? absl::StrCat(row, i * 11 % 43, "\n") : "");
  }
  const auto rule_of = [](const ScoreTable& table, size_t a, size_t b) {
    BootstrapOptions options;
    const absl::StatusOr<DrawUnits> draws = DrawUnitsOf(table, options);
    CONCUR_CHECK_OK(draws.status());
    return RuleOfPair(table, *draws, options, Coefficient::kKendall, a, b);
  };
  const IntervalRule with_gaps = rule_of(ParseFamilies(all), 0, 1);
  EXPECT_EQ(with_gaps.expanded_by, 4);
  EXPECT_EQ(with_gaps.method, BootstrapMethod::kPercentile);
  EXPECT_EQ(with_gaps.level, rule_of(ParseFamilies(four), 0, 1).level);
  MatrixOptions options;
  options.bootstrap = BootstrapOptions{.replicates = 200};
  ASSERT_OK_AND_ASSIGN(ConcurrenceMatrix matrix, ComputeMatrix(ParseFamilies(all), options));
  EXPECT_THAT(matrix.pairs[0].warning, Not(HasSubstr("too short")));
  const std::string three = all.substr(0, all.find("a6,"));
  ASSERT_OK_AND_ASSIGN(matrix, ComputeMatrix(ParseFamilies(three), options));
  EXPECT_THAT(matrix.pairs[0].warning, HasSubstr("fewer than 4 families"));
}

// p < .05 in 24 to 45 % of unrelated benchmarks whose approaches were relatives.
TEST(FamiliesTest, PValuesOfRelativesPermuteFamilies) {
  std::string csv = "approach,family,A,B\n";
  const int other[] = {1, 0, 3, 2};
  for (int i = 0; i < 40; ++i) {
    const int family = i / 10;
    absl::StrAppend(&csv, "a", i, ",f", family, ",", family, ",", other[family], "\n");
  }
  MatrixOptions tests;
  tests.p_values = true;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix declared, ComputeMatrix(ParseFamilies(csv), tests));
  EXPECT_THAT(WriteMatrix(declared, TableFormat::kJson), HasSubstr("\"p_value\":"));
  // 18 of the 24 orders of four families are as far from 0.
  EXPECT_NEAR(declared.pairs[0].correlation.p_value, 18 / 24.0, 0.06);
  MatrixOptions alone = tests;
  alone.families = kNoFamilies;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix strangers, ComputeMatrix(ParseFamilies(csv), alone));
  EXPECT_LT(strangers.pairs[0].correlation.p_value, 0.05);
  EXPECT_EQ(strangers.pairs[0].correlation.value, declared.pairs[0].correlation.value);
}

TEST(FamiliesTest, UndeclaredRelativesAreAWarningUntilTheyAreDeclared) {
  const ScoreTable table = ParseFamilies(
      "approach,A,B\nllama-7b,1,2\nllama-13b,2,1\nqwen-7b,3,4\nqwen-14b,4,3\ngemma,5,6\n");
  MatrixOptions options;
  options.bootstrap = BootstrapOptions{.replicates = 100};
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, options));
  const MatrixTextOptions whole = {.text = {.details = true}};
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText, whole), HasSubstr("--families TAG"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText), Not(HasSubstr("--families")));
  options.families = "none";
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix settled, ComputeMatrix(table, options));
  EXPECT_THAT(WriteMatrix(settled, TableFormat::kText, whole), Not(HasSubstr("--families")));
}

}  // namespace
}  // namespace concur::analysis
