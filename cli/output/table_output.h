// SPDX-License-Identifier: Apache-2.0
// Prints commands' tables: in the form of -o/--output, or of --format for papers and pages.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_TABLE_OUTPUT_H_
#define CONCUR_CLI_OUTPUT_TABLE_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "cli/app/context.h"
#include "report/table.h"

namespace concur::cli {

// Adds --format markdown|latex, and svg where the command draws a figure, and --notes; `format`
// must outlive the command.
void AddFormatOption(Command* command, std::string& format, CommandContext& context,
                     bool with_svg = false);
// --notes alone: what a table has to say beyond what changes a conclusion.
void AddNotesOption(Command* command, CommandContext& context);
// InvalidArgument for an unknown format.
absl::Status CheckFormat(const std::string& format, bool with_svg = false);
// The form of a checked `format`, or of context.output when it is empty.
analysis::TableFormat FormatOf(const std::string& format, const CommandContext& context);

// Prints text that was written in `form`. CSV has no control characters on a terminal.
void PrintAs(analysis::TableFormat form, const std::string& text, CommandContext& context);
// Prints a table that is the whole result, with its title and notes. InvalidArgument for an unknown
// format.
absl::Status PrintTable(const analysis::Table& table, const std::string& format,
                        CommandContext& context);
// Prints a table that lists things: as JSON, a list of its rows.
void PrintRows(const analysis::Table& table, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_TABLE_OUTPUT_H_
