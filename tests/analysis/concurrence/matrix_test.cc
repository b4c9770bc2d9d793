// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/matrix.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/text.h"
#include "report/writers.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ConcurrenceMatrix MatrixOfMatrix(const std::string& csv, const MatrixOptions& options = {}) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  absl::StatusOr<ConcurrenceMatrix> matrix = ComputeMatrix(parsed->table, options);
  EXPECT_OK(matrix);
  return *std::move(matrix);
}

TEST(MatrixTest, PairsAreTheUpperTriangleByRows) {
  const ConcurrenceMatrix matrix = MatrixOfMatrix("approach,A,B,C,D\nx,1,1,2,1\ny,2,2,1,3\n");
  ASSERT_EQ(matrix.pairs.size(), 6U);
  size_t at = 0;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = a + 1; b < 4; ++b, ++at) {
      EXPECT_EQ(&matrix.pair(a, b), &matrix.pairs[at]);
      EXPECT_EQ(matrix.pairs[at].a, a);
      EXPECT_EQ(matrix.pairs[at].b, b);
    }
  }
  EXPECT_EQ(matrix.pair(0, 1).correlation.value, 1);
  EXPECT_EQ(matrix.pair(0, 2).correlation.value, -1);
}

// A matrix of one approach warned that its intervals may be too short, and had none.
TEST(MatrixTest, WithoutAnIntervalNothingIsSaidOfIntervals) {
  MatrixOptions options;
  options.fisher_level = 0.95;
  EXPECT_THAT(WriteMatrix(MatrixOfMatrix("approach,A,B\nx,1,1\n", options), TableFormat::kText),
              Not(HasSubstr("intervals may be too short")));
}

TEST(MatrixTest, MissingCellsAreCountedAndNamedInEveryForm) {
  const std::string csv = "approach,A,B\nx,1,1\ny,2,\nz,3,2\nw,,3\n";
  const ConcurrenceMatrix matrix = MatrixOfMatrix(csv);
  EXPECT_EQ(matrix.pairs[0].correlation.n, 2);
  EXPECT_THAT(matrix.pairs[0].missing, ElementsAre(1, 3));
  EXPECT_EQ(WriteMatrix(matrix, TableFormat::kText),
            "Kendall's tau-b over 4 approaches, 2 benchmarks\n\n"
            "          A\n"
            "1  A\n"
            "2  B  1.00*\n"
            "\n* over fewer approaches: 2 of 8 scores are missing.\n");
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText, {.text = {.details = true}}),
              HasSubstr("\nMissing scores by benchmark:\n"
                        "  A: 1 of 4: w\n"
                        "  B: 1 of 4: y\n"));
  EXPECT_EQ(WriteMatrix(matrix, TableFormat::kCsv),
            "coefficient,a,b,n,value,low,high,noise_free,undefined,missing,warning\n"
            "kendall,A,B,2,1,,,,,y; w,\n");
  EXPECT_EQ(WriteMatrix(matrix, TableFormat::kJson),
            R"({"coefficient":"kendall","benchmarks":["A","B"],"approaches":["x","y","z","w"],)"
            R"("pairs":[{"a":"A","b":"B","n":2,"value":1.0,"low":null,"high":null,)"
            R"("missing":["y","w"]}]})"
            "\n");
  MatrixOptions tests;
  tests.p_values = true;
  EXPECT_THAT(WriteMatrix(MatrixOfMatrix(csv, tests), TableFormat::kCsv),
              HasSubstr(",warning,p_value,p_holm,p_bh\nkendall,A,B,2,1,,,,,y; w,,1,1,1\n"));
  MatrixOptions complete;
  complete.complete_cases = true;
  const ConcurrenceMatrix rest = MatrixOfMatrix(csv, complete);
  EXPECT_THAT(rest.approaches, ElementsAre("x", "z"));
  EXPECT_THAT(rest.left_out, ElementsAre("y", "w"));
  EXPECT_THAT(rest.pairs[0].missing, IsEmpty());
}

