// The files of a bundle as text: what they say is a function of the study and of the options.
//
// Thread-safe (stateless). Same study, same options, same bytes.
#ifndef CONCUR_CLI_BUNDLE_FILES_H_
#define CONCUR_CLI_BUNDLE_FILES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/bundle.h"
#include "cli/study.h"

namespace concur::cli {

// Bytes by path within the bundle.
using BundleFiles = std::map<std::string, std::string>;

// "examples/HEX.jsonl".
std::string ExamplesPath(const Digest& digest);

// sweep.json and jobs.jsonl: what everything else is computed from, with the per-example scores.
BundleFiles PrimaryFiles(const Study& study);
// The study that PrimaryFiles wrote, without its artifacts. InvalidArgument names file and line.
absl::StatusOr<Study> ParsePrimaryFiles(const std::string& sweep_json,
                                        const std::string& jobs_jsonl);

// cells.csv, scores.csv, table.*, matrix-*.json, comparisons.json.
absl::StatusOr<BundleFiles> DerivedFiles(const Study& study, const BundleOptions& options);

// Whether the jobs are those that the spec implies, with its settings and seeds, and every metric
// is the mean of its per-example scores, bit for bit. DataLoss names job and field.
absl::Status CheckJobs(const Study& study);

// "FILE:LINE: expected …, got …" at the first difference; OK when there is none.
absl::Status FirstDifference(absl::string_view file, absl::string_view expected,
                             absl::string_view stored);

}  // namespace concur::cli

#endif  // CONCUR_CLI_BUNDLE_FILES_H_
