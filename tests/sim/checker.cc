// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/checker.h"

#include <algorithm>
#include <bit>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/scheduler/reason_text.h"
#include "core/sweep/content_key.h"

namespace concur::sim {
namespace {

// Turns between checks of all acknowledged changes, which are also checked at each restart.
constexpr uint64_t kTurnsBetweenFullChecks = 64;

std::vector<Digest> KeysOf(const Expansion& expansion) {
  const ContentKeys keys(expansion);
  std::vector<Digest> of_jobs;
  for (uint32_t job = 0; job < expansion.job_count(); ++job) {
    of_jobs.push_back(keys.KeyOf(job));
  }
  return of_jobs;
}

std::string ScoreText(const std::vector<Metric>& metrics) {
  return metrics.empty() ? "no score" : absl::StrCat(metrics[0].name, " ", metrics[0].value);
}

}  // namespace

Checker::Checker(World& world, const Workload& workload, const Outcomes* expected)
    : world_(world), workload_(workload), expected_(expected) {
  for (const PlannedSweep& sweep : workload.sweeps) {
    keys_.push_back(KeysOf(*sweep.expansion));
  }
}

const Digest* Checker::KeyOf(JobId id) const {
  if (const auto chosen = chosen_keys_.find(id.sweep); chosen != chosen_keys_.end()) {
    return &(*chosen->second)[id.index];
  }
  const auto it = planned_.find(id.sweep);
  return it == planned_.end() ? nullptr : &keys_[it->second][id.index];
}

bool Checker::IsChosen(size_t planned, uint32_t job) const {
  const Expansion& expansion = *workload_.sweeps[planned].expansion;
  const JobCoordinates at = expansion.Locate(job);
  return expansion.IsSearched(at.block) && at.setting > 0;
}

void Checker::OnChosen(const std::string& text, const SweepSpec& spec) {
  const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  if (!expansion.ok()) {
    world_.Fail(absl::StrCat("a search chose what is refused: ", expansion.status().ToString()));
    return;
  }
  keys_by_text_.emplace(text, KeysOf(*expansion));
}

void Checker::PutSweep(SweepId id, size_t planned, const std::string& text) {
  planned_.emplace(id, planned);
  if (const auto keys = keys_by_text_.find(text); keys != keys_by_text_.end()) {
    chosen_keys_[id] = &keys->second;
  }
}

// --- workers -------------------------------------------------------------------------------------

void Checker::OnProcess(const std::string& incarnation, bool alive) {
  if (alive) {
    alive_.insert(incarnation);
  } else {
    alive_.erase(incarnation);
    for (auto& [id, given] : given_) {
      given.at_worker = given.at_worker && given.incarnation != incarnation;
    }
  }
}

void Checker::OnStart(const JobOrder& order, const std::vector<const JobOrder*>& others) {
  const std::string id = order.id.ToString();
  if (!started_.insert(order.id).second) {
    world_.Fail(absl::StrCat(id, " was started twice"));
  }
  CheckUnitsAtStart(order.id);
  if (const Setting& tried = tried_.emplace(order.id.job, order.setting).first->second;
      tried != order.setting) {
    world_.Fail(absl::StrCat(id, " tries ", SettingText(order.setting),
                             ", and an earlier attempt tried ", SettingText(tried)));
  }
  if (std::popcount(order.gpu_mask) != order.resources.GpuCount()) {
    world_.Fail(absl::StrCat(id, " was given ", std::popcount(order.gpu_mask), " GPUs, not ",
                             order.resources.GpuCount()));
  }
  const auto shares = [](const JobOrder& one) {
    return one.resources.gpu_share > 0 ? one.resources.gpu_share : kGpuShares;
  };
  for (uint64_t rest = order.gpu_mask; rest != 0; rest &= rest - 1) {
    int used = shares(order);
    for (const JobOrder* other : others) {
      used += (other->gpu_mask & (rest & -rest)) != 0 ? shares(*other) : 0;
    }
    if (used > kGpuShares) {
      world_.Fail(absl::StrCat(id, " was given of a GPU what other attempts still use"));
    }
  }
}

void Checker::OnAsk(const JobOrder& order, const std::string& name, bool ready, size_t users) {
  ++asked_;
  if (!ready) {
    world_.Fail(absl::StrCat(order.id.ToString(), " asks a service that still loads"));
  }
  const auto planned = planned_.find(order.id.job.sweep);
  if (planned == planned_.end()) {
    return;
  }
  const std::string& of = name.empty() ? order.approach : name;
  const auto& approaches = workload_.sweeps[planned->second].expansion->spec().approaches;
  const auto asked =
      std::find_if(approaches.begin(), approaches.end(),
                   [&](const ApproachSpec& approach) { return approach.name == of; });
  if (asked == approaches.end() || !asked->service || users > asked->service->serves) {
    world_.Fail(absl::StrCat(order.id.ToString(), " is one of ", users,
                             " jobs that ask a service which serves fewer"));
  }
}

void Checker::OnReport(const FinishedAttempt& finished) {
  reports_[finished.id].push_back(finished);
  if (const auto given = given_.find(finished.id); given != given_.end()) {
    given->second.at_worker = false;
  }
  if (finished.checkpoint) {
    checkpoints_.try_emplace(finished.checkpoint->digest, finished.id);
  }
}

// --- the coordinator -----------------------------------------------------------------------------

void Checker::PutRow(const JobRow& row) {
  const Digest* key = KeyOf(row.id);
  if (key != nullptr) {
    if (row.state == JobState::kSucceeded) {
      finished_[*key].insert(row.id);
    } else if (const auto it = finished_.find(*key); it != finished_.end()) {
      it->second.erase(row.id);
    }
  }
  if (row.state == JobState::kRunning) {
    // One that came back after its lease had ended goes on with the time that it had left.
    begun_.try_emplace({row.id, row.attempt}, row.update_time);
  }
  rows_.insert_or_assign(row.id, row);
}

void Checker::DropSweep(SweepId id) {
  planned_.erase(id);
  chosen_keys_.erase(id);
  std::erase_if(rows_, [&](const auto& entry) { return entry.first.sweep == id; });
  std::erase_if(steps_, [&](const auto& entry) { return entry.first.sweep == id; });
  std::erase_if(spent_, [&](const auto& entry) { return entry.first.job.sweep == id; });
  budgets_.erase(id);
  std::erase_if(results_, [&](const auto& entry) { return entry.first.sweep == id; });
  for (auto& [key, jobs] : finished_) {
    std::erase_if(jobs, [&](const JobId& job) { return job.sweep == id; });
  }
}

void Checker::OnLoad(const Snapshot& snapshot) {
  CheckStepsKept(snapshot);
  CheckSpentKept(snapshot);
  LoadResources(snapshot);
  std::map<JobId, const JobRow*> loaded;
  for (const JobRow& row : snapshot.jobs) {
    loaded[row.id] = &row;
  }
  std::map<SweepId, const SweepRow*> sweeps;
  for (const SweepRow& row : snapshot.sweeps) {
    sweeps[row.id] = &row;
  }
  for (const auto& [id, row] : rows_) {
    if (!sweeps.contains(id.sweep)) {
      continue;  // deleted; otherwise CheckAcknowledged reports it
    }
    const auto it = loaded.find(id);
    const uint32_t attempt = it == loaded.end() ? 0 : it->second->attempt.number;
    const bool in_doubt =
        in_doubt_ && std::any_of(in_doubt_->put_jobs.begin(), in_doubt_->put_jobs.end(),
                                 [job = id](const JobRow& other) { return other.id == job; });
    if (row.state == JobState::kRunning && !in_doubt &&
        (it == loaded.end() || it->second->state != JobState::kRunning)) {
      world_.Fail(absl::StrCat("a restart gave up job ", id.ToString(), ", which was running"));
    }
    if (!in_doubt && row.checkpoint &&
        (it == loaded.end() || it->second->checkpoint != row.checkpoint)) {
      world_.Fail(absl::StrCat("a restart forgot the checkpoint of job ", id.ToString()));
    }
    if (attempt < row.attempt.number) {
      world_.Fail(absl::StrCat("a restart set job ", id.ToString(), " back from attempt ",
                               row.attempt.number, " to ", attempt));
    }
  }
  if (in_doubt_) {
    // It was not acknowledged, but if it is durable, its results are counted.
    const bool durable =
        std::any_of(in_doubt_->put_jobs.begin(), in_doubt_->put_jobs.end(), [&](const JobRow& row) {
          const auto it = loaded.find(row.id);
          return it != loaded.end() && it->second->update_time == row.update_time;
        });
    for (const AttemptRow& row : in_doubt_->put_attempts) {
      if (durable && row.result.failure != FailureClass::kLost &&
          row.result.failure != FailureClass::kPoison) {
        counted_.insert({row.id, row.attempt});
      }
    }
    in_doubt_.reset();
  }
  services_.clear();
  retried_.clear();
  collected_.clear();
  planned_.clear();
  chosen_keys_.clear();
  rows_.clear();
  finished_.clear();
  for (const SweepRow& row : snapshot.sweeps) {
    if (const std::optional<size_t> planned = workload_.NumberOf(row.spec)) {
      PutSweep(row.id, *planned, row.spec);
    }
  }
  for (const JobRow& row : snapshot.jobs) {
    PutRow(row);
    if (row.state == JobState::kSucceeded && !row.reused_from) {
      counted_.insert({row.id, row.attempt});
    }
  }
  for (const JobRow& row : snapshot.jobs) {
    if (row.state == JobState::kRunning && !given_.contains({row.id, row.attempt})) {
      Give(row);  // in a turn that was in doubt
    }
  }
  LoadRetries(snapshot);
}

void Checker::OnRestored(const Scheduler& scheduler, absl::Time now) {
  OnLeasesGranted(now);
  last_seen_.clear();
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    last_seen_[worker.info.incarnation] = worker.last_seen;
  }
  scheduler.CheckInvariants();
  const bool had_all = left_out_.empty();
  left_out_.clear();
  for (const auto& [id, left] : scheduler.views().left_out()) {
    left_out_.insert(id);
  }
  CheckAcknowledged(scheduler);
  if (had_all && left_out_.empty()) {
    CheckBlameKept(scheduler, now);
  }
}

