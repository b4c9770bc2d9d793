// SPDX-License-Identifier: Apache-2.0
#include "base/table/table_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
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
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/csv.h"
#include "base/status_macros.h"
#include "base/table/latex_table.h"
#include "base/table/words.h"
#include "base/utf8.h"

namespace concur {
namespace {

constexpr size_t kHeadBytes = size_t{64} << 10;  // start of a table, which tells the separator
constexpr size_t kNumberBytesMax = 100;          // a cell with its margin and marks

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// A line break: "\n", "\r\n" or "\r".
absl::string_view NextLine(absl::string_view& text) {
  const size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const absl::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  if (!absl::ConsumePrefix(&text, "\r\n") && !text.empty()) {
    text.remove_prefix(1);
  }
  return line;
}

// Counts the fields of the records at the start of `text` between `separator`, by quotes only.
std::vector<size_t> Widths(absl::string_view text, char separator) {
  const bool has_quotes = separator != '|';
  std::vector<size_t> widths;
  size_t width = 1;
  bool begins = true;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"' && has_quotes && (quoted || begins)) {
      quoted = !quoted;
    } else if (!quoted && (c == '\n' || c == '\r')) {
      widths.push_back(width);
      width = 1;
      begins = true;
      continue;
    } else if (!quoted && c == separator) {
      ++width;
      begins = true;
      continue;
    }
    begins = begins && c == ' ';
  }
  widths.push_back(width);
  return widths;
}

// The line between the header and the rows of a Markdown table, or of a frame around one.
bool IsRule(absl::string_view line) {
  return line.find_first_of("-=") != line.npos && line.find_first_not_of("|+-=: \t") == line.npos;
}

constexpr char kAligned = ' ';  // separator of columns that two blanks or more keep apart

std::vector<std::string> AlignedFields(absl::string_view line, size_t indent) {
  line = absl::StripTrailingAsciiWhitespace(line);
  line.remove_prefix(std::min(indent, line.size()));
  std::vector<std::string> fields;
  while (true) {
    const size_t end = std::min(line.find("  "), line.size());
    fields.emplace_back(line.substr(0, end));
    if (end == line.size()) {
      return fields;
    }
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
  }
}

// Rows with their fields, without rules and blank lines.
std::vector<CsvRecord> AlignedRows(absl::string_view text) {
  size_t indent = text.size();
  for (absl::string_view rest = text; !rest.empty();) {
    const absl::string_view line = NextLine(rest);
    indent = std::min(indent, line.find_first_not_of(' '));
  }
  std::vector<CsvRecord> rows;
  for (int64_t number = 1; !text.empty(); ++number) {
    const absl::string_view line = NextLine(text);
    if (!absl::StripAsciiWhitespace(line).empty() && !IsRule(line)) {
      rows.push_back({number, AlignedFields(line, indent)});
    }
  }
  return rows;
}

std::pair<size_t, size_t> AlignedWidth(const std::vector<CsvRecord>& rows) {
  std::vector<size_t> widths;
  widths.reserve(rows.size());
  for (const CsvRecord& row : rows) {
    widths.push_back(row.fields.size());
  }
  return MostCommonWidth(widths);
}

// A row with another number of fields has a gap that cannot be placed, or names with wide blanks.
absl::StatusOr<TableText> SplitAligned(absl::string_view text, absl::string_view file) {
  TableText table;
  table.separator = kAligned;
  std::vector<CsvRecord> rows = AlignedRows(text);
  const size_t width = AlignedWidth(rows).first;
  for (CsvRecord& row : rows) {
    if (row.fields.size() == width) {
      table.records.push_back(std::move(row));
    } else if (table.records.empty() || row.fields.size() == 1) {
      LeaveOutLine(table, "a line outside the table", row.line);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ":", row.line, ": expected ", width, " fields with two blanks between them, got ",
          row.fields.size(), "; write \"-\" into gaps, or save the table as CSV"));
    }
  }
  return table;
}

