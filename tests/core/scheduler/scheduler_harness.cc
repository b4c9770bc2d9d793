// SPDX-License-Identifier: Apache-2.0
#include "tests/core/scheduler/scheduler_harness.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur::testing {

// --- workers
// --------------------------------------------------------------------------------------

FakeWorker::FakeWorker(std::string name, Resources capacity) {
  info_.name = std::move(name);
  info_.incarnation = absl::StrCat(info_.name, "-0");
  info_.capacity = capacity;
  info_.takes_services = true;
}

SyncRequest FakeWorker::MakeRequest() {
  SyncRequest request;
  request.worker = info_;
  request.sequence = ++sequence_;
  for (const AttemptId& id : running_) {
    if (id.job.IsService()) {
      request.services.push_back({id, ready_.contains(id), GpusOf(id)});
    } else {
      request.running.push_back(id);
    }
  }
  for (const auto& [id, result] : finished_) {
    request.finished.push_back({id, result, left_[id]});
  }
  return request;
}

void FakeWorker::TakeAnswer(uint64_t sequence, const WorkerOrders& orders) {
  if (sequence != sequence_) {
    return;
  }
  for (const WorkerOrders::Start& start : orders.start) {
    if (started_.insert(start.id).second) {
      running_.insert(start.id);
      gpus_[start.id] = start.gpu_mask;
      given_[start.id] = start.checkpoint;
      services_[start.id] = start.services;
    }
  }
  for (const StopOrder& stop : orders.stop) {
    started_.insert(stop.id);  // it shall not start any more
    if (running_.contains(stop.id)) {
      stopping_.insert(stop.id);
    }
  }
  for (const ForgetOrder& forget : orders.forget) {
    finished_.erase(forget.id);
  }
}

void FakeWorker::Finish(AttemptId id, JobResult result, std::optional<Checkpoint> checkpoint) {
  CONCUR_CHECK(running_.erase(id) == 1);
  stopping_.erase(id);
  gpus_.erase(id);
  finished_[id] = std::move(result);
  left_[id] = checkpoint;
}

void FakeWorker::SetReady(AttemptId id) {
  CONCUR_CHECK(running_.contains(id));
  ready_.insert(id);
}

void FakeWorker::Drop(AttemptId id) {
  running_.erase(id);
  stopping_.erase(id);
  gpus_.erase(id);
}

void FakeWorker::Restart(bool spooled, bool knows_previous) {
  info_.previous_incarnation = knows_previous ? info_.incarnation : "";
  info_.incarnation = absl::StrCat(info_.name, "-", ++restarts_);
  sequence_ = 0;
  running_.clear();
  stopping_.clear();
  started_.clear();
  gpus_.clear();
  if (!spooled) {
    finished_.clear();
  }
  for (const auto& [id, result] : finished_) {
    started_.insert(id);
  }
}

uint64_t FakeWorker::GpusOf(AttemptId id) const {
  const auto it = gpus_.find(id);
  return it == gpus_.end() ? 0 : it->second;
}

// --- the harness
// ----------------------------------------------------------------------------------

SchedulerHarness::SchedulerHarness(SchedulerPolicy policy) : policy_(std::move(policy)) {
  policy_.encode_spec = [this](const SweepSpec& spec) { return Encode(spec); };
  scheduler_ = std::make_unique<Scheduler>(policy_);
  scheduler_->AdvanceTo(now_);
}

std::string SchedulerHarness::Encode(const SweepSpec& spec) {
  std::string text = spec.path;
  for (const Proposal& proposal : spec.search->proposals) {
    absl::StrAppend(&text, " ", proposal.block, "/", proposal.setting, "=",
                    SettingText(proposal.values));
  }
  if (!expansions_.contains(text)) {
    absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
    CONCUR_CHECK_OK(expansion.status());
    expansions_.emplace(text, std::make_shared<const Expansion>(*std::move(expansion)));
  }
  return text;
}