bool Checker::SystemsAreCollected(const std::set<JobId>& jobs) const {
  return std::all_of(jobs.begin(), jobs.end(), [&](const JobId& id) {
    const auto it = rows_.find(id);
    return it != rows_.end() && it->second.system_collected;
  });
}

// True if the job's approach, or one that it starts from, was submitted to run although its results
// are known.
bool Checker::IsRerun(const Expansion& expansion, uint32_t job) {
  const Block* block = &expansion.blocks()[expansion.Locate(job).block];
  while (block->source && !expansion.spec().approaches[block->approach].rerun) {
    block = &expansion.blocks()[*block->source];
  }
  return expansion.spec().approaches[block->approach].rerun;
}

// A job that reads a system begins when the system is there.
void Checker::CheckSourceEnded(const JobRow& row) {
  const Expansion& expansion = *workload_.sweeps[planned_.at(row.id.sweep)].expansion;
  const auto source = expansion.SourceOf(row.id.index);
  if (!source) {
    return;
  }
  staged_ += expansion.Locate(row.id.index).is_train ? 1 : 0;
  const auto it = rows_.find({row.id.sweep, *source});
  if (it == rows_.end() || it->second.state != JobState::kSucceeded) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " runs before the train job ",
                             JobId{row.id.sweep, *source}.ToString(), " has succeeded"));
  } else if (it->second.system_collected) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " runs although the system of ",
                             it->first.ToString(), " was collected"));
  }
}

