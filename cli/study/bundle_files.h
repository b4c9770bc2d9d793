// SPDX-License-Identifier: Apache-2.0
// The files of a bundle as text. They depend on nothing but the study and the options.
//
// Thread-safe (stateless). Same study, same options, same bytes.
#ifndef CONCUR_CLI_STUDY_BUNDLE_FILES_H_
#define CONCUR_CLI_STUDY_BUNDLE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/study/study.h"

namespace concur::cli {

// Options by which the numbers of a bundle are computed.
struct BundleOptions {
  double level = 0.95;  // for intervals; 0: none, for tables where they take too long
  int64_t replicates = 10'000;
  uint64_t seed = 1;
  bool p_values = false;  // matrices have those of independence, as in older bundles
};

// Bytes by path within the bundle.
using BundleFiles = std::map<std::string, std::string>;

// Where imported scores came from, a line for each job.
inline constexpr char kSourcesFile[] = "sources.jsonl";
// A bundle of more benchmarks has no matrix-*.json, which would have a million pairs.
inline constexpr size_t kMatrixBenchmarksMax = 200;

// "examples/HEX.jsonl".
std::string ExamplesPath(const Digest& digest);

// Bytes that a job takes in jobs.jsonl.
int64_t JobLineBytes(const v1::Job& job);

// sweep.json and jobs.jsonl (and sources.jsonl of imported results): what everything else is
// computed from, with the per-example scores.
BundleFiles PrimaryFiles(const Study& study);
// The study that PrimaryFiles wrote, without its artifacts; `sources` is "" for a sweep that was
// run. InvalidArgument names file and line; DataLoss names a job whose reports are not whole, do
// not grow, or are not finite.
absl::StatusOr<Study> ParsePrimaryFiles(const std::string& sweep_json,
                                        const std::string& jobs_jsonl, std::string sources);

// cells.csv (not of imported results), scores.csv, table.*, matrix-*.json (of at most
// kMatrixBenchmarksMax benchmarks), comparisons.json.
absl::StatusOr<BundleFiles> DerivedFiles(const Study& study, const BundleOptions& options);

// Checks that the jobs are those that the spec implies, with its settings and seeds, and that every
// metric is the mean of its per-example scores, bit for bit. DataLoss names job and field.
absl::Status CheckJobs(const Study& study);

// "FILE:LINE: expected …, got …" at the first difference; OK when there is none.
absl::Status FirstDifference(absl::string_view file, absl::string_view expected,
                             absl::string_view stored);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_BUNDLE_FILES_H_