absl::StatusOr<Scheduler::Submission> SchedulerHarness::SubmissionOf(
    SweepSpec spec, const std::string& text, const std::string& owner,
    const std::string& request_id) {
  spec.path = text;
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  if (!expansion.ok()) {
    return expansion.status();
  }
  Scheduler::Submission submission;
  submission.owner = owner;
  submission.request_id = request_id;
  submission.spec = text;
  submission.expansion = std::make_shared<const Expansion>(*std::move(expansion));
  expansions_.emplace(text, submission.expansion);
  return submission;
}

absl::StatusOr<SweepId> SchedulerHarness::Submit(SweepSpec spec, const std::string& text,
                                                 const std::string& owner,
                                                 const std::string& request_id) {
  absl::StatusOr<Scheduler::Submission> submission =
      SubmissionOf(std::move(spec), text, owner, request_id);
  return submission.ok() ? scheduler_->Submit(*std::move(submission))
                         : absl::StatusOr<SweepId>(submission.status());
}

absl::StatusOr<SweepId> SchedulerHarness::Import(SweepSpec spec, const std::string& text,
                                                 std::vector<ImportedResult> results,
                                                 const std::string& request_id) {
  absl::StatusOr<Scheduler::Submission> submission =
      SubmissionOf(std::move(spec), text, "me", request_id);
  return submission.ok()
             ? scheduler_->Import(*std::move(submission),
                                  std::make_shared<std::vector<ImportedResult>>(std::move(results)))
             : absl::StatusOr<SweepId>(submission.status());
}

void SchedulerHarness::Advance(absl::Duration by) {
  now_ += by;
  scheduler_->AdvanceTo(now_);
}

SchedulerHarness::Turn SchedulerHarness::EndTurn(bool compare) {
  scheduler_->Dispatch();
  Effects effects = scheduler_->TakeEffects();
  CONCUR_CHECK_OK(store_.Commit(effects.batch));
  Turn turn;
  turn.events = std::move(effects.events);
  for (const SweepId& id : effects.changed_sweeps) {
    const std::optional<SweepView> sweep = scheduler_->views().FindSweep(id);
    if (!sweep) {
      states_.erase(id);
      continue;
    }
    const auto it = states_.find(id);
    if (it == states_.end() || it->second != sweep->state) {
      turn.changed_sweeps[id] = sweep->state;
      states_[id] = sweep->state;
    }
  }
  for (auto it = parked_.begin(); it != parked_.end();) {
    if (scheduler_->HasOrders(*it)) {
      turn.answers[*it] = scheduler_->TakeOrders(*it);
      CheckLabels(*it, turn.answers[*it]);
      it = parked_.erase(it);
    } else {
      ++it;
    }
  }
  scheduler_->CheckInvariants();
  if (compare) {
    const std::unique_ptr<Scheduler> restored = RestoreFromStore();
    restored->CheckInvariants();
    const std::string difference = DifferenceAfterRestart(*scheduler_, *restored);
    if (!difference.empty()) {
      internal::CheckFailed(__FILE__, __LINE__, "a restart keeps the state", difference);
    }
  }
  return turn;
}

// Whoever starts a job carries what the job asks for.
void SchedulerHarness::CheckLabels(const std::string& name, const WorkerOrders& orders) const {
  for (const WorkerView& worker : scheduler_->views().ListWorkers()) {
    if (worker.info.name != name) {
      continue;
    }
    for (const WorkerOrders::Start& start : orders.start) {
      const Expansion& expansion = *scheduler_->views().FindSweep(start.id.job.sweep)->expansion;
      const JobCoordinates at = expansion.Locate(start.id.job.ServedJob().index);
      CONCUR_CHECK(LabelsMatch(
          expansion.LabelsOf(expansion.blocks()[at.block],
                             at.is_train ? std::nullopt : std::optional(at.test_benchmark)),
          worker.info.labels));
    }
  }
}