// A finished cell never runs again unless a user asks or its collected system is needed.
void Checker::CheckNewAttempt(const JobRow& row) {
  const Digest* key = KeyOf(row.id);
  const auto it = key == nullptr ? finished_.end() : finished_.find(*key);
  if (it == finished_.end() || row.no_reuse ||
      std::all_of(it->second.begin(), it->second.end(),
                  [&](JobId id) { return left_out_.contains(id.sweep); })) {
    return;
  }
  const Expansion& expansion = *workload_.sweeps[planned_.at(row.id.sweep)].expansion;
  const bool is_train = expansion.Locate(row.id.index).is_train;
  if (IsRerun(expansion, row.id.index)) {
    return;
  }
  if (!is_train || !SystemsAreCollected(it->second)) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " runs as attempt ", row.attempt.number,
                             " although ", it->second.begin()->ToString(),
                             " has finished the same work"));
  }
}

void Checker::CheckRow(const JobRow& row) {
  const auto it = rows_.find(row.id);
  const uint32_t attempt = it == rows_.end() ? 0 : it->second.attempt.number;
  if (row.attempt.number < attempt) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " went back from attempt ", attempt, " to ",
                             row.attempt.number));
  }
  if (const PlannedSweep* const import = ImportOf(row.id.sweep); import != nullptr) {
    CheckImportRow(*import, row);
  }
  if (row.reused_from && ImportOf(row.reused_from->sweep) != nullptr) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " took the imported result of ",
                             row.reused_from->ToString()));
  }
  const auto planned = planned_.find(row.id.sweep);
  if (row.reused_from && planned != planned_.end() &&
      IsRerun(*workload_.sweeps[planned->second].expansion, row.id.index)) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " took the result of ",
                             row.reused_from->ToString(), " though it was to run"));
  }
  const auto retry = retried_.find(row.id.sweep);
  const auto saved = saved_retries_.find(row.id.sweep);
  const bool may_change =
      IsBeingRetried(row.id.sweep) &&
      ((retry != retried_.end() && retry->second) || it == rows_.end() ||
       it->second.state != JobState::kSucceeded || collected_.contains(row.id) ||
       (saved != saved_retries_.end() && saved->second.collected.contains(row.id)));
  if (it != rows_.end() && IsTerminal(it->second.state) && !may_change &&
      (row.state != it->second.state || row.attempt.number != attempt)) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " had ended as ",
                             JobStateName(it->second.state), " and became ",
                             JobStateName(row.state), " though nobody asked"));
  }
}

