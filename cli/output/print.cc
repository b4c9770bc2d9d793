// SPDX-License-Identifier: Apache-2.0
#include "cli/output/print.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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
#include "base/csv.h"
#include "cli/output/grouped_warnings.h"
#include "cli/output/tone.h"
#include "core/fields.h"
#include "proto/rpc/convert_value.h"
#include "report/json_text.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::cli {
namespace {

using analysis::TableFormat;

std::string ScalarText(const Json& value) {
  return value.is_null()     ? ""
         : value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ListText(const Json& list) {
  std::vector<std::string> parts;
  for (const Json& item : list) {
    // {"name": "f1", "value": 61.5, …} reads f1=61.5.
    const bool is_pair = item.is_object() && item.size() >= 2;
    parts.push_back(
        is_pair ? absl::StrCat(ScalarText(*item.begin()), "=", ScalarText(*std::next(item.begin())))
                : ScalarText(item));
  }
  return absl::StrJoin(parts, "; ");
}

// The value of a record at a key with these parts; null when it has none.
const Json* ValueAt(const Json& record, const std::vector<std::string>& key) {
  const Json* value = &record;
  for (const std::string& part : key) {
    if (!value->is_object()) {
      return nullptr;
    }
    const auto it = value->find(part);
    if (it == value->end()) {
      return nullptr;
    }
    value = &*it;
  }
  return value;
}

// Makes no text of its own where it can be avoided: lists have millions of fields.
void AppendCsvField(const Json* value, std::string* line) {
  if (value == nullptr) {
    return;
  }
  switch (value->type()) {
    case Json::value_t::null:
      break;
    case Json::value_t::number_integer:
      absl::StrAppend(line, value->get<int64_t>());
      break;
    case Json::value_t::number_unsigned:
      absl::StrAppend(line, value->get<uint64_t>());
      break;
    case Json::value_t::string:
      *line += CsvText(value->get_ref<const std::string&>());
      break;
    default:
      *line += CsvText(value->is_array() ? ListText(*value) : ScalarText(*value));
  }
}

// The keys of a record, with the keys within them. An empty object is one field: its keys differ
// between records.
void CollectKeys(const Json& record, const std::vector<std::string>& prefix,
                 std::vector<std::vector<std::string>>* keys) {
  for (const auto& [name, value] : record.items()) {
    std::vector<std::string> key = prefix;
    key.push_back(name);
    if (value.is_object() && !value.empty()) {
      CollectKeys(value, key, keys);
    } else {
      keys->push_back(std::move(key));
    }
  }
}

}  // namespace

absl::Duration SpanOf(const google::protobuf::Duration& span) {
  return rpc::FromProto(span, FieldPath("span")).value_or(absl::ZeroDuration());
}

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

std::string HeadLine(absl::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
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

analysis::Table ListTable(const std::vector<Column>& columns) {
  analysis::Table table;
  for (const Column& column : columns) {
    table.columns.push_back({column.name, column.name, column.is_number, column.decimals});
    table.columns.back().width_max = column.width_max;
    table.columns.back().drop = column.drop;
    table.columns.back().wraps = column.wraps;
  }
  return table;
}

analysis::TextOptions TextOptionsOf(const CommandContext& context) {
  return {.width = context.out_width,
          .color = context.color && context.out_is_terminal,
          .details = context.notes};
}

analysis::TableRow TextCells(std::vector<std::string> cells) {
  analysis::TableRow row;
  for (std::string& cell : cells) {
    row.push_back(analysis::TextCell(std::move(cell)));
  }
  return row;
}

Listing::Listing(CommandContext& context, const std::vector<Column>& columns, const Json& prototype,
                 std::string empty)
    : context_(context), columns_(columns), table_(ListTable(columns)), empty_(std::move(empty)) {
  table_.key_columns = columns.size();  // a thing is one line, or is wrapped
  CollectKeys(prototype, {}, &keys_);
  if (context.output == OutputMode::kCsv) {
    for (const std::vector<std::string>& key : keys_) {
      absl::StrAppend(&lines_, lines_.empty() ? "" : ",", CsvText(absl::StrJoin(key, ".")));
    }
    lines_ += "\n";
  }
}
Listing::~Listing() = default;

void Listing::Add(std::vector<std::string> cells, const Json& record) {
  switch (context_.output) {
    case OutputMode::kTable:
      table_.rows.push_back(TextCells(std::move(cells)));
      for (size_t i = 0; i < columns_.size(); ++i) {
        analysis::TableCell& cell = table_.rows.back()[i];
        cell.tone = columns_[i].is_state ? ToneOf(cell.text) : analysis::Tone::kPlain;
      }
      break;
    case OutputMode::kJson:
      absl::StrAppend(&lines_, added_ == 0 ? "[\n" : ",\n", analysis::IndentedElement(record));
      break;
    case OutputMode::kJsonLines:
      lines_ += analysis::JsonLine(record);
      break;
    case OutputMode::kCsv:
      for (size_t i = 0; i < keys_.size(); ++i) {
        lines_ += i == 0 ? "" : ",";
        AppendCsvField(ValueAt(record, keys_[i]), &lines_);
      }
      lines_ += "\n";
      break;
  }
  if (++added_ % kPiece == 0) {
    WritePiece();
  }
}

void Listing::WritePiece() {
  if (context_.output == OutputMode::kTable) {
    context_.out << analysis::WriteTextPiece(table_, TextOptionsOf(context_), layout_);
    table_.rows.clear();
  } else {
    const bool is_shown = context_.output == OutputMode::kCsv && context_.out_is_terminal;
    context_.out << (is_shown ? LogText(lines_) : lines_);
    lines_.clear();
  }
  context_.out << std::flush;
}

void Listing::Print() {
  if (context_.output == OutputMode::kJson) {
    lines_ += added_ == 0 ? "[]\n" : "\n]\n";
  }
  if (context_.output == OutputMode::kTable && added_ == 0) {
    context_.err << empty_ << "\n";
  } else if (context_.output != OutputMode::kTable || !table_.rows.empty()) {
    WritePiece();
  }
}

void PrintJson(CommandContext& context, const Json& value) {
  context.out << (context.output == OutputMode::kJson ? analysis::IndentedJson(value)
                                                      : analysis::JsonLine(value));
}

void PrintDetails(CommandContext& context,
                  const std::vector<std::pair<std::string, std::string>>& lines,
                  const Json& record) {
  if (IsJson(context)) {
    PrintJson(context, record);
    return;
  }
  if (context.output == OutputMode::kCsv) {
    Listing listing(context, {}, record, "");
    listing.Add({}, record);
    listing.Print();
    return;
  }
  analysis::Table table = ListTable({{""}, {""}});
  for (const auto& [name, value] : lines) {
    if (!value.empty()) {
      table.rows.push_back(TextCells({name, value}));
    }
  }
  table.columns[1].wraps = true;
  context.out << analysis::WriteTable(table, TableFormat::kText, TextOptionsOf(context));
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
    context.err << analysis::JsonLine(error);
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
    context.err << analysis::JsonLine(warning);
    return;
  }
  context.err << "concur: " << Paint(context, "1;33", "warning:") << " " << MessageText(message)
              << "\n";
}

void PrintWarnings(CommandContext& context, const std::vector<std::string>& messages) {
  for (const std::string& message : IsJson(context) ? messages : GroupWarnings(messages)) {
    PrintWarning(context, message);
  }
}

void PrintNote(CommandContext& context, absl::string_view message) {
  if (!IsJson(context)) {
    context.err << "concur: " << MessageText(message) << "\n";
  }
}

}  // namespace concur::cli
