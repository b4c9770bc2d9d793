// SPDX-License-Identifier: Apache-2.0
// Tables as aligned text.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/decimal.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

constexpr size_t kGap = 2;       // blanks between columns
constexpr size_t kWrapMin = 24;  // the narrowest column that text is wrapped into
constexpr char kPlainAgain[] = "\x1b[0m";

// A field as people see it.
struct TextField {
  std::string text;
  size_t width = 0;
  Tone tone = Tone::kPlain;
};

// The columns of a table that are shown, with everything in them.
struct TextGrid {
  std::vector<const TableColumn*> columns;
  std::vector<std::vector<TextField>> rows;  // the headings first, when there are any
  bool has_heads = false;
  std::vector<size_t> widths;

  void Measure() {
    widths.assign(columns.size(), 0);
    for (const std::vector<TextField>& row : rows) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].width);
      }
    }
  }
  // Width of the lines, gaps included.
  size_t Width() const {
    return std::accumulate(widths.begin(), widths.end(), size_t{0}) +
           kGap * (widths.empty() ? 0 : widths.size() - 1);
  }
  size_t WidthWrapped() const {
    size_t width = Width();
    for (size_t i = 0; i < columns.size(); ++i) {
      width -= columns[i]->wraps ? widths[i] - std::min(widths[i], kWrapMin) : 0;
    }
    return width;
  }
  void Drop(size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    columns.erase(columns.begin() + at);
    widths.erase(widths.begin() + at);
    for (std::vector<TextField>& row : rows) {
      row.erase(row.begin() + at);
    }
  }
};

// Columns and headings as the first piece of the table had them.
void KeepLayout(const Table& piece, const TextLayout& layout, TextGrid* grid) {
  for (size_t i = grid->columns.size(); i-- > 0;) {
    const auto column = static_cast<size_t>(grid->columns[i] - piece.columns.data());
    if (std::find(layout.columns.begin(), layout.columns.end(), column) == layout.columns.end()) {
      grid->Drop(i);
    }
  }
  if (grid->has_heads) {
    grid->rows.erase(grid->rows.begin());
  }
  for (size_t i = 0; i < grid->widths.size(); ++i) {
    grid->widths[i] = std::max(grid->widths[i], layout.widths[i]);
  }
}

TextLayout LayoutOf(const Table& piece, const TextGrid& grid) {
  TextLayout layout;
  for (const TableColumn* column : grid.columns) {
    layout.columns.push_back(static_cast<size_t>(column - piece.columns.data()));
  }
  layout.widths = grid.widths;
  return layout;
}

TextField FieldOf(std::string text, Tone tone = Tone::kPlain) {
  const size_t width = DisplayWidth(text);
  return {std::move(text), width, tone};
}

TextGrid GridOf(const Table& table, bool cuts) {
  std::vector<bool> any_marked(table.columns.size(), false);  // figures stay below each other
  for (const TableRow& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      any_marked[i] = any_marked[i] || row[i].is_marked;
    }
  }
  TextGrid grid;
  grid.columns = PeopleColumns(table);
  std::vector<TextField> heads;
  for (const TableColumn* column : grid.columns) {
    heads.push_back(FieldOf(ShortName(column->head, cuts ? column->width_max : 0)));
    grid.has_heads = grid.has_heads || !column->head.empty();
  }
  if (grid.has_heads) {
    grid.rows.push_back(std::move(heads));
  }
  for (const TableRow& row : table.rows) {
    std::vector<TextField> fields;
    for (size_t i = 0; i < row.size(); ++i) {
      const TableColumn& column = table.columns[i];
      if (column.audience == TableColumn::Audience::kPrograms) {
        continue;
      }
      // Only names are cut: half a figure would be another one.
      const bool is_name = row[i].kind == TableCell::Kind::kText;
      fields.push_back(FieldOf(absl::StrCat(ShortName(ShownValue(row[i], column),
                                                      cuts && is_name ? column.width_max : 0),
                                            row[i].footnote,
                                            row[i].is_marked ? "◂"
                                            : any_marked[i]  ? " "
                                                             : ""),
                               row[i].tone));
    }
    grid.rows.push_back(std::move(fields));
  }
  grid.Measure();
  return grid;
}

// Leaves out columns while the lines are too wide, what can be wrapped being so, and there is one
// that may go.
void DropColumns(size_t width, TextGrid* grid) {
  while (grid->WidthWrapped() > width) {
    size_t last = 0;
    for (size_t i = 1; i < grid->columns.size(); ++i) {
      last = grid->columns[i]->drop >= grid->columns[last]->drop ? i : last;
    }
    if (grid->columns.empty() || grid->columns[last]->drop == 0) {
      return;
    }
    grid->Drop(last);
  }
}

