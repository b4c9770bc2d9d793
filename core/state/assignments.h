// SPDX-License-Identifier: Apache-2.0
// The attempts that occupy one worker, what they take of it, and the orders about them that the
// worker is still to be sent.
//
// An attempt given *ahead* waits at the worker until another one ends, and takes nothing until
// then. The worker starts such attempts in order as soon as there is room; here they are counted
// so at once.
//
// An attempt is *overdue* when the worker has taken too long over it: to take the order to start
// it, to report a result, or to stop it. Its time passes with the worker's Syncs, so that neither a
// pause of the worker nor one of the coordinator counts.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_ASSIGNMENTS_H_
#define CONCUR_CORE_STATE_ASSIGNMENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/resources.h"
#include "core/sync/sync.h"

namespace concur {

// One attempt. It stays until the worker no longer has it, whatever became of its job.
struct Assignment {
  Resources resources;
  uint64_t gpu_mask = 0;
  std::optional<uint32_t> owner;  // a number of OwnerLedger; nullopt: the job is not known
  uint32_t uses = 0;              // a set of NamedResources
  uint32_t services = 0;          // that the job asks: a set of Services
  bool ahead = false;
  int64_t ahead_cpu_micros = 0;  // expected work, of one given ahead
  // When it was given, it was expected to take at most SchedulerPolicy::ahead_job_max.
  bool is_short = false;

  bool listed = false;      // by the worker's last Sync
  bool stopping = false;    // the worker is to stop it
  bool counted = false;     // in SweepRecord::stopping: its sweep's cancellation waits for it
  bool order_sent = false;  // since the order to start or stop it last changed
  StopReason reason = StopReason::kCanceled;

  bool taken = false;  // a Sync has listed it
  // From then on; for one that was given ahead, from when it starts.
  absl::Duration time_max = absl::InfiniteDuration();
  absl::Duration time_left = absl::InfiniteDuration();  // as of `time_left_at`
  absl::Time time_left_at;

  // True if the worker was told to start it. One given ahead starts when another ends, which the
  // coordinator hears of later.
  bool MayHaveStarted() const { return order_sent || listed; }
};

class Assignments {
 public:
  // REQUIRES: the attempt is not there.
  void Add(AttemptId id, const Assignment& assignment);
  // Removes an attempt; those given ahead that fit now start, and `started` is called for each.
  // nullopt when it is not there. `slots` as of FreeOf.
  std::optional<Assignment> Remove(AttemptId id, const Resources& capacity,
                                   absl::FunctionRef<void(AttemptId, const Assignment&)> started,
                                   uint32_t slots = 0);
  // Null when it is not there.
  const Assignment* Find(AttemptId id) const;
  bool Contains(AttemptId id) const { return all_.contains(id); }
  const absl::btree_map<AttemptId, Assignment>& all() const { return all_; }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  // Attempts of jobs: all but the instances of services.
  size_t jobs() const { return all_.size() - services_; }
  // Number of attempts of jobs that may have started.
  size_t started() const;

  // --- room -------------------------------------------------------------------------------------

  const Resources& used() const { return used_; }
  // Free part of a capacity; less than nothing when it has shrunk, or when as many attempts as
  // `slots` (0: any number) occupy the worker, not counting services. No GPU counts as free while
  // it is not known which ones are.
  Resources FreeOf(const Resources& capacity, uint32_t slots = 0) const;
  // The same once the short attempts that nobody stops have ended, without GPUs.
  Resources FreeShortly(const Resources& capacity, uint32_t slots) const;
  // The GPUs for a request: those that nothing uses, the lowest first, or for a share the one of
  // which most is used. REQUIRES: it fits in what is free.
  uint64_t GpusFor(const Resources& request) const;
  // True if the request could have just these GPUs.
  bool GpusAreFree(uint64_t mask, const Resources& request) const;
  size_t ahead() const { return ahead_.size(); }
  int64_t ahead_cpu_micros() const { return ahead_cpu_micros_; }
  // Room of the short attempts that nobody stops: it will soon be free for those given ahead.
  const Resources& used_shortly() const { return used_shortly_; }

  // --- orders -----------------------------------------------------------------------------------

  // A Sync arrives: nothing is listed until SetListed. Of the time since the last one, at most
  // `counted_max` counts.
  void BeginSync(absl::Time now, absl::Duration counted_max);
  // False when the attempt is not there.
  bool SetListed(AttemptId id);
  // The Sync has listed all that it does. Orders to start what it did not list are sent again: the
  // answer that had them was lost. Returns the attempts that the worker has stopped.
  std::vector<AttemptId> EndSync();
  // Those whose time is over, after EndSync.
  std::vector<AttemptId> Overdue() const;
  // The worker is to stop the attempt within `time_max`; whether its sweep counts it. False when
  // that was ordered before. REQUIRES: the attempt is there.
  bool Stop(AttemptId id, StopReason reason, absl::Duration time_max, bool counted);
  // Nobody waits any more for the attempt to stop; it still takes its room. Returns what it was.
  // REQUIRES: it is stopping.
  Assignment Abandon(AttemptId id);
  // True if an order has not been sent since it last changed.
  bool HasOrders() const;
  // Every order that the worker has not shown the effect of, sent or not, of those to start at most
  // `starts_max`; all count as sent. Calls start(id, gpu_mask), and returns those to stop.
  std::vector<StopOrder> TakeOrders(size_t starts_max,
                                    absl::FunctionRef<void(AttemptId, uint64_t)> start);

  // Ends the process when sums and attempts disagree, or a GPU is given more than once.
  void CheckInvariants() const;

 private:
  void Occupy(const Assignment& assignment, int sign);
  void OccupyShortly(const Assignment& assignment, int sign);
  void StartAheadThatFits(const Resources& capacity,
                          absl::FunctionRef<void(AttemptId, const Assignment&)> started,
                          uint32_t slots);

  absl::btree_map<AttemptId, Assignment> all_;
  size_t services_ = 0;                      // instances of services among them
  absl::btree_set<AttemptId> ahead_;         // subset of all_
  int64_t ahead_cpu_micros_ = 0;             // sum over all of these
  Resources used_shortly_{.cpu_millis = 0};  // CPUs and memory of used_
  size_t short_attempts_ = 0;                // that take these
  Resources used_{.cpu_millis = 0};
  uint64_t gpus_used_ = 0;                      // in whole
  std::array<int32_t, kGpusMax> gpu_shares_{};  // shares of GPUs used in part
  uint64_t gpus_shared_ = 0;                    // where that is not 0
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_ASSIGNMENTS_H_
