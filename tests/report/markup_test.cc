// SPDX-License-Identifier: Apache-2.0
#include "report/markup.h"

#include <string>
#include <utility>

#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "report/figures/figures.h"
#include "report/notes.h"
#include "report/table.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

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

constexpr char kMarkupScores[] =
    "approach,A_1,B|2,\"C & D\"\nx,10,20,50\ny,20,10,50\nz,30,,50\nw,40,40,50\n";

TEST(MarkupTest, MarkdownShowsValuesHolesAndReasons) {
  EXPECT_EQ(WriteMatrix(MatrixOf(kMarkupScores, false), TableFormat::kMarkdown),
            "Kendall's tau-b over 4 approaches, 3 benchmarks\n\n"
            "| # | benchmark | A\\_1 | B\\|2 |\n"
            "| :--- | :--- | ---: | ---: |\n"
            "| 1 | A\\_1 |  |  |\n"
            "| 2 | B\\|2 | 0.33\\* |  |\n"
            "| 3 | C &amp; D | undef | undef\\* |\n"
            "\n\\* over fewer approaches: 1 of 12 scores are missing.\n"
            "\nConstant (the same score): C &amp; D (4 of 4).\n"
            "\nundef: all scores on the second benchmark are equal.\n");
  EXPECT_THAT(WriteMatrix(MatrixOf(kMarkupScores, false), TableFormat::kMarkdown,
                          {.text = {.details = true}}),
              HasSubstr("\nMissing scores by benchmark:\n"
                        "\n  B\\|2: 1 of 4: z\n"
                        "\nundef: all scores on the second benchmark are equal: 1–3 2–3\n"));
}

TEST(MarkupTest, LatexNotesWrap) {
  // Were one cell over all columns, as wide as the note.
  const std::string latex = WriteMatrix(MatrixOf(kMarkupScores, false), TableFormat::kLatex);
  EXPECT_THAT(latex, Not(HasSubstr("\\multicolumn")));
  EXPECT_THAT(latex, HasSubstr("\\end{tabular}\n\n{\\footnotesize\\raggedright Kendall's"));
  EXPECT_THAT(latex, HasSubstr("{\\footnotesize\\raggedright * over fewer approaches: 1 of 12 "
                               "scores are missing.\\par}\n"));
}

TEST(MarkupTest, LatexIsATabularWithItsNotes) {
  const std::string latex = WriteMatrix(MatrixOf(kMarkupScores, false), TableFormat::kLatex);
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{rlrr}\n\\toprule\n &  & 1 & 2 \\\\\n\\midrule\n"));
  EXPECT_THAT(latex, HasSubstr("2 & B|2 & 0.33* &  \\\\\n"));
  EXPECT_THAT(latex, HasSubstr("3 & C \\& D & undef & undef* \\\\\n\\bottomrule\n"));
  EXPECT_THAT(latex, HasSubstr("\\end{tabular}\n"));
}

TEST(MarkupTest, ScoreTablesShowEveryState) {
  absl::StatusOr<ScoreTable> table =
      ScoreTable::Create({{"a_b", {}}}, {{"V", {}}, {"F", {}}, {"M", {}}});
  ASSERT_OK(table);
  table->cell(0, 0) = {CellState::kValue, 12.3, 0.5, 3, 100, 0, 0, 0};
  table->cell(0, 1).state = CellState::kFailed;
  EXPECT_EQ(WriteScores(*table, TableFormat::kMarkdown),
            "| approach | V | F | M |\n| :--- | ---: | ---: | ---: |\n"
            "| a\\_b | 12.30 ±0.50 | failed | — |\n"
            "\n2 of 3 cells have no score: 1 failed, 1 missing (—).\n"
            "\n± the standard deviation over seeds.\n");
  EXPECT_THAT(WriteScores(*table, TableFormat::kLatex),
              HasSubstr("a\\_b & 12.30 $\\pm$0.50 & failed & --- \\\\\n"));
}

