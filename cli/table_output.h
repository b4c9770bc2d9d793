// How commands whose result is one table print it: -o/--output, or --format for papers and pages.
//
// Thread-compatible.
#ifndef CONCUR_CLI_TABLE_OUTPUT_H_
#define CONCUR_CLI_TABLE_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "analysis/table.h"
#include "cli/command.h"

namespace concur::cli {

// Adds --format markdown|latex, and svg where the command draws a figure; `format` must outlive the
// command.
void AddFormatOption(Command* command, std::string& format, bool with_svg = false);
// InvalidArgument for an unknown format.
absl::Status CheckFormat(const std::string& format, bool with_svg = false);
// Prints in `format`, or as context.output says when it is empty.
absl::Status PrintTable(const analysis::Table& table, const std::string& format,
                        CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_TABLE_OUTPUT_H_