void Checker::CheckResult(const ResultRow& row) {
  const auto job = rows_.find(row.id);
  const auto planned = planned_.find(row.id.sweep);
  if (job == rows_.end() || planned == planned_.end()) {
    world_.Fail(absl::StrCat("a result was saved for ", row.id.ToString(), ", which has no row"));
    return;
  }
  if (expected_ != nullptr && row.result.succeeded && !IsChosen(planned->second, row.id.index)) {
    const JobOutcome& outcome = (*expected_)[planned->second][row.id.index];
    if (outcome.state != JobState::kSucceeded || outcome.metrics != row.result.metrics) {
      world_.Fail(absl::StrCat("job ", row.id.ToString(), " was counted with ",
                               ScoreText(row.result.metrics), ", and without faults it is ",
                               JobStateName(outcome.state), " with ", ScoreText(outcome.metrics)));
    }
  }
  if (!row.result.succeeded || job->second.reused_from || ImportOf(row.id.sweep) != nullptr) {
    return;
  }
  const AttemptId id{row.id, job->second.attempt};
  const auto reports = reports_.find(id);
  if (reports == reports_.end() ||
      std::none_of(reports->second.begin(), reports->second.end(),
                   [&](const FinishedAttempt& one) { return one.result == row.result; })) {
    world_.Fail(
        absl::StrCat("the result that counts for ", id.ToString(), " is not one that it had"));
  }
  for (const ArtifactRef& artifact : row.result.artifacts) {
    // A job may succeed again after retention removed an unneeded result; systems are needed.
    if (artifact.kind == ArtifactKind::kSystem && !has_artifact_(artifact.digest)) {
      world_.Fail(absl::StrCat(id.ToString(), " was counted before its system was stored"));
    }
  }
  counted_.insert(id);
}

// True if the attempt was taken back from a worker that had it for long.
bool Checker::IsOverdue(const AttemptRow& row, absl::Time now) const {
  const auto before = rows_.find(row.id);
  return row.result.failure == FailureClass::kWorker && before != rows_.end() &&
         before->second.state == JobState::kRunning &&
         now >= std::min(begun_.at({row.id, before->second.attempt}), restored_at_) + kOverdueGrace;
}

