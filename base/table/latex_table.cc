// SPDX-License-Identifier: Apache-2.0
#include "base/table/latex_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/csv.h"
#include "base/table/words.h"

namespace concur {
namespace {

constexpr int kSpanMax = 20;  // columns of one cell
// Commands that are nothing, with all their arguments.
constexpr absl::string_view kDropped =
    "|cite|citep|citet|ref|label|footnote|footnotemark|cellcolor|rowcolor|color|cmidrule|cline|"
    "vspace|hspace|phantom|caption|begin|end|hline|toprule|midrule|bottomrule|addlinespace|quad|";
// Commands that are nothing but for their last argument, which may continue a number.
constexpr absl::string_view kStyles =
    "|textbf|textit|emph|underline|uline|texttt|textsc|textrm|textsf|mathbf|mathrm|mathit|mathsf|"
    "bm|boldsymbol|text|mbox|makecell|shortstack|bf|it|tt|em|bfseries|itshape|ttfamily|tiny|"
    "scriptsize|footnotesize|small|normalsize|large|centering|left|right|endhead|endfirsthead|";

constexpr std::pair<absl::string_view, absl::string_view> kSymbols[] = {
    {"\\pm", "±"},     {"\\times", "×"},   {"\\downarrow", "↓"}, {"\\uparrow", "↑"},
    {"\\dagger", "†"}, {"\\ddagger", "‡"}, {"\\ast", "*"},       {"~", " "}};

size_t LettersAt(absl::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && absl::ascii_isalpha(static_cast<unsigned char>(text[end]))) {
    ++end;
  }
  return end - at;
}

// Takes at most `count` arguments, in any brackets, off `text`.
void TakeArguments(absl::string_view& text, size_t count) {
  for (; count > 0 && !text.empty() && absl::StrContains("{[(", text[0]); --count) {
    const char close = text[0] == '{' ? '}' : text[0] == '[' ? ']' : ')';
    int depth = 0;
    size_t i = 1;
    for (; i < text.size() && (depth > 0 || text[i] != close); ++i) {
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    }
    text.remove_prefix(std::min(i + 1, text.size()));
  }
}

size_t FindTable(absl::string_view text, size_t from) {
  return std::min(text.find("\\begin{tabular", from), text.find("\\begin{longtable", from));
}

// Moves a cell to the record, with an empty field for each more column that it spans.
void AppendField(std::string& field, CsvRecord& record) {
  const size_t at = field.find("\\multicolumn{");
  const absl::string_view span = at == field.npos ? "1" : absl::string_view(field).substr(at + 13);
  int columns = 1;
  columns = absl::SimpleAtoi(span.substr(0, span.find('}')), &columns) ? columns : 1;
  record.fields.push_back(PlainLatex(field));
  record.fields.resize(record.fields.size() +
                       static_cast<size_t>(std::clamp(columns, 1, kSpanMax) - 1));
  field.clear();
}

}  // namespace

bool IsLatex(absl::string_view text) {
  const bool is_math =
      std::count(text.begin(), text.end(), '$') > 1 &&
      ((text.front() == '$' && text.back() == '$') || text.find_first_of("\\^_") != text.npos);
  for (size_t at = text.find('\\'); !is_math && at != text.npos; at = text.find('\\', at + 1)) {
    const size_t letters = LettersAt(text, at + 1);
    if (absl::StrContains(letters == 0 ? "%_&#" : "{", text.substr(at + 1 + letters, 1)) &&
        at + 1 + letters < text.size()) {
      return true;
    }
  }
  return is_math || absl::StrContains(text, "\\pm");
}

