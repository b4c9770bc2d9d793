// SPDX-License-Identifier: Apache-2.0
// Result files of one format as models × tasks: what is a cell, which of several runs count, and
// what was left out.
//
// Thread-safe (stateless); reads files in several threads. Same files, same result.
#ifndef CONCUR_QA_RESULTS_IMPORT_H_
#define CONCUR_QA_RESULTS_IMPORT_H_

#include "absl/status/statusor.h"
#include "qa/results/imported.h"

namespace concur::imports {

// InvalidArgument naming file and field for a file that cannot be read, a path without a file of
// the format, and files without any score; NotFound for a path that is not there.
absl::StatusOr<ImportedResults> Import(const ImportRequest& request);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_IMPORT_H_
