// SPDX-License-Identifier: Apache-2.0
// Speed of sweeps and the time when they will be done, for `sweep watch`, `sweep list`, `sweep get`
// and `top` alike.
//
// Stateless; thread-safe.
#ifndef CONCUR_CLI_OUTPUT_ESTIMATE_H_
#define CONCUR_CLI_OUTPUT_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "concur/v1/resources.pb.h"

namespace concur::cli {

// A job that was given ahead to a worker does not run: it is queued there.
uint32_t RunningCount(const v1::StateCounts& counts);
// "3"; "3 (42%)" when they say how much of them is done, on the mean.
std::string RunningText(const v1::StateCounts& counts);

struct Estimate {
  double jobs_per_second = 0;          // 0: unknown
  std::optional<absl::Duration> left;  // unknown while nothing ends, and of what is not active
};

// `age`: how long ago the sweep was received. Nothing has ended since.
Estimate EstimateOf(const v1::Sweep& sweep, absl::Duration age = absl::ZeroDuration());
// Estimate of all active sweeps together.
Estimate EstimateOf(const std::vector<v1::Sweep>& sweeps);

// "12 jobs/s", "30 jobs/min"; "" when it is unknown.
std::string RateText(double jobs_per_second);
// "1m30s"; "" when it is unknown.
std::string EtaText(const Estimate& estimate);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_ESTIMATE_H_
