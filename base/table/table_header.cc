// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/csv.h"
#include "base/table/table_text.h"

namespace concur {
namespace {

constexpr size_t kTitlesMax = 20;  // lines that are looked at behind a title
constexpr size_t kHeaderLinesMax = 3;
constexpr size_t kHeadRows = 20;  // tell which columns are scores

bool IsEmptyFrom(const CsvRecord& record, size_t first) {
  return std::all_of(record.fields.begin() + static_cast<std::ptrdiff_t>(first),
                     record.fields.end(), [](const std::string& field) { return field.empty(); });
}

// True when the record at `at` stands above the header: a title is alone in its line, or has fewer
// fields than the header below it, which has no numbers.
bool IsTitle(const std::vector<CsvRecord>& records, size_t at, size_t width) {
  const CsvRecord& record = records[at];
  if (at + 2 >= records.size() || width < 2) {
    return false;
  }
  const size_t fields = record.fields.size();
  if (fields == 1) {
    return true;
  }
  const bool is_padded = fields > 2 && !record.fields[0].empty() && IsEmptyFrom(record, 1);
  size_t header = at + 1;  // titles may have several lines
  while (header < std::min(records.size(), at + kTitlesMax) &&
         records[header].fields.size() < width) {
    ++header;
  }
  return is_padded ||
         (fields < width && header < records.size() && records[header].fields.size() == width &&
          std::none_of(records[header].fields.begin(), records[header].fields.end(),
                       [](const auto& name) { return ParseCell(name).kind == CellKind::kNumber; }));
}

// Joins `below` to the header where it is a line of it: names below groups, that span the fields
// without a name behind them or come twice, or units, below which no name is in the first column.
// `rows` follow; their numbers tell the columns of scores, each of which then has a name of its
// own.
bool JoinHeader(CsvRecord& header, const CsvRecord& below, absl::Span<const CsvRecord> rows) {
  const size_t width = header.fields.size();
  const bool is_unnamed = below.fields[0].empty();
  if (width < 2 || below.fields.size() != width || IsEmptyFrom(below, 1)) {
    return false;
  }
  std::vector<std::string> joined = {is_unnamed ? header.fields[0] : below.fields[0]};
  std::set<absl::string_view> names;
  bool is_open = false;  // without the line below, a column of scores has no name of its own
  bool has_numbers = false;
  std::string group;
  for (size_t c = 1; c < width; ++c) {
    const std::string& name = header.fields[c];
    const std::string& more = below.fields[c];
    const CellKind kind = ParseCell(more).kind;
    const bool has_scores = std::any_of(rows.begin(), rows.end(), [c](const CsvRecord& row) {
      return c < row.fields.size() && ParseCell(row.fields[c]).kind == CellKind::kNumber;
    });
    const bool is_own = !name.empty() && names.insert(name).second;
    if (has_scores && kind != CellKind::kWord && !(more.empty() && is_own) &&
        !(is_unnamed && kind == CellKind::kNumber)) {
      return false;
    }
    has_numbers = has_numbers || kind == CellKind::kNumber;
    is_open = is_open || (has_scores && !is_own);
    group = name.empty() && !more.empty() ? group : name;
    joined.push_back(absl::StrCat(group, group.empty() || more.empty() ? "" : " ", more));
  }
  const bool is_header =
      is_open ? header.fields[0].empty() || is_unnamed || header.fields[0] == below.fields[0]
              : is_unnamed && !has_numbers;
  if (is_header) {
    header.fields = std::move(joined);
  }
  return is_header;
}

void JoinHeaders(TableText& table) {
  std::vector<CsvRecord>& records = table.records;
  const auto take_second = [&] {
    LeaveOutLine(table, "a line of the header, joined to its first, a guess", records[1].line);
    records.erase(records.begin() + 1);
  };
  size_t lines = 1;
  for (; lines < kHeaderLinesMax && records.size() > 1 &&
         JoinHeader(records[0], records[1], absl::MakeSpan(records).subspan(2, kHeadRows));
       ++lines) {
    take_second();
  }
  // Below the names of columns, pandas names the first one in a line of its own.
  if (lines > 1 && records.size() > 1 && records[0].fields[0].empty() &&
      IsEmptyFrom(records[1], 1)) {
    records[0].fields[0] = records[1].fields[0];
    take_second();
  }
}

}  // namespace

std::pair<size_t, size_t> MostCommonWidth(const std::vector<size_t>& widths) {
  std::map<size_t, size_t> counts;
  for (const size_t width : widths) {
    counts[width] += width > 1 ? 1 : 0;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::pair<size_t, size_t>() : std::pair<size_t, size_t>(*most);
}

bool BeginsAsComment(absl::string_view text) {
  return absl::StartsWith(text, "#") || absl::StartsWith(text, "%") ||
         absl::StartsWith(text, "//") || absl::StartsWith(text, "; ");
}

void LeaveOutLine(TableText& table, absl::string_view reason, int64_t line) {
  const auto found = std::find_if(table.left_out.begin(), table.left_out.end(),
                                  [&](const auto& lines) { return lines.reason == reason; });
  if (found != table.left_out.end()) {
    ++found->count;
  } else {
    table.left_out.push_back({std::string(reason), line, 1});
  }
}

void TakeHeader(TableText& table) {
  std::vector<CsvRecord> records = std::move(table.records);
  table.records.clear();
  std::vector<size_t> widths;
  widths.reserve(records.size());
  for (const CsvRecord& record : records) {
    widths.push_back(record.fields.size());
  }
  const size_t width = MostCommonWidth(widths).first;
  for (size_t r = 0; r < records.size(); ++r) {
    CsvRecord& record = records[r];
    const bool is_first = table.records.empty();
    const size_t columns = is_first ? width : table.records[0].fields.size();
    const bool is_alone = is_first && record.fields[0].size() > 1 && IsEmptyFrom(record, 1);
    if (IsEmptyFrom(record, 0)) {
      continue;
    }
    if (BeginsAsComment(record.fields[0]) && width > 1 &&
        ((record.fields.size() != columns && record.fields.size() != width) || is_alone)) {
      LeaveOutLine(table, "a comment", record.line);
    } else if (is_first && IsTitle(records, r, width)) {
      LeaveOutLine(table, "a line above the header", record.line);
    } else {
      if (is_first && absl::StartsWith(record.fields[0], "# ")) {
        record.fields[0].erase(0, 2);
      }
      table.records.push_back(std::move(record));
    }
  }
  JoinHeaders(table);
}

}  // namespace concur
