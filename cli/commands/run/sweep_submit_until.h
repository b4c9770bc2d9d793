// SPDX-License-Identifier: Apache-2.0
// `concur sweep submit --until`: releases the cells of a sweep in batches, in the order of a plan,
// until the coefficients are known well enough.
//
// Each batch is a sweep of the same name that excludes the cells not released yet; what an earlier
// batch has finished is reused by content. All state lies in these sweeps: their request ids follow
// from their contents, so that the same command goes on where it was interrupted.
//
// Thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_RUN_SWEEP_SUBMIT_UNTIL_H_
#define CONCUR_CLI_COMMANDS_RUN_SWEEP_SUBMIT_UNTIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/submit.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

struct UntilFlags {
  std::string until;  // "tau ±0.1", as analysis::ParseUntil reads it
  std::string costs;  // a file; "": all cells cost alike
  uint64_t seed = 1;
  double level = 0.95;
};

// The cells of a sweep as a table: each approach that has any, on each benchmark on which any is
// trained and evaluated.
struct UntilGrid {
  analysis::ScoreTable table;        // without scores
  std::vector<uint32_t> approaches;  // rows, as indices into the spec's
  std::vector<uint32_t> benchmarks;  // columns
  std::vector<bool> has_job;         // row by row
};
// InvalidArgument for a sweep whose systems are evaluated elsewhere than where they were trained,
// or that keeps several settings of an approach apart.
absl::StatusOr<UntilGrid> GridOf(const Expansion& expansion);

// The spec with all cells excluded that are not released (row by row). InvalidArgument when that
// takes more rules than a sweep may have.
absl::StatusOr<SweepSpec> SpecOfReleased(const SweepSpec& spec, const UntilGrid& grid,
                                         const std::vector<bool>& released);

// Submits a batch, once however often it is called, and notes it on context.err.
absl::StatusOr<v1::Sweep> SubmitBatch(CommandContext& context, Client& client,
                                      const spec::LoadedSweep& batch, const std::string& prefix);
// FailedPrecondition, with the way to go on, for a batch that somebody canceled.
absl::Status CheckNotCanceled(const v1::Sweep& sweep);

// Waits for every batch, and prints the last sweep, what was learned at each look, and what was
// left out and why.
absl::Status SubmitUntil(CommandContext& context, const SubmitFlags& submit,
                         const UntilFlags& flags, const WatchOptions& watch);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_SWEEP_SUBMIT_UNTIL_H_
