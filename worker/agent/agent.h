// SPDX-License-Identifier: Apache-2.0
// The worker's state machine: which attempts run, which results are not yet delivered, and the
// Syncs that report both (core/sync/sync.h has the rules of that exchange).
//
// A step machine: no thread, no clock or randomness of its own, no waiting. Its loop calls Step
// whenever the gateway or the executor has events, and at the time that the last Step returned.
// Thread-compatible; owned by the worker's loop thread.
#ifndef CONCUR_WORKER_AGENT_AGENT_H_
#define CONCUR_WORKER_AGENT_AGENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/random.h"
#include "core/ids.h"
#include "core/sync/sync.h"
#include "worker/agent/spool.h"
#include "worker/agent/step_outbox.h"
#include "worker/executor.h"
#include "worker/gateway_client.h"

namespace concur::worker {

struct AgentOptions {
  WorkerInfo info;
  uint64_t seed = 0;                               // the jitter's
  absl::Duration wait = absl::Seconds(20);         // longest time that a Sync is parked
  absl::Duration call_timeout = absl::Seconds(5);  // beyond the time that a call may be parked
  absl::Duration backoff_min =
      absl::Milliseconds(100);  // after a failed call; doubles, with jitter
  absl::Duration backoff_max = absl::Seconds(5);
  absl::Duration drain_grace = absl::Minutes(10);  // running jobs may end so long after SIGTERM
  // This worker's machine is taken away then. It takes nothing new from `drain_margin` before, and
  // hands back what still runs from half of that before.
  absl::Time end_time = absl::InfiniteFuture();
  absl::Duration drain_margin = absl::Minutes(1);
  // Leaves when it runs nothing and no coordinator has answered for so long.
  absl::Duration orphan_timeout = absl::InfiniteDuration();
  absl::Duration leave_timeout = absl::Seconds(10);  // for the last Sync, when nobody answers
  // Time that the first Sync waits for the artifacts of results found in the spool: the coordinator
  // gives up what a new incarnation's first Sync does not report.
  absl::Duration recovery_wait = absl::Seconds(10);
  absl::Duration log_interval = absl::Milliseconds(300);  // between pieces of a followed log
  absl::Duration step_interval = absl::Seconds(2);  // jobs' reports wait so long for other news
  // Called for every attempt that ends, on the loop's thread. May be null.
  std::function<void(const JobResult&)> on_ended;
  // While enough attempts wait here for those that run, results are gathered for so long: they
  // share a write to the spool, a call and a commit.
  absl::Duration gather = absl::Milliseconds(40);
  // For how long the result of a job that ended by somebody's SIGTERM waits for one to the worker.
  absl::Duration terminated_hold = absl::Seconds(1);
};

class Agent {
 public:
  // `recovered`: results that an earlier incarnation left in the spool. The references outlive the
  // agent.
  Agent(Clock& clock, Gateway& gateway, Executor& executor, Spool& spool, AgentOptions options,
        const std::vector<SpooledResult>& recovered = {});

  // Takes in what happened and does what is to be done now. Returns when to call it again at the
  // latest, if nothing happens before; InfiniteFuture when done.
  absl::Time Step();

  // Takes nothing new, lets jobs end for the drain grace, hands back what still runs then, and
  // leaves. A second request hands back at once.
  void RequestDrain();

  // The last Sync was answered or timed out: the process may end. Undelivered results are in the
  // spool.
  bool done() const { return phase_ == Phase::kDone; }

  // --- views ------------------------------------------------------------------------------------
  size_t running() const;
  size_t finished() const;
  uint64_t sequence() const { return sequence_; }
  // True if the last answered Sync succeeded.
  bool connected() const { return connected_; }
  // Calls that failed, since the start.
  uint64_t failed_calls() const { return failed_calls_; }
  bool draining() const { return drain_deadline_.has_value() || drain_ordered_; }

  // Ends the process when two parts of the state contradict each other.
  void CheckInvariants() const;

