#include "analysis/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "analysis/matrix.h"
#include "analysis/score_table.h"
#include "tests/testing/status_matchers.h"

namespace concur::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ConcurrenceMatrix MatrixOf(const std::string& csv, bool with_intervals) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  MatrixOptions options;
  if (with_intervals) {
    options.bootstrap = BootstrapOptions();
    options.bootstrap->replicates = 200;
  }
  absl::StatusOr<ConcurrenceMatrix> matrix = ComputeMatrix(parsed->table, options);
  EXPECT_OK(matrix);
  return *std::move(matrix);
}

constexpr char kScores[] =
    "approach,A_1,B|2,\"C & D\"\nx,10,20,50\ny,20,10,50\nz,30,,50\nw,40,40,50\n";

TEST(MarkupTest, MarkdownShowsValuesHolesAndReasons) {
  EXPECT_EQ(MatrixMarkdown(MatrixOf(kScores, false)),
            "Kendall's tau-b over 4 approaches, 3 benchmarks\n\n"
            "| # | benchmark | A\\_1 | B\\|2 |\n"
            "| :--- | :--- | ---: | ---: |\n"
            "| 1 | A\\_1 |  |  |\n"
            "| 2 | B\\|2 | 0.33\\* |  |\n"
            "| 3 | C &amp; D | undef | undef\\* |\n"
            "\n\\* fewer approaches, because these scores are not there:\n"
            "\n  B\\|2: 1 of 4: z\n"
            "\nundef: all scores on the second benchmark are equal: 1–3 2–3\n"
            "\nC &amp; D: constant: 4 of 4 approaches with the same score\n");
}

TEST(MarkupTest, LatexIsATabularWithItsNotes) {
  const std::string latex = MatrixLatex(MatrixOf(kScores, false));
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{rlrr}\n\\toprule\n &  & 1 & 2 \\\\\n\\midrule\n"));
  EXPECT_THAT(latex, HasSubstr("2 & B|2 & 0.33* &  \\\\\n"));
  EXPECT_THAT(latex, HasSubstr("3 & C \\& D & undef & undef* \\\\\n\\bottomrule\n"));
  EXPECT_THAT(latex, HasSubstr("\\multicolumn{4}{l}{\\footnotesize * fewer approaches"));
  EXPECT_THAT(latex, HasSubstr("\\end{tabular}\n"));
}

TEST(MarkupTest, ScoreTablesShowEveryState) {
  absl::StatusOr<ScoreTable> table =
      ScoreTable::Create({{"a_b", {}}}, {{"V", {}}, {"F", {}}, {"M", {}}});
  ASSERT_OK(table);
  table->cell(0, 0) = {CellState::kValue, 12.3, 0.5, 3, 100, 0, 0, 0};
  table->cell(0, 1).state = CellState::kFailed;
  EXPECT_EQ(ScoresMarkdown(*table),
            "| approach | V | F | M |\n| :--- | ---: | ---: | ---: |\n"
            "| a\\_b | 12.30 ±0.50 | failed | — |\n"
            "\n2 of 3 cells have no score (—: missing).\n");
  EXPECT_THAT(ScoresLatex(*table), HasSubstr("a\\_b & 12.30 $\\pm$0.50 & failed & --- \\\\\n"));
}

TEST(MarkupTest, SvgHoldsEveryPairAndItsInterval) {
  const std::string svg = MatrixSvg(MatrixOf(kScores, true));
  EXPECT_THAT(svg, HasSubstr("<title>A_1 – B|2: 0.33 ["));
  EXPECT_THAT(svg, HasSubstr(">0.33*</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>A_1 – C &amp; D: undef, n = 4</title>"));
  EXPECT_THAT(svg, HasSubstr("<path d="));
  EXPECT_THAT(svg, HasSubstr("undef: all scores on the second benchmark are equal"));
  EXPECT_THAT(MatrixSvg(MatrixOf(kScores, false)), Not(HasSubstr("<path d=")));
}

TEST(MarkupTest, NamesCannotBreakOutOfTheirFormat) {
  const std::string name = "<script>\"x\"</script>\x1B[0m${}\\";
  EXPECT_EQ(EscapeXml(name), "&lt;script&gt;&quot;x&quot;&lt;/script&gt;\xEF\xBF\xBD[0m${}\\");
  EXPECT_EQ(EscapeLatex("50%_{a}\\b^~#&$"),
            "50\\%\\_\\{a\\}\\textbackslash{}b\\textasciicircum{}\\textasciitilde{}\\#\\&\\$");
  EXPECT_EQ(EscapeMarkdown("a|b*<i>"), "a\\|b\\*&lt;i>");
}

TEST(MarkupTest, EmptyMatricesAreWellFormed) {
  for (const char* csv : {"approach\n", "approach,A\n", "approach,A,B\n"}) {
    const ConcurrenceMatrix matrix = MatrixOf(csv, false);
    EXPECT_THAT(MatrixSvg(matrix), HasSubstr("</svg>"));
    EXPECT_THAT(MatrixLatex(matrix), HasSubstr("\\end{tabular}"));
    EXPECT_FALSE(MatrixMarkdown(matrix).empty());
  }
}

}  // namespace
}  // namespace concur::analysis
