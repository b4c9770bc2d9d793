// SPDX-License-Identifier: Apache-2.0
// The published tables of the four studies, recomputed by the commands that docs/studies.md names:
// each of its rows holds what the publication prints and what the command gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "base/file.h"
#include "tests/analysis/reference_scores.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/status_matchers.h"

namespace concur::cli {
namespace {

using PublishedJson = nlohmann::ordered_json;

// A file of the published tables; "" if it is not on this machine.
std::string TablePath(const std::string& name) { return analysis::ReferencePath("tables/" + name); }

// A CSV of them: rows by column name.
using Rows = std::vector<std::map<std::string, std::string>>;
Rows ReadRows(const std::string& name) {
  Rows rows;
  const absl::StatusOr<std::string> text = ReadFile(TablePath(name), 1 << 20);
  EXPECT_OK(text.status());
  const auto records = analysis::ParseCsv(text.value_or(""), name);
  EXPECT_OK(records.status());
  for (size_t i = 1; records.ok() && i < records->size(); ++i) {
    auto& row = rows.emplace_back();
    for (size_t c = 0; c < (*records)[i].fields.size(); ++c) {
      row[(*records)[0].fields[c]] = (*records)[i].fields[c];
    }
  }
  return rows;
}

double NumberOf(const std::string& text) {
  double value = NAN;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

// Whether a figure that is printed with so many decimals is `value`; half a digit either way.
bool Agrees(double value, double printed, int decimals) {
  return std::abs(value - printed) <= 0.5 * std::pow(10.0, -decimals) + 1e-9;
}

struct Comparison {
  std::string published;
  std::string ours;
};

// A row of the table in docs/studies.md.
struct PublishedRow {
  std::string table;
  std::vector<std::string> args;  // names that end in .csv are files of the tables
  std::string verdict;
  std::function<Comparison(const PublishedJson&)> compare;
};

std::string CommandText(const PublishedRow& row) {
  std::string text = "concur";
  for (const std::string& arg : row.args) {
    const bool quoted = arg.find_first_of(" ()*,'") != std::string::npos;
    absl::StrAppend(&text, " ", quoted ? absl::StrCat("'", arg, "'") : arg);
  }
  return text;
}

std::string Line(const PublishedRow& row, const Comparison& comparison) {
  return absl::StrCat("| ", row.table, " | `", CommandText(row), "` | ", comparison.published,
                      " | ", comparison.ours, " | ", row.verdict, " |");
}

// How many of the printed values of Kendall's tau the matrix has.
Comparison CompareTau(const PublishedJson& json, const std::string& table) {
  std::map<std::string, double> computed;
  for (const auto& pair : json["pairs"]) {
    const auto a = pair["a"].get<std::string>();
    const auto b = pair["b"].get<std::string>();
    computed[a + "|" + b] = computed[b + "|" + a] = pair["value"].get<double>();
  }
  int all = 0;
  int agreeing = 0;
  double farthest = 0;
  for (const auto& row : ReadRows("concurrence-published-correlations.csv")) {
    if (row.at("table") != table) {
      continue;
    }
    ++all;
    const double ours = computed.at(row.at("benchmark_a") + "|" + row.at("benchmark_b"));
    const double printed = NumberOf(row.at("value"));
    agreeing += Agrees(ours, printed, 2) ? 1 : 0;
    farthest = std::max(farthest, std::abs(ours - printed));
  }
  return {absl::StrCat(all, " values of τ"),
          absl::StrFormat("%d agree, farthest %.3f", agreeing, farthest)};
}

PublishedRow ConcurrenceRow(const std::string& table, const std::string& verdict) {
  return {
      absl::StrCat("Concurrence, ", table.substr(0, 7)),
      {"matrix", "--scores", "concurrence-em.csv", "--coefficient", "kendall", "--interval", "0"},
      verdict,
      [table](const PublishedJson& json) { return CompareTau(json, table); }};
}

// The published figure of a data set of the shift study.
std::string ShiftFigure(const std::string& where, const std::string& quantity,
                        const std::string& scale) {
  for (const auto& row : ReadRows("shift-published-figures.csv")) {
    if (row.at("where") == where && row.at("quantity") == quantity && row.at("scale") == scale) {
      return row.at("value");
    }
  }
  ADD_FAILURE() << where << " " << quantity;
  return "";
}

PublishedRow ShiftRow(const std::string& where, const std::string& file, const std::string& scale,
                      const std::vector<std::string>& more, const std::string& verdict) {
  PublishedRow row{absl::StrCat("Shift, ", where, ", ", scale),
                   {"shift", "--scores", file, "--key", "rank", "--from", "squad_v1.1_test", "--to",
                    "new_test", "--where", "group=squad", "--scale", scale},
                   verdict,
                   [where, scale](const PublishedJson& json) {
                     const auto& fit = json["fits"][0];
                     return Comparison{
                         absl::StrCat("slope ", ShiftFigure(where, "slope", scale), ", R² ",
                                      ShiftFigure(where, "r_squared", scale)),
                         absl::StrFormat("slope %.2f, R² %.2f", fit["slope"].get<double>(),
                                         fit["r_squared"].get<double>())};
                   }};
  row.args.insert(row.args.end(), more.begin(), more.end());
  return row;
}

// The macro averages of one column of the shared task's Table 3.
PublishedRow MacroRow(const std::string& column, const std::string& file,
                      const std::string& verdict) {
  return {absl::StrCat("MRQA, Table 3, ", column),
          {"rank", "--scores", file, "--group", "F1=*_f1", "--interval", "0"},
          verdict,
          [column](const PublishedJson& json) {
            std::vector<double> averages;
            for (const auto& row : json["rows"]) {
              averages.push_back(row["F1"].get<double>());
            }
            int all = 0;
            int found = 0;
            for (const auto& row : ReadRows("mrqa-table03-macro-f1.csv")) {
              ++all;
              const double printed = NumberOf(row.at(column));
              found += std::any_of(averages.begin(), averages.end(),
                                   [&](double average) { return Agrees(average, printed, 1); });
            }
            return Comparison{absl::StrCat(all, " averages"), absl::StrCat(found, " agree")};
          }};
}

double CrossScore(const PublishedJson& json, const std::string& model, const std::string& train,
                  const std::string& test) {
  for (const auto& row : json["rows"]) {
    if (row["approach"].get<std::string>() == model && row["train"].get<std::string>() == train) {
      return row[test].get<double>();
    }
  }
  ADD_FAILURE() << model << " " << train;
  return NAN;
}

// The figures of the text that follow from Table 6.
Comparison CompareBeat(const PublishedJson& json) {
  const auto score = [&](const std::string& model, const std::string& train,
                         const std::string& test) {
    return CrossScore(json, model, train, test + "_f1");
  };
  const std::string plain = "DSQuAD(10K)";
  const std::vector<double> ours = {
      score("BERT", "DBERT", "DBERT") - score("BERT", plain, "DBERT"),
      score("RoBERTa", "DRoBERTa", "DRoBERTa") - score("RoBERTa", plain, "DRoBERTa"),
      score("BERT", "DBiDAF", "DSQuAD") - score("BERT", plain, "DSQuAD"),
      score("RoBERTa", "DBiDAF", "DSQuAD") - score("RoBERTa", plain, "DSQuAD"),
      score("RoBERTa", "DBiDAF", "DRoBERTa"),
      score("RoBERTa", "DRoBERTa", "DRoBERTa")};
  std::vector<std::string> printed;
  std::vector<std::string> computed;
  for (const auto& row : ReadRows("beat-published-figures.csv")) {
    if (row.at("metric") == "f1" && row.at("model") != "BiDAF") {
      printed.push_back(row.at("value"));
    }
  }
  for (const double value : ours) {
    computed.push_back(absl::StrFormat("%.1f", value));
  }
  return {absl::StrJoin(printed, ", "), absl::StrJoin(computed, ", ")};
}

std::vector<PublishedRow> PublishedRows() {
  const std::vector<std::string> without = {"--exclude", "RQA+IDR", "--exclude",
                                            "Dynamic Chunk Reader"};
  return {
      ConcurrenceRow("Table 1", "reproduced"),
      ConcurrenceRow(
          "Table 4",
          "reproduced but CNN's three, which are one pair of 190 above the printed scores"),
      {"Concurrence, Table 5",
       {"shift", "--scores", "concurrence-table05-reproduction.csv", "--from", "published_em",
        "--to", "reproduced_em"},
       "no such figure is printed",
       [](const PublishedJson& json) {
         return Comparison{"—", absl::StrFormat("%d systems, reproduced %.1f lower on the mean",
                                                json["fits"][0]["n"].get<int>(),
                                                json["fits"][0]["mean_gap"].get<double>())};
       }},
      ShiftRow("Figure 12", "shift-table05-f1-wikipedia.csv", "linear", {}, "reproduced"),
      ShiftRow("Figure 12", "shift-table05-f1-wikipedia.csv", "probit", without,
               "reproduced without two systems; .84 with them: which were fitted is not stated"),
      {"Shift, § 4.2, mean gap",
       {"shift", "--scores", "shift-table05-f1-wikipedia.csv", "--key", "rank", "--from",
        "squad_v1.1_test", "--to", "new_test", "--where", "group=squad"},
       "reproduced",
       [](const PublishedJson& json) {
         return Comparison{ShiftFigure("Section 4.2", "mean_gap", ""),
                           absl::StrFormat("%.1f", json["fits"][0]["mean_gap"].get<double>())};
       }},
      ShiftRow("Figure 7", "shift-table13-f1-addsent.csv", "linear", without,
               "within .01 without two systems; 1.45 with them"),
      ShiftRow("Figure 8", "shift-table13-f1-addsent.csv", "probit", without,
               "reproduced without two systems; .97 with them"),
      ShiftRow("Figure 9", "shift-table14-f1-addonesent.csv", "linear", without,
               "within .01 without two systems; 1.43 with them"),
      MacroRow("split1_dev", "mrqa-leaderboard-split1-dev.csv", "reproduced"),
      MacroRow("split2_dev", "mrqa-leaderboard-split2-dev.csv",
               "HierAtt was averaged after rounding; 53.3 is another submission of "
               "BERT-Multi-Finetune than was tested"),
      MacroRow("split2_test", "mrqa-table06-split2-test.csv", "reproduced"),
      {"MRQA, § 6.1, best over baseline",
       {"rank", "--scores", "mrqa-table06-split2-test.csv", "--group", "F1=*_f1", "--baseline",
        "Ours: BERT-Large", "--interval", "0"},
       "reproduced",
       [](const PublishedJson& json) {
         return Comparison{ReadRows("mrqa-published-figures.csv").at(0).at("value"),
                           absl::StrFormat("%.1f", json["rows"][0]["gain"].get<double>())};
       }},
      {"Beat the AI, figures of § 4 and the abstract",
       {"cross", "--scores", "beat-table06-train-test.csv", "--train", "trained_on", "--deviation",
        "_mean,_sd", "--deviation-seeds", "10"},
       "reproduced",
       CompareBeat},
  };
}

class PublishedTablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TablePath("README.md").empty()) {
      GTEST_SKIP() << "the published tables are not on this machine (see CONCUR_SHARED_DIR)";
    }
  }
};