char FindSeparator(absl::string_view text, absl::string_view file) {
  text = text.substr(0, kHeadBytes);
  while (BeginsAsComment(text)) {
    NextLine(text);
  }
  const absl::string_view head = text;
  char separator = ',';
  size_t most = 0;
  size_t first = 0;
  for (const char candidate : {',', ';', '\t', '|'}) {
    const size_t rows = MostCommonWidth(Widths(head, candidate)).second;
    const size_t at = head.find(candidate);
    if (rows > most || (rows == most && rows > 0 && at < first)) {
      separator = candidate;
      most = rows;
      first = at;
    }
    if (candidate == '\t' && rows > 0 && absl::EndsWithIgnoreCase(file, ".tsv")) {
      return candidate;
    }
  }
  // Around a Markdown table, lines of text may have two blanks.
  const size_t aligned = separator == '|' ? 0 : AlignedWidth(AlignedRows(head)).second;
  return aligned > std::max<size_t>(most, 1) ? kAligned : separator;
}

// A header below the first one begins another table; the same again is left out.
absl::Status TakeOneTable(TableText& table, absl::string_view file) {
  std::vector<CsvRecord>& records = table.records;
  std::vector<CsvRecord> kept;
  for (CsvRecord& record : records) {
    const bool may_be_header = !kept.empty() && !record.fields[0].empty() &&
                               record.fields[0] == kept[0].fields[0] && record.fields.size() > 1;
    if (!may_be_header ||
        !std::all_of(record.fields.begin(), record.fields.end(), [](const std::string& field) {
          return ParseCell(field).kind == CellKind::kWord;
        })) {
      kept.push_back(std::move(record));
    } else if (record.fields == kept[0].fields) {
      LeaveOutLine(table, "the header again", record.line);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", record.line,
                       ": expected one table, got a second header; write each into a file"));
    }
  }
  records = std::move(kept);
  return absl::OkStatus();
}

absl::StatusOr<TableText> SplitPipes(absl::string_view text, absl::string_view file) {
  TableText table;
  table.separator = '|';
  int64_t line = 0;
  bool has_rule = false;
  while (!text.empty()) {
    absl::string_view row = absl::StripAsciiWhitespace(NextLine(text));
    ++line;
    if (IsRule(row)) {
      if (has_rule && table.records.size() > 1 && !absl::StartsWith(row, "+")) {
        return absl::InvalidArgumentError(absl::StrCat(
            file, ":", line, ": expected one table, got a second header; write each into a file"));
      }
      has_rule = true;
      continue;
    }
    if (!absl::StrContains(row, '|')) {
      if (!row.empty()) {
        LeaveOutLine(table, "a line outside the table", line);
      }
      continue;
    }
    if (absl::ConsumePrefix(&row, "|") && !absl::EndsWith(row, "\\|")) {
      absl::ConsumeSuffix(&row, "|");
    }
    CsvRecord record;
    record.line = line;
    record.fields.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '|') {
        record.fields.emplace_back();
      } else {
        i += absl::StartsWith(row.substr(i), "\\|") ? 1 : 0;
        record.fields.back().push_back(row[i]);
      }
    }
    table.records.push_back(std::move(record));
  }
  return table;
}

// --- Text.

// A blank for what only separates, nothing for what has no width, else the character itself.
absl::string_view PlainCharacter(char32_t c, absl::string_view itself) {
  if (c <= 0x20 || (c >= 0x7f && c <= 0xa0) || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
      c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000 || c == 0x1680) {
    return " ";
  }
  return c == 0x200b || c == 0x2060 || c == 0xfeff ? absl::string_view() : itself;
}

bool IsPlain(absl::string_view text) {
  char before = ' ';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '<' ||
        c == '\\' || c == '$' || (c == ' ' && before == ' ')) {
      return false;
    }
    before = c;
  }
  return text.empty() || (before != ' ' && !absl::StrContains("'*_`[~", text[0]));
}

