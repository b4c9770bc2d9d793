// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent.h"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "worker/execution/finish.h"

namespace concur::worker {
namespace {

// Attempts remembered after they were forgotten; an order for one comes only from a coordinator
// that was set back to an earlier state.
constexpr size_t kRememberedMax = 100'000;
// The same trouble is logged once in so long.
constexpr absl::Duration kComplaintInterval = absl::Minutes(1);
// Share of its lease that a worker counts on: the coordinator's clock may be faster than its own.
constexpr double kLeaseShare = 0.9;

// True if the job ended by a SIGTERM that this worker did not send: by itself, or as shells say it.
bool WasTerminated(const JobResult& result) {
  return !result.succeeded && result.failure == FailureClass::kFailed &&
         result.exit_code == 128 + SIGTERM;
}

StopCause CauseOf(StopReason reason) {
  return reason == StopReason::kCanceled    ? StopCause::kCanceled
         : reason == StopReason::kEarlyStop ? StopCause::kEarlyStop
                                            : StopCause::kFenced;
}

}  // namespace

Agent::Agent(Clock& clock, Gateway& gateway, Executor& executor, Spool& spool, AgentOptions options,
             const std::vector<SpooledResult>& recovered)
    : clock_(clock),
      gateway_(gateway),
      executor_(executor),
      spool_(spool),
      options_(std::move(options)),
      random_(options_.seed, "worker.agent"),
      steps_(options_.step_interval),
      last_answer_(clock.Now()) {
  for (const SpooledResult& spooled : recovered) {
    Attempt& attempt = attempts_[spooled.finished.id];
    attempt.result = spooled.finished.result;
    attempt.checkpoint = spooled.finished.checkpoint;
    attempt.state = spooled.published ? State::kFinished : State::kPublishing;
    if (!spooled.published) {
      executor_.Publish(spooled.finished);
      phase_ = Phase::kRecovering;
      phase_deadline_ = clock_.Now() + options_.recovery_wait;
    }
  }
  if (!attempts_.empty()) {
    LogInfo("found results of an earlier worker process",
            {{"results", absl::StrCat(attempts_.size())}});
  }
}

size_t Agent::running() const {
  return static_cast<size_t>(
      std::count_if(attempts_.begin(), attempts_.end(),
                    [](const auto& entry) { return entry.second.state == State::kRunning; }));
}

bool Agent::IsRunning() const {
  return std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return entry.second.state == State::kRunning && !entry.first.job.IsService();
  });
}

bool Agent::StopServices() {
  bool any = false;
  for (auto& [id, attempt] : attempts_) {
    if (id.job.IsService() && attempt.state == State::kRunning) {
      any = true;
      if (!std::exchange(attempt.stopped, true)) {
        executor_.Stop(id, StopCause::kPreempted, /*at_once=*/false);
      }
    }
  }
  return any;
}

size_t Agent::finished() const { return attempts_.size() - running(); }

absl::Time Agent::Step() {
  if (done()) {
    return absl::InfiniteFuture();
  }
  const bool gathering = IsGathering();
  if (!gathering) {
    TakeReports();
  }
  TakeAnswers();
  AdvanceRecovery();
  StopAtLeaseEnd();
  DrainAtEnd();
  AdvanceDrain();
  if (!gathering || draining()) {
    SyncIfNeeded();
  }
  return NextStep();
}

// The next jobs are here already, so that nothing is lost by telling of the last ones together with
// those that end soon.
bool Agent::IsGathering() const {
  return clock_.Now() < gather_end_ && connected_ && !draining() && phase_ == Phase::kWorking &&
         executor_.waiting() > 0 && 2 * executor_.waiting() >= waiting_peak_;
}

// --- what happened -------------------------------------------------------------------------------

// Reports of the executor, and those held back. Schedulers of clusters that take a node back
// send SIGTERM to the worker and to its jobs, in any order: such an end is nobody's failure.
std::vector<ExecutorReport> Agent::PollReports() {
  const absl::Time now = clock_.Now();
  std::vector<ExecutorReport> reports;
  for (ExecutorReport& report : executor_.Poll()) {
    const auto it = attempts_.find(report.finished.id);
    if (it != attempts_.end() && it->second.state == State::kRunning &&
        WasTerminated(report.finished.result)) {
      terminated_.emplace_back(now + options_.terminated_hold, std::move(report));
    } else {
      reports.push_back(std::move(report));
    }
  }
  while (!terminated_.empty() && (drain_requested_ || terminated_.front().first <= now)) {
    ExecutorReport& report = reports.emplace_back(std::move(terminated_.front().second));
    terminated_.pop_front();
    if (drain_requested_) {
      report.finished.result.failure = FailureClass::kPreempted;
      report.finished.result.message = "ended by SIGTERM, which its worker got as well";
    }
  }
  return reports;
}