// 26 benchmarks were a list of 325 pairs, even at 200 columns.
TEST(MatrixTest, ManyBenchmarksAreAGridThatFitsTheTerminal) {
  Random random(7, "grid");
  std::string csv = "approach";
  for (int b = 0; b < 26; ++b) {
    absl::StrAppend(&csv, ",benchmark-number-", b);
  }
  for (int a = 0; a < 16; ++a) {
    absl::StrAppend(&csv, "\nsystem-", a);
    for (int b = 0; b < 26; ++b) {
      absl::StrAppend(&csv, ",", random.Below(1000));
    }
  }
  MatrixOptions with_intervals;
  with_intervals.fisher_level = 0.95;
  const ConcurrenceMatrix matrix = MatrixOfMatrix(csv + "\n", with_intervals);
  for (const size_t width : {80U, 120U, 200U}) {
    const std::string text = WriteMatrix(matrix, TableFormat::kText, {.text = {.width = width}});
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
    EXPECT_THAT(text, HasSubstr("\n 1  benchmark-number-0\n"));
    EXPECT_THAT(text, HasSubstr("26  benchmark-number-25"));
    EXPECT_THAT(text, HasSubstr("--intervals lists the intervals"));
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 100) << "no list of pairs";
  }
  const std::string listed =
      WriteMatrix(matrix, TableFormat::kText, {.text = {.width = 120}, .list_intervals = true});
  EXPECT_THAT(listed, HasSubstr("low   high\n"));
  EXPECT_GT(std::count(listed.begin(), listed.end(), '\n'), 325);
  EXPECT_EQ(WriteMatrix(matrix, TableFormat::kText),
            WriteMatrix(matrix, TableFormat::kText, {.text = {.width = 80}}))
      << "in a pipe, lines of 560 columns";
}

// 32 columns of scores were lines that the terminal broke anywhere.
TEST(ScoresTextTest, ManyBenchmarksComeInBlocksThatEachNameTheApproach) {
  std::string csv = "approach";
  std::string row = "\nlogistic-regression";
  for (int b = 0; b < 32; ++b) {
    absl::StrAppend(&csv, ",benchmark-", b);
    absl::StrAppend(&row, ",", b);
  }
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv + row + "\n", "s.csv");
  ASSERT_OK(parsed);
  for (const auto& [width, blocks_expected] :
       std::vector<std::pair<size_t, size_t>>{{80, 8}, {120, 5}, {200, 3}}) {
    const std::string text = WriteScores(parsed->table, TableFormat::kText, {.width = width});
    size_t blocks = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
      blocks += absl::StartsWith(line, "logistic-regression ") ? 1 : 0;
    }
    EXPECT_EQ(blocks, blocks_expected) << text;
    EXPECT_THAT(text, HasSubstr("31.00\n"));
  }
}

TEST(MatrixTest, UndefinedPairsSayWhyInEveryForm) {
  const ConcurrenceMatrix matrix = MatrixOfMatrix("approach,A,B\nx,1,7\ny,2,7\n");
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText),
              HasSubstr("undef: all scores on the second benchmark are equal.\n"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kCsv),
              HasSubstr("kendall,A,B,2,,,,,all scores on the second benchmark"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJsonLines), HasSubstr(R"("value":null)"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJsonLines),
              HasSubstr(R"("undefined":"all scores on the second)"));
}

TEST(MatrixTest, SmallTablesHaveClearResults) {
  const struct {
    const char* name;
    const char* csv;
    size_t pairs;
  } cases[] = {{"zero approaches", "approach,A,B\n", 1},
               {"one approach", "approach,A,B\nx,1,2\n", 1},
               {"one benchmark", "approach,A\nx,1\n", 0},
               {"no benchmark", "approach\nx\n", 0}};
  for (const auto& test : cases) {
    for (const char* coefficient :
         {"kendall", "pearson", "spearman", "weighted-kendall", "top-k", "rbo"}) {
      MatrixOptions options;
      options.coefficient = *ParseCoefficient(coefficient);
      const ConcurrenceMatrix matrix = MatrixOfMatrix(test.csv, options);
      ASSERT_EQ(matrix.pairs.size(), test.pairs) << test.name;
      for (const MatrixPair& pair : matrix.pairs) {
        EXPECT_EQ(pair.correlation.undefined, Undefined::kTooFew) << test.name;
      }
      EXPECT_FALSE(WriteMatrix(matrix, TableFormat::kText).empty()) << test.name;
      EXPECT_FALSE(WriteMatrix(matrix, TableFormat::kJson).empty()) << test.name;
    }
  }
}