// Takes one layer off `text`; false when it has none.
bool Unwrap(absl::string_view& text) {
  text = absl::StripAsciiWhitespace(text);
  if (const absl::string_view plain = WithoutApostrophe(text); plain.size() < text.size()) {
    text = plain;
    return true;
  }
  using Wrap = std::pair<absl::string_view, absl::string_view>;
  for (const auto& [open, close] :
       {Wrap("**", "**"), Wrap("__", "__"), Wrap("~~", "~~"), Wrap("*", "*"), Wrap("_", "_"),
        Wrap("`", "`"), Wrap("<b>", "</b>"), Wrap("<strong>", "</strong>"), Wrap("<em>", "</em>"),
        Wrap("<u>", "</u>"), Wrap("<i>", "</i>")}) {
    if (text.size() > open.size() + close.size() && absl::StartsWith(text, open) &&
        absl::EndsWith(text, close)) {
      text = text.substr(open.size(), text.size() - open.size() - close.size());
      return true;
    }
  }
  if (absl::StartsWith(text, "<a ") && absl::EndsWith(text, "</a>")) {
    const size_t begin = text.find('>') + 1;  // the first of several links
    text = text.substr(begin, text.find("</a>") - begin);
    return true;
  }
  if (!absl::StartsWith(text, "[") || text.find(')') != text.size() - 1) {
    return false;
  }
  const size_t link = text.find("](");  // "[name](address)"
  text = link > 1 && link != text.npos ? text.substr(1, link - 1) : text;
  return link > 1 && link != text.npos;
}

// --- Cells.

// `value` is infinite for what is beyond a double.
bool IsDecimal(absl::string_view text, double& value) {
  return text.find_first_not_of("0123456789.eE+-") == text.npos && absl::SimpleAtod(text, &value);
}

// `text` with a point for `mark` and without what stands between thousands; nothing unless these
// are groups of three digits.
std::optional<std::string> Ungrouped(absl::string_view text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  absl::string_view whole = text.substr(0, end);
  const absl::string_view decimals = text.substr(std::min(end + 1, text.size()));
  std::string sign;
  if (absl::StartsWith(whole, "-") || absl::StartsWith(whole, "+")) {
    sign = std::string(whole.substr(0, 1));
    whole.remove_prefix(1);
  }
  const size_t first = whole.find_first_of(" ',.");
  if (first != whole.npos) {
    if (first == 0 || first > 3 || whole[0] == '0') {
      return std::nullopt;
    }
    for (size_t at = first; at < whole.size(); at += 4) {
      const absl::string_view group = whole.substr(at + 1, 3);
      if (whole[at] != whole[first] || group.size() != 3 ||
          !std::all_of(group.begin(), group.end(), IsDigit)) {
        return std::nullopt;
      }
    }
  }
  const std::string digits =
      absl::StrReplaceAll(whole, {{" ", ""}, {"'", ""}, {",", ""}, {".", ""}});
  return absl::StrCat(sign, digits, end < text.size() ? "." : "", decimals);
}

// Infinite beyond a double.
std::optional<double> Number(absl::string_view text, DecimalMark mark) {
  const std::optional<std::string> plain =
      text.find_first_of(" ',") == text.npos && mark == DecimalMark::kPoint
          ? std::string(text)
          : Ungrouped(text, mark == DecimalMark::kPoint ? '.' : ',');
  double value = 0;
  return plain.has_value() && IsDecimal(*plain, value) ? std::optional(value) : std::nullopt;
}

DecimalMark Other(DecimalMark mark) {
  return mark == DecimalMark::kPoint ? DecimalMark::kComma : DecimalMark::kPoint;
}

// Nothing for a text that may be a number.
std::optional<CellKind> KindOfWord(absl::string_view text) {
  constexpr absl::string_view kGaps =
      "||-|--|---|–|—|−|n/a|na|n.a.|n.a|#n/a|n.d.|n.r.|nr|none|null|nil|?|tbd|tba|missing|…|...|·|"
      "not reported|not available|";
  constexpr absl::string_view kFailures =
      "|oom|out of memory|oot|timeout|time out|timed out|tle|mle|dnf|fail|failed|error|crash|"
      "crashed|killed|diverged|skipped|pending|#div/0!|#value!|#ref!|";
  if (!text.empty() && (IsDigit(text[0]) || text.size() > 24)) {
    return std::nullopt;
  }
  const std::string plain = absl::AsciiStrToLower(text);
  if (absl::StrContains(plain, '|')) {
    return std::nullopt;
  }
  if (HasWord(kGaps, plain)) {
    return CellKind::kGap;
  }
  if (HasWord(kFailures, plain)) {
    return CellKind::kFailure;
  }
  absl::string_view name = plain;
  if (!absl::ConsumePrefix(&name, "-")) {
    absl::ConsumePrefix(&name, "+");
  }
  return name == "nan" || name == "inf" || name == "infinity" ? std::optional(CellKind::kNotFinite)
                                                              : std::nullopt;
}

