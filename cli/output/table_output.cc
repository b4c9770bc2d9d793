// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table_output.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/output/print.h"
#include "report/table.h"

namespace concur::cli {

using analysis::TableFormat;

void AddNotesOption(Command* command, CommandContext& context) {
  command->AddFlag("--notes", context.notes,
                   "All notes below tables, also those that change no conclusion");
}

void AddFormatOption(Command* command, std::string& format, CommandContext& context,
                     bool with_svg) {
  command
      ->AddOption("--format", format,
                  absl::StrCat("markdown", with_svg ? ", " : " or ", "latex (booktabs)",
                               with_svg ? " or svg (a figure)" : "", ", instead of --output"))
      ->TypeName("FORMAT");
  AddNotesOption(command, context);
}

absl::Status CheckFormat(const std::string& format, bool with_svg) {
  std::vector<std::string> formats = {"markdown", "latex"};
  if (with_svg) {
    formats.push_back("svg");
  }
  return format.empty() || std::find(formats.begin(), formats.end(), format) != formats.end()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("format: ", ExpectedOneOf(formats, format)));
}

TableFormat FormatOf(const std::string& format, const CommandContext& context) {
  if (!format.empty()) {
    return format == "latex" ? TableFormat::kLatex : TableFormat::kMarkdown;
  }
  switch (context.output) {
    case OutputMode::kTable:
      return TableFormat::kText;
    case OutputMode::kJson:
      return TableFormat::kJson;
    case OutputMode::kJsonLines:
      return TableFormat::kJsonLines;
    case OutputMode::kCsv:
      return TableFormat::kCsv;
  }
  return TableFormat::kText;
}

void PrintAs(TableFormat form, const std::string& text, CommandContext& context) {
  context.out << (form == TableFormat::kCsv && context.out_is_terminal ? LogText(text) : text);
}

absl::Status PrintTable(const analysis::Table& table, const std::string& format,
                        CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(format));
  const TableFormat form = FormatOf(format, context);
  PrintAs(form, analysis::WriteTable(table, form, TextOptionsOf(context)), context);
  return absl::OkStatus();
}

void PrintRows(const analysis::Table& table, CommandContext& context) {
  TableFormat form = FormatOf("", context);
  form = form == TableFormat::kJson ? TableFormat::kJsonList : form;
  PrintAs(form, analysis::WriteTable(table, form, TextOptionsOf(context)), context);
}

}  // namespace concur::cli
