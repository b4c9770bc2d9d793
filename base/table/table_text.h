// SPDX-License-Identifier: Apache-2.0
// Tables as people write them: the one reader of their rows, names and cells.
//
// Rows are separated by commas, semicolons, tabs, the pipes of Markdown, LaTeX's ampersands, or two
// blanks and more; names and cells come with line breaks, no-break spaces, emphasis, margins and
// footnote marks.
// Nothing is dropped in silence: lines that are left out are listed, and what is assumed of a
// column is said.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_TABLE_TABLE_TEXT_H_
#define CONCUR_BASE_TABLE_TABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/csv.h"

namespace concur {

struct TableText {
  char separator = ',';
  std::vector<CsvRecord> records;  // the header first; every field is clean
  struct LeftOut {
    std::string reason;
    int64_t line = 0;  // the first one
    int64_t count = 0;
  };
  std::vector<LeftOut> left_out;
};

// Reads the header and the rows below it. Skips a byte order mark, a line "sep=;", blank rows, and,
// into `left_out`, comments that begin with "#", "%", "//" or "; ", titles above the header and
// text around a Markdown table. The separator is the one that most of the first rows have equally
// often, then the one that comes first. InvalidArgument, as `FILE:LINE: …`, as ParseCsv, for HTML,
// a second table, a row of aligned columns with a gap, and beyond `fields_max` fields, which take
// some 100 bytes each.
absl::StatusOr<TableText> ReadTableText(absl::string_view text, absl::string_view file,
                                        size_t fields_max = 50'000'000);

// A name or a cell without its surroundings: line breaks, control characters and Unicode's spaces
// are single blanks; zero-width spaces, Markdown's emphasis and links, and CsvText's apostrophe are
// gone. Cleaning twice changes nothing.
std::string CleanText(absl::string_view text);

enum class CellKind {
  kGap,        // no score: "", "-", "N/A", …
  kFailure,    // a word for a score that could not be had: "OOM", "timeout"; a gap among numbers
  kNumber,     // finite
  kNotFinite,  // "nan", "inf", and what is beyond a double
  kWord,
};

struct Cell {
  CellKind kind = CellKind::kGap;
  bool has_percent = false;  // "71.2%"
  bool has_margin = false;   // "71.2 ± 0.4", "71.2 (0.4)": of what is not known
  bool is_pair = false;      // "94.2/92.3", as GLUE has it
  double first = 0;
  double second = 0;  // a pair's second number
  double value() const { return is_pair ? (first + second) / 2 : first; }
};

enum class DecimalMark { kPoint, kComma };
// `text`, which is clean, with `mark` before decimals and the other mark, blanks or apostrophes
// between thousands; a number that only the other mark can explain is read by it.
Cell ParseCell(absl::string_view text, DecimalMark mark = DecimalMark::kPoint);

struct CellColumn {
  std::vector<Cell> cells;
  size_t gaps = 0;
  size_t failures = 0;
  size_t numbers = 0;
  size_t words = 0;
  std::vector<std::string> remarks;  // assumptions, and things not kept
};
// The cells of a column, whose decimal mark all of them tell. "1,234" alone tells none: its comma
// is decimal where semicolons separate, else it separates thousands, a guess that a remark states.
// A column of whole "12/20" has quotients, one of "12 (60%)" percent; remarks say so. Else: means.
CellColumn ReadCells(absl::Span<const absl::string_view> fields, char separator);

// Brings numbers with and without "%" to one unit. Those without are fractions when none is beyond
// 1, and percent when all are; the others are words then, since 0.9 beside 85 and 80% may be both.
// True when the numbers are percent. Appends a remark when they were mixed.
bool SettlePercent(absl::Span<Cell* const> cells, std::vector<std::string>& remarks);

// --- Parts of ReadTableText, of table_header.cc.

// "; " with its blank: ";a;b" is a header whose first name is empty.
bool BeginsAsComment(absl::string_view text);

// The width that most have, and how many; one field alone is no row.
std::pair<size_t, size_t> MostCommonWidth(const std::vector<size_t>& widths);

void LeaveOutLine(TableText& table, absl::string_view reason, int64_t line);

// Takes comments, titles and blank rows out of the records, which are clean, and joins the lines of
// the header to its first.
void TakeHeader(TableText& table);

}  // namespace concur

#endif  // CONCUR_BASE_TABLE_TABLE_TEXT_H_
