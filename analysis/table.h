// A result as a table that every output form is written from: aligned text, CSV, JSON, JSON lines,
// Markdown and LaTeX (booktabs).
//
// Values; the writers are stateless and thread-safe. People get figures with a fixed number of
// decimals, programs the shortest form that reads back exactly, null (JSON) or nothing (CSV) where
// there is none. Names are escaped for their format; control characters become U+FFFD.
#ifndef CONCUR_ANALYSIS_TABLE_H_
#define CONCUR_ANALYSIS_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::analysis {

// One field of a row.
struct TableCell {
  enum class Kind { kNone, kText, kInteger, kNumber, kYesNo };
  Kind kind = Kind::kNone;
  std::string text;        // kText; else, unless empty, what people see instead of the figure
  double number = 0;       // kNumber, kInteger, kYesNo (0 or 1)
  bool is_marked = false;  // bold in Markdown and LaTeX, followed by "◂" in text
};
TableCell TextCell(std::string text);
TableCell IntegerCell(int64_t value);
TableCell YesNoCell(bool value);
// kNone when `value` is empty or NaN; `shown` replaces the rounded figure for people.
TableCell NumberCell(std::optional<double> value, std::string shown = "");

struct TableColumn {
  // Some columns say for people in one what programs get in several.
  enum class Audience { kAll, kPeople, kPrograms };
  std::string key;   // the name that programs see
  std::string head;  // the heading that people see
  bool is_right = false;
  int decimals = 2;
  Audience audience = Audience::kAll;
};

struct Table {
  std::string title;  // one line; "" for none
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;  // each as long as `columns`
  std::vector<std::string> notes;            // sentences below the table
};

enum class TableFormat { kText, kCsv, kJson, kJsonLines, kMarkdown, kLatex };

// JSON is {"title","rows":[{KEY: value}],"notes":[…]}; CSV and JSON lines have the rows alone.
std::string WriteTable(const Table& table, TableFormat format);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_TABLE_H_