// A piece of `text` that is at most `width` columns wide, broken at a blank if there is one, and at
// least one character long; `text` becomes the rest.
std::string TakeLine(size_t width, absl::string_view* text) {
  size_t end = 0;
  size_t blank = 0;
  while (end < text->size()) {
    size_t next = end + 1;
    while (next < text->size() && (static_cast<unsigned char>((*text)[next]) & 0xC0U) == 0x80U) {
      ++next;
    }
    if (end > 0 && DisplayWidth(text->substr(0, next)) > width) {
      break;
    }
    if (next < text->size() && (*text)[next] == ' ') {
      blank = next;
    }
    end = next;
  }
  if (end < text->size() && blank > 0) {
    end = blank;
  }
  std::string line(text->substr(0, end));
  text->remove_prefix(end);
  while (!text->empty() && text->front() == ' ') {
    text->remove_prefix(1);
  }
  return line;
}

// `text` in lines of at most `width` columns; 0: in one.
std::string Sentence(const std::string& text, size_t width) {
  absl::string_view rest = text;
  std::string lines = width == 0 ? text : TakeLine(width, &rest);
  while (width > 0 && !rest.empty()) {
    absl::StrAppend(&lines, "\n", TakeLine(width, &rest));
  }
  return lines;
}

// Text that is too wide goes on in rows of its own.
void WrapColumns(size_t width, TextGrid* grid) {
  for (size_t i = 0; i < grid->columns.size() && grid->Width() > width; ++i) {
    if (!grid->columns[i]->wraps) {
      continue;
    }
    const size_t others = grid->Width() - grid->widths[i];
    const size_t room = std::max(kWrapMin, width - std::min(width, others));
    std::vector<std::vector<TextField>> rows;
    for (std::vector<TextField>& row : grid->rows) {
      const std::string whole = std::move(row[i].text);
      const Tone tone = row[i].tone;
      absl::string_view rest = whole;
      row[i] = FieldOf(TakeLine(room, &rest), tone);
      rows.push_back(std::move(row));
      while (!rest.empty()) {
        rows.emplace_back(grid->columns.size());
        rows.back()[i] = FieldOf(TakeLine(room, &rest), tone);
      }
    }
    grid->rows = std::move(rows);
    grid->Measure();
  }
}

// Cuts names further, the widest first, while a block of the `keys` and one more column is too
// wide.
void CutNames(size_t keys, size_t width, TextGrid* grid) {
  constexpr size_t kNameMin = 8;
  const auto needed = [&] {
    size_t first = 0;
    size_t other = 0;
    for (size_t i = 0; i < grid->widths.size(); ++i) {
      const size_t width_of = grid->widths[i] + kGap;
      first += i < keys ? width_of : 0;
      other = i < keys ? other : std::max(other, width_of);
    }
    return first + other - kGap;
  };
  while (!grid->columns.empty() && needed() > width) {
    size_t widest = grid->columns.size();
    for (size_t i = 0; i < std::min(keys, grid->columns.size()); ++i) {
      const TableColumn& column = *grid->columns[i];
      const size_t least = std::max(kNameMin, DisplayWidth(column.head));
      if (column.width_max > 0 && !column.is_right && !column.wraps && grid->widths[i] > least &&
          (widest == grid->columns.size() || grid->widths[i] > grid->widths[widest])) {
        widest = i;
      }
    }
    if (widest == grid->columns.size()) {
      break;
    }
    --grid->widths[widest];
  }
  for (std::vector<TextField>& row : grid->rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].width > grid->widths[i]) {
        row[i] = FieldOf(ShortName(row[i].text, grid->widths[i]), row[i].tone);
      }
    }
  }
}

// The columns of each block, so that lines fit; every block begins with the first `keys`.
std::vector<std::vector<size_t>> BlocksOf(const TextGrid& grid, size_t keys, size_t width) {
  keys = std::min(keys, grid.columns.size());
  size_t key_width = 0;
  std::vector<size_t> head;
  for (size_t i = 0; i < keys; ++i) {
    head.push_back(i);
    key_width += grid.widths[i] + (i > 0 ? kGap : 0);
  }
  std::vector<std::vector<size_t>> blocks = {head};
  size_t used = key_width;
  for (size_t i = keys; i < grid.columns.size(); ++i) {
    const size_t more = grid.widths[i] + (i > 0 ? kGap : 0);
    if (width > 0 && used + more > width && blocks.back().size() > keys) {
      blocks.push_back(head);
      used = key_width;
    }
    blocks.back().push_back(i);
    used += more;
  }
  return blocks;
}

