// SPDX-License-Identifier: Apache-2.0
// A table and the only code that writes tables: aligned text, CSV, JSON, JSON lines, Markdown,
// LaTeX (booktabs) and HTML.
//
// Values; the writers are stateless and thread-safe. People get figures with a fixed number of
// decimals, programs the shortest form that reads back exactly, and null (JSON) or nothing (CSV)
// where there is no value. Names are escaped for their format; control characters become U+FFFD.
#ifndef CONCUR_REPORT_TABLE_H_
#define CONCUR_REPORT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// State of a thing that a cell tells of: its colour on a terminal.
enum class Tone { kPlain, kGood, kActive, kWarning, kBad, kQuiet };

// One field of a row.
struct TableCell {
  enum class Kind { kNone, kText, kInteger, kNumber, kYesNo };
  Kind kind = Kind::kNone;
  std::string text;           // kText; else, unless empty, what people see instead of the figure
  double number = 0;          // kNumber
  int64_t integer = 0;        // kInteger, kYesNo (0 or 1)
  bool is_marked = false;     // bold in Markdown and LaTeX, followed by "◂" in text and HTML
  std::string footnote = {};  // the sign of a note, e.g. "*"; follows what people see, never cut
  Tone tone = Tone::kPlain;
};
TableCell WithTone(TableCell cell, Tone tone);
TableCell WithFootnote(TableCell cell, std::string sign);
TableCell TextCell(std::string text);
// `shown` replaces the digits for people.
TableCell IntegerCell(int64_t value, std::string shown = "");
// Text where no int64_t holds the value.
TableCell UnsignedCell(uint64_t value);
TableCell YesNoCell(bool value);
// kNone when `value` is empty or NaN; `shown` replaces the rounded figure for people.
TableCell NumberCell(std::optional<double> value, std::string shown = "");
// Cell of a p-value, which people see with four decimals: "<0.0001" instead of zeros.
TableCell PValueCell(double p);
// As NumberCell; people see "undef" where there is no value.
TableCell CoefficientCell(std::optional<double> value);
// A difference: people see its sign also where it is positive.
TableCell SignedCell(std::optional<double> value, int decimals = 2);
// The ends of an interval; kNone without one.
TableCell LowCell(const std::optional<Interval>& interval);
TableCell HighCell(const std::optional<Interval>& interval);

using TableRow = std::vector<TableCell>;

struct TableColumn {
  // Some columns show people in one what programs get in several.
  enum class Audience { kAll, kPeople, kPrograms };
  std::string key;   // the name that programs see
  std::string head;  // the heading that people see; aligned text has no line of empty headings
  bool is_right = false;
  int decimals = 2;
  Audience audience = Audience::kAll;
  // On a terminal only; elsewhere text is as long and as wide as it is:
  size_t width_max = 60;  // for names and headings; 0: any
  int drop = 0;        // left out of a table that is too wide, the highest number first; 0: never
  bool wraps = false;  // text that is too wide goes on below
};

// A column that only programs, or only people, see.
TableColumn ForPrograms(std::string key);
TableColumn ForPeople(std::string head, bool is_right);

// Greatest width of names in tables of pairs, on a terminal.
inline constexpr size_t kPairNameMax = 40;

struct Table {
  std::string title;  // one line; "" for none
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;      // each as long as `columns`
  size_t key_columns = 1;          // every block of columns begins with these, of what people see
  std::vector<std::string> notes;  // sentences below the table; a leading blank: part of the last
  std::vector<std::string> details = {};  // further ones, that no conclusion hangs on
};

// JSON is {"title","rows":[{KEY: value}],"notes":[…]}. CSV, JSON lines and kJsonList (a list, two
// blanks of indentation) have the rows alone.
enum class TableFormat { kText, kCsv, kJson, kJsonList, kJsonLines, kMarkdown, kLatex };

// Where aligned text goes. On a terminal of `width` columns a table that is too wide loses the
// columns that may be dropped, then wraps those that may be wrapped, and in the end comes in blocks
// of columns, one below the other.
struct TextOptions {
  size_t width = 0;  // 0: no terminal, any width
  bool color = false;
  bool details = false;  // in every form for people; JSON always has them
};
std::string WriteTable(const Table& table, TableFormat format, const TextOptions& options = {});

// Aligned text of a table whose rows come in pieces. The first piece brings the headings and
// decides which columns are shown; a later one may make them wider.
struct TextLayout {
  std::vector<size_t> columns;  // that are shown
  std::vector<size_t> widths;   // one for each of these
};
std::string WriteTextPiece(const Table& piece, const TextOptions& options, TextLayout& layout);

// Functions that the writers share: the value as programs get it ("" where there is none), what
// people see of it but for the footnote, and the columns that people see.
std::string ValueText(const TableCell& cell);
std::string ShownValue(const TableCell& cell, const TableColumn& column);
std::vector<const TableColumn*> PeopleColumns(const Table& table);
std::string WriteTextTable(const Table& table, const TextOptions& options);

// `row` as a line of CSV, for files too long to be held as a Table.
std::string CsvLine(const TableRow& row);

// A sortable table with a field that filters its rows, for a page with report.css and report.js; of
// a table without rows only its notes.
struct HtmlTableOptions {
  std::string id;       // an HTML name
  size_t rows_max = 0;  // further rows are left out, and a sentence says so
  std::vector<std::string> row_texts =
      {};  // text that the filter searches in each row; empty: its cells
};
std::string WriteHtmlTable(const Table& table, const HtmlTableOptions& options);
// `text` as an HTML paragraph of that class ("": none).
std::string HtmlParagraph(const std::string& text, const std::string& style = "");

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_TABLE_H_
