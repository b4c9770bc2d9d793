// SPDX-License-Identifier: Apache-2.0
#include "cli/output/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/output/print.h"
#include "proto/rpc/progress.h"

namespace concur::cli {

uint32_t RunningCount(const v1::StateCounts& counts) {
  return counts.running() - std::min(counts.queued(), counts.running());
}

std::string RunningText(const v1::StateCounts& counts) {
  const uint64_t running = RunningCount(counts);
  const std::string text = CountText(running);
  return running == 0 || counts.running_done() <= 0
             ? text
             : absl::StrFormat("%s (%.0f%%)", text,
                               std::floor(100 * std::min(1.0, counts.running_done() /
                                                                  static_cast<double>(running))));
}

Estimate EstimateOf(const v1::Sweep& sweep, absl::Duration age) {
  const v1::Progress progress = rpc::ProgressOf(sweep);
  const absl::Duration span = SpanOf(sweep.recent_span());
  const double older = age > absl::ZeroDuration() && span > absl::ZeroDuration()
                           ? absl::FDivDuration(span + age, span)
                           : 1;
  Estimate estimate;
  estimate.jobs_per_second = progress.jobs_per_second() / older;
  if (progress.has_left()) {
    estimate.left = SpanOf(progress.left()) * older;
  }
  return estimate;
}

Estimate EstimateOf(const std::vector<v1::Sweep>& sweeps) {
  Estimate estimate;
  double jobs_left = 0;
  for (const v1::Sweep& sweep : sweeps) {
    if (sweep.state() == v1::Sweep::STATE_ACTIVE) {
      const v1::Progress progress = rpc::ProgressOf(sweep);
      estimate.jobs_per_second += progress.jobs_per_second();
      jobs_left += progress.jobs_left();
    }
  }
  if (estimate.jobs_per_second > 0 && jobs_left > 0) {
    estimate.left = absl::Seconds(jobs_left / estimate.jobs_per_second);
  }
  return estimate;
}

std::string RateText(double jobs_per_second) {
  return jobs_per_second <= 0     ? ""
         : jobs_per_second >= 10  ? absl::StrFormat("%.0f jobs/s", jobs_per_second)
         : jobs_per_second >= 1   ? absl::StrFormat("%.1f jobs/s", jobs_per_second)
         : jobs_per_second >= 0.1 ? absl::StrFormat("%.0f jobs/min", jobs_per_second * 60)
                                  : absl::StrFormat("%.1f jobs/min", jobs_per_second * 60);
}

std::string EtaText(const Estimate& estimate) {
  return estimate.left ? SpanText(*estimate.left) : "";
}

}  // namespace concur::cli
