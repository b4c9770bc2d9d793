#include "cli/output.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analysis/csv.h"
#include "analysis/text_table.h"

namespace concur::cli {
namespace {

using analysis::TextTable;

constexpr char kJoinedBy[] = "; ";

std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string ScalarText(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : Dump(value, -1);
}

// The value of a record at a dotted key, as a CSV field.
std::string CsvValue(const Json& record, const std::string& key) {
  const Json* value = &record;
  for (const absl::string_view part : absl::StrSplit(key, '.')) {
    const auto it = value->is_object() ? value->find(std::string(part)) : value->end();
    if (!value->is_object() || it == value->end()) {
      return "";
    }
    value = &*it;
  }
  if (value->is_array()) {
    std::vector<std::string> parts;
    for (const Json& item : *value) {
      // {"name": "f1", "value": 61.5, …} reads f1=61.5.
      const bool is_pair = item.is_object() && item.size() >= 2;
      parts.push_back(is_pair ? absl::StrCat(ScalarText(*item.begin()), "=",
                                             ScalarText(*std::next(item.begin())))
                              : ScalarText(item));
    }
    return analysis::CsvField(absl::StrJoin(parts, kJoinedBy));
  }
  return analysis::CsvField(ScalarText(*value));
}

// The dotted keys of a record. An empty object is one field: its keys differ between records.
void CollectKeys(const Json& record, const std::string& prefix, std::vector<std::string>* keys) {
  for (const auto& [key, value] : record.items()) {
    const std::string name = absl::StrCat(prefix, key);
    if (value.is_object() && !value.empty()) {
      CollectKeys(value, name + ".", keys);
    } else {
      keys->push_back(name);
    }
  }
}

}  // namespace

std::string SpanText(absl::Duration span) {
  if (span == absl::InfiniteDuration()) {
    return "—";
  }
  const double seconds = absl::ToDoubleSeconds(span);
  if (seconds < 59.95) {
    return absl::StrFormat("%.1f s", std::max(0.0, seconds));
  }
  const auto total = static_cast<int64_t>(std::llround(seconds));
  if (total < 3600) {
    return absl::StrFormat("%dm%02ds", total / 60, total % 60);
  }
  if (total < 86'400) {
    return absl::StrFormat("%dh%02dm", total / 3600, total % 3600 / 60);
  }
  return absl::StrFormat("%dd%02dh", total / 86'400, total % 86'400 / 3600);
}

std::string BytesText(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " B") : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string CountText(uint64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text.push_back(',');
    }
    text.push_back(digits[i]);
  }
  return text;
}

std::string LineText(absl::string_view text, size_t width_max) {
  return analysis::Printable(text, width_max);
}

std::string LogText(absl::string_view text) {
  std::string result;
  for (const absl::string_view line :
       absl::StrSplit(absl::StrReplaceAll(text, {{"\r\n", "\n"}, {"\r", "\n"}}), '\n')) {
    for (const absl::string_view field : absl::StrSplit(line, '\t')) {
      absl::StrAppend(&result, LineText(field), "\t");
    }
    result.back() = '\n';
  }
  result.pop_back();
  return result;
}

std::string CompactJson(const Json& value) { return Dump(value, -1); }

struct Listing::Data {
  std::vector<Column> columns;
  std::vector<std::string> keys;
  std::string empty;
  std::vector<std::vector<std::string>> rows;
  std::vector<Json> records;
};

Listing::Listing(std::vector<Column> columns, const Json& prototype, std::string empty)
    : data_(std::make_unique<Data>()) {
  data_->columns = std::move(columns);
  CollectKeys(prototype, "", &data_->keys);
  data_->empty = std::move(empty);
}
Listing::~Listing() = default;
Listing::Listing(Listing&&) noexcept = default;

void Listing::Add(std::vector<std::string> cells, Json record) {
  data_->rows.push_back(std::move(cells));
  data_->records.push_back(std::move(record));
}

void Listing::Print(CommandContext& context) const {
  switch (context.output) {
    case OutputMode::kTable: {
      if (data_->rows.empty()) {
        context.err << data_->empty << "\n";
        return;
      }
      std::vector<TextTable::Align> aligns;
      std::vector<std::string> heads;
      for (const Column& column : data_->columns) {
        aligns.push_back(column.is_number ? TextTable::Align::kRight : TextTable::Align::kLeft);
        heads.push_back(column.head);
      }
      TextTable table(aligns);
      table.AddRow(heads);
      for (const std::vector<std::string>& row : data_->rows) {
        std::vector<std::string> cells;
        cells.reserve(row.size());
        for (const std::string& cell : row) {
          cells.push_back(LineText(cell));
        }
        table.AddRow(std::move(cells));
      }
      context.out << table.ToString();
      return;
    }
    case OutputMode::kJson:
      context.out << Dump(Json(data_->records), 2) << "\n";
      return;
    case OutputMode::kJsonLines:
      for (const Json& record : data_->records) {
        context.out << Dump(record, -1) << "\n";
      }
      return;
    case OutputMode::kCsv:
      context.out << absl::StrJoin(data_->keys, ",") << "\n";
      for (const Json& record : data_->records) {
        context.out << absl::StrJoin(data_->keys, ",", [&](std::string* out, const auto& key) {
          const std::string field = CsvValue(record, key);
          out->append(context.out_is_terminal ? LineText(field) : field);
        }) << "\n";
      }
      return;
  }
}

void PrintDetails(CommandContext& context,
                  const std::vector<std::pair<std::string, std::string>>& lines,
                  const Json& record) {
  if (context.output != OutputMode::kTable) {
    if (context.output == OutputMode::kJson) {
      context.out << Dump(record, 2) << "\n";
      return;
    }
    Listing listing({}, record, "");
    listing.Add({}, record);
    listing.Print(context);
    return;
  }
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
  for (const auto& [name, value] : lines) {
    if (!value.empty()) {
      table.AddRow({name, LineText(value)});
    }
  }
  context.out << table.ToString();
}

namespace {

std::string Paint(const CommandContext& context, const char* code, const char* text) {
  return context.color && context.err_is_terminal
             ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m")
             : text;
}

// Messages may have several lines (one error of a sweep file each): these stay, nothing else does.
std::string MessageText(absl::string_view message) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    lines.push_back(LineText(line));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace

void PrintError(CommandContext& context, const absl::Status& status) {
  if (IsJson(context)) {
    Json error;
    error["error"]["code"] = absl::StatusCodeToString(status.code());
    error["error"]["message"] = std::string(status.message());
    context.err << Dump(error, -1) << "\n";
    return;
  }
  const std::string message = MessageText(status.message());
  context.err << "concur: " << Paint(context, "1;31", "error:")
              << (absl::StrContains(message, "\n") ? "\n" : " ") << message << "\n";
}

void PrintWarning(CommandContext& context, absl::string_view message) {
  if (IsJson(context)) {
    Json warning;
    warning["warning"]["message"] = std::string(message);
    context.err << Dump(warning, -1) << "\n";
    return;
  }
  context.err << "concur: " << Paint(context, "1;33", "warning:") << " " << MessageText(message)
              << "\n";
}

void PrintNote(CommandContext& context, absl::string_view message) {
  if (!IsJson(context)) {
    context.err << "concur: " << MessageText(message) << "\n";
  }
}

}  // namespace concur::cli