std::unique_ptr<Scheduler> SchedulerHarness::RestoreFromStore() {
  SweepBook::LeftOuts left_out;
  std::vector<std::shared_ptr<const Expansion>> expansions;
  absl::StatusOr<Snapshot> snapshot = store_.LoadPart([&](const std::vector<SweepRow>& rows) {
    for (const SweepRow& row : rows) {
      expansions.push_back(expansions_.at(row.spec));
    }
    const auto ids = SweepBook::ChooseLeftOut(policy_.job_memory_max, rows, expansions);
    for (const SweepRow& row : rows) {
      if (ids.contains(row.id)) {
        left_out[row.id] = {row, expansions_.at(row.spec)};
        std::erase(expansions, expansions_.at(row.spec));
      }
    }
    return ids;
  });
  CONCUR_CHECK_OK(snapshot.status());
  CONCUR_CHECK_OK(AddReports(store_, expansions, *snapshot));
  absl::StatusOr<std::unique_ptr<Scheduler>> restored = Scheduler::Restore(
      policy_, *std::move(snapshot), std::move(expansions), now_, std::move(left_out));
  CONCUR_CHECK_OK(restored.status());
  return *std::move(restored);
}

void SchedulerHarness::RestartCoordinator() {
  scheduler_ = RestoreFromStore();
  parked_.clear();
  scheduler_->CheckInvariants();
}

// --- comparing
// ------------------------------------------------------------------------------------

namespace {

std::string JobText(const JobView& view) {
  return absl::StrCat(
      JobStateName(view.state), " attempt ", view.attempt.number, " failures ", view.failures,
      " lost ", view.lost, " deaths ", view.deaths, " failure ", FailureClassName(view.failure),
      " worker ", view.worker, " steps ", view.steps, " reused_from ",
      view.reused_from ? view.reused_from->ToString() : "none", " early_stop ",
      view.early_stop ? static_cast<int>(*view.early_stop) : -1, " rung ", view.rung,
      " checkpoint ",
      view.checkpoint
          ? absl::StrCat(view.checkpoint->digest.ToHex(), " of ", view.checkpoint->attempt)
          : "none");
}

std::string DifferenceOfJob(const Scheduler& before, const Scheduler& after, JobId id) {
  JobView a = before.views().ViewJob(id);
  const JobView b = after.views().ViewJob(id);
  if (a.state == JobState::kBlocked && b.state == JobState::kReady &&
      a.early_stop != EarlyStop::State::kPaused) {
    a.state = JobState::kReady;  // a follower: CheckInvariants knows what else may be blocked
  }
  if (before.views().FindSweep(id.sweep)->state == SweepState::kCanceling) {
    a.early_stop = b.early_stop;  // judged once all jobs are canceled, as they are after a restart
    a.rung = b.rung;
  }
  if (JobText(a) != JobText(b)) {
    return absl::StrCat(id.ToString(), ": ", JobText(a), " became ", JobText(b));
  }
  const bool same_time = a.not_before == b.not_before ||
                         absl::AbsDuration(a.not_before - b.not_before) < absl::Milliseconds(1);
  if (!same_time) {
    return absl::StrCat(id.ToString(), ": not_before ", absl::FormatTime(a.not_before), " became ",
                        absl::FormatTime(b.not_before));
  }
  if ((a.result == nullptr) != (b.result == nullptr) ||
      (a.result != nullptr &&
       !(a.result->metrics == b.result->metrics && a.result->artifacts == b.result->artifacts &&
         a.result->failure == b.result->failure && a.result->succeeded == b.result->succeeded))) {
    return absl::StrCat(id.ToString(), ": its result changed");
  }
  return "";
}

std::string DifferenceOfSweep(const Scheduler& before, const Scheduler& after, SweepId id) {
  const SweepView a = *before.views().FindSweep(id);
  const SweepView b = *after.views().FindSweep(id);
  // A restart does not wait for attempts that workers are still to stop: what was canceling has
  // ended, and as canceled if the whole sweep was canceled.
  const bool is_same = a.state != SweepState::kCanceling ? a.state == b.state
                       : a.row->canceled                 ? b.state == SweepState::kCanceled
                                                         : IsTerminal(b.state);
  if (!is_same) {
    return absl::StrCat(id.ToString(), ": ", SweepStateName(a.state), " became ",
                        SweepStateName(b.state));
  }
  SweepRow row = *a.row;
  row.end_time = b.row->end_time;
  if (!(row == *b.row) || (a.row->end_time.has_value() != b.row->end_time.has_value() &&
                           a.state != SweepState::kCanceling)) {
    return absl::StrCat(id.ToString(), ": its row changed");
  }
  if (a.reused != b.reused) {
    return absl::StrCat(id.ToString(), ": ", a.reused, " reused became ", b.reused);
  }
  for (uint32_t job = 0; job < a.expansion->job_count(); ++job) {
    if (a.row->canceled && !IsTerminal(before.views().JobStateOf({id, job}))) {
      if (after.views().JobStateOf({id, job}) != JobState::kCanceled) {
        return absl::StrCat(JobId{id, job}.ToString(), ": was not canceled with its sweep");
      }
      continue;
    }
    const std::string difference = DifferenceOfJob(before, after, {id, job});
    if (!difference.empty()) {
      return difference;
    }
  }
  return "";
}

}  // namespace

