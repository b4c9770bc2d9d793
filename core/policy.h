// Every number that the scheduler's decisions depend on.
#ifndef CONCUR_CORE_POLICY_H_
#define CONCUR_CORE_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace concur {

struct SchedulerPolicy {
  // A worker that has not synced for so long has lost what it was running.
  absl::Duration lease = absl::Seconds(30);
  // A lost worker stays listed for so long, for people.
  absl::Duration lost_worker_kept = absl::Hours(1);
  // Workers that are known at a time, lost ones included; more are refused.
  size_t workers_max = 10'000;
  // Of the jitter of back-offs.
  uint64_t seed = 1;
};

}  // namespace concur

#endif  // CONCUR_CORE_POLICY_H_