void Checker::CheckAttempt(const AttemptRow& row, absl::Time now) {
  const AttemptId id{row.id, row.attempt};
  const bool lost = row.result.failure == FailureClass::kLost ||
                    row.result.failure == FailureClass::kPoison ||
                    row.result.failure == FailureClass::kNone;
  if (!lost) {
    // Preempted before its start: reported by the agent alone, not by an executor.
    // A job whose service cannot be started fails without an attempt of its own.
    if (!reports_.contains(id) && row.result.failure != FailureClass::kPreempted &&
        !(row.result.failure == FailureClass::kService && row.worker.empty()) &&
        !IsOverdue(row, now)) {
      world_.Fail(absl::StrCat("a failure was counted for ", id.ToString(), ", which had none"));
    }
    if (!counted_.insert(id).second) {
      world_.Fail(absl::StrCat(id.ToString(), " was counted twice"));
    }
    // No simulated job ends so but by its machine's SIGTERM.
    if (row.result.failure == FailureClass::kFailed && row.result.exit_code == 128 + SIGTERM) {
      world_.Fail(
          absl::StrCat(id.ToString(), " failed by the SIGTERM that its worker got as well"));
    }
    return;
  }
  const auto before = rows_.find(row.id);
  if (before == rows_.end() || before->second.state != JobState::kRunning) {
    return;
  }
  const std::string& incarnation = before->second.incarnation;
  if (alive_.contains(incarnation) && now < LeaseEndOf(incarnation)) {
    world_.Fail(absl::StrCat(id.ToString(), " was taken from ", incarnation,
                             ", which is alive and whose lease has not ended"));
  }
}

void Checker::OnCommit(const Batch& batch, bool durable, absl::Time now) {
  if (!durable) {
    in_doubt_ = batch;
    return;
  }
  for (const SweepRow& row : batch.put_sweeps) {
    const std::optional<size_t> planned = workload_.NumberOf(row.spec);
    if (!planned) {
      world_.Fail(absl::StrCat("sweep ", row.id.ToString(), " has a spec that nobody submitted"));
      continue;
    }
    for (const auto& [id, other] : planned_) {
      if (other == *planned && id != row.id) {
        world_.Fail(
            absl::StrCat("one submission became ", id.ToString(), " and ", row.id.ToString()));
      }
    }
    PutSweep(row.id, *planned, row.spec);
    if (row.canceled) {
      once_canceled_.insert(row.id);
    }
  }
  for (const AttemptRow& row : batch.put_attempts) {
    if (row.id.IsService()) {
      CheckServiceUse(row);
    } else {
      CheckAttempt(row, now);
    }
  }
  CheckSteps(batch);
  CheckSpent(batch);
  std::vector<const JobRow*> new_attempts;
  std::vector<JobId> skipped;
  std::vector<JobId> stopped;
  std::set<JobId> just_succeeded;
  for (const JobRow& row : batch.put_jobs) {
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("saved: ", row.id.ToString(), " ", JobStateName(row.state),
                                " attempt ", row.attempt.number,
                                row.worker.empty() ? "" : absl::StrCat(" ", row.incarnation),
                                row.reused_from ? " reused" : ""));
    }
    CheckRow(row);
    CheckCheckpoint(row);
    const auto it = rows_.find(row.id);
    if (row.attempt.number > (it == rows_.end() ? 0 : it->second.attempt.number)) {
      new_attempts.push_back(&row);
    }
    if (it == rows_.end() || it->second.state != row.state) {
      if (row.state == JobState::kSkipped) {
        skipped.push_back(row.id);
      } else if (row.state == JobState::kStopped) {
        stopped.push_back(row.id);
      } else if (row.state == JobState::kSucceeded) {
        just_succeeded.insert(row.id);
      }
    }
    PutRow(row);
  }
  for (const AttemptRow& row : batch.put_attempts) {
    CheckCheckpointTaken(row);
  }
  // Results deleted in a turn cannot be reused in it.
  for (const SweepId& id : batch.delete_sweeps) {
    DropSweep(id);
  }
  for (const JobRow* row : new_attempts) {
    CheckSourceEnded(*row);
    CheckNewAttempt(*row);
    CheckNotSetAside(*row, batch, now);
  }
  NoteAmounts(batch);
  CheckBudgets(new_attempts);
  CheckGiven(new_attempts, now);
  CheckSkipped(skipped, just_succeeded);
  CheckStopped(stopped);
  for (const ResultRow& row : batch.put_results) {
    CheckResult(row);
  }
  NoteRetries(batch);
  rerun_.clear();
  for (const auto& [id, rerun] : retried_) {
    if (rerun) {
      rerun_.insert(id);
    }
  }
  retried_.clear();
  trained_again_ = std::exchange(collected_, {});
}

