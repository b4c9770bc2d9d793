// SPDX-License-Identifier: Apache-2.0
// The published tables of the four studies, recomputed by the commands that docs/studies.md names:
// each of its rows holds what the publication prints and what the command gives, and
// docs/published.csv every number of them.

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/score_table.h"
#include "base/file.h"
#include "report/table.h"
#include "tests/analysis/reference_scores.h"
#include "tests/cli/commands/published_rows.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using analysis::TextCell;

// Where the file of a command lies; "" if it is not on this machine.
std::string InputPath(const std::string& name) {
  std::string path = absl::EndsWith(name, ".csv") ? TablePath(name) : "";
  for (const char* folder : {"squad", "squadshifts"}) {
    if (path.empty()) {
      path = analysis::ReferencePath(absl::StrCat("../data/", folder, "/", name));
    }
  }
  return path;
}

bool IsFile(const std::string& arg) {
  return absl::EndsWith(arg, ".csv") || absl::EndsWith(arg, ".json");
}

// Input of the row that is not on this machine: a file of its command, or the printed tables,
// which are one folder; "" if all is there.
std::string AbsentFile(const PublishedRow& row) {
  if (TablePath("").empty()) {
    return "tables";
  }
  for (const std::string& arg : row.args) {
    if (IsFile(arg) && InputPath(arg).empty()) {
      return arg;
    }
  }
  return "";
}

std::string CommandText(const PublishedRow& row) {
  std::string text = "concur";
  for (const std::string& arg : row.args) {
    const bool quoted = arg.find_first_of(" ()*,'") != std::string::npos;
    absl::StrAppend(&text, " ", quoted ? absl::StrCat("'", arg, "'") : arg);
  }
  return text;
}

std::string LineOf(const PublishedRow& row, const Comparison& comparison) {
  return absl::StrCat("| ", row.table, " | `", CommandText(row), "` | ", comparison.published,
                      " | ", comparison.ours, " | ", row.verdict, " |\n");
}

std::string FigureLines(const PublishedRow& row, const Comparison& comparison) {
  std::string lines;
  for (const PublishedFigure& figure : comparison.figures) {
    lines += analysis::CsvLine({TextCell(row.table), TextCell(figure.unit),
                                TextCell(figure.quantity), TextCell(figure.published),
                                TextCell(absl::StrFormat("%.*f", figure.decimals + 2, figure.ours)),
                                TextCell(figure.Agrees() ? "yes" : "no")});
  }
  return lines;
}

class PublishedTablesTest : public ::testing::Test {
 protected:
  static std::string Document(const std::string& name) {
    return Source(absl::StrCat("docs/", name));
  }
  static std::string Source(const std::string& path) {
    const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    const absl::StatusOr<std::string> text =
        ReadFile(absl::StrCat(source == nullptr ? "." : source, "/", path), 1 << 20);
    EXPECT_OK(text.status());
    return text.value_or("");
  }
};

// References of `concur concurrence`: the printed scores, row by row; tests/yaml compares the
// names.
TEST_F(PublishedTablesTest, TheShippedReferencesAreThePrintedScores) {
  const std::string printed_path = TablePath("concurrence-em.csv");
  if (printed_path.empty()) {
    GTEST_SKIP() << "the printed tables are not on this machine (see CONCUR_SHARED_DIR)";
  }
  ASSERT_OK_AND_ASSIGN(const std::string printed_text, ReadFile(printed_path));
  ASSERT_OK_AND_ASSIGN(const analysis::ParsedScores printed_scores,
                       analysis::ParseScoresCsv(printed_text, printed_path));
  ASSERT_OK_AND_ASSIGN(const analysis::ParsedScores shipped_scores,
                       analysis::ParseScoresCsv(Source("configs/references/published.csv"), ""));
  const analysis::ScoreTable& printed = printed_scores.table;
  const analysis::ScoreTable& shipped = shipped_scores.table;
  ASSERT_EQ(analysis::NamesOf(shipped.benchmarks()), analysis::NamesOf(printed.benchmarks()));
  ASSERT_EQ(shipped.approaches().size(), printed.approaches().size());
  for (size_t a = 0; a < shipped.approaches().size(); ++a) {
    for (size_t b = 0; b < shipped.benchmarks().size(); ++b) {
      EXPECT_EQ(shipped.cell(a, b).state, printed.cell(a, b).state);
      EXPECT_EQ(shipped.cell(a, b).value, printed.cell(a, b).value)
          << shipped.approaches()[a].name << ", " << shipped.benchmarks()[b].name;
    }
  }
}

TEST_F(PublishedTablesTest, EveryRowOfTheDocumentationIsWhatItsCommandGives) {
  const std::string document = Document("studies.md");
  const std::string numbers = Document("published.csv");
  std::set<std::string> absent;
  std::string lines;
  std::string figures = "table,unit,quantity,published,ours,agrees\n";
  for (const PublishedRow& row : PublishedRows()) {
    if (const std::string file = AbsentFile(row); !file.empty()) {
      absent.insert(file);
      continue;
    }
    std::vector<std::string> args = row.args;
    for (std::string& arg : args) {
      arg = IsFile(arg) ? InputPath(arg) : arg;
    }
    args.insert(args.end(), {"-o", "json"});
    const Output output = RunConcur(args);
    ASSERT_EQ(output.code, 0) << row.table << ": " << output.err;
    const Comparison comparison = row.compare(PublishedJson::parse(output.out));
    const std::string line = LineOf(row, comparison);
    const std::string of_row = FigureLines(row, comparison);
    EXPECT_TRUE(absl::StrContains(document, line)) << line;
    EXPECT_TRUE(absl::StrContains(numbers, of_row)) << of_row;
    lines += line;
    figures += of_row;
  }
  if (!absent.empty()) {
    GTEST_SKIP() << "rows whose files are not on this machine (see CONCUR_SHARED_DIR): "
                 << absl::StrJoin(absent, ", ");
  }
  EXPECT_THAT(document, HasSubstr(lines));
  EXPECT_EQ(numbers, figures);
}

TEST_F(PublishedTablesTest, TheBestTrainSetOfEachModelIsMarkedWithMeanAndDeviation) {
  if (TablePath("beat-table06-train-test.csv").empty()) {
    GTEST_SKIP() << "beat-table06-train-test.csv is not on this machine (see CONCUR_SHARED_DIR)";
  }
  const Output output = RunConcur({"transfer", "--scores", TablePath("beat-table06-train-test.csv"),
                                   "--train", "trained_on", "--deviation", "_mean,_sd",
                                   "--deviation-seeds", "10", "--format", "markdown"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("| BERT | DSQuAD(10K) | **69.40 ±0.50** | **82.70 ±0.40** |"));
  EXPECT_THAT(output.out, HasSubstr("| RoBERTa | DBiDAF | 64.80 ±0.70 |"));
}

}  // namespace
}  // namespace concur::cli
