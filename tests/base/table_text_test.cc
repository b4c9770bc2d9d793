// SPDX-License-Identifier: Apache-2.0
#include "base/table/table_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows ReadRows(absl::string_view text, absl::string_view file = "t.csv") {
  Rows rows;
  const absl::StatusOr<TableText> table = ReadTableText(text, file);
  EXPECT_OK(table) << text;
  for (const CsvRecord& record : table.ok() ? table->records : std::vector<CsvRecord>()) {
    rows.push_back(record.fields);
  }
  return rows;
}

TEST(TableTextTest, ATableIsTheSameHoweverItIsWritten) {
  const Rows expected = {{"Model", "A", "B"}, {"m1", "1.5", "2"}, {"m2", "2", "1"}};
  for (const char* text :
       {"Model,A,B\nm1,1.5,2\nm2,2,1\n",
        "Model,A,B\r\nm1,1.5,2\r\nm2,2,1",
        "Model,A,B\rm1,1.5,2\rm2,2,1\r",
        "\xEF\xBB\xBFModel;A;B\nm1;1.5;2\nm2;2;1\n",
        "sep=;\r\nModel;A;B\r\nm1;1.5;2\r\nm2;2;1\r\n",
        "\"sep=,\"\nModel,A,B\nm1,1.5,2\nm2,2,1\n",
        "Model\tA\tB\nm1\t1.5\t2\nm2\t2\t1\n",
        "# mine, of \"May\"\nModel,A,B\nm1,1.5,2\nm2,2,1\n",
        "; mine\n; of May, 24\nModel,A,B\nm1,1.5,2\n; see (3)\nm2,2,1\n// end\n",
        "% mine\nModel;A;B\nm1;1.5;2\n// x; y\nm2;2;1\n",
        "#,,\nModel,A,B\nm1,1.5,2\n# see (3)\n,,\nm2,2,1\n",
        "Results\n\nModel,A,B\nm1,1.5,2\nm2,2,1\n",
        "Results,,\nModel,A,B\nm1,1.5,2\nm2,2,1\n",
        "Results, May\nModel,A,B\nm1,1.5,2\nm2,2,1\n",
        "Model, \"A\", \"B\"\nm1, \"1.5\" ,2\nm2,2,1\n",
        "# Model,A,B\nm1,1.5,2\nm2,2,1\n",
        "| Model | A | B |\n|:--|--:|--:|\n| m1 | **1.5** | 2 |\n| m2 | 2 | 1 |\n",
        "Our results:\n\nModel | A | B\n--- | --- | ---\n`m1` | __1.5__ | 2\n[m2](u) | 2 | 1\n",
        "+---+---+\n| Model | A | B |\n+===+===+\n| m1 | 1.5 | 2 |\n+---+\n| m2 | 2 | 1 |\n+---+\n",
        "\u00a0Model ,\"\u2009A\n\",B\u200b\nm1,1.5,2\nm2,2,1\n",
        "<b>Model</b>,A<br>,<u>B</u>\n\"m1\r\n\",1.5,2\nm2,2,1\n",
        "Model  A    B\nm1     1.5  2\nm2     2    1\n",
        "\n  Our results, May:\n  =====  ===  =\r\n  Model  A    B  \r\n  =====  ===  =\r\n"
        "  m1     1.5  2\r\n  m2     2    1\r\n  Note. See (3)\r\n",
        "sep=&\nModel&A&B\nm1&1.5&2\nm2&2&1\n",
        "; mine\n; of May\nModel;A;B\nm1;1.5;2\nm2;2;1\n",
        "*Model*,_A_,~~B~~\n\\textbf{m1},$1.5$,\\textcolor{red}{2}\nm2,2,1\n",
        "\\begin{table}\n\\begin{tabular}{lcc}\n\\toprule\n\\textbf{Model} & A & B\\cite{b} "
        "\\\\ \\cmidrule(lr){2-3}\n m1 & $1.5$ & {\\bf 2} \\\\[2pt] % best\n"
        "\\rowcolor{gray!20} m2 &\n2 & 1\\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n",
        "\\begin{tabular*}{\\textwidth}{l@{}cc}\n\\multirow{2}{*}{Model} & "
        "\\begin{tabular}[c]{@{}c@{}}A\\\\ \\end{tabular} & \\makecell{B}\\\\\nm1&1.5&2\\\\m2&2&1"
        "\\end{tabular*}"}) {
    EXPECT_EQ(ReadRows(text), expected) << text;
  }
}