void Agent::TakeReports() {
  std::vector<SpooledResult> to_spool;
  std::vector<FinishedAttempt> to_publish;
  for (ExecutorReport& report : PollReports()) {
    const AttemptId id = report.finished.id;
    const auto it = attempts_.find(id);
    if (it == attempts_.end() || it->second.state == State::kFinished) {
      continue;  // forgotten while its artifacts were under way
    }
    Attempt& attempt = it->second;
    if (attempt.state == State::kRunning) {
      const JobResult& result = report.finished.result;
      // Successes would fill the log of a worker that runs hundreds of jobs a second.
      Log(result.succeeded ? LogLevel::kDebug : LogLevel::kInfo,
          result.succeeded ? "finished" : "failed",
          {{"sweep", id.job.sweep.ToString()},
           {"job", id.job.ToString()},
           {"attempt", absl::StrCat(id.attempt.number)},
           {"worker", options_.info.name},
           {"class", std::string(FailureClassName(result.failure))},
           {"reason", result.message},
           {"seconds", absl::StrCat(absl::ToDoubleSeconds(result.run_time))}});
      if (options_.on_ended) {
        options_.on_ended(result);
      }
    }
    holders_.erase(id);
    attempt.result = report.finished.result;
    attempt.checkpoint = report.finished.checkpoint;
    attempt.state = report.published ? State::kFinished : State::kPublishing;
    if (report.published) {
      dirty_ = true;
    } else {
      to_publish.push_back(report.finished);
    }
    to_spool.push_back({std::move(report.finished), report.published});
  }
  for (const AttemptId& id : executor_.PollReady()) {
    if (const auto it = attempts_.find(id); it != attempts_.end()) {
      it->second.ready = true;
      dirty_ = true;
    }
  }
  for (AttemptStep& step : executor_.PollSteps()) {
    const auto attempt = attempts_.find(step.id);
    if (attempt != attempts_.end() && step.step.name == kProgressName) {
      attempt->second.done = step.step.step;
      attempt->second.of = static_cast<int64_t>(step.step.value);
    } else if (attempt != attempts_.end()) {
      steps_.Add(std::move(step), clock_.Now());
    }
  }
  if (to_spool.empty()) {
    return;
  }
  gather_end_ = clock_.Now() + options_.gather;
  // Durable before anybody hears of them.
  if (const absl::Status status = spool_.Put(to_spool); !status.ok()) {
    // The coordinator makes them durable too; only a crash of this process before that loses them,
    // and then the jobs run again.
    LogError("results could not be written to the spool", {{"error", status.ToString()}});
  }
  for (const FinishedAttempt& finished : to_publish) {
    executor_.Publish(finished);
  }
}

void Agent::TakeAnswers() {
  for (SyncAnswer& answer : gateway_.Poll()) {
    if (!call_.has_value() || answer.sequence != call_->sequence) {
      continue;  // answers a superseded call: its orders do not count
    }
    const Call call = *std::move(call_);
    call_.reset();
    if (answer.response.ok()) {
      OnResponse(call, *answer.response);
    } else {
      OnError(answer.response.status());
    }
  }
  if (call_.has_value() && clock_.Now() >= call_->deadline + options_.call_timeout) {
    // The gateway should have said so; it is not trusted to.
    gateway_.CancelSync(call_->sequence);
    call_.reset();
    OnError(absl::DeadlineExceededError("no answer"));
  }
}

void Agent::OnResponse(const Call& call, const SyncResponse& response) {
  if (!connected_) {
    LogInfo("connected to the coordinator", {{"worker", options_.info.name}});
  }
  connected_ = true;
  last_answer_ = clock_.Now();
  steps_.Confirm(call.steps, last_answer_);
  failures_ = 0;
  refused_since_ = absl::InfiniteFuture();
  next_complaint_ = absl::InfinitePast();
  if (response.lease > absl::ZeroDuration()) {
    lease_ = response.lease;
  }
  for (const AttemptId& id : call.finished) {
    if (const auto it = attempts_.find(id); it != attempts_.end()) {
      it->second.answered = true;
    }
  }
  if (response.drain != drain_ordered_) {
    LogInfo(response.drain ? "draining: the coordinator asked for it" : "no longer draining");
    drain_ordered_ = response.drain;
    dirty_ = true;
  }
  // The coordinator counts from when the call arrived, which was not before it was sent.
  lease_end_ = call.send_time + lease_ * kLeaseShare;
  executor_.SetLeaseEnd(lease_end_);
  executor_.SetCoordinatorStore({response.artifact_directory, response.artifact_store_id});
  ForgetOrders(response.forget);
  StopOrders(response.stop);
  StartOrders(response.start);
  waiting_peak_ = executor_.waiting();
  log_orders_.clear();
  for (const LogOrder& order : response.logs) {
    const auto sent = call.log_ends.find(order.id);
    log_orders_[order.id] = {order.offset,
                             sent != call.log_ends.end() && sent->second == order.offset};
  }
  if (call.shutting_down) {
    phase_ = Phase::kDone;
    LogInfo("left the coordinator");
  }
}

