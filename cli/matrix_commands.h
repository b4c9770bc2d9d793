// `concur matrix`: concurrence matrices, offline from a scores CSV or online from a sweep.
#ifndef CONCUR_CLI_MATRIX_COMMANDS_H_
#define CONCUR_CLI_MATRIX_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/score_table.h"
#include "cli/command.h"
#include "cli/command_line.h"

namespace concur::cli {

// The score table of a sweep, by its name or id, from the coordinator.
using FetchTable = std::function<absl::StatusOr<analysis::ScoreTable>(const std::string& sweep)>;

// Adds the command. Without `fetch` only the offline form, --scores, is there.
void AddMatrixCommand(Command& app, CommandContext& context, FetchTable fetch = nullptr);

// The scores CSV at `path`, its warnings written to context.err. Errors name the file.
absl::StatusOr<analysis::ScoreTable> ReadScores(const std::string& path, CommandContext& context);

// --interval, --replicates and --seed, as several commands have them.
struct IntervalFlags {
  std::optional<double> level;  // unset: no intervals
  int64_t replicates = 10'000;
  uint64_t seed = 1;
};
// `flags` must outlive the command. Returns --interval, for options that need it.
Option* AddIntervalOptions(Command* command, IntervalFlags& flags);
// What the flags ask for, run on all processors; unset without --interval. InvalidArgument for
// values out of range.
absl::StatusOr<std::optional<analysis::BootstrapOptions>> BootstrapOf(const IntervalFlags& flags);

// Names in one option value, as a line of CSV: `A,"B, C"`. InvalidArgument when it is empty.
absl::StatusOr<std::vector<std::string>> SplitNames(const std::string& option,
                                                    const std::string& value);

}  // namespace concur::cli

#endif  // CONCUR_CLI_MATRIX_COMMANDS_H_
