// Aligned columns of text for terminals.
//
// Thread-compatible.
#ifndef CONCUR_ANALYSIS_TEXT_TABLE_H_
#define CONCUR_ANALYSIS_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::analysis {

// Columns of a terminal that UTF-8 `text` takes: 2 for wide East Asian characters and emoji, 0 for
// combining marks, 1 for the rest.
size_t DisplayWidth(absl::string_view text);

// `text` with control characters, which could move the cursor or recolour the screen, replaced by
// U+FFFD, and cut to `width_max` columns with "…" when longer (0: never).
std::string Printable(absl::string_view text, size_t width_max = 0);

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  // Every row must have at most as many fields as there are columns.
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> fields) { rows_.push_back(std::move(fields)); }

  // Two blanks between columns, no blanks at the ends of lines, a line feed after each row.
  std::string ToString() const;
  // The width of the widest line.
  size_t Width() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_TEXT_TABLE_H_