// True if the row has nothing in a block, as above the diagonal of a matrix.
bool IsBlankIn(const std::vector<TextField>& row, const std::vector<size_t>& block, size_t keys) {
  return std::all_of(block.begin() + static_cast<std::ptrdiff_t>(keys), block.end(),
                     [&row](size_t i) { return row[i].text.empty(); });
}

const char* ColorOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      break;
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kActive:
      return "\x1b[36m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kQuiet:
      return "\x1b[2m";
  }
  return "";
}

// The text of a field between its blanks, and no blanks at the end of a line.
void AppendField(const TextField& field, const TableColumn& column, size_t width, bool color,
                 std::string* line, size_t* pending) {
  const size_t blanks = width - field.width;
  *pending += column.is_right ? blanks : 0;
  if (!field.text.empty()) {
    line->append(*pending, ' ');
    *pending = 0;
    const char* code = color ? ColorOf(field.tone) : "";
    absl::StrAppend(line, code, field.text, *code == '\0' ? "" : kPlainAgain);
  }
  *pending += column.is_right ? 0 : blanks;
}

}  // namespace

std::string ValueText(const TableCell& cell) {
  switch (cell.kind) {
    case TableCell::Kind::kNone:
      return "";
    case TableCell::Kind::kText:
      return cell.text;
    case TableCell::Kind::kInteger:
      return absl::StrCat(cell.integer);
    case TableCell::Kind::kNumber:
      return ShortestDecimal(cell.number);
    case TableCell::Kind::kYesNo:
      return cell.integer != 0 ? "yes" : "no";
  }
  return "";
}

std::string ShownValue(const TableCell& cell, const TableColumn& column) {
  if (!cell.text.empty()) {
    return cell.text;
  }
  if (cell.kind == TableCell::Kind::kNone) {
    return column.is_right ? "—" : "";
  }
  return cell.kind == TableCell::Kind::kNumber ? Fixed(cell.number, column.decimals)
                                               : ValueText(cell);
}

std::vector<const TableColumn*> PeopleColumns(const Table& table) {
  std::vector<const TableColumn*> columns;
  for (const TableColumn& column : table.columns) {
    if (column.audience != TableColumn::Audience::kPrograms) {
      columns.push_back(&column);
    }
  }
  return columns;
}

std::string WriteTextTable(const Table& table, const TextOptions& options) {
  std::string text;
  if (!table.title.empty()) {
    absl::StrAppend(&text, Sentence(Printable(table.title), options.width), "\n");
  }
  // Without rows, the notes say why.
  if (!table.rows.empty() || table.notes.empty()) {
    TextLayout layout;
    absl::StrAppend(&text, table.title.empty() ? "" : "\n", WriteTextPiece(table, options, layout));
  }
  for (const std::string& note : table.notes) {
    absl::StrAppend(&text, absl::StartsWith(note, " ") ? "" : "\n",
                    Sentence(Printable(note), options.width), "\n");
  }
  return text;
}

std::string WriteTextPiece(const Table& piece, const TextOptions& options, TextLayout& layout) {
  TextGrid grid = GridOf(piece, options.width > 0);
  if (layout.columns.empty()) {
    if (options.width > 0) {
      DropColumns(options.width, &grid);
    }
  } else {
    KeepLayout(piece, layout, &grid);
  }
  if (options.width > 0) {
    WrapColumns(options.width, &grid);
    CutNames(piece.key_columns, options.width, &grid);
  }
  layout = LayoutOf(piece, grid);
  std::string text;
  bool is_first = true;
  for (const std::vector<size_t>& block : BlocksOf(grid, piece.key_columns, options.width)) {
    absl::StrAppend(&text, is_first ? "" : "\n");
    for (const std::vector<TextField>& row : grid.rows) {
      if (!is_first && IsBlankIn(row, block, piece.key_columns)) {
        continue;  // it stands in the first block
      }
      std::string line;
      size_t pending = 0;
      for (const size_t i : block) {
        pending += i == block.front() ? 0 : kGap;
        AppendField(row[i], *grid.columns[i], grid.widths[i], options.color, &line, &pending);
      }
      line.erase(line.find_last_not_of(' ') + 1);  // the place of a mark
      absl::StrAppend(&text, line, "\n");
    }
    is_first = false;
  }
  return text;
}

}  // namespace concur::analysis
