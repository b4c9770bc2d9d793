// SPDX-License-Identifier: Apache-2.0
// A study as evaluations of Every Eval Ever (schema 0.3.0): one file for each run of an approach,
// with all its scores, and one of its samples where there are per-example scores.
//
// Files that were imported in that form and kept are given as they were. Of others, what the study
// knows is written in the schema's terms, and what it does not know as "unknown".
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_STUDY_EVALUATIONS_H_
#define CONCUR_CLI_STUDY_EVALUATIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/study/bundle_files.h"
#include "cli/study/study.h"

namespace concur::cli {

inline constexpr char kEvaluationsFormat[] = "every-eval-ever";

struct EvaluationOptions {
  int64_t retrieved = 0;  // seconds since 1970: when the study was read
  std::string bundle;     // the directory with the originals; "": there are none
};

struct Evaluations {
  BundleFiles files;  // "data/SOURCE/DEVELOPER/MODEL/UUID.json", and "…_samples.jsonl"
  size_t count = 0;
  size_t originals = 0;  // number of these that are files as they were imported
  size_t scores = 0;
};

// InvalidArgument for a study without any score; as of study.read_artifact.
absl::StatusOr<Evaluations> EvaluationsOf(const Study& study, const EvaluationOptions& options);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_EVALUATIONS_H_