void Agent::OnError(const absl::Status& status) {
  const absl::Time now = clock_.Now();
  absl::Duration backoff = options_.backoff_min;
  for (int i = 0; i < failures_ && backoff < options_.backoff_max; ++i) {
    backoff *= 2;
  }
  backoff = std::min(backoff, options_.backoff_max);
  ++failures_;
  ++failed_calls_;
  next_call_ = now + backoff * (0.5 + 0.5 * random_.Uniform());
  dirty_ = true;
  steps_.Fail(now);
  if (absl::IsAborted(status)) {
    // Our own later call overtook an earlier one: nothing is wrong.
    return;
  }
  if (absl::IsAlreadyExists(status)) {
    if (refused_since_ == absl::InfiniteFuture()) {
      refused_since_ = now;
      LogWarning("another worker has this name; waiting for its lease to end",
                 {{"name", options_.info.name}, {"error", std::string(status.message())}});
    } else if (now - refused_since_ > 2 * lease_ && now >= next_complaint_) {
      next_complaint_ = now + kComplaintInterval;
      LogError("another worker with this name is alive: give this one another --name",
               {{"name", options_.info.name}, {"error", std::string(status.message())}});
    }
    connected_ = false;
    return;
  }
  if (connected_ || now >= next_complaint_) {
    next_complaint_ = now + kComplaintInterval;
    const bool transient = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                           absl::IsCancelled(status);
    Log(transient ? LogLevel::kWarning : LogLevel::kError,
        "the coordinator does not answer; jobs go on, results are kept",
        {{"error", status.ToString()}, {"running", absl::StrCat(running())}});
  }
  connected_ = false;
}

// --- orders --------------------------------------------------------------------------------------

void Agent::Remember(const AttemptId& id) {
  if (forgotten_.insert(id).second) {
    forgotten_order_.push_back(id);
    if (forgotten_order_.size() > kRememberedMax) {
      forgotten_.erase(forgotten_order_.front());
      forgotten_order_.pop_front();
    }
  }
}

void Agent::ForgetOrders(const std::vector<ForgetOrder>& orders) {
  std::vector<AttemptId> removed;
  for (const ForgetOrder& order : orders) {
    const auto it = attempts_.find(order.id);
    if (it == attempts_.end() || it->second.state == State::kRunning) {
      continue;  // a running attempt cannot be done with
    }
    if (!order.accepted) {
      // It takes none from an attempt that it has told to stop.
      Log(it->second.told_to_stop ? LogLevel::kDebug : LogLevel::kWarning,
          "the coordinator refused a result",
          {{"sweep", order.id.job.sweep.ToString()},
           {"job", order.id.job.ToString()},
           {"attempt", absl::StrCat(order.id.attempt.number)},
           {"worker", options_.info.name},
           {"reason", order.reason}});
    }
    attempts_.erase(it);
    steps_.Forget(order.id);
    executor_.Forget(order.id);
    Remember(order.id);
    removed.push_back(order.id);
  }
  if (!removed.empty()) {
    spool_.Remove(removed);
  }
}

void Agent::StopOrders(const std::vector<StopOrder>& orders) {
  for (const StopOrder& order : orders) {
    const auto it = attempts_.find(order.id);
    if (it == attempts_.end() || it->second.state == State::kFinished) {
      continue;
    }
    const StopCause cause = CauseOf(order.reason);
    // An attempt that is stopped, or has ended, may still upload its checkpoint: then for nobody.
    const bool unwanted = cause != StopCause::kEarlyStop;
    if (unwanted ? it->second.unwanted
                 : it->second.stopped || it->second.state != State::kRunning) {
      continue;
    }
    LogInfo(cause == StopCause::kCanceled    ? "stopping: canceled"
            : cause == StopCause::kEarlyStop ? "stopping: early stop"
                                             : "stopping: fenced",
            {{"sweep", order.id.job.sweep.ToString()},
             {"job", order.id.job.ToString()},
             {"attempt", absl::StrCat(order.id.attempt.number)},
             {"worker", options_.info.name}});
    it->second.stopped = true;
    it->second.told_to_stop = true;
    it->second.unwanted = unwanted;
    executor_.Stop(order.id, cause, /*at_once=*/false);
  }
}