void Checker::OnLeasesGranted(absl::Time now) {
  restored_at_ = now;
  restored_end_ = now + workload_.lease;
  lease_ends_.clear();
}

void Checker::OnPaused(absl::Duration pause, absl::Time now) {
  const auto extend = [&](absl::Time& end) {
    end = std::min(std::max(end + pause, now + kPauseMin), now + workload_.lease);
  };
  extend(restored_end_);
  for (auto& [incarnation, end] : lease_ends_) {
    extend(end);
  }
}

absl::Time Checker::LeaseEndOf(const std::string& incarnation) const {
  const auto found = lease_ends_.find(incarnation);
  return found == lease_ends_.end() ? restored_end_ : found->second;
}

void Checker::OnSyncAnswered(const SyncRequest& request, absl::Time called,
                             const SyncResponse& response) {
  NoteServices(request, called);
  CheckNeeds(request, response);
  for (const JobOrder& order : response.start) {
    CheckCheckpointOrdered(order);
  }
  for (const ForgetOrder& order : response.forget) {
    if (order.id.job.IsService()) {
      CheckServiceReported(order.id);
      continue;
    }
    if (!order.accepted) {
      // Another job may have been paused anew in this turn, after its result was refused.
      if (absl::EndsWith(order.reason, JobStateName(JobState::kBlocked))) {
        CheckPauseTaken(order.id);
      }
      continue;
    }
    ++acknowledged_;
    // A result that is rerun or deleted in the turn that counted it is not in the batch.
    if (!counted_.contains(order.id) && !rerun_.contains(order.id.job.sweep) &&
        !trained_again_.contains(order.id.job) && !deleted_.contains(order.id.job.sweep)) {
      world_.Fail(absl::StrCat("the result of ", order.id.ToString(),
                               " was acknowledged and is not saved"));
    }
    const auto row = rows_.find(order.id.job);
    // A job that failed in this attempt may have reused another job's result since.
    if (row != rows_.end() && row->second.state == JobState::kSucceeded &&
        row->second.attempt == order.id.attempt && !row->second.reused_from) {
      results_[order.id.job] = order.id;
    }
  }
}

void Checker::AfterTurn(const Scheduler& scheduler, absl::Time now) {
  scheduler.CheckInvariants();
  CheckTotals(scheduler);
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    const std::string& incarnation = worker.info.incarnation;
    if (std::exchange(last_seen_[incarnation], worker.last_seen) != worker.last_seen) {
      lease_ends_[incarnation] =
          std::max(LeaseEndOf(incarnation), worker.last_seen + workload_.lease);
    }
    if (worker.running > 0 && LeaseEndOf(incarnation) < now) {
      world_.Fail(absl::StrCat("worker ", worker.info.name, " keeps ", worker.running,
                               " attempts though its lease has ended"));
    }
  }
  CheckServices(scheduler);
  ForgetEnded(now);
  if (left_out_.empty()) {
    RememberBlame(scheduler);
  }
  if (++turns_ % kTurnsBetweenFullChecks == 0) {
    CheckAcknowledged(scheduler);
  }
}

// --- users ---------------------------------------------------------------------------------------

void Checker::OnSubmitted(size_t planned, SweepId id) {
  ++acknowledged_;
  submitted_[planned] = id;
  if (const PlannedSweep* const import = ImportOf(id); import != nullptr) {
    CheckImportIsWhole(id, *import);
  }
}

void Checker::OnCancelMade(SweepId id) { once_canceled_.insert(id); }

void Checker::OnCanceled(SweepId id) {
  ++acknowledged_;
  canceled_.insert(id);
}

void Checker::OnJobCanceled(JobId id) {
  ++acknowledged_;
  canceled_jobs_.insert(id);
}

// True if a user asked to cancel the job, or a train job that it waits for.
bool Checker::MayBeCanceled(JobId id) const {
  const Expansion& expansion = *workload_.sweeps[planned_.at(id.sweep)].expansion;
  for (std::optional<uint32_t> job = id.index; job; job = expansion.SourceOf(*job)) {
    if (asked_to_cancel_.contains({id.sweep, *job})) {
      return true;
    }
  }
  return false;
}

