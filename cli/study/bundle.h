// SPDX-License-Identifier: Apache-2.0
// An exported sweep: a directory with the sweep, its expanded jobs, scores, per-example scores,
// tables and matrices, from which every number can be computed again, offline.
//
// Thread-safe (stateless). Layout: docs/reports.md. A bundle gets its name only when it is complete
// on disk.
#ifndef CONCUR_CLI_STUDY_BUNDLE_H_
#define CONCUR_CLI_STUDY_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/study/bundle_files.h"
#include "cli/study/study.h"

namespace concur::cli {

// True if `name`, given where a sweep or a bundle is expected, is the path of a bundle: it has a
// "/", which names of sweeps cannot have.
bool IsBundlePath(const std::string& name);

// True if there is a directory with what every bundle has.
bool IsBundle(const std::string& directory);

// The study in a bundle. Artifacts are checked as they are read. NotFound; InvalidArgument or
// DataLoss, with file and line, for what cannot be read.
absl::StatusOr<Study> LoadBundle(const std::string& directory);

struct BundleSummary {
  size_t files = 0;
  int64_t bytes = 0;
  // Succeeded jobs whose per-example scores are not kept any more, by id.
  std::vector<std::string> without_examples;
};

// AlreadyExists, with a remedy, when a bundle cannot be written there: for commands that work long
// before they write.
absl::Status CheckBundleTarget(const std::string& directory);

// Writes the study to `directory`, which must not exist yet. AlreadyExists with a remedy.
absl::StatusOr<BundleSummary> WriteBundle(Study study, const std::string& directory,
                                          const BundleOptions& options);

// Writes files, named by their paths, to a directory that gets its name only when it is complete;
// `folders` are made even if they stay empty. As WriteBundle.
absl::Status PublishFiles(const std::string& directory, const BundleFiles& files,
                          const std::vector<std::string>& folders = {});

// Computes every number of a bundle again. DataLoss names the first difference: file, line, and
// what stands there and should.
absl::StatusOr<BundleSummary> VerifyBundle(const std::string& directory);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_BUNDLE_H_