std::string DifferenceAfterRestart(const Scheduler& before, const Scheduler& after) {
  if (before.views().ListSweeps() != after.views().ListSweeps()) {
    return "the sweeps are not the same";
  }
  for (const SweepId& id : before.views().ListSweeps()) {
    const std::string difference = DifferenceOfSweep(before, after, id);
    if (!difference.empty()) {
      return difference;
    }
  }
  const std::vector<WorkerView> a = before.views().ListWorkers();
  const std::vector<WorkerView> b = after.views().ListWorkers();
  if (a.size() != b.size()) {
    return absl::StrCat(a.size(), " workers became ", b.size());
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].info.name != b[i].info.name || a[i].left != b[i].left ||
        (!b[i].lost && a[i].info.incarnation != b[i].info.incarnation) ||
        (b[i].draining && !a[i].draining)) {
      return absl::StrCat("worker ", a[i].info.name, " became ", b[i].info.name);
    }
    if (absl::ToUnixNanos(a[i].quarantine_end) != absl::ToUnixNanos(b[i].quarantine_end) ||
        a[i].quarantine_span != b[i].quarantine_span ||
        a[i].quarantine_reason != b[i].quarantine_reason) {
      return absl::StrCat("worker ", a[i].info.name, ": quarantine until ",
                          absl::FormatTime(a[i].quarantine_end), " \"", a[i].quarantine_reason,
                          "\" became until ", absl::FormatTime(b[i].quarantine_end), " \"",
                          b[i].quarantine_reason, "\"");
    }
  }
  if (before.views().ListBlame() != after.views().ListBlame()) {
    return absl::StrCat("the table of blame changed: ", before.views().ListBlame().size(),
                        " rows became ", after.views().ListBlame().size());
  }
  return "";
}

// --- values
// ---------------------------------------------------------------------------------------

JobResult SuccessOf(AttemptId id, bool is_train) {
  JobResult result;
  result.succeeded = true;
  if (is_train) {
    const std::string bytes = absl::StrCat("system of ", id.ToString());
    result.artifacts = {
        {ArtifactKind::kSystem, Sha256Of(bytes), static_cast<int64_t>(bytes.size())}};
  } else {
    result.metrics = {{"exact_match", 50.0 + id.job.index, 100}};
  }
  return result;
}

JobResult FailureOf(FailureClass failure) {
  JobResult result;
  result.failure = failure;
  result.exit_code = 1;
  result.message = absl::StrCat("ended by ", FailureClassName(failure));
  return result;
}

std::string ShortText(AttemptId id) {
  return absl::StrCat(id.job.ToString(), "#", id.attempt.number);
}

}  // namespace concur::testing
