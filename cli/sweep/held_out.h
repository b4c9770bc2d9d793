// SPDX-License-Identifier: Apache-2.0
// Cuts validation sets from train files where a sweep asks for it (`validation: {from: train, …}`),
// into temporary files, of which the uploaded artifacts are made. What is cut depends on the train
// file's bytes, the share and the seed alone, so that submitting again finds the same artifacts.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_HELD_OUT_H_
#define CONCUR_CLI_SWEEP_HELD_OUT_H_

#include "absl/status/statusor.h"
#include "cli/sweep/temporary_directory.h"
#include "spec/loaded_sweep.h"

namespace concur::cli {

// The cut files.
using HeldOutFiles = TemporaryDirectory;

// Splits the train files that sweep->held_out names by passage, and has sweep->files name the two
// parts instead. Makes nothing when no validation set is held out. InvalidArgument, with the place
// in the sweep's files, when a train file cannot be read or split, or has another SHA-256 than
// stated; `sweep` is then to be given up.
absl::StatusOr<HeldOutFiles> CutValidationSets(spec::LoadedSweep* sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_HELD_OUT_H_