TEST(TableTextTest, NamesKeepOneBlankForEveryKindOfSpace) {
  // Names with line breaks were refused after 416 scores had been read.
  EXPECT_EQ(CleanText(" A\r\n(5-shot) "), "A (5-shot)");
  EXPECT_EQ(CleanText("a\u00a0\u2009b\u202fc\x1b\u2028d"), "a b c d");
  EXPECT_EQ(CleanText("A<br/>B \u00fc"), "A B \u00fc");
  EXPECT_EQ(CleanText("'=sum"), "=sum");
  for (const char* name : {"****x****", "**'=`x`**", "[[a](b)](c)", "**", "` `", "'", "[a](b) c"}) {
    EXPECT_EQ(CleanText(CleanText(name)), CleanText(name)) << name;
  }
}

TEST(TableTextTest, QuotesBetweenTabsStandForThemselvesUnlessTheyEncloseAField) {
  EXPECT_EQ(ReadRows("M\t\"A\n(5-shot)\"\tB\n\"a\" b\t1\t\"\nc\t2\t\"\"\n", "t.tsv"),
            (Rows{{"M", "A (5-shot)", "B"}, {"\"a\" b", "1", "\""}, {"c", "2", ""}}));
}

TEST(TableTextTest, AHeaderWithoutItsFirstNameIsNoComment) {
  EXPECT_EQ(ReadRows(";A;B\nm1;1.5;2\nm2;2;1\n"),
            (Rows{{"", "A", "B"}, {"m1", "1.5", "2"}, {"m2", "2", "1"}}));
}

TEST(TableTextTest, BlanksAlignColumns) {
  // As pandas and OpenCompass print tables: "expected 2 columns, got 1".
  EXPECT_EQ(
      ReadRows("          A (x)      B\nmodel 1    1,5  2,000\nmodel 2      2      1\n", "t.txt"),
      (Rows{{"", "A (x)", "B"}, {"model 1", "1,5", "2,000"}, {"model 2", "2", "1"}}));
  // Commas that as many rows have separate, and pipes.
  EXPECT_EQ(ReadRows("One.  Two\nOne.  Two\nOne.  Two\n\n|M|A|\n|-|-|\n|m1|1|\n"),
            (Rows{{"M", "A"}, {"m1", "1"}}));
  EXPECT_EQ(ReadRows("M,  A,  B\nm1,  1,  2\n"), (Rows{{"M", "A", "B"}, {"m1", "1", "2"}}));
}

TEST(TableTextTest, LinesOfAHeaderAreJoined) {
  // The second line was a row, and columns without a name in the first one were lost.
  for (const char* text :
       {",R,,M\nModel,A,B,C\nm1,1,2,3\n", "Model,R,R,M\n,A,B,C\nm1,1,2,3\n",
        ",R,R,M\n,A,B,C\nModel,,,\nm1,1,2,3\n", "| |R| |M|\n|-|-|-|-|\n|Model|A|B|C|\n|m1|1|2|3|\n",
        "\\begin{tabular}{lccc}&\\multicolumn{2}{c}{R}&M\\\\Model&A&B&C\\\\m1&1&2&3\\\\\\end{"
        "tabular}"}) {
    EXPECT_EQ(ReadRows(text), (Rows{{"Model", "R A", "R B", "M C"}, {"m1", "1", "2", "3"}}))
        << text;
  }
  for (const char* text : {"Model,A,\nm1,x,y\nm2,1,z\n", "Model,,A\nm1,chat,-\nm2,base,50\n",
                           "Model,A,B,\nm1,OOM,OOM,\nm2,1,2,\n", ",A,B\nm1,-,x\nm2,1,2\n",
                           "model,task,score\n,mmlu,OOM\nm2,mmlu,2\n"}) {
    EXPECT_EQ(ReadRows(text).size(), 3u) << text;
  }
}

TEST(TableTextTest, LinesThatAreLeftOutAreCountedWithTheFirst) {
  ASSERT_OK_AND_ASSIGN(const TableText table,
                       ReadTableText("# a\nTitle\nM,A\nx,1\n#b\n# c\ny,2\n", "t.csv"));
  ASSERT_EQ(table.left_out.size(), 2u);
  EXPECT_EQ(table.left_out[0].reason, "a comment");
  EXPECT_EQ(table.left_out[0].line, 1);
  EXPECT_EQ(table.left_out[0].count, 3);
  EXPECT_EQ(table.left_out[1].line, 2);
  EXPECT_EQ(table.records[1].line, 4);
  // Two files of one board in one.
  ASSERT_OK_AND_ASSIGN(const TableText twice, ReadTableText("M,A\nx,1\nM,A\ny,2\n", "t.csv"));
  EXPECT_EQ(twice.records.size(), 3u);
  ASSERT_EQ(twice.left_out.size(), 1u);
  EXPECT_EQ(twice.left_out[0].reason, "the header again");
}

