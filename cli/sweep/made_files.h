// SPDX-License-Identifier: Apache-2.0
// Makes the data files of a sweep that are not there: validation sets are cut from train files
// (`validation: {from: train, …}`), test files are made of a benchmark's parameters. Artifacts are
// uploaded from these temporary files. Builders make the sets of `build: NAME`. What is cut depends
// on the train file's bytes, the share and the seed alone, so that submitting again finds the same
// artifacts.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_MADE_FILES_H_
#define CONCUR_CLI_SWEEP_MADE_FILES_H_

#include "absl/status/statusor.h"
#include "cli/sweep/temporary_directory.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

using MadeFiles = TemporaryDirectory;

// Builds the sets of sweep->built, splits the train files that sweep->held_out names by passage,
// writes {"NAME": "VALUE", …} for each benchmark whose test file is its parameters, and has
// sweep->files name these files. Makes nothing where there is no such benchmark. InvalidArgument,
// with the place in the sweep's files, when a builder is unknown or refuses its parameters, or a
// train file cannot be read or split, or has another SHA-256 than stated; `sweep` is then to be
// given up.
absl::StatusOr<MadeFiles> MakeFiles(spec::LoadedSweep* sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_MADE_FILES_H_