// The last ones are of numbers of repetitions: "71.2 (n=5)".
constexpr absl::string_view kMarginSigns[] = {"±", "+/-", "-/+", "+-", "↑",
                                              "↓", "n=",  "n =", "N=", "N ="};

// A number that may have the sign of a margin and a percent sign.
bool IsMargin(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  for (const absl::string_view sign : kMarginSigns) {
    absl::ConsumePrefix(&text, sign);
  }
  absl::ConsumeSuffix(&text, "%");
  text = absl::StripAsciiWhitespace(text);
  return Number(text, DecimalMark::kPoint) || Number(text, DecimalMark::kComma);
}

// The two ends of an interval: "70.1, 72.3", "70.1-72.3", "70.1 to 72.3".
bool IsRange(absl::string_view text) {
  for (const absl::string_view separator : {",", ";", "–", "—", " to ", "..", "-"}) {
    for (size_t at = text.find(separator); at != text.npos; at = text.find(separator, at + 1)) {
      if (IsMargin(text.substr(0, at)) && IsMargin(text.substr(at + separator.size()))) {
        return true;
      }
    }
  }
  return false;
}

// Takes a margin off the end: "± 0.4", "+/- 0.4", "(0.4)", "[70.1, 72.3]". False unless it is one.
bool TakeMargin(absl::string_view& text) {
  for (const absl::string_view sign : kMarginSigns) {
    const size_t at = text.find(sign);
    if (at != text.npos && at > 0 && IsMargin(text.substr(at + sign.size()))) {
      text = absl::StripAsciiWhitespace(text.substr(0, at));
      return true;
    }
  }
  for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
    const size_t at = text.rfind(open);
    if (text.empty() || text.back() != close || at == text.npos || at == 0) {
      continue;
    }
    const absl::string_view inner = text.substr(at + 1, text.size() - at - 2);
    if (IsMargin(inner) || IsRange(inner)) {
      text = absl::StripAsciiWhitespace(text.substr(0, at));
      return true;
    }
  }
  return false;
}

// Takes footnote marks and points off the end.
bool TakeMarks(absl::string_view& text) {
  constexpr absl::string_view kMarks = "* † ‡ § ¶ # ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹ ⁰ ᵃ ᵇ ᶜ ᵈ ↑ ↓ pts points pp";
  const size_t before = text.size();
  absl::ConsumePrefix(&text, "*");
  for (const absl::string_view mark : absl::StrSplit(kMarks, ' ')) {
    absl::ConsumeSuffix(&text, mark);
  }
  if (const size_t at = text.rfind('^'); at != text.npos && text.size() - at <= 4) {
    text = text.substr(0, at);
  }
  text = absl::StripAsciiWhitespace(text);
  return text.size() < before;
}

// The minus signs of typesetting before a number; HTML's margins and footnote marks.
std::string WithAsciiSigns(absl::string_view text) {
  std::string plain = absl::StrReplaceAll(text, {{"−", "-"},
                                                 {"’", "'"},
                                                 {"％", "%"},
                                                 {"<sub>", " ("},
                                                 {"</sub>", ")"},
                                                 {"<sup>", "^"},
                                                 {"</sup>", ""}});
  for (const absl::string_view dash : {"–", "‐", "‑"}) {
    absl::string_view rest = plain;
    if (absl::ConsumePrefix(&rest, dash) && !rest.empty() && IsDigit(rest[0])) {
      return absl::StrCat("-", rest);
    }
  }
  return plain;
}

// "10^3" and "1.5×10^3" as "1e3" and "1.5e3": the power is no footnote. Else "·" is a point.
std::string WithExponents(std::string text) {
  if (!absl::StrContains(text, "10^")) {
    return absl::StrReplaceAll(text, {{"·", "."}});
  }
  for (const absl::string_view times : {" × ", "×", " x ", "x", " · ", "·", " * ", "*"}) {
    text = absl::StrReplaceAll(text, {{absl::StrCat(times, "10^"), "e"}});
  }
  return absl::StartsWith(text, "10^") ? absl::StrCat("1e", text.substr(3)) : text;
}

