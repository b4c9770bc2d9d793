// SPDX-License-Identifier: Apache-2.0
// The limits, intervals and thresholds of the scheduler.
#ifndef CONCUR_CORE_POLICY_H_
#define CONCUR_CORE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "core/quota.h"

namespace concur {

struct SweepSpec;

struct SchedulerPolicy {
  // A worker that has not synced for so long has lost what it was running.
  absl::Duration lease = absl::Seconds(30);
  // A coordinator that could take no calls for so long was paused.
  absl::Duration pause_min = absl::Seconds(1);
  // An attempt that has no result is taken back from its worker this long after the job's time-out,
  // which allows for inputs, scoring and artifacts; one that a worker is told to start or to stop,
  // and does not, is waited for as long. Only time in which the worker calls counts.
  absl::Duration overdue_grace = absl::Hours(1);
  // A lost worker stays listed for so long, for people.
  absl::Duration lost_worker_kept = absl::Hours(1);
  // Workers that are known at a time, lost ones included; more are refused.
  size_t workers_max = 10'000;
  // A worker that is busy is given short jobs ahead, so that none of its slots waits for a call: as
  // much as is expected to keep all of it busy for so long, of jobs that are not expected to take
  // longer than `ahead_job_max`. Zero: nothing.
  absl::Duration ahead = absl::Milliseconds(200);
  absl::Duration ahead_job_max = absl::Seconds(2);
  // After so many failures at what others can do, a worker gets nothing new for a while, and longer
  // with every time. 0: never.
  uint32_t quarantine_failures = 3;
  absl::Duration quarantine_min = absl::Minutes(10);
  absl::Duration quarantine_max = absl::Hours(6);
  // A job whose worker died so many times in a row while it ran is suspect: it runs alone next, and
  // is given up when that worker dies, too. 0: never.
  uint32_t suspect_deaths = 2;
  // Jobs that a turn looks at to cancel or to retry whole sweeps, which take several turns when
  // they are large; a row to save counts as 10 of them.
  uint32_t slice_jobs = 10'000;
  // Bytes of memory for the jobs of all sweeps, each counted as SweepBook::kJobMemoryBytes; a sweep
  // that would pass it is refused. 0: no limit.
  int64_t job_memory_max = 0;
  QuotaPolicy quotas;
  // Encodes a spec for the store, as submissions have it; needed for sweeps with a search alone.
  std::function<std::string(const SweepSpec&)> encode_spec = {};
  // Seed of the jitter of back-offs.
  uint64_t seed = 1;
};

}  // namespace concur

#endif  // CONCUR_CORE_POLICY_H_