 private:
  enum class Phase {
    kRecovering,  // the first Sync waits for recovered results to be published
    kWorking,
    kShuttingDown,  // nothing runs any more; the last Sync is being made
    kDone,
  };
  enum class State {
    kRunning,
    kPublishing,  // ended, in the spool, artifacts not yet with the coordinator
    kFinished,    // reported in every Sync until forgotten
  };
  struct Attempt {
    State state = State::kRunning;
    JobResult result;                      // unless kRunning
    std::optional<Checkpoint> checkpoint;  // likewise
    bool answered = false;                 // kFinished: an answered Sync has reported it
    bool stopped = false;                  // a stop was passed on to the executor
    bool told_to_stop = false;             // by the coordinator
    bool unwanted = false;                 // canceled or fenced, and the executor knows
    bool ready = false;                    // a service that answers
    uint64_t gpu_mask = 0;                 // a service's
    int64_t done = 0;                      // parts of the work, as it says, of so many
    int64_t of = 0;                        // 0: it has not said
  };
  struct Call {
    uint64_t sequence = 0;
    absl::Time send_time;
    absl::Time deadline;
    bool immediate = false;  // asked to be answered at once: its answer is worth waiting for
    bool shutting_down = false;
    std::vector<AttemptId> finished;        // that it reports
    std::map<AttemptId, int64_t> log_ends;  // ends of the parts of logs that it carries
    StepOutbox::Sent steps;                 // that it carries
  };

  std::vector<ExecutorReport> PollReports();
  void TakeReports();
  void TakeAnswers();
  void OnResponse(const Call& call, const SyncResponse& response);
  void OnError(const absl::Status& status);
  void StartOrders(const std::vector<JobOrder>& orders);
  void StopOrders(const std::vector<StopOrder>& orders);
  void ForgetOrders(const std::vector<ForgetOrder>& orders);
  void StopAll(StopCause cause, bool at_once);
  void StopAtLeaseEnd();
  void AdvanceDrain();
  void DrainAtEnd();
  absl::Time HandBackTime() const { return options_.end_time - options_.drain_margin / 2; }
  void AdvanceRecovery();
  void SyncIfNeeded();
  void StartCall();
  void FillAttempts(SyncRequest& request, Call& call) const;
  bool StepsAreWanted() const;
  void FillLogs(SyncRequest& request, Call& call);
  void LookForLogNews();
  bool IsBusy();
  // True if any job runs.
  bool IsRunning() const;
  // Stops the services, which no job needs any more; false when there is none left.
  bool StopServices();
  // True while results are held back to be sent with later ones, until gather_end_ at the latest.
  bool IsGathering() const;
  absl::Time NextStep() const;
  void Remember(const AttemptId& id);

  Clock& clock_;
  Gateway& gateway_;
  Executor& executor_;
  Spool& spool_;
  const AgentOptions options_;
  Random random_;

  Phase phase_ = Phase::kWorking;
  absl::Time phase_deadline_ = absl::InfiniteFuture();  // ends kRecovering and kShuttingDown
  std::map<AttemptId, Attempt> attempts_;
  // Running attempts that hold units of named resources and were not killed for it.
  std::set<AttemptId> holders_;
  // Reports of jobs that ended by SIGTERM, and until when they are held back; these count as
  // running.
  std::deque<std::pair<absl::Time, ExecutorReport>> terminated_;
  // Attempts that were forgotten, the oldest first: an order for one of them is not carried out.
  std::set<AttemptId> forgotten_;
  std::deque<AttemptId> forgotten_order_;

  StepOutbox steps_;

  uint64_t sequence_ = 0;
  std::optional<Call> call_;
  bool dirty_ = true;                            // something changed that the last call did not say
  absl::Time next_call_ = absl::InfinitePast();  // back-off
  int failures_ = 0;                             // in a row
  uint64_t failed_calls_ = 0;
  bool connected_ = false;
  absl::Duration lease_ = absl::Seconds(30);
  absl::Time lease_end_ = absl::InfinitePast();        // the part of it that this worker counts on
  absl::Time refused_since_ = absl::InfiniteFuture();  // ALREADY_EXISTS
  absl::Time next_complaint_ = absl::InfinitePast();

  size_t waiting_peak_ = 0;                       // at the executor, after the last answer
  absl::Time gather_end_ = absl::InfinitePast();  // results since the last sending wait until then

  struct FollowedFrom {
    int64_t offset = 0;
    bool told = false;  // the coordinator knows that there was nothing beyond
  };
  std::map<AttemptId, FollowedFrom> log_orders_;
  absl::Time next_log_ = absl::InfinitePast();
  bool send_logs_ = false;  // with the next call

  std::optional<absl::Time> drain_deadline_;  // drain was requested here, or the end is near
  bool drain_requested_ = false;
  absl::Time last_answer_;      // or the start
  bool drain_ordered_ = false;  // by the coordinator
  bool handed_back_ = false;    // running jobs were told to stop
  absl::Time publish_deadline_ =
      absl::InfiniteFuture();  // for the artifacts of what was handed back
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_AGENT_H_