// The percentage behind a whole number: 60 of "12 (60%)".
std::optional<double> ShareIn(absl::string_view text) {
  const size_t open = text.find('(');
  double count = 0;
  double share = 0;
  if (open == text.npos || !absl::ConsumeSuffix(&text, "%)") || open + 1 >= text.size() ||
      !IsDecimal(absl::StripAsciiWhitespace(text.substr(0, open)), count) ||
      count != std::floor(count) || !IsDecimal(text.substr(open + 1), share) || share > 100) {
    return std::nullopt;
  }
  return share;
}

// Brings a column of counts to what they are parts of, where all its numbers tell: whole numbers
// "12/20", any of one whole, "7.5/10", or "12 (60%)". Says so, or that pairs are read as their
// means.
void SettleCounts(absl::Span<const absl::string_view> fields, CellColumn& column) {
  size_t pairs = 0;
  size_t quotients = 0;
  size_t of_one_whole = 0;
  size_t shares = 0;
  double most = 0;
  size_t first = fields.size();
  for (size_t i = 0; i < fields.size(); ++i) {
    const Cell& cell = column.cells[i];
    if (cell.kind != CellKind::kNumber || (!cell.is_pair && !cell.has_margin)) {
      continue;
    }
    const std::optional<double> share = ShareIn(fields[i]);
    pairs += cell.is_pair ? 1 : 0;
    quotients += cell.is_pair && cell.first == std::floor(cell.first) && cell.first >= 0 &&
                         cell.second == std::floor(cell.second) && cell.second > 0 &&
                         cell.first <= cell.second
                     ? 1
                     : 0;
    const Cell& whole = column.cells[std::min(first, i)];
    of_one_whole += cell.is_pair && cell.first >= 0 && cell.first <= cell.second &&
                            cell.second == whole.second && cell.second == std::floor(cell.second)
                        ? 1
                        : 0;
    shares += share.has_value() ? 1 : 0;
    most = std::max(most, share.value_or(0));
    first = std::min(first, i);
  }
  // Small ones may be margins.
  const bool are_shares = shares > 0 && shares == column.numbers && most >= 10;
  const bool are_quotients = (quotients > 0 && quotients == column.numbers) ||
                             (of_one_whole > 1 && of_one_whole == column.numbers);
  for (size_t i = 0; i < fields.size() && (are_shares || are_quotients); ++i) {
    Cell& cell = column.cells[i];
    if (cell.kind == CellKind::kNumber) {
      cell.first = are_shares ? *ShareIn(fields[i]) : cell.first / cell.second;
      cell.has_percent = are_shares;
      cell.has_margin = false;
      cell.is_pair = false;
    }
  }
  if (are_shares || are_quotients) {
    column.remarks.push_back(absl::StrCat("a guess: \"", fields[first], "\" is ",
                                          column.cells[first].value(), are_shares ? "%" : ""));
  } else if (pairs > 0) {
    column.remarks.push_back(pairs == 1 ? "1 pair is read as its mean"
                                        : absl::StrCat(pairs, " pairs are read as their means"));
  }
}

