// SPDX-License-Identifier: Apache-2.0
// The reasons why a pool does what it does, as codes and their values. Pools
// gives them; core/scheduler/reason_text.h puts them into words.
//
// Values.
#ifndef CONCUR_CORE_POOLS_POOL_REASON_H_
#define CONCUR_CORE_POOLS_POOL_REASON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/labels.h"
#include "core/pools/autoscaler.h"

namespace concur {

// The numbers of pilots that a pool has, and may have.
struct PoolSize {
  int32_t pending = 0;
  int32_t starting = 0;
  int32_t working = 0;
  int32_t draining = 0;
  int32_t min = 0;
  int32_t max = 0;

  int32_t all() const { return pending + starting + working + draining; }
};

struct PoolReason {
  enum class Code {
    kSize,            // `size`
    kRemoving,        // it goes when its last worker has left
    kPaused,          // `message`
    kNotBefore,       // `count` starts in a row failed: nothing before `time`; paused
                      // after `max`
    kAtMaximum,       // jobs would have `count` workers
    kWanted,          // the same, below the maximum
    kIdle,            // no job waits for it
    kImageNotBefore,  // `image`: nothing before `time`, for `message`
    kDoubted,         // jobs go to other pools first
    kLastFailure,     // `time`, `message`
    kProviderSilent,  // since `time`, for `message`
    kPilotsWait,      // `count` of them, for `message`
    kPilotsLost,      // `pilots` do not call; stopped `span` after the last lease
    kImpossible,      // no worker of any pool can take `demand`
    kTooLong,         // no time limit is long enough for `demand`
  };

  Code code = Code::kSize;
  std::string pool;
  PoolSize size{};
  int64_t count = 0;
  int32_t max = 0;
  absl::Time time{};
  absl::Duration span{};
  std::string image{};
  std::string message{};
  std::vector<std::string> pilots{};
  DemandClass demand{};
};

// The answer of the pools to a class of jobs that waits.
struct DemandReason {
  struct Pool {
    enum class Code {
      kPaused,     // `message`
      kNotBefore,  // `time`, for `message`
      kStarting,   // `size` pending or starting
      kWorking,    // `size`
    };
    std::string name;
    Code code = Code::kWorking;
    absl::Time time{};
    std::string message{};
    PoolSize size{};
  };

  bool has_pools = false;             // any at all
  bool large_enough = false;          // some pool is, and lets the jobs in
  std::vector<Pool> pools;            // that would take the jobs
  std::vector<std::string> reserved;  // pools for jobs with more GPUs
  Labels labels;                      // the jobs' labels
};

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_POOL_REASON_H_
