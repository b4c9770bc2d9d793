// SPDX-License-Identifier: Apache-2.0
#include "cli/output/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/output/print.h"
#include "core/fields.h"
#include "proto/rpc/convert_value.h"

namespace concur::cli {
namespace {

// Less says nothing.
constexpr absl::Duration kSpanMin = absl::Milliseconds(500);

Estimate MakeEstimate(double jobs_per_second, double left) {
  Estimate estimate;
  estimate.jobs_per_second = jobs_per_second;
  if (jobs_per_second > 0 && left > 0) {
    estimate.left = absl::Seconds(left / jobs_per_second);
  }
  return estimate;
}

}  // namespace

uint64_t JobCount(const v1::StateCounts& counts) {
  return DoneCount(counts) + LeftCount(counts) + counts.canceled();
}

uint64_t DoneCount(const v1::StateCounts& counts) {
  return uint64_t{counts.succeeded()} + counts.failed() + counts.skipped() + counts.stopped();
}

uint64_t LeftCount(const v1::StateCounts& counts) {
  return uint64_t{counts.blocked()} + counts.ready() + counts.backoff() + counts.running();
}

uint64_t RunningCount(const v1::StateCounts& counts) {
  return counts.running() - std::min(counts.queued(), counts.running());
}

double WorkLeft(const v1::StateCounts& counts) {
  return static_cast<double>(LeftCount(counts)) -
         std::clamp(counts.running_done(), 0.0, static_cast<double>(counts.running()));
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
  const absl::Duration span =
      rpc::FromProto(sweep.recent_span(), FieldPath("recent_span")).value_or(absl::ZeroDuration()) +
      age;
  if (sweep.state() != v1::Sweep::STATE_ACTIVE || !sweep.has_recent_span() || span < kSpanMin) {
    return {};
  }
  return MakeEstimate(sweep.recent_jobs() / absl::ToDoubleSeconds(span), WorkLeft(sweep.counts()));
}

Estimate EstimateOf(const std::vector<v1::Sweep>& sweeps) {
  double jobs_per_second = 0;
  double left = 0;
  for (const v1::Sweep& sweep : sweeps) {
    if (sweep.state() == v1::Sweep::STATE_ACTIVE) {
      jobs_per_second += EstimateOf(sweep).jobs_per_second;
      left += WorkLeft(sweep.counts());
    }
  }
  return MakeEstimate(jobs_per_second, left);
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