// `text` by `mark` alone.
Cell CellBy(absl::string_view text, DecimalMark mark) {
  Cell cell;
  if (mark == DecimalMark::kPoint && IsDecimal(text, cell.first) && std::isfinite(cell.first)) {
    cell.kind = CellKind::kNumber;
    return cell;
  }
  if (const std::optional<CellKind> kind = KindOfWord(text)) {
    cell.kind = *kind;
    return cell;
  }
  cell.kind = CellKind::kWord;
  if (text.size() > kNumberBytesMax) {
    return cell;
  }
  const std::string plain = WithExponents(WithAsciiSigns(text));
  absl::string_view rest = plain;
  while (true) {
    const bool has_percent = absl::ConsumeSuffix(&rest, "%") ||
                             absl::ConsumeSuffix(&rest, " percent") ||
                             absl::ConsumeSuffix(&rest, " pct");
    const bool has_margin = TakeMargin(rest);
    cell.has_percent = cell.has_percent || has_percent;
    cell.has_margin = cell.has_margin || has_margin;
    rest = absl::StripAsciiWhitespace(rest);
    if (!has_percent && !has_margin && !TakeMarks(rest)) {
      break;
    }
  }
  absl::ConsumePrefix(&rest, "~");
  absl::ConsumePrefix(&rest, "≈");
  const std::string pair = absl::StrReplaceAll(rest, {{" out of ", "/"}, {" of ", "/"}});
  const std::vector<absl::string_view> parts = absl::StrSplit(pair, '/');
  if (parts.size() > 2) {
    return cell;  // a date
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<double> value = Number(absl::StripAsciiWhitespace(parts[i]), mark);
    if (!value.has_value()) {
      return cell;
    }
    (i == 0 ? cell.first : cell.second) = *value;
  }
  cell.is_pair = parts.size() == 2;
  cell.kind = std::isfinite(cell.value()) ? CellKind::kNumber : CellKind::kNotFinite;
  return cell;
}

}  // namespace

std::string CleanText(absl::string_view text) {
  if (IsPlain(text)) {
    return std::string(text);
  }
  std::string spaced;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = NextCodePoint(text, at);
    absl::StrAppend(&spaced, PlainCharacter(c, text.substr(begin, at - begin)));
  }
  spaced = absl::StrReplaceAll(spaced, {{"<br>", " "}, {"<br/>", " "}, {"<br />", " "}});
  if (IsLatex(spaced)) {
    spaced = PlainLatex(spaced);
  }
  absl::RemoveExtraAsciiWhitespace(&spaced);
  absl::string_view inner = spaced;
  while (Unwrap(inner)) {
  }
  return std::string(inner);
}

absl::StatusOr<TableText> ReadTableText(absl::string_view text, absl::string_view file,
                                        size_t fields_max) {
  CONCUR_RETURN_IF_ERROR(CheckText(text, file));
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  absl::string_view rest = text;
  std::string first = std::string(absl::StripAsciiWhitespace(NextLine(rest)));
  first = absl::AsciiStrToLower(absl::StrReplaceAll(first, {{"\"", ""}}));
  const bool is_stated = first == "sep=\\t" || first == "sep=" ||
                         (first.size() == 5 && absl::StartsWith(first, "sep="));
  // WriteScores's table without columns, below which names may have any separator, is as it is.
  const bool is_latex = HasLatexTable(text);
  const char separator = first == "approach" ? ','
                         : is_latex          ? '&'
                         : !is_stated        ? FindSeparator(text, file)
                         : first.size() == 5 ? first[4]
                                             : '\t';
  const auto fields =
      static_cast<size_t>(std::count_if(text.begin(), text.end(), [separator, is_latex](char c) {
        return c == separator || c == '\n' || c == '\r' || (is_latex && c == '\\');
      }));
  if (fields > fields_max) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":1: expected at most ", fields_max,
                                                   " fields, got ", fields,
                                                   " separators; read a part of the table"));
  }
  if (separator != '|' && absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "<") &&
      (absl::StrContains(text, "<td") || absl::StrContains(text, "<TD"))) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":1: expected a table as text, got HTML; copy it from a browser into a spreadsheet, ",
        "and save that as CSV"));
  }
  TableText table;
  if (is_latex && separator == '&') {
    table.separator = separator;
    CONCUR_ASSIGN_OR_RETURN(table.records, ParseLatexTable(text, file));
  } else if (separator == '|') {
    CONCUR_ASSIGN_OR_RETURN(table, SplitPipes(is_stated ? rest : text, file));
  } else if (separator == kAligned) {
    CONCUR_ASSIGN_OR_RETURN(table, SplitAligned(text, file));
  } else {
    table.separator = separator;
    CONCUR_ASSIGN_OR_RETURN(
        table.records, ParseCsv(is_stated ? rest : text, file, separator, CsvQuotes::kLenient));
  }
  for (CsvRecord& record : table.records) {
    record.line += is_stated ? 1 : 0;
    for (std::string& field : record.fields) {
      field = CleanText(field);
    }
  }
  TakeHeader(table);
  CONCUR_RETURN_IF_ERROR(TakeOneTable(table, file));
  return table;
}

