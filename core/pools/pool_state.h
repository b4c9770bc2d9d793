// SPDX-License-Identifier: Apache-2.0
// The pools, their pilots and providers as Pools keeps them and PoolPlanner plans with them.
//
// Thread-compatible. Deterministic.
#ifndef CONCUR_CORE_POOLS_POOL_STATE_H_
#define CONCUR_CORE_POOLS_POOL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/pools/autoscaler.h"
#include "core/pools/pool.h"
#include "core/rows.h"

namespace concur {

struct PoolsPolicy {
  AutoscalePolicy scale;
  absl::Duration plan_interval = absl::Seconds(1);
  absl::Duration observe_interval = absl::Seconds(5);       // while pilots are known
  absl::Duration observe_interval_idle = absl::Minutes(2);  // while there are none
  absl::Duration backoff_min = absl::Seconds(5);            // after a failed start; doubles
  absl::Duration backoff_max = absl::Minutes(10);
  int32_t failures_max = 5;  // starts that fail in a row before the pool is paused
  // A pilot that waits and is not needed for so long is canceled (or after its pool's
  // idle_timeout, where that is shorter).
  absl::Duration waiting_surplus = absl::Seconds(30);
  // A provider that lists everything but not a pilot, twice, so long after it was asked for, has
  // lost it.
  absl::Duration settle = absl::Seconds(5);
  absl::Duration start_answer_timeout = absl::Minutes(5);  // for Started to be called
  absl::Duration stop_repeat = absl::Seconds(30);          // a stop is repeated until it shows
  // A pilot whose worker was lost this long ago is stopped, whatever its provider says.
  absl::Duration lost_timeout = absl::Minutes(5);
  // A pilot that has waited so long may never come: jobs do not count on it while another pool
  // takes them. The same holds at once for pilots of paused pools, and for those that their
  // provider says cannot start.
  absl::Duration doubt_after = absl::Minutes(5);
  // For so long after that, other pools are asked first.
  absl::Duration doubt_kept = absl::Minutes(10);
  // A draining worker that runs nothing is stopped after so long.
  absl::Duration leave_timeout = absl::Minutes(1);
  // A pilot that has worked so long shows that its pool works.
  absl::Duration healthy_after = absl::Seconds(30);
  absl::Duration gone_kept = absl::Hours(1);  // an ended pilot stays listed, for people
  size_t gone_max = 200;                      // at most so many of each pool
};

// Actions to be taken. Everything in them was saved before.
struct PoolActions {
  struct Start {
    PoolSpec pool;
    std::vector<std::string> pilots;  // numbers follow each other
  };
  struct Stop {
    ProviderKind provider = ProviderKind::kLocal;
    std::vector<std::string> pilots;
  };
  std::vector<Start> start;
  std::vector<Stop> stop;
  std::vector<ProviderKind> observe;
  // Workers to drain (true) or to use again (false).
  std::vector<std::pair<std::string, bool>> drain;

  bool empty() const { return start.empty() && stop.empty() && observe.empty() && drain.empty(); }
};

// The world as Advance sees it.
struct PoolWorld {
  struct Worker {
    WorkerPlace place;
    bool live = true;    // its lease has not ended
    bool called = true;  // since this coordinator started
    bool draining = false;
  };
  std::vector<DemandClass> demand;
  std::vector<Worker> workers;  // by name
};

// The outcome of starts of pilots.
struct PilotStarts {
  int32_t failures = 0;  // in a row
  std::string last_failure;
  absl::Time last_failure_time = absl::InfinitePast();
  absl::Time not_before = absl::InfinitePast();
  absl::Time doubted_until = absl::InfinitePast();
};
struct Pool {
  PoolSpec spec;
  bool from_options = false;
  PoolRow row;
  PilotStarts own;
  // By image, the starts of pilots of jobs' images: one that cannot start must not stop the others.
  std::map<std::string, PilotStarts> of_images;
  int32_t wanted = 0;
  bool drop_at_once = false;  // while it is being removed

  PilotStarts& Of(const std::string& image) { return image.empty() ? own : of_images[image]; }
};
struct Pilot {
  PilotRow row;
  absl::Time answered = absl::InfiniteFuture();  // when Started was called
  absl::Time running_since = absl::InfiniteFuture();
  absl::Time surplus_since = absl::InfiniteFuture();
  absl::Time lost_since = absl::InfiniteFuture();
  absl::Time gone_since = absl::InfiniteFuture();
  absl::Time drain_since = absl::InfiniteFuture();  // by us
  absl::Time next_stop = absl::InfinitePast();      // when stopping: when to repeat the stop
  int missed = 0;                                   // observations in a row that lacked it
  bool live = false;                                // its worker calls, at the last Advance
  bool restored = false;                            // it worked; its worker has not called since
  bool impossible = false;                          // as its provider said last
  uint32_t worker_running = 0;
  bool draining() const { return drain_since != absl::InfiniteFuture(); }
};
struct ProviderState {
  absl::Time next_observe = absl::InfinitePast();
  bool observing = false;
  absl::Time observing_since = absl::InfinitePast();
  absl::Status status;  // the last observation's
  absl::Time failing_since = absl::InfiniteFuture();
  std::map<std::string, int> strangers;  // pilots of ours that are not known: how often seen
};

struct PoolState {
  Pool* FindPool(const std::string& name);
  const Pool* FindPool(const std::string& name) const;
  // New pilots may be requested.
  bool IsOpen(const Pool& pool, const PilotStarts& starts, absl::Time now) const;
  // Jobs had better not count on a pilot that waits.
  bool IsDoubtful(const Pilot& pilot, absl::Time now) const;
  void DropPool(const std::string& name);

  void Touch(const std::string& pilot) { dirty_pilots.insert(pilot); }
  void SetPhase(Pilot& pilot, PilotPhase phase, absl::string_view message, absl::Time now);
  // Pilots of one batch fail together: they count once.
  void CountFailure(const Pilot& pilot, absl::string_view message, absl::Time now);
  void EndPilot(Pilot& pilot, const std::string& message, absl::Time now);
  void DrainPilot(Pilot& pilot, absl::Time now);
  void StopPilot(Pilot& pilot, absl::string_view why, absl::Time now);
  void OrderStop(const Pilot& pilot);

  PoolsPolicy policy;
  absl::Time time = absl::InfinitePast();  // time of the last call of Advance
  absl::Time next_plan = absl::InfinitePast();
  std::map<std::string, Pool> pools;
  std::map<std::string, Pilot> pilots;
  std::map<ProviderKind, ProviderState> providers;
  uint64_t next_pilot = 1;
  std::vector<DemandClass> impossible;  // found by the last plan
  std::vector<DemandClass> too_long;

  // For Pools::TakeActions and TakeRows.
  PoolActions actions;
  std::set<std::string> dirty_pools;
  std::set<std::string> dirty_pilots;
  std::vector<std::string> deleted_pools;
  std::vector<std::string> deleted_pilots;
  bool dirty_next = false;
};

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_POOL_STATE_H_