void Agent::StartOrders(const std::vector<JobOrder>& orders) {
  for (const JobOrder& order : orders) {
    if (attempts_.contains(order.id)) {
      continue;  // an order is repeated until a Sync shows its effect
    }
    dirty_ = true;
    Attempt& attempt = attempts_[order.id];
    const bool again = forgotten_.contains(order.id);
    if (again || draining()) {
      // Handed back as an attempt that ended before it began, so that the job goes elsewhere.
      attempt.result =
          FailedResult(FailureClass::kPreempted,
                       again ? "this worker has carried out this attempt before and forgotten it"
                             : "handed back: the worker is draining");
      attempt.result.start_time = clock_.Now();
      attempt.state = State::kFinished;
      continue;
    }
    LogDebug("starting", {{"sweep", order.id.job.sweep.ToString()},
                          {"job", order.id.job.ToString()},
                          {"attempt", absl::StrCat(order.id.attempt.number)},
                          {"worker", options_.info.name},
                          {"approach", order.approach},
                          {"benchmark", order.benchmark}});
    if (order.holds_units) {
      holders_.insert(order.id);
    }
    if (order.id.job.IsService()) {
      attempt.gpu_mask = order.gpu_mask;
    }
    executor_.Start(order);
  }
}

void Agent::StopAll(StopCause cause, bool at_once) {
  for (auto& [id, attempt] : attempts_) {
    if (attempt.state == State::kRunning) {
      attempt.stopped = true;
      executor_.Stop(id, cause, at_once);
    }
  }
}

// The coordinator gives the units to others once the lease has ended.
void Agent::StopAtLeaseEnd() {
  if (holders_.empty() || clock_.Now() < lease_end_) {
    return;
  }
  LogWarning("stopping what uses named resources: the coordinator has not answered for a lease",
             {{"running", absl::StrCat(holders_.size())}});
  for (const AttemptId& id : std::exchange(holders_, {})) {
    attempts_.at(id).stopped = true;
    executor_.Stop(id, StopCause::kLeaseEnds, /*at_once=*/true);
  }
}

// --- phases --------------------------------------------------------------------------------------

void Agent::AdvanceRecovery() {
  if (phase_ != Phase::kRecovering) {
    return;
  }
  const bool publishing = std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return entry.second.state == State::kPublishing;
  });
  if (!publishing || clock_.Now() >= phase_deadline_) {
    phase_ = Phase::kWorking;
    phase_deadline_ = absl::InfiniteFuture();
  }
}

// Before its machine is taken away, and when there is nobody left to work for.
void Agent::DrainAtEnd() {
  const absl::Time now = clock_.Now();
  if (drain_deadline_.has_value()) {
    return;
  }
  if (now >= options_.end_time - options_.drain_margin) {
    LogInfo("draining: this worker's time is nearly over",
            {{"running", absl::StrCat(running())},
             {"seconds", absl::StrCat(absl::ToDoubleSeconds(options_.end_time - now))}});
    drain_deadline_ = HandBackTime();
    dirty_ = true;
  } else if (now - last_answer_ >= options_.orphan_timeout && !IsRunning()) {
    LogWarning("shutting down: no coordinator has answered for long");
    drain_deadline_ = now;
    dirty_ = true;
  }
}

void Agent::RequestDrain() {
  if (!drain_requested_) {
    drain_requested_ = true;
    LogInfo("draining: jobs may end before the worker leaves",
            {{"running", absl::StrCat(running())},
             {"seconds", absl::StrCat(absl::ToDoubleSeconds(options_.drain_grace))}});
    drain_deadline_ = std::min({drain_deadline_.value_or(absl::InfiniteFuture()),
                                clock_.Now() + options_.drain_grace, HandBackTime()});
    dirty_ = true;
    return;
  }
  LogInfo("shutting down at once: jobs are handed back", {{"running", absl::StrCat(running())}});
  drain_deadline_ = clock_.Now();
  StopAll(StopCause::kPreempted, /*at_once=*/true);
  handed_back_ = true;
}

