// SPDX-License-Identifier: Apache-2.0
// A table says the same however it is written.

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/metric_meaning.h"
#include "qa/results/imported.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/gzip.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

using ::testing::ElementsAreArray;

// Models × tasks, the scores in tenths; nothing: a gap.
struct RandomTable {
  std::vector<std::string> models;
  std::vector<std::string> tasks;
  std::vector<std::vector<std::optional<int>>> tenths;
};

RandomTable MakeTable(std::mt19937& random) {
  RandomTable table;
  const std::vector<std::string> models = {"org/Model-7B v2", "Ünïcode", "m_1", "GPT-x", "a, b",
                                           "model B",         "m (70b)"};
  table.tasks = {"Alpha", "Beta set", "Gamma-2", "Error rate (%)"};
  table.models.assign(models.begin(), models.begin() + 4 + static_cast<long>(random() % 4));
  for (size_t m = 0; m < table.models.size(); ++m) {
    std::vector<std::optional<int>>& row = table.tenths.emplace_back();
    for (size_t t = 0; t < table.tasks.size(); ++t) {
      const int tenths = static_cast<int>(random() % 900) + 100;
      // No gap in the first row and column, so that each model and task has a score.
      row.push_back(m > 0 && t > 0 && random() % 6 == 0 ? std::nullopt : std::optional(tenths));
      if (t == 1 && random() % 3 == 0) {
        row.back() = -tenths;
      }
    }
  }
  return table;
}

using Cells = std::vector<std::vector<std::string>>;

std::string Number(int tenths) {
  return absl::StrCat(tenths < 0 ? "-" : "", std::abs(tenths) / 10, ".", std::abs(tenths) % 10);
}

// Header and rows; a score is written by `text`, a gap is `gap`.
Cells CellsOf(const RandomTable& table, const std::string& gap,
              const std::function<std::string(int tenths)>& text) {
  Cells cells = {{"Model"}};
  cells[0].insert(cells[0].end(), table.tasks.begin(), table.tasks.end());
  for (size_t m = 0; m < table.models.size(); ++m) {
    std::vector<std::string>& row = cells.emplace_back();
    row.push_back(table.models[m]);
    for (const std::optional<int>& tenths : table.tenths[m]) {
      row.push_back(tenths ? text(*tenths) : gap);
    }
  }
  return cells;
}

std::string Quoted(const std::string& cell) {
  return absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
}

std::string Written(const Cells& cells, const std::string& separator, const std::string& line_end,
                    bool quotes = true) {
  std::string text;
  for (const std::vector<std::string>& row : cells) {
    std::vector<std::string> fields;
    for (const std::string& cell : row) {
      fields.push_back(quotes ? Quoted(cell) : cell);
    }
    absl::StrAppend(&text, absl::StrJoin(fields, separator), line_end);
  }
  return text;
}

std::string AsMarkdown(const Cells& cells) {
  std::string text;
  for (size_t r = 0; r < cells.size(); ++r) {
    absl::StrAppend(&text, "| ", absl::StrJoin(cells[r], " | "), " |\n");
    if (r == 0) {
      for (size_t c = 0; c < cells[0].size(); ++c) {
        absl::StrAppend(&text, c == 0 ? "|:--" : "|--:");
      }
      absl::StrAppend(&text, "|\n");
    }
  }
  return text;
}

Cells Turned(const Cells& cells) {
  Cells turned(cells[0].size());
  for (const std::vector<std::string>& row : cells) {
    for (size_t c = 0; c < row.size(); ++c) {
      turned[c].push_back(row[c]);
    }
  }
  turned[0][0] = "Task";
  return turned;
}

std::string AsLong(const Cells& cells) {
  std::string text = "model,task,score\n";
  for (size_t r = 1; r < cells.size(); ++r) {
    for (size_t c = 1; c < cells[r].size(); ++c) {
      absl::StrAppend(&text, Quoted(cells[r][0]), ",", Quoted(cells[0][c]), ",", cells[r][c], "\n");
    }
  }
  return text;
}

