// SPDX-License-Identifier: Apache-2.0
// The pools and their pilots: which pilots were requested, what became of them, when to request
// more and when to drain some. It does no I/O, reads no clock and starts no thread: the time and
// the state of the world come in through Advance, providers' answers through Started and Observed,
// and what is to be done or saved comes out through TakeActions and TakeRows.
//
// A pilot is known by its name alone, "POOL-NUMBER", which is never used twice and is also its
// worker's name. Engines' own ids are labels: Slurm hands out ids again that it has lost.
//
// A pilot's row is saved before its provider is asked for it, so that a coordinator that comes back
// finds what it may have started.
//
// Thread-compatible; owned by the engine's thread. Deterministic.
#ifndef CONCUR_CORE_POOLS_H_
#define CONCUR_CORE_POOLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/autoscaler.h"
#include "core/capacity.h"
#include "core/pool.h"
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

// A provider's report on one pilot.
struct PilotReport {
  enum class State {
    kPending,  // in its queue
    kRunning,
    kEnded,
  };
  std::string name;
  State state = State::kPending;
  std::string external_id;  // the provider's own id, for people: "123_4", a pod's name
  std::string message;      // why it waits or how it ended, in the provider's words
  bool impossible = false;  // it waits, and cannot start as things are
  bool taken_back = false;  // it ended by its provider's or a person's will, not its own
};

// What is to be done. Everything in it was saved before.
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

// A pool as people see it.
struct PoolView {
  const PoolSpec* spec = nullptr;
  bool from_options = false;
  bool paused = false;
  std::string pause_reason;
  int32_t pending = 0;   // asked for, or in the provider's queue
  int32_t starting = 0;  // started, and the worker has not come yet
  int32_t working = 0;
  int32_t draining = 0;  // finishing what they run, or being stopped
  int32_t wanted = 0;    // as jobs would have it
  int32_t failures = 0;  // starts that failed in a row
  std::string last_failure;
  absl::Time last_failure_time = absl::InfinitePast();
  absl::Time not_before = absl::InfinitePast();  // no new pilots until then
  std::vector<const PilotRow*> pilots;           // by name; ended ones among them
};

class Pools {
 public:
  explicit Pools(PoolsPolicy policy) : policy_(policy) {}

  // --- set-up -----------------------------------------------------------------------------------

  // A pool of the options. InvalidArgument as ValidatePoolSpec; AlreadyExists.
  absl::Status AddFromOptions(PoolSpec spec);
  using SpecDecoder = std::function<absl::StatusOr<PoolSpec>(absl::string_view)>;
  // Takes up what was saved. Pools of the options come first: a saved pool of the same name is
  // dropped for it, and its pause kept. DataLoss when a row makes no sense.
  absl::Status Restore(const Snapshot& snapshot, const SpecDecoder& decode, absl::Time now);

  // --- users ------------------------------------------------------------------------------------

  // `encoded`: the spec as it is saved. InvalidArgument; AlreadyExists, unless it is the same pool;
  // ResourceExhausted.
  absl::Status Add(PoolSpec spec, std::string encoded);
  // No new pilots; those that are there go on. NotFound; InvalidArgument for a reason beyond
  // kPauseReasonBytesMax.
  absl::Status Pause(const std::string& name, std::string reason);
  // Forgets failures. NotFound.
  absl::Status Resume(const std::string& name);
  // Drains all its pilots, and then forgets it; with `now`, they are stopped. NotFound;
  // FailedPrecondition for a pool of the options.
  absl::Status Remove(const std::string& name, bool at_once);

  // --- time and providers -----------------------------------------------------------------------

  bool empty() const { return pools_.empty() && pilots_.empty(); }
  // When Advance next has something to do; InfiniteFuture when never.
  absl::Time NextDeadline() const;
  // Plans, when it is time. REQUIRES: now >= the time of the previous call.
  void Advance(absl::Time now, const PoolWorld& world);

  // The answer to PoolActions::Start: the pilots' ids at the provider, as far as they are known; or
  // why there are none. Unavailable, DeadlineExceeded and Aborted mean that they may have been
  // started all the same; anything else, that they were not.
  void Started(const std::vector<std::string>& pilots,
               const absl::StatusOr<std::vector<std::string>>& ids, absl::Time now);
  // The answer to PoolActions::observe: all pilots of this coordinator that the provider knows.
  // `asked`: when the question was put.
  void Observed(ProviderKind provider, const absl::StatusOr<std::vector<PilotReport>>& reports,
                absl::Time asked, absl::Time now);