Cell ParseCell(absl::string_view text, DecimalMark mark) {
  const Cell cell = CellBy(text, mark);
  return cell.kind == CellKind::kWord ? CellBy(text, Other(mark)) : cell;
}

CellColumn ReadCells(absl::Span<const absl::string_view> fields, char separator) {
  size_t by_comma = 0;  // cells that only a decimal comma explains
  size_t by_point = 0;  // cells with a comma that only separates thousands
  absl::string_view comma_by_either;
  absl::string_view point_by_either;
  for (const absl::string_view field : fields) {
    const bool has_comma = absl::StrContains(field, ',');
    if (!has_comma && !absl::StrContains(field, '.')) {
      continue;
    }
    const Cell point = CellBy(field, DecimalMark::kPoint);
    const Cell comma = CellBy(field, DecimalMark::kComma);
    const bool is_either = point.kind == CellKind::kNumber && comma.kind == CellKind::kNumber;
    if (is_either && point.value() != comma.value()) {
      (has_comma ? comma_by_either : point_by_either) = field;
    } else if (!is_either && has_comma) {
      by_comma += comma.kind == CellKind::kNumber ? 1 : 0;
      by_point += point.kind == CellKind::kNumber ? 1 : 0;
    }
  }
  const bool is_comma =
      by_comma > 0 || (separator == ';' && by_point == 0 && !comma_by_either.empty());
  const DecimalMark mark = is_comma ? DecimalMark::kComma : DecimalMark::kPoint;
  CellColumn column;
  column.cells.reserve(fields.size());
  for (const absl::string_view field : fields) {
    column.cells.push_back(ParseCell(field, mark));
    const Cell& cell = column.cells.back();
    ++(cell.kind == CellKind::kNumber    ? column.numbers
       : cell.kind == CellKind::kWord    ? column.words
       : cell.kind == CellKind::kFailure ? column.failures
                                         : column.gaps);
  }
  const auto guess = [&](absl::string_view field) {
    column.remarks.push_back(
        absl::StrCat("a guess: \"", field, "\" is ", ParseCell(field, mark).value()));
  };
  if (!comma_by_either.empty() && (by_comma > 0) == (by_point > 0)) {
    guess(comma_by_either);
  }
  if (!point_by_either.empty() && (is_comma || separator == ';')) {
    guess(point_by_either);
  }
  SettleCounts(fields, column);
  const auto margins = std::count_if(
      column.cells.begin(), column.cells.end(),
      [](const Cell& cell) { return cell.kind == CellKind::kNumber && cell.has_margin; });
  if (margins > 0) {
    column.remarks.push_back(
        absl::StrCat(margins, margins == 1 ? " margin is" : " margins are", " not kept"));
  }
  return column;
}

bool SettlePercent(absl::Span<Cell* const> cells, std::vector<std::string>& remarks) {
  size_t numbers = 0;
  size_t percent = 0;
  size_t small = 0;  // without "%", at most 1
  size_t large = 0;
  for (const Cell* cell : cells) {
    if (cell->kind == CellKind::kNumber) {
      ++numbers;
      ++(cell->has_percent ? percent : std::abs(cell->value()) <= 1 ? small : large);
    }
  }
  if (percent == 0 || percent == numbers) {
    return percent > 0;
  }
  const bool are_fractions = large == 0;
  size_t unsure = 0;
  for (Cell* cell : cells) {
    if (cell->kind != CellKind::kNumber) {
      continue;
    }
    if (are_fractions && cell->has_percent) {
      cell->first /= 100;
      cell->second /= 100;
    } else if (!are_fractions && !cell->has_percent && std::abs(cell->value()) <= 1 &&
               cell->value() != 0) {
      cell->kind = CellKind::kWord;
      ++unsure;
    }
  }
  remarks.push_back(absl::StrCat(
      percent, " of ", numbers, " numbers have \"%\": read as ",
      are_fractions ? "fractions, as the others are at most 1" : "percent, as others are above 1",
      ", a guess",
      unsure > 0 ? absl::StrCat("; ", unsure,
                                " that may be fractions are "
                                "left out")
                 : ""));
  return !are_fractions;
}

}  // namespace concur
