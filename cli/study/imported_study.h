// SPDX-License-Identifier: Apache-2.0
// A study of results that were computed elsewhere: models are its approaches, tasks its benchmarks,
// the runs of a model on a task its seeds. It has jobs for the scores that there are, and no
// others. Its names are those of the results: any text in one line.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_STUDY_IMPORTED_STUDY_H_
#define CONCUR_CLI_STUDY_IMPORTED_STUDY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/sweep.h"
#include "qa/results/imported.h"

namespace concur::cli {

// `name` is that of the study. Takes runs and files out of `results`, which are large.
absl::StatusOr<Study> StudyOfImport(imports::ImportedResults& results, const std::string& name);

// Where the bundle keeps a file of this digest as it was, and that of its samples.
std::string OriginalPath(absl::string_view sha256);
std::string OriginalSamplesPath(absl::string_view sha256);

// The spec of such a study's sweep. InvalidArgument, as `sweep.json: …`, for names that are empty,
// come twice or have control characters, and for seeds other than 1, 2, ….
absl::StatusOr<SweepSpec> ImportedSpec(const v1::SweepSpec& proto);

// The request that brings such a study into a coordinator, without its id. What a source says of
// the last of many metrics is left out where it does not fit, and their number is said. DataLoss as
// of CheckImportedJobs.
absl::StatusOr<v1::ImportSweepRequest> ImportRequestOf(const Study& study);

// Drops the jobs without a score of a study that a coordinator gave, whose sweep was imported, and
// moves what the other jobs say of their source into `sources`.
void TakeSources(Study& study);

// Checks that every job belongs to the place that its id says, and has one line in `sources`.
// DataLoss names file, line and field.
absl::Status CheckImportedJobs(const Study& study);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_IMPORTED_STUDY_H_