  PoolActions TakeActions() { return std::exchange(actions_, {}); }
  // Adds what changed since the last call.
  void TakeRows(Batch* batch);

  // --- views ------------------------------------------------------------------------------------

  std::vector<PoolView> List() const;  // by name
  std::optional<PoolView> Find(const std::string& name) const;
  // The largest workers that pools will have; empty when there are no pools.
  std::vector<PoolLimit> Limits() const;
  // What the pool does and why, in sentences. NotFound.
  absl::StatusOr<std::vector<std::string>> Explain(const std::string& name) const;
  // One sentence about a class of jobs that waits: what pools do about it. "" when there are none.
  std::string ExplainDemand(const Resources& resources, const Labels& labels) const;

  // Ends the process when two parts of the state contradict each other.
  void CheckInvariants() const;

 private:
  // How starts of pilots went.
  struct Starts {
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
    Starts own;
    // Of pilots of jobs' images. An image that nobody can start must not stop the others.
    std::map<std::string, Starts> of_images;
    int32_t wanted = 0;
    bool drop_at_once = false;  // while it is being removed

    Starts& Of(const std::string& image) { return image.empty() ? own : of_images[image]; }
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
  struct Provider {
    absl::Time next_observe = absl::InfinitePast();
    bool observing = false;
    absl::Time observing_since = absl::InfinitePast();
    absl::Status status;  // of the last observation
    absl::Time failing_since = absl::InfiniteFuture();
    std::map<std::string, int> strangers;  // pilots of ours that are not known: how often seen
  };

  // pools.cc
  void SetPhase(Pilot& pilot, PilotPhase phase, absl::string_view message, absl::Time now);
  void Touch(const std::string& pilot) { dirty_pilots_.insert(pilot); }
  Pool* FindPool(const std::string& name);
  const Pool* FindPool(const std::string& name) const;
  bool IsOpen(const Pool& pool, const Starts& starts, absl::Time now) const;
  // Whether jobs had better not count on a pilot that waits.
  bool IsDoubtful(const Pilot& pilot, absl::Time now) const;
  void DropPool(const std::string& name);
  void CountFailure(const Pilot& pilot, const std::string& message, absl::Time now);
  void EndPilot(Pilot& pilot, const std::string& message, absl::Time now);
  void TakeReport(Pilot& pilot, const PilotReport& report, absl::Time now);
  void NoteMissing(Pilot& pilot, absl::Time asked, absl::Time now);
  PoolView ViewOf(const Pool& pool) const;

  // pools_plan.cc
  void FollowWorkers(absl::Time now, const PoolWorld& world);
  void CheckTimeouts(absl::Time now);
  std::vector<WorkerPlace> PlacesOf(const PoolWorld& world) const;
  struct Part;
  std::vector<Part> PartsOf(Pool& pool, const PoolWorld& world, absl::Time now) const;
  PoolPlace PlaceOf(Part& part, absl::Time now) const;
  void Plan(absl::Time now, const PoolWorld& world);
  void StartPilots(const Part& part, int32_t count, absl::Time now);
  int32_t Undrain(const Part& part, int32_t count);
  void ShrinkWaiting(const Part& part, int32_t needed, int32_t in_queue, absl::Time now);
  void ShrinkWorking(const Pool& pool, const std::set<std::string>& needed, int32_t lacking,
                     absl::Time now);
  void EmptyRemovedPools(absl::Time now);
  void DrainPilot(Pilot& pilot, absl::Time now);
  void StopPilot(Pilot& pilot, absl::string_view why, absl::Time now);
  void OrderStop(const Pilot& pilot);
  void AskProviders(absl::Time now);
  void ForgetGone(absl::Time now);

  const PoolsPolicy policy_;
  absl::Time now_ = absl::InfinitePast();
  absl::Time next_plan_ = absl::InfinitePast();
  std::map<std::string, Pool> pools_;
  std::map<std::string, Pilot> pilots_;
  std::map<ProviderKind, Provider> providers_;
  uint64_t next_pilot_ = 1;
  std::vector<DemandClass> impossible_;  // of the last plan
  std::vector<DemandClass> too_long_;

  // What TakeActions and TakeRows will give.
  PoolActions actions_;
  std::set<std::string> dirty_pools_;
  std::set<std::string> dirty_pilots_;
  std::vector<std::string> deleted_pools_;
  std::vector<std::string> deleted_pilots_;
  bool dirty_next_ = false;
};

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_H_