TEST_F(PublishedTablesTest, EveryRowOfTheDocumentationIsWhatItsCommandGives) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK_AND_ASSIGN(
      const std::string studies,
      ReadFile(absl::StrCat(source == nullptr ? "." : source, "/docs/studies.md"), 1 << 20));
  for (const PublishedRow& row : PublishedRows()) {
    std::vector<std::string> args = row.args;
    for (std::string& arg : args) {
      arg = absl::EndsWith(arg, ".csv") ? TablePath(arg) : arg;
    }
    args.insert(args.end(), {"-o", "json"});
    const Output output = RunConcur(args);
    ASSERT_EQ(output.code, 0) << row.table << ": " << output.err;
    const std::string line = Line(row, row.compare(PublishedJson::parse(output.out)));
    EXPECT_NE(studies.find(line + "\n"), std::string::npos) << "docs/studies.md lacks the line\n"
                                                            << line;
  }
}

TEST_F(PublishedTablesTest, TheBestTrainSetOfEachModelIsMarkedWithMeanAndDeviation) {
  const Output output = RunConcur({"cross", "--scores", TablePath("beat-table06-train-test.csv"),
                                   "--train", "trained_on", "--deviation", "_mean,_sd",
                                   "--deviation-seeds", "10", "--format", "markdown"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_NE(output.out.find("| BERT | DSQuAD(10K) | **69.40 ±0.50** | **82.70 ±0.40** |"),
            std::string::npos)
      << output.out;
  EXPECT_NE(output.out.find("| RoBERTa | DBiDAF | 64.80 ±0.70 |"), std::string::npos) << output.out;
}

}  // namespace
}  // namespace concur::cli