TEST(MatrixTest, TenThousandBenchmarksAreRefusedWithARemedy) {
  std::string csv = "approach";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&csv, ",b", i);
  }
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed, ParseScoresCsv(csv, "s.csv"));
  EXPECT_THAT(ComputeMatrix(parsed.table, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--columns")));
}

TEST(MatrixTest, PairsAreBitForBitThoseOfTheDefinition) {
  Random random(5, "matrix_test");
  for (const size_t n : {2U, 3U, 20U, 64U, 65U, 300U}) {
    for (const bool holes : {false, true}) {
      std::vector<AxisEntry> rows;
      for (size_t i = 0; i < n; ++i) {
        rows.push_back({absl::StrCat("a", i), {}});
      }
      std::vector<AxisEntry> columns;
      for (int b = 0; b < 12; ++b) {
        columns.push_back({absl::StrCat("b", b), {}});
      }
      ASSERT_OK_AND_ASSIGN(ScoreTable table, ScoreTable::Create(rows, columns));
      for (size_t b = 0; b < columns.size(); ++b) {
        for (size_t i = 0; i < n; ++i) {
          const bool hole = holes && random.Chance(0.1);
          table.cell(i, b).state = hole ? CellState::kFailed : CellState::kValue;
          table.cell(i, b).value =
              b % 2 == 0 ? static_cast<double>(random.Below(b + 1)) * 0.7 : random.Uniform() * 100;
        }
      }
      for (const char* coefficient :
           {"kendall", "pearson", "spearman", "weighted-kendall", "top-k", "rbo"}) {
        MatrixOptions options;
        options.coefficient = *ParseCoefficient(coefficient);
        options.p_values = true;
        ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, options));
        for (const MatrixPair& pair : matrix.pairs) {
          std::vector<double> x;
          std::vector<double> y;
          for (size_t i = 0; i < n; ++i) {
            if (table.cell(i, pair.a).state == CellState::kValue &&
                table.cell(i, pair.b).state == CellState::kValue) {
              x.push_back(table.cell(i, pair.a).value);
              y.push_back(table.cell(i, pair.b).value);
            }
          }
          const Correlation expected = Correlate(options.coefficient, x, y);
          EXPECT_EQ(pair.correlation.n, expected.n);
          EXPECT_EQ(pair.correlation.value, expected.value) << coefficient << " n=" << n;
          EXPECT_EQ(pair.correlation.undefined, expected.undefined) << coefficient << " n=" << n;
          EXPECT_TRUE(pair.correlation.p_value == expected.p_value ||
                      (std::isnan(pair.correlation.p_value) && std::isnan(expected.p_value)));
          EXPECT_EQ(pair.missing.size(), n - x.size());
        }
      }
    }
  }
}

struct Published {
  const char* a;
  const char* b;
  double tau;
};

TEST(PublishedMatrixTest, KendallValuesOfTheConcurrenceStudy) {
  CONCUR_LOAD_REFERENCE(table, "concurrence-em.csv");
  const Published values[] = {
      {"SQuAD", "MRQA NewsQA", .87},
      {"SQuAD", "MRQA NaturalQuestions", .84},
      {"SQuAD", "MRQA DROP", .77},
      {"SQuAD", "MRQA HotpotQA", .92},
      {"SQuAD", "QAMR", .94},
      {"MRQA NewsQA", "MRQA NaturalQuestions", .82},
      {"MRQA NewsQA", "MRQA DROP", .83},
      {"MRQA NewsQA", "MRQA HotpotQA", .92},
      {"MRQA NewsQA", "QAMR", .87},
      {"MRQA NaturalQuestions", "MRQA DROP", .69},
      {"MRQA NaturalQuestions", "MRQA HotpotQA", .80},
      {"MRQA NaturalQuestions", "QAMR", .80},
      {"MRQA DROP", "MRQA HotpotQA", .79},
      {"MRQA DROP", "QAMR", .83},
      {"MRQA HotpotQA", "QAMR", .89},
      {"SQuAD", "CBT (CN)", .85},
      {"SQuAD", "CBT (NE)", .88},
      {"SQuAD", "LAMBADA", .85},
      {"SQuAD", "CNN (100K)", .82},
      {"SQuAD", "ReCoRD", .79},
      {"MRQA NewsQA", "CBT (CN)", .92},
      {"MRQA NewsQA", "CBT (NE)", .93},
      {"MRQA NewsQA", "LAMBADA", .87},
      {"MRQA NewsQA", "CNN (100K)", .76},
      {"MRQA NewsQA", "ReCoRD", .77},
      {"MRQA NaturalQuestions", "CBT (CN)", .78},
      {"MRQA NaturalQuestions", "CBT (NE)", .79},
      {"MRQA NaturalQuestions", "LAMBADA", .75},
      {"MRQA NaturalQuestions", "CNN (100K)", .79},
      {"MRQA NaturalQuestions", "ReCoRD", .88},
  };
  for (const Published& published : values) {
    ASSERT_OK_AND_ASSIGN(const ScoreTable two, table.SelectBenchmarks({published.a, published.b}));
    ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(two, {}));
    const double value = matrix.pairs[0].correlation.value;
    const std::string pair = absl::StrCat(published.a, " with ", published.b, ": ", value);
    EXPECT_EQ(matrix.pairs[0].correlation.n, 20) << pair;
    // The published scores are rounded, which moves CNN by up to .01.
    const bool cnn = std::string(published.b) == "CNN (100K)";
    const double rounded = std::round(value * 100) / 100;
    EXPECT_NEAR(rounded, published.tau, cnn ? 0.0101 : 1e-9) << pair;
  }
}

}  // namespace
}  // namespace concur::analysis
