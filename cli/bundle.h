// An exported sweep: a directory with the sweep, its expanded jobs, scores, per-example scores,
// tables and matrices, from which every number can be computed again, offline.
//
// Thread-safe (stateless). Layout: docs/reports.md. A bundle appears under its name only when all
// of it is on disk.
#ifndef CONCUR_CLI_BUNDLE_H_
#define CONCUR_CLI_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/study.h"

namespace concur::cli {

// Whether `name`, as people give it where a sweep may stand, is the path of a bundle: it has a "/".
// Names of sweeps have none.
bool IsBundlePath(const std::string& name);

// The study in a bundle. Artifacts are checked as they are read. NotFound; InvalidArgument or
// DataLoss, with file and line, for what cannot be read.
absl::StatusOr<Study> LoadBundle(const std::string& directory);

// How the numbers of a bundle are computed.
struct BundleOptions {
  double level = 0.95;  // of intervals; 0: none, for tables where they take too long
  int64_t replicates = 10'000;
  uint64_t seed = 1;
};

struct BundleSummary {
  size_t files = 0;
  int64_t bytes = 0;
  // Succeeded jobs whose per-example scores are not kept any more, by id.
  std::vector<std::string> without_examples;
};

// Writes the study to `directory`, which must not exist yet. AlreadyExists with a remedy.
absl::StatusOr<BundleSummary> WriteBundle(const Study& study, const std::string& directory,
                                          const BundleOptions& options);

// Computes every number of a bundle again. DataLoss names the first difference: file, line, and
// what stands there and should.
absl::StatusOr<BundleSummary> VerifyBundle(const std::string& directory);

}  // namespace concur::cli

#endif  // CONCUR_CLI_BUNDLE_H_