std::string AsLatex(const Cells& cells) {
  std::string text = "\\begin{tabular}{lcccc}\n\\toprule\n";
  for (const std::vector<std::string>& row : cells) {
    absl::StrAppend(
        &text,
        absl::StrReplaceAll(absl::StrJoin(row, " & "), {{"_{", "_{"}, {"_", "\\_"}, {"%", "\\%"}}),
        " \\\\\n");
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

// The last words of the tasks' names in a line of their own.
std::string InTwoLines(Cells cells) {
  cells.insert(cells.begin() + 1, std::vector<std::string>(cells[0].size()));
  for (size_t c = 1; c < cells[0].size(); ++c) {
    const size_t blank = cells[0][c].rfind(' ');
    if (blank != std::string::npos) {
      cells[1][c] = cells[0][c].substr(blank + 1);
      cells[0][c].resize(blank);
    }
  }
  return Written(cells, ",", "\n");
}

std::vector<std::pair<std::string, std::string>> Spellings(const RandomTable& table) {
  const auto with = [&](const std::string& behind) {
    return CellsOf(table, "", [=](int tenths) { return Number(tenths) + behind; });
  };
  const Cells plain = with("");
  const Cells commas = CellsOf(table, "—", [](int tenths) {
    return absl::StrReplaceAll(Number(tenths), {{".", ","}});
  });
  Cells links = plain;
  for (size_t m = 1; m < links.size(); ++m) {
    links[m][0] =
        absl::StrCat("<a href=\"http://x\">", links[m][0], "</a> <a href=\"y\">paper</a>");
  }
  Cells typeset = CellsOf(table, "n/a", [](int tenths) {
    return absl::StrCat("\u00a0", absl::StrReplaceAll(Number(tenths), {{"-", "\u2212"}}), "\u2009");
  });
  typeset[0][2] = "Beta\n set";
  return {
      {"comma", Written(plain, ",", "\n")},
      {"BOM, CRLF", "\ufeff" + Written(plain, ",", "\r\n")},
      {"CR", Written(plain, ",", "\r")},
      {"tab", Written(plain, "\t", "\n", /*quotes=*/false)},
      {"semicolon, decimal comma", Written(commas, ";", "\n")},
      {"stated separator", "sep=;\r\n" + Written(commas, ";", "\r\n")},
      {"typeset", Written(typeset, ",", "\n")},
      {"title and comments", "Results of May\n\n# exported\n" + Written(plain, ",", "\n")},
      {"± margin", Written(with(" ± 0.3"), ",", "\n")},
      {"margin", Written(with(" (0.3)"), ",", "\n")},
      {"footnotes", Written(with("†"), ",", "\n")},
      {"Markdown", AsMarkdown(with(""))},
      {"bold Markdown",
       AsMarkdown(CellsOf(table, "-", [](int t) { return absl::StrCat("**", Number(t), "**"); }))},
      {"tasks in rows", Written(Turned(plain), ",", "\n")},
      {"long", AsLong(plain)},
      {"links", Written(links, ",", "\n")},
      {"middle dot", Written(CellsOf(table, "",
                                     [](int tenths) {
                                       return absl::StrReplaceAll(Number(tenths), {{".", "·"}});
                                     }),
                             ",", "\n")},
      {"LaTeX", AsLatex(CellsOf(
                    table, "--",
                    [](int tenths) { return absl::StrCat("$", Number(tenths), "_{\\pm 0.3}$"); }))},
      {"header of two lines", InTwoLines(plain)},
      {"gzip", concur::testing::Gzip(Written(plain, ",", "\n"))},
  };
}

class SameTableTest : public ImportFixture {};

TEST_F(SameTableTest, ARandomTableIsReadAlikeInEverySpelling) {
  constexpr unsigned kSeed = 20261129;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 20; ++round) {
    const RandomTable table = MakeTable(random);
    for (const auto& [spelling, text] : Spellings(table)) {
      const std::string file = spelling == "gzip" ? "t.csv.gz" : "t.csv";
      const auto results = ImportAs("leaderboard", {Write(file, text)});
      ASSERT_TRUE(results.ok()) << spelling << ": " << results.status() << "\n" << text;
      EXPECT_THAT(Names(results->models), ElementsAreArray(table.models)) << spelling << "\n"
                                                                          << text;
      ASSERT_THAT(Names(results->tasks), ElementsAreArray(table.tasks)) << spelling << "\n" << text;
      EXPECT_EQ(results->seeds, 1U) << spelling;
      size_t scores = 0;
      for (size_t t = 0; t < table.tasks.size(); ++t) {
        EXPECT_EQ(results->tasks[t].meaning.goal, t == 3 ? Goal::kMinimize : Goal::kMaximize)
            << spelling;
        for (size_t m = 0; m < table.models.size(); ++m) {
          const std::optional<int> tenths = table.tenths[m][t];
          scores += tenths ? 1 : 0;
          EXPECT_EQ(Score(*results, table.models[m], table.tasks[t]),
                    tenths ? std::optional(*tenths / 10.0) : std::nullopt)
              << spelling << ": " << table.models[m] << ", " << table.tasks[t] << "\n"
              << text;
        }
      }
      EXPECT_EQ(results->cells.size(), scores) << spelling;
    }
  }
}

}  // namespace
}  // namespace concur::imports
