#include "cli/table_output.h"

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command_line.h"

namespace concur::cli {

using analysis::TableFormat;

void AddFormatOption(Command* command, std::string& format, bool with_svg) {
  command
      ->AddOption("--format", format,
                  absl::StrCat("markdown", with_svg ? ", " : " or ", "latex (booktabs)",
                               with_svg ? " or svg (a figure)" : "", ", instead of --output"))
      ->TypeName("FORMAT");
}

absl::Status CheckFormat(const std::string& format, bool with_svg) {
  if (format.empty() || format == "markdown" || format == "latex" ||
      (with_svg && format == "svg")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("format: expected markdown",
                                                 with_svg ? ", latex or svg" : " or latex",
                                                 ", got \"", format, "\""));
}

absl::Status PrintTable(const analysis::Table& table, const std::string& format,
                        CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(format));
  TableFormat form = TableFormat::kText;
  if (!format.empty()) {
    form = format == "latex" ? TableFormat::kLatex : TableFormat::kMarkdown;
  } else if (context.output == OutputMode::kJson) {
    form = TableFormat::kJson;
  } else if (context.output == OutputMode::kJsonLines) {
    form = TableFormat::kJsonLines;
  } else if (context.output == OutputMode::kCsv) {
    form = TableFormat::kCsv;
  }
  context.out << analysis::WriteTable(table, form);
  return absl::OkStatus();
}

}  // namespace concur::cli