// Two approaches agree wholly or not at all: the strongest colours stood for no evidence.
TEST(MarkupTest, APairOfTwoApproachesHasNoColour) {
  const std::string svg = MatrixSvg(MatrixOf("approach,A,B\nx,1,2\ny,3,4\n", false));
  EXPECT_THAT(svg, HasSubstr("<title>A – B: 1.00, n = 2</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#e0e0e0\""));
}

TEST(MarkupTest, SvgHoldsEveryPairAndItsInterval) {
  const std::string svg = MatrixSvg(MatrixOf(kMarkupScores, true));
  EXPECT_THAT(svg, HasSubstr("<title>A_1 – B|2: 0.33 ["));
  EXPECT_THAT(svg, HasSubstr(">0.33*</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>A_1 – C &amp; D: undef, n = 4</title>"));
  EXPECT_THAT(svg, HasSubstr("font-size=\"10\">[")) << "the interval can be read";
  EXPECT_THAT(MatrixSvg(MatrixOf(kMarkupScores, false)), Not(HasSubstr(">[")));
}

TEST(MarkupTest, FiguresHaveAColourBarAndNoNumbersOfPairs) {
  const std::string svg = MatrixSvg(MatrixOf(kMarkupScores, true));
  for (const char* tick : {">-1</text>", ">-0.5</text>", ">0</text>", ">0.5</text>", ">1</text>"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
  EXPECT_THAT(svg, Not(HasSubstr("1–3"))) << "footnotes name what is not in the figure";
  EXPECT_THAT(svg, HasSubstr(">A_1</text>")) << "names have no numbers";
  EXPECT_THAT(svg, HasSubstr("* over fewer approaches: 1 of 12 scores are missing"));
  EXPECT_THAT(svg, HasSubstr("undef: all scores on the second benchmark are equal"));
}

TEST(MarkupTest, FiguresHaveTheTitleAndTheWidthThatAreAskedFor) {
  const std::string svg = MatrixSvg(MatrixOf(kMarkupScores, false), {"<Mine>", 960});
  EXPECT_THAT(svg, HasSubstr("font-weight=\"bold\">&lt;Mine&gt;</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("Kendall")));
  EXPECT_THAT(svg, HasSubstr("width=\"960\""));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 480 ")) << "drawn as before, shown larger";
}

TEST(MarkupTest, LongNamesInFiguresLoseTheirMiddle) {
  const std::string svg = MatrixSvg(MatrixOf(
      "approach,SyntheticBenchmarkOfTheYear-2019,SyntheticBenchmarkOfTheYear-2020\na,1,2\nb,2,1\n",
      false));
  EXPECT_THAT(svg, HasSubstr(">SyntheticBench…fTheYear-2019</text>"));
  EXPECT_THAT(svg, HasSubstr(">SyntheticBench…fTheYear-2020</text>"));
}

TEST(MarkupTest, IntervalsWithoutWidthCarryTheirWarningEverywhere) {
  // "1.00 [1.00, 1.00]" looked like certainty.
  const ConcurrenceMatrix matrix = MatrixOf("approach,x,y\na,1,2\nb,2,3\nc,3,4\nd,4,5\n", true);
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText), HasSubstr("1.00 [1.00, 1.00]†"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText), HasSubstr("\n† all replicates agree: "));
  EXPECT_THAT(MatrixDetails(matrix), Not(Contains(HasSubstr("all replicates agree"))))
      << "said twice";
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kCsv), HasSubstr(",warning\n"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kCsv), HasSubstr("all replicates agree"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson), HasSubstr("all replicates agree"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kMarkdown), HasSubstr("1.00 \\[1.00, 1.00]†"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kLatex), HasSubstr("1.00 [1.00, 1.00]†"));
  const std::string svg = MatrixSvg(matrix);
  EXPECT_THAT(svg, HasSubstr(">1.00†</text>"));
  EXPECT_THAT(svg, HasSubstr("† all replicates agree"));
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
    EXPECT_THAT(WriteMatrix(matrix, TableFormat::kLatex), HasSubstr("\\end{tabular}"));
    EXPECT_FALSE(WriteMatrix(matrix, TableFormat::kMarkdown).empty());
  }
}

}  // namespace
}  // namespace concur::analysis