TEST(TableTextTest, WhatCannotBeReadIsRefusedWithItsLineAndARemedy) {
  EXPECT_THAT(ReadTableText("M,A\nx\xff,1\n", "t.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.csv:2"), HasSubstr("save the file as UTF-8"))));
  // Its C was averaged with A, as repetitions of the models.
  EXPECT_THAT(
      ReadTableText("M,A\nx,1\n\nM,C\nx,2\n", "t.csv"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.csv:4: expected one table")));
  EXPECT_THAT(ReadTableText("M   A  B\nm1  1  2\nm2     1\nm3  1  2\n", "t.txt"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.txt:3: expected 3 fields with two blanks between them"),
                             HasSubstr("write \"-\" into gaps"))));
  EXPECT_THAT(ReadTableText("<table>\n<tr><td>M</td></tr>\n</table>\n", "t.html"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("got HTML"), HasSubstr("save that as CSV"))));
  EXPECT_THAT(
      ReadTableText("|M|A|\n|-|-|\n|x|1|\n\n|M|B|\n|-|-|\n", "t.md"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.md:6: expected one table")));
  EXPECT_THAT(
      ReadTableText("\n\\begin{tabular}{l}a&b\\\\\n", "t.tex"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.tex:3: expected \\end{tabular}")));
  const std::string table = "\\begin{tabular}{l}a&b\\\\\\end{tabular}\n";
  EXPECT_THAT(
      ReadTableText(table + table, "t.tex"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.tex:1: expected one table")));
  EXPECT_THAT(ReadTableText(table, "t.tex", 5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 5 fields")));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) {
    nested += "\\a{";
  }
  EXPECT_EQ(CleanText(nested), "") << "in linear time";
  EXPECT_THAT(ReadTableText("a,b\nc,d\n", "t.csv", 3),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected at most 3 fields")));
}

TEST(ParseCellTest, UnitsMarginsMarksAndSignsAreRead) {
  for (const char* text : {"71.2",
                           "71.2%",
                           "71.2 ± 0.4",
                           "71.2 (0.3)",
                           "71.2 (±0.3)",
                           "71.2 [70.1, 72.3]",
                           "~71.2",
                           "≈ 71.2",
                           "71.2 (70.1-72.3)",
                           "71.2 (70.1–72.3)",
                           "71.2% [70.1% — 72.3%]",
                           "71.2 (-0.1 to 72.3)",
                           "71.2 (−0.1-−0.2)",
                           "71.2±0.3%",
                           "71.2+/-0.3",
                           "71.2*",
                           "**71.2",
                           "71.2†‡",
                           "71.2 ¹",
                           "71.2^a",
                           "71.2 ↑1.3",
                           "+71.2",
                           "71,2",
                           "7.12e1",
                           "71.2 (−0.3)",
                           "71.2％",
                           "_71.2_",
                           "$71.2 \\pm 0.3$",
                           "71.2 $\\pm$ 0.3",
                           "$71.2_{\\pm 0.3}$",
                           "\\textbf{71.2}",
                           "71.2\\%",
                           "71.2\\std{0.3}",
                           "71.2$^{*}$",
                           "$\\mathbf{71.2}$",
                           "\\textcolor{red}{71.2}",
                           "71·2",
                           "71.2 ± 0.3 (n=5)",
                           "71.2 (N = 3)",
                           "71.2 -/+ 0.3",
                           "71.2 pts",
                           "71.2 points",
                           "71.2 percent",
                           "~~71.2~~",
                           "71.2<sub>±0.3</sub>",
                           "71.2<sup>1</sup>"}) {
    EXPECT_EQ(ParseCell(CleanText(text)).kind, CellKind::kNumber) << text;
    EXPECT_EQ(ParseCell(CleanText(text)).value(), 71.2) << text;
  }
  EXPECT_EQ(ParseCell("−0.5").value(), -0.5);
  EXPECT_EQ(ParseCell("–0,5").value(), -0.5);
  for (const char* text : {"1,234.5", "1.234,5", "1 234.5", "1 234,5", "1'234.5", "1’234.5"}) {
    EXPECT_EQ(ParseCell(text).value(), 1234.5) << text;
  }
  EXPECT_EQ(ParseCell("94.0/92.0").value(), 93.0);
  EXPECT_TRUE(ParseCell("71.2%").has_percent);
  EXPECT_TRUE(ParseCell("71.2 pct").has_percent);
  EXPECT_TRUE(ParseCell("71.2 (0.3)").has_margin);
}

TEST(ParseCellTest, DatesSizesAndWordsAreNoNumbers) {
  for (const char* text :
       {"2023/3/15", "67B", "0x10", "1,23,456", ",", "about 3", "12-14", "/", "1//2", "(3)", "$5",
        "_5", "71.2 (n=x)", "1 2", "e5", "1.2.3", "%", "±", "+-5"}) {
    EXPECT_EQ(ParseCell(text).kind, CellKind::kWord) << text;
  }
  EXPECT_EQ(ParseCell("NaN").kind, CellKind::kNotFinite);
  EXPECT_EQ(ParseCell("1e400").kind, CellKind::kNotFinite);
  EXPECT_EQ(ParseCell("Not reported").kind, CellKind::kGap);
  EXPECT_EQ(ParseCell("—").kind, CellKind::kGap);
  EXPECT_EQ(ParseCell("OOM").kind, CellKind::kFailure);
  EXPECT_EQ(ParseCell(std::string(1 << 20, '*')).kind, CellKind::kWord) << "in linear time";
}

TEST(ReadCellsTest, OneCellTellsTheDecimalMarkOfItsColumn) {
  const auto values = [](const std::vector<absl::string_view>& fields, char separator) {
    std::vector<double> read;
    for (const Cell& cell : ReadCells(fields, separator).cells) {
      read.push_back(cell.value());
    }
    return read;
  };
  EXPECT_THAT(values({"1,234", "0,5"}, ','), ElementsAre(1.234, 0.5));
  EXPECT_THAT(values({"1,234", "1.234,5"}, ','), ElementsAre(1.234, 1234.5));
  EXPECT_THAT(values({"1,234", "1,234.5"}, ';'), ElementsAre(1234, 1234.5));
  EXPECT_THAT(values({"1.234", "2.345"}, ';'), ElementsAre(1.234, 2.345));
  EXPECT_THAT(ReadCells({"1,234", "0,5"}, ',').remarks, IsEmpty());
  EXPECT_THAT(ReadCells({"1,234", "7"}, ',').remarks, ElementsAre("a guess: \"1,234\" is 1234"));
  EXPECT_THAT(ReadCells({"1,234", "7"}, ';').remarks, ElementsAre("a guess: \"1,234\" is 1.234"));
  EXPECT_THAT(ReadCells({"1.100", "0,5"}, ',').remarks, ElementsAre("a guess: \"1.100\" is 1100"));
}

TEST(ReadCellsTest, CountsArePartsWhereAWholeColumnTells) {
  // 12/20 was 16 and 18/30 24: the order was turned round. 10^3 was 10.
  struct Case {
    std::vector<absl::string_view> fields;
    std::vector<double> values;
    const char* remark;
  };
  for (const Case& c :
       {Case{{"12/20", "-", "18/30"}, {0.6, 0, 0.6}, "a guess: \"12/20\" is 0.6"},
        Case{{"12 (60%)", "18 (45%)"}, {60, 45}, "a guess: \"12 (60%)\" is 60%"},
        Case{{"94.2/92.2", "90/88"}, {93.2, 89}, "2 pairs are read as their means"},
        Case{{"12/20", "7"}, {16, 7}, "1 pair is read as its mean"},
        Case{{"7.5/10", "8/10"}, {0.75, 0.8}, "a guess: \"7.5/10\" is 0.75"},
        Case{{"60 out of 100", "7 of 100"}, {0.6, 0.07}, "a guess: \"60 out of 100\" is 0.6"},
        Case{{"90.5/88", "80/88"}, {89.25, 84}, "2 pairs are read as their means"},
        Case{{"85 (1%)", "90 (2%)"}, {85, 90}, "2 margins are not kept"}}) {
    const CellColumn column = ReadCells(c.fields, ',');
    std::vector<double> values;
    for (const Cell& cell : column.cells) {
      values.push_back(cell.value());
    }
    EXPECT_EQ(values, c.values) << c.remark;
    EXPECT_THAT(column.remarks, ElementsAre(c.remark));
  }
  EXPECT_THAT(ReadCells({"1.234", "987"}, ';').remarks, ElementsAre("a guess: \"1.234\" is 1.234"));
  EXPECT_EQ(ParseCell("10^3").value(), 1000);
  EXPECT_EQ(ParseCell("1.5 × 10^-3").value(), 0.0015);
  EXPECT_EQ(ParseCell("85.1^2").value(), 85.1) << "a footnote";
}

TEST(SettlePercentTest, NumbersWithAndWithoutASignComeToOneUnit) {
  // 0.90 was below 80%.
  const auto settle = [](const std::vector<absl::string_view>& fields) {
    CellColumn column = ReadCells(fields, ',');
    std::vector<Cell*> cells;
    for (Cell& cell : column.cells) {
      cells.push_back(&cell);
    }
    std::string text = SettlePercent(cells, column.remarks) ? "percent:" : ":";
    for (const Cell& cell : column.cells) {
      text += cell.kind == CellKind::kNumber ? absl::StrCat(" ", cell.value()) : " ?";
    }
    return text + (column.remarks.empty() ? "" : " said");
  };
  EXPECT_EQ(settle({"85%", "90%"}), "percent: 85 90");
  EXPECT_EQ(settle({"85", "90"}), ": 85 90");
  EXPECT_EQ(settle({"85%", "0.9", "80%"}), ": 0.85 0.9 0.8 said");
  EXPECT_EQ(settle({"85%", "90", "0"}), "percent: 85 90 0 said");
  EXPECT_EQ(settle({"85%", "90", "0.8"}), "percent: 85 90 ? said");
}

// Random tables, each written in ten spellings.
TEST(TableTextTest, TenSpellingsOfARandomTableAreOneTable) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "spellings");
    const auto pick = [&](const std::vector<std::string>& of) {
      return of[random.Below(of.size())];
    };
    Rows rows = {{"Model"}};
    const size_t columns = 2 + random.Below(4);
    for (size_t c = 0; c < columns; ++c) {
      rows[0].push_back(absl::StrCat(pick({"Task ", "Test (5-shot) ", "ü\u00e9 "}), c));
    }
    for (size_t r = 0; r < 2 + random.Below(5); ++r) {
      rows.push_back({absl::StrCat(pick({"model ", "org/m-", "漢 "}), r)});
      for (size_t c = 0; c < columns; ++c) {
        rows.back().push_back(
            absl::StrCat(random.Below(100), ".", random.Below(9) + 1, random.Below(9) + 1));
      }
    }
    struct Spelling {
      std::string before, separator, line_end, mark, space, open, close;
    };
    for (const Spelling& s :
         std::vector<Spelling>{{"", ",", "\n", ".", " ", "", ""},
                               {"\xEF\xBB\xBF", ",", "\r\n", ".", " ", "", ""},
                               {"", ",", "\r", ".", " ", "", ""},
                               {"", ";", "\n", ",", "\u00a0", "", ""},
                               {"sep=;\r\n", ";", "\r\n", ",", " ", "", ""},
                               {"", "\t", "\n", ",", "\u2009", "", ""},
                               {"", ",", "\n", ".", "\n", "\"", "\""},
                               {"# exported, by me\n", ", ", "\n", ".", "  ", "\"", "\""},
                               {"Results\n\n", "\t", "\n", ".", "\r\n", "\"", "\""},
                               {"A table:\n", "|", "\n", ".", " ", "**", "** "}}) {
      std::string text = s.before;
      for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t c = 0; c <= columns; ++c) {
          std::string field = rows[r][c];
          for (size_t at = 0; (at = field.find(r > 0 && c > 0 ? '.' : ' ', at)) != field.npos;) {
            const std::string& other = r > 0 && c > 0 ? s.mark : s.space;
            field.replace(at, 1, other);
            at += other.size();
          }
          absl::StrAppend(&text, c > 0 ? s.separator : "", s.open, field, s.close);
        }
        text += s.line_end;
        text += r == 0 && s.separator == "|" ? "--|--" + s.line_end : "";
      }
      Rows read = ReadRows(text);
      ASSERT_EQ(read.size(), rows.size()) << "seed " << seed << "\n" << text;
      for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t c = 1; c <= columns && r > 0; ++c) {
          EXPECT_EQ(ParseCell(read[r][c]).value(), ParseCell(rows[r][c]).value()) << text;
        }
        EXPECT_EQ(read[r][0], rows[r][0]) << "seed " << seed << "\n" << text;
      }
      EXPECT_EQ(read[0], rows[0]) << "seed " << seed << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace concur
