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
#ifndef CONCUR_CORE_POOLS_POOLS_H_
#define CONCUR_CORE_POOLS_POOLS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/pools/autoscaler.h"
#include "core/pools/pool.h"
#include "core/pools/pool_reason.h"
#include "core/pools/pool_state.h"
#include "core/rows.h"
#include "core/sweep/capacity.h"

namespace concur {

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
  explicit Pools(PoolsPolicy policy) { state_.policy = policy; }

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

  bool empty() const { return state_.pools.empty() && state_.pilots.empty(); }
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

  PoolActions TakeActions() { return std::exchange(state_.actions, {}); }
  // Adds what changed since the last call.
  void TakeRows(Batch* batch);

  // --- views ------------------------------------------------------------------------------------

  std::vector<PoolView> List() const;  // by name
  std::optional<PoolView> Find(const std::string& name) const;
  // The largest workers that pools will have; empty when there are no pools.
  std::vector<PoolLimit> Limits() const;
  // The reasons for what the pool does. NotFound.
  absl::StatusOr<std::vector<PoolReason>> ReasonsOf(const std::string& name) const;
  // The reason why a class of waiting jobs gets or gets no workers from pools.
  DemandReason ReasonFor(const Resources& resources, const Labels& labels) const;

  // Ends the process when two parts of the state contradict each other.
  void CheckInvariants() const;

 private:
  void TakeReport(Pilot& pilot, const PilotReport& report, absl::Time now);
  void NoteMissing(Pilot& pilot, absl::Time asked, absl::Time now);
  PoolView ViewOf(const Pool& pool) const;

  PoolState state_;
};

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_POOLS_H_
