// SPDX-License-Identifier: Apache-2.0
// Reads the data sets of a sweep before it is submitted, as its workers will read them, so that
// broken data is refused before anything is trained.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_SWEEP_CHECK_DATA_H_
#define CONCUR_CLI_SWEEP_CHECK_DATA_H_

#include "absl/status/status.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

// Reads each file once, in bounded memory apart from the ids of its questions. Test sets of the
// formats qa and qa-variants, and train sets of these in a mixture, must hold questions that can be
// scored; other train sets of these formats must not be empty, nor cut if they are gzipped. Files
// of format file are not read, nor are those that are not there.
// InvalidArgument: one error for each broken file, as "SWEEP FILE:LINE:COL: FIELD: expected …, got
// DATA FILE:LINE: …".
absl::Status CheckDataSets(const spec::LoadedSweep& sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_CHECK_DATA_H_
