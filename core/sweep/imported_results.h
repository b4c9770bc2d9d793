// SPDX-License-Identifier: Apache-2.0
// Results that were computed elsewhere, as one request brings them into a sweep of their own
// (SweepSpec::imported).
//
// Values and pure functions.
#ifndef CONCUR_CORE_SWEEP_IMPORTED_RESULTS_H_
#define CONCUR_CORE_SWEEP_IMPORTED_RESULTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/digest.h"
#include "core/fields.h"
#include "core/result.h"
#include "core/sweep/expansion.h"

namespace concur {

// The result of one eval job. Its message says where the score came from, as a line of JSON.
struct ImportedResult {
  uint32_t job = 0;  // in the order of approach, seed, benchmark
  JobResult result;
};

// Two lists have equal digests when they say the same.
Digest DigestOfResults(const std::vector<ImportedResult>& results);

// InvalidArgument, naming the field within `path`, when there is no result, a job is none of the
// sweep's or not after the one before, or a result is not one of success with metrics, a source and
// no artifact but per-example scores. REQUIRES: the sweep is an imported one.
absl::Status ValidateImportedResults(const Expansion& expansion,
                                     const std::vector<ImportedResult>& results,
                                     const FieldPath& path);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_IMPORTED_RESULTS_H_