// True if a draining worker has a reason to stay.
bool Agent::IsBusy() {
  if (IsRunning()) {
    return true;
  }
  const bool publishing = std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return entry.second.state == State::kPublishing;
  });
  if (!publishing || !handed_back_) {
    return publishing;
  }
  // A worker that was told to go does not wait for ever to hand its artifacts in; the spool keeps
  // the results.
  if (publish_deadline_ == absl::InfiniteFuture()) {
    const absl::Time now = clock_.Now();
    publish_deadline_ = now + (connected_ ? options_.leave_timeout : absl::ZeroDuration());
    if (connected_ && now >= options_.end_time - options_.drain_margin) {
      // It leaves because its time is nearly over: what is left of that is used, as checkpoints may
      // be large. Whoever tells it to go long before does not wait until then.
      publish_deadline_ = std::max(publish_deadline_, options_.end_time - options_.leave_timeout);
    }
  }
  return clock_.Now() < publish_deadline_;
}

void Agent::AdvanceDrain() {
  if (!draining() || phase_ == Phase::kDone) {
    return;
  }
  if (drain_deadline_.has_value() && clock_.Now() >= *drain_deadline_ && !handed_back_) {
    handed_back_ = true;
    if (IsRunning()) {
      LogInfo("handing back what still runs", {{"running", absl::StrCat(running())}});
      StopAll(StopCause::kPreempted, /*at_once=*/false);
    }
  }
  if (phase_ != Phase::kShuttingDown && !IsBusy() && StopServices()) {
    publish_deadline_ = absl::InfiniteFuture();  // it is called again when they have ended
  } else if (phase_ != Phase::kShuttingDown && !IsBusy()) {
    phase_ = Phase::kShuttingDown;
    publish_deadline_ = absl::InfiniteFuture();
    // Without connection and with nothing to hand in, the last Sync is only a courtesy.
    phase_deadline_ =
        clock_.Now() +
        (connected_ || !attempts_.empty() ? options_.leave_timeout : options_.leave_timeout / 10);
    dirty_ = true;
  }
  if (phase_ == Phase::kShuttingDown && clock_.Now() >= phase_deadline_) {
    LogWarning("left without the coordinator's answer",
               {{"results_kept", absl::StrCat(attempts_.size())}});
    if (call_.has_value()) {
      gateway_.CancelSync(call_->sequence);
      call_.reset();
    }
    phase_ = Phase::kDone;
  }
}

// --- the next step -------------------------------------------------------------------------------

absl::Time Agent::NextStep() const {
  if (phase_ == Phase::kDone) {
    return absl::InfiniteFuture();
  }
  absl::Time next = std::min(phase_deadline_, publish_deadline_);
  if (!holders_.empty()) {
    next = std::min(next, lease_end_);
  }
  if (!terminated_.empty()) {
    next = std::min(next, terminated_.front().first);
  }
  if (IsGathering()) {
    return std::min(next, gather_end_);
  }
  if (call_.has_value()) {
    next = std::min(next, call_->deadline + options_.call_timeout);
    if (!log_orders_.empty() && !call_->immediate) {
      next = std::min(next, next_log_);
    }
  } else if (phase_ != Phase::kRecovering) {
    next = std::min(next, next_call_);
  }
  if (drain_deadline_.has_value() && !handed_back_) {
    next = std::min(next, *drain_deadline_);
  } else if (!drain_deadline_.has_value()) {
    next = std::min(next, options_.end_time - options_.drain_margin);
    if (!IsRunning()) {
      next = std::min(next, last_answer_ + options_.orphan_timeout);
    }
  }
  if (call_.has_value() && !call_->immediate) {
    next = std::min(next, dirty_ ? next_call_ : std::max(next_call_, steps_.due()));
  }
  return next;
}

void Agent::CheckInvariants() const {
  for (const auto& [id, attempt] : attempts_) {
    CONCUR_CHECK(attempt.state == State::kFinished || !attempt.answered);
    // An attempt that was forgotten comes back only as one that was handed back unstarted.
    CONCUR_CHECK(!forgotten_.contains(id) || attempt.state == State::kFinished);
  }
  for (const AttemptId& id : holders_) {
    CONCUR_CHECK(attempts_.at(id).state == State::kRunning);
  }
  CONCUR_CHECK(forgotten_.size() == forgotten_order_.size());
  CONCUR_CHECK(!call_.has_value() || call_->sequence == sequence_);
  CONCUR_CHECK(phase_ != Phase::kDone || !IsRunning() || drain_deadline_.has_value());
}

}  // namespace concur::worker
