#include "cli/records.h"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "cli/command.h"
#include "qa/json_text.h"

namespace concur::cli {
namespace {

std::string JsonRecord(const Records& records, const std::vector<std::string>& row) {
  std::string json = "{";
  for (size_t c = 0; c < row.size(); ++c) {
    json.append(c == 0 ? "" : ", ");
    qa::AppendJsonString(records.columns[c].name, json);
    json.append(": ");
    if (records.columns[c].number) {
      json.append(row[c]);
    } else {
      qa::AppendJsonString(row[c], json);
    }
  }
  return json + "}";
}

void PrintTable(const Records& records, std::ostream& out) {
  std::vector<size_t> widths;
  for (const Records::Column& column : records.columns) {
    widths.push_back(column.name.size());
  }
  for (const auto& row : records.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  const auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      line.append(c == 0 ? "" : "  ");
      line.append(records.columns[c].number ? pad + row[c] : row[c] + pad);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  };
  std::vector<std::string> names;
  for (const Records::Column& column : records.columns) {
    names.push_back(column.name);
  }
  print(names);
  for (const auto& row : records.rows) {
    print(row);
  }
}

}  // namespace

void Print(const Records& records, CommandContext& context) {
  std::vector<std::string> lines;
  switch (context.output) {
    case OutputMode::kTable:
      PrintTable(records, context.out);
      return;
    case OutputMode::kJson:
    case OutputMode::kJsonLines:
      for (const auto& row : records.rows) {
        lines.push_back(JsonRecord(records, row));
      }
      if (context.output == OutputMode::kJson) {
        context.out << "[" << absl::StrJoin(lines, ",\n ") << "]\n";
      } else {
        for (const std::string& line : lines) {
          context.out << line << "\n";
        }
      }
      return;
    case OutputMode::kCsv: {
      std::vector<std::string> names;
      for (const Records::Column& column : records.columns) {
        names.push_back(analysis::CsvField(column.name));
      }
      context.out << absl::StrJoin(names, ",") << "\n";
      for (const auto& row : records.rows) {
        std::vector<std::string> fields;
        fields.reserve(row.size());
        for (const std::string& field : row) {
          fields.push_back(analysis::CsvField(field));
        }
        context.out << absl::StrJoin(fields, ",") << "\n";
      }
      return;
    }
  }
}

}  // namespace concur::cli