std::string PlainLatex(absl::string_view text) {
  const std::string symbols = absl::StrReplaceAll(text, absl::MakeConstSpan(kSymbols));
  std::string plain;
  std::string ends;  // written where the braces that are open close: ")" or a blank, which is none
  for (absl::string_view rest = symbols; !rest.empty();) {
    const size_t letters = rest[0] == '\\' ? LettersAt(rest, 1) : 0;
    const absl::string_view name = rest.substr(letters > 0 ? 1 : 0, letters);
    const bool follows_digit =
        !plain.empty() && absl::ascii_isdigit(static_cast<unsigned char>(plain.back()));
    size_t taken = 1;
    if (letters > 0) {
      rest.remove_prefix(1 + letters);
      taken = 0;
      const bool is_dropped = HasWord(kDropped, name);
      const bool is_style = HasWord(kStyles, name);
      const bool spans = HasWord("|multicolumn|multirow|", name);
      const bool colors = HasWord("|textcolor|colorbox|", name);
      TakeArguments(rest, is_dropped ? 9 : spans ? 2 : colors || rest.substr(0, 1) == "[" ? 1 : 0);
      if (!is_dropped && !is_style && !spans && !colors) {
        if (!absl::StartsWith(rest, "{")) {
          absl::StrAppend(&plain, name);  // stands for a name
        } else if (follows_digit) {
          plain += " (";  // "71.2\std{0.3}"
          ends += ')';
          taken = 1;
        }
      }
    } else if (absl::StartsWith(rest, "_{")) {
      plain += " (";
      ends += ')';
      taken = 2;
    } else if (rest[0] == '\\' && rest.size() > 1) {
      const bool is_ascii = absl::ascii_isascii(static_cast<unsigned char>(rest[1]));
      plain += absl::StrContains("%&_#${}", rest[1]) ? rest[1] : ' ';
      taken = is_ascii ? 2 : 1;  // a character of several bytes stays whole
    } else if (rest[0] == '{') {
      ends += ' ';
    } else if (rest[0] == '}') {
      if (!ends.empty()) {
        plain += ends.back() == ')' ? ")" : "";
        ends.pop_back();
      }
    } else if (rest[0] != '$' && rest[0] != '\\') {
      plain += rest[0];
    }
    rest.remove_prefix(taken);
  }
  return plain;
}

bool HasLatexTable(absl::string_view text) { return FindTable(text, 0) != text.npos; }

absl::StatusOr<std::vector<CsvRecord>> ParseLatexTable(absl::string_view text,
                                                       absl::string_view file) {
  const size_t begin = FindTable(text, 0);
  absl::string_view rest = text.substr(std::min(text.find('}', begin), text.size() - 1) + 1);
  const bool has_width = absl::StrContains("*xy", text[text.size() - rest.size() - 2]);
  const size_t options = absl::StartsWith(rest, "[") ? 1 : 0;
  TakeArguments(rest, options + (has_width ? 2 : 1));
  int64_t line = 1 + std::count(text.begin(), text.end() - static_cast<long>(rest.size()), '\n');
  std::vector<CsvRecord> records(1);
  std::string field;
  int depth = 0;  // counts braces, and environments within cells
  while (!rest.empty() && (depth > 0 || !absl::StartsWith(rest, "\\end{"))) {
    size_t size = std::min<size_t>(rest[0] == '\\' ? 2 : 1, rest.size());
    const bool is_end = depth == 0 && (rest[0] == '&' || absl::StartsWith(rest, "\\\\"));
    if (rest[0] == '%') {
      size = std::min(rest.find('\n'), rest.size());
    } else if (!is_end) {
      const bool opens = rest[0] == '{' || absl::StartsWith(rest, "\\begin{");
      const bool closes = rest[0] == '}' || absl::StartsWith(rest, "\\end{");
      depth = std::max(0, depth + (opens ? 1 : closes ? -1 : 0));
      absl::StrAppend(&field, rest.substr(0, size));
    } else {
      records.back().line = line;
      AppendField(field, records.back());
      if (rest[0] == '\\') {
        records.emplace_back();
      }
    }
    line += rest[0] == '\n' ? 1 : 0;
    rest.remove_prefix(size);
    if (is_end && absl::StartsWith(rest, "[")) {
      TakeArguments(rest, 1);
    }
  }
  records.back().line = line;
  AppendField(field, records.back());
  if (rest.empty() || HasLatexTable(rest)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", line, ": expected ",
                     rest.empty() ? "\\end{tabular}" : "one table; write each into a file"));
  }
  return records;
}

}  // namespace concur
