#include "analysis/markup.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "analysis/matrix.h"
#include "analysis/notes.h"
#include "analysis/score_table.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

using Row = std::vector<std::string>;

// "| a | b |".
std::string MarkdownRow(const Row& fields) {
  return absl::StrCat("| ", absl::StrJoin(fields, " | "), " |\n");
}

std::string MarkdownRule(size_t left_columns, size_t columns) {
  Row rule(columns, "---:");
  for (size_t i = 0; i < left_columns && i < columns; ++i) {
    rule[i] = ":---";
  }
  return MarkdownRow(rule);
}

std::string MarkdownNotes(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) {
    absl::StrAppend(&text, "\n", EscapeMarkdown(note), "\n");
  }
  return text;
}

std::string LatexRow(const Row& fields) { return absl::StrJoin(fields, " & ") + " \\\\\n"; }

std::string LatexFrame(const std::string& columns, const std::string& head, const std::string& body,
                       const std::vector<std::string>& notes, size_t width) {
  std::string text = absl::StrCat("\\begin{tabular}{", columns, "}\n\\toprule\n", head,
                                  "\\midrule\n", body, "\\bottomrule\n");
  for (const std::string& note : notes) {
    absl::StrAppend(&text, "\\multicolumn{", width, "}{l}{\\footnotesize ", EscapeLatex(note),
                    "} \\\\\n");
  }
  return text + "\\end{tabular}\n";
}

}  // namespace

std::string EscapeMarkdown(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"},
                                               {"|", "\\|"},
                                               {"*", "\\*"},
                                               {"_", "\\_"},
                                               {"`", "\\`"},
                                               {"[", "\\["},
                                               {"<", "&lt;"},
                                               {"&", "&amp;"}});
}

std::string EscapeLatex(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\textbackslash{}"},
                                               {"&", "\\&"},
                                               {"%", "\\%"},
                                               {"$", "\\$"},
                                               {"#", "\\#"},
                                               {"_", "\\_"},
                                               {"{", "\\{"},
                                               {"}", "\\}"},
                                               {"~", "\\textasciitilde{}"},
                                               {"^", "\\textasciicircum{}"},
                                               {"±", "$\\pm$"},
                                               {"—", "---"},
                                               {"–", "--"},
                                               {"→", "$\\rightarrow$"},
                                               {"←", "$\\leftarrow$"}});
}

std::string EscapeXml(absl::string_view text) {
  return absl::StrReplaceAll(
      Printable(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string MatrixMarkdown(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  const size_t n = matrix.benchmarks.size();
  Row head = {"#", "benchmark"};
  for (size_t b = 0; b + 1 < n; ++b) {
    head.push_back(EscapeMarkdown(matrix.benchmarks[b]));
  }
  std::string text = absl::StrCat(EscapeMarkdown(MatrixTitle(matrix)), "\n\n", MarkdownRow(head),
                                  MarkdownRule(2, head.size()));
  for (size_t b = 0; b < n; ++b) {
    Row row = {absl::StrCat(b + 1), EscapeMarkdown(matrix.benchmarks[b])};
    for (size_t a = 0; a < b; ++a) {
      row.push_back(EscapeMarkdown(PairText(matrix.pair(a, b), options.decimals)));
    }
    row.resize(head.size());
    text += MarkdownRow(row);
  }
  return text + MarkdownNotes(MatrixNotes(matrix));
}

std::string ScoresMarkdown(const ScoreTable& table, const TextOptions& options) {
  Row head = {"approach"};
  for (const AxisEntry& benchmark : table.benchmarks()) {
    head.push_back(EscapeMarkdown(benchmark.name));
  }
  std::string text = MarkdownRow(head) + MarkdownRule(1, head.size());
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    Row row = {EscapeMarkdown(table.approaches()[i].name)};
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      row.push_back(EscapeMarkdown(CellText(table.cell(i, b), options.decimals)));
    }
    text += MarkdownRow(row);
  }
  return text + MarkdownNotes(ScoreNotes(table));
}

std::string MatrixLatex(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  const size_t n = matrix.benchmarks.size();
  const size_t columns = n > 0 ? n - 1 : 0;
  Row head = {"", ""};
  std::string body;
  for (size_t b = 0; b < n; ++b) {
    Row row = {absl::StrCat(b + 1), EscapeLatex(matrix.benchmarks[b])};
    for (size_t a = 0; a < b; ++a) {
      row.push_back(EscapeLatex(PairText(matrix.pair(a, b), options.decimals)));
    }
    row.resize(columns + 2);
    body += LatexRow(row);
    if (b < columns) {
      head.push_back(absl::StrCat(b + 1));
    }
  }
  std::vector<std::string> notes = MatrixNotes(matrix);
  notes.insert(notes.begin(), MatrixTitle(matrix));
  return LatexFrame("rl" + std::string(columns, 'r'), LatexRow(head), body, notes, columns + 2);
}

std::string ScoresLatex(const ScoreTable& table, const TextOptions& options) {
  Row head = {"approach"};
  for (const AxisEntry& benchmark : table.benchmarks()) {
    head.push_back(EscapeLatex(benchmark.name));
  }
  std::string body;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    Row row = {EscapeLatex(table.approaches()[i].name)};
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      row.push_back(EscapeLatex(CellText(table.cell(i, b), options.decimals)));
    }
    body += LatexRow(row);
  }
  return LatexFrame("l" + std::string(table.benchmarks().size(), 'r'), LatexRow(head), body,
                    ScoreNotes(table), head.size());
}

}  // namespace concur::analysis