void Checker::OnRetried(SweepId id, bool rerun, const std::set<JobId>& collected, bool whole) {
  if (whole) {
    whole_retries_[id].insert(collected.begin(), collected.end());
  }
  retried_[id] = retried_[id] || rerun;
  collected_.insert(collected.begin(), collected.end());
  revived_.insert(id);
  std::erase_if(results_, [&](const auto& entry) {
    return entry.first.sweep == id && (rerun || collected.contains(entry.first));
  });
}

void Checker::OnDeleted(SweepId id) { deleted_.insert(id); }

void Checker::CheckAcknowledged(const Scheduler& scheduler) {
  CheckImports(scheduler);
  for (const auto& [planned, id] : submitted_) {
    if (IsAway(id)) {
      continue;
    }
    const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
    if (!sweep || workload_.NumberOf(sweep->row->spec) != planned) {
      world_.Fail(absl::StrCat("sweep ", id.ToString(), " was acknowledged and is gone"));
      return;
    }
    if (canceled_.contains(id) && !revived_.contains(id) && !sweep->row->canceled &&
        !IsTerminal(sweep->state)) {
      world_.Fail(absl::StrCat("sweep ", id.ToString(), " was canceled and is ",
                               SweepStateName(sweep->state)));
    }
  }
  for (const JobId& id : canceled_jobs_) {
    if (!IsAway(id.sweep) && !revived_.contains(id.sweep) &&
        !IsTerminal(scheduler.views().ViewJob(id).state)) {
      world_.Fail(absl::StrCat("job ", id.ToString(), " was canceled and is ",
                               JobStateName(scheduler.views().ViewJob(id).state)));
    }
  }
  for (const auto& [job, attempt] : results_) {
    if (IsAway(job.sweep)) {
      continue;
    }
    const std::vector<FinishedAttempt>& reports = reports_[attempt];
    const JobView view = scheduler.views().ViewJob(job);
    if (view.state != JobState::kSucceeded ||
        std::none_of(reports.begin(), reports.end(), [&](const FinishedAttempt& one) {
          return one.result.metrics == view.result->metrics &&
                 one.result.artifacts == view.result->artifacts;
        })) {
      world_.Fail(absl::StrCat("the result of ", attempt.ToString(),
                               " was acknowledged and no longer counts: the job is ",
                               JobStateName(view.state)));
    }
  }
}

void Checker::CheckOutcomes(const Scheduler& scheduler) {
  CheckRetriesEnded(scheduler);
  for (const auto& [planned, id] : submitted_) {
    const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
    if (!sweep || sweep->row->canceled) {
      continue;
    }
    const std::vector<JobOutcome>& outcomes = (*expected_)[planned];
    for (uint32_t job = 0; job < outcomes.size(); ++job) {
      const JobView view = scheduler.views().ViewJob({id, job});
      const std::vector<Metric> metrics =
          view.result == nullptr ? std::vector<Metric>() : view.result->metrics;
      if (view.state == JobState::kCanceled &&
          (once_canceled_.contains(id) || MayBeCanceled(view.id))) {
        continue;  // alone, or a retry of other jobs undid the cancel of all
      }
      const bool lacks_success =  // which would have kept others from being given up
          asked_to_cancel_.lower_bound({id, 0}) != asked_to_cancel_.end() &&
          asked_to_cancel_.lower_bound({id, 0})->sweep == id &&
          workload_.sweeps[planned].failures_max > 0;
      const Expansion& expansion = *workload_.sweeps[planned].expansion;
      if (IsChosen(planned, job)) {
        continue;
      }
      const bool has_others =  // whose settings the world without faults did not try
          expansion.spec().search.has_value();
      if (view.state == JobState::kSkipped &&
          (lacks_success || has_others || MayBeGivenUp(planned, job))) {
        continue;  // after similar jobs failed; CheckSkipped checks that
      }
      if (view.state == JobState::kStopped && MayBeStopped(view.id)) {
        continue;
      }
      if (view.state != outcomes[job].state || metrics != outcomes[job].metrics) {
        world_.Fail(absl::StrCat("job ", view.id.ToString(), " ended as ", JobStateName(view.state),
                                 " with ", ScoreText(metrics), ", and without faults it is ",
                                 JobStateName(outcomes[job].state), " with ",
                                 ScoreText(outcomes[job].metrics), ": ",
                                 ReasonText(scheduler.views().ReasonOf(view.id))));
        return;
      }
    }
  }
}

}  // namespace concur::sim
