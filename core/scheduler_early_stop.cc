// SPDX-License-Identifier: Apache-2.0
// Settings that train no further because others do better (core/early_stop.h).
//
// Reports and ends of jobs change the rules at once, in the order in which they come. What a turn's
// changes mean for jobs is carried out in Dispatch: a result that came with the report that would
// have paused its job counts. How far a job was let go (its rung) is saved with it, in the turn's
// commit; with the reports, a restart has the same rules again.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

// Whether the job, a train job of a sweep with early_stop, is compared with others.
bool IsCompared(const SweepRecord& sweep, uint32_t job) {
  const JobTable::Job& record = sweep.jobs[job];
  switch (record.state()) {
    case JobState::kFailed:
    case JobState::kCanceled:
    case JobState::kSkipped:
      return false;
    case JobState::kSucceeded:
    case JobState::kStopped:
      return !record.whole && !record.reused();
    default:
      return !record.whole;
  }
}

}  // namespace

// Whether a train job may run as far as early stopping is concerned.
bool Scheduler::HasLetGo(const SweepRecord& sweep, uint32_t job) const {
  const auto place = sweep.early_stop ? sweep.early_stop->Find(job) : std::nullopt;
  return !place ||
         (*sweep.early_stop)[place->group].StateOf(place->setting) != EarlyStop::State::kPaused;
}

void Scheduler::NoteReport(SweepRecord& sweep, uint32_t job, const ReportedStep& step) {
  const auto place = sweep.early_stop->Find(job);
  if (!place || step.name != sweep.expansion->spec().early_stop->metric || step.step < 1) {
    return;
  }
  (*sweep.early_stop)[place->group].Report(place->setting, step.step, step.value);
  sweep.early_stop->LetGo(place->group);
  unjudged_.insert({sweep.row.id, place->group});
}

// After the job's state changed.
void Scheduler::NoteChange(SweepRecord& sweep, uint32_t job, JobState before) {
  const auto place = sweep.early_stop->Find(job);
  const JobState after = sweep.jobs[job].state();
  if (!place || IsTerminal(before) == IsTerminal(after) || after == JobState::kStopped) {
    return;
  }
  EarlyStop& rule = (*sweep.early_stop)[place->group];
  if (!IsCompared(sweep, job)) {
    rule.Withdraw(place->setting);
  } else if (IsTerminal(after)) {
    rule.End(place->setting);
  } else {
    rule.Return(place->setting);
  }
  sweep.early_stop->LetGo(place->group);
  unjudged_.insert({sweep.row.id, place->group});
}

void Scheduler::JudgeSettings() {
  while (!unjudged_.empty()) {
    const auto [id, group] = *unjudged_.begin();
    unjudged_.erase(unjudged_.begin());
    JudgeGroup(*sweeps_.at(id), group);
  }
}

// Brings the jobs to the states that the rule gives their settings.
void Scheduler::JudgeGroup(SweepRecord& sweep, uint32_t group) {
  EarlyStop& rule = (*sweep.early_stop)[group];
  bool is_over = rule.done();
  for (uint32_t setting = 0; setting < rule.size(); ++setting) {
    const uint32_t job = sweep.early_stop->JobOf({group, setting});
    const EarlyStop::State state = rule.StateOf(setting);
    JobTable::Job& record = sweep.jobs[job];
    if (IsCompared(sweep, job) && record.rung != rule.RungOf(setting)) {
      record.rung = static_cast<uint8_t>(rule.RungOf(setting));
      Touch(sweep.IdOf(job));
    }
    if (IsTerminal(record.state())) {
      continue;
    }
    is_over =
        is_over && (state == EarlyStop::State::kPaused || state == EarlyStop::State::kStopped);
    if (sweep.AwaitsSource(job)) {
      continue;  // it has not begun, and begins when its source has ended
    }
    const bool is_paused =
        record.state() == JobState::kBlocked && !reuse_.LeaderOf(sweep.IdOf(job));
    if (state == EarlyStop::State::kStopped) {
      StopTraining(sweep, job);
    } else if (state == EarlyStop::State::kPaused && !is_paused) {
      PauseTraining(sweep, job);
    } else if (state != EarlyStop::State::kPaused && is_paused) {
      SetState(sweep, job, JobState::kReady);
      Announce(sweep, job, "early_stop: it goes on");
    }
  }
  if (!is_over || unjudged_.contains({sweep.row.id, group})) {
    return;
  }
  std::vector<uint32_t> lost;
  for (uint32_t setting = 0; setting < rule.size(); ++setting) {
    const uint32_t job = sweep.early_stop->JobOf({group, setting});
    if (!IsTerminal(sweep.jobs[job].state()) && !TryReuse(sweep, job, sweep.keys.KeyOf(job))) {
      lost.push_back(setting);
    }
  }
  // Of what an equal job trained elsewhere nobody is compared with it: others may go on then.
  if (unjudged_.contains({sweep.row.id, group})) {
    return;
  }
  for (const uint32_t setting : lost) {
    rule.Stop(setting);
    StopTraining(sweep, sweep.early_stop->JobOf({group, setting}));
  }
}

// Neither a failure nor a lost attempt.
void Scheduler::EndTraining(SweepRecord& sweep, uint32_t job, JobState state,
                            absl::string_view why) {
  const JobId id = sweep.IdOf(job);
  const bool runs = sweep.jobs[job].state() == JobState::kRunning;
  if (runs) {
    StopAttempt(id, StopReason::kEarlyStop, /*counted=*/false);
    sweep.jobs[job].failure = FailureClass::kNone;  // how this attempt ends is not waited for
  }
  SetState(sweep, job, state);
  Announce(sweep, job, why);
  if (runs) {
    ReleaseFollowers(id);
  }
}

// It waits until it goes on, or has lost.
void Scheduler::PauseTraining(SweepRecord& sweep, uint32_t job) {
  reuse_.RemoveFollower(sweep.IdOf(job));
  leases_.RemoveLost(sweep.IdOf(job));
  EndTraining(sweep, job, JobState::kBlocked, "early_stop: it waits until it goes on");
}

// It has lost for good, and with it what would have been evaluated.
void Scheduler::StopTraining(SweepRecord& sweep, uint32_t job) {
  EndTraining(sweep, job, JobState::kStopped, "early_stop: other settings do better");
  sweep.expansion->ForEachDependent(job, [&](uint32_t eval) {  // no stage: EarlyStopCells
    if (sweep.jobs[eval].state() == JobState::kBlocked) {
      SetState(sweep, eval, JobState::kStopped);
      Announce(sweep, eval, "its train job was stopped");
    }
  });
}

// Its worker lives: the attempt ended in another way than those that took their workers along.
void Scheduler::AcquitPaused(SweepRecord& sweep, uint32_t job) {
  const JobId id = sweep.IdOf(job);
  if (suspects_.Of(id).in_a_row == 0) {
    return;
  }
  const bool waits = suspects_.RemoveReady(id);
  suspects_.Acquit(id);
  if (waits) {
    EnterReady(sweep, job);
  }
  Touch(id);
}

// The log and the time of an attempt that early_stop ended stay, as those of any that did not
// succeed. Of one whose end comes again nothing is held any more, and of one that ended beside a
// restart nobody knows why it was to stop: these leave nothing.
// Whether it was such an attempt.
bool Scheduler::KeepStoppedAttempt(const Worker& worker, const FinishedAttempt& finished) {
  const Assignment* held = worker.assignments.Find(finished.id);
  if (held == nullptr || !held->stopping || held->reason != StopReason::kEarlyStop) {
    return false;
  }
  AttemptRow row{.id = finished.id.job,
                 .attempt = finished.id.attempt,
                 .worker = worker.info.name,
                 .end_time = now_,
                 .result = finished.result};
  row.result.succeeded = false;
  row.result.failure = FailureClass::kPreempted;  // of no success or failure that counts
  row.result.metrics.clear();
  pending_.batch.put_attempts.push_back(std::move(row));
  return true;
}

// REQUIRES: the rows of jobs have been read.
absl::Status Scheduler::RestoreEarlyStop(SweepRecord& sweep, const std::vector<StepRow>& reports) {
  const std::string& metric = sweep.expansion->spec().early_stop->metric;
  const auto by_job = [](const StepRow& row, JobId id) { return row.id < id; };
  for (uint32_t group = 0; group < sweep.early_stop->size(); ++group) {
    EarlyStop& rule = (*sweep.early_stop)[group];
    for (uint32_t setting = 0; setting < rule.size(); ++setting) {
      const uint32_t job = sweep.early_stop->JobOf({group, setting});
      const JobTable::Job& record = sweep.jobs[job];
      const bool is_canceled = sweep.row.canceled && !IsTerminal(record.state());
      if (is_canceled || !IsCompared(sweep, job)) {
        rule.Withdraw(setting);
        continue;
      }
      std::vector<EarlyStop::Point> points;
      auto row = std::lower_bound(reports.begin(), reports.end(), sweep.IdOf(job), by_job);
      for (; row != reports.end() && row->id == sweep.IdOf(job); ++row) {
        if (row->step.name == metric && row->step.step >= 1) {
          points.push_back({row->step.step, row->step.value});
        }
      }
      const absl::Status restored =
          rule.Restore(setting, record.rung, points, record.state() == JobState::kSucceeded,
                       record.state() == JobState::kStopped);
      if (!restored.ok()) {
        return absl::DataLossError(absl::StrCat("early_stop of job ", sweep.IdOf(job).ToString(),
                                                ": ", restored.message()));
      }
      if (record.state() == JobState::kRunning && !HasLetGo(sweep, job)) {
        return absl::DataLossError(absl::StrCat("early_stop of job ", sweep.IdOf(job).ToString(),
                                                ": it runs, but has come to its rung"));
      }
    }
    sweep.early_stop->LetGo(group);
    unjudged_.insert({sweep.row.id, group});
  }
  return absl::OkStatus();
}

void Scheduler::CheckEarlyStop(const SweepRecord& sweep) const {
  for (uint32_t group = 0; group < sweep.early_stop->size(); ++group) {
    const EarlyStop& rule = (*sweep.early_stop)[group];
    if (unjudged_.contains({sweep.row.id, group})) {
      continue;
    }
    bool some_run = false;
    bool some_wait = false;
    for (uint32_t setting = 0; setting < rule.size(); ++setting) {
      const uint32_t job = sweep.early_stop->JobOf({group, setting});
      const JobTable::Job& record = sweep.jobs[job];
      const EarlyStop::State state = rule.StateOf(setting);
      CONCUR_CHECK((state != EarlyStop::State::kOut) == IsCompared(sweep, job));
      CONCUR_CHECK(state == EarlyStop::State::kOut || record.rung == rule.RungOf(setting));
      CONCUR_CHECK((record.state() == JobState::kStopped) == (state == EarlyStop::State::kStopped));
      const bool is_over = IsTerminal(record.state());
      const bool waits = state == EarlyStop::State::kPaused && !is_over;
      CONCUR_CHECK(!waits || record.state() == JobState::kBlocked);
      some_wait = some_wait || waits;
      some_run = some_run || (!waits && !is_over);
    }
    CONCUR_CHECK(!some_wait || some_run);  // else nobody would ever go on
  }
}

std::string Scheduler::ExplainPaused(const SweepRecord& sweep, uint32_t job) const {
  const EarlyStopCells::Place place = *sweep.early_stop->Find(job);
  const EarlyStop& rule = (*sweep.early_stop)[place.group];
  const EarlyStopSpec& spec = *sweep.expansion->spec().early_stop;
  const bool has_brackets = spec.rule.method == EarlyStopMethod::kHyperband;
  return absl::StrCat("paused by early_stop at ", rule.UntilOf(place.setting), " of ",
                      spec.rule.max, " steps: of the ", rule.ReachedRungOf(place.setting),
                      " settings ", has_brackets ? "of its bracket " : "",
                      "that have come as far, the best one in ", spec.rule.eta, " by ", spec.metric,
                      " goes on, and once no other can come at least one; `concur "
                      "sweep steps ",
                      sweep.row.id.ToString(), "` shows what they reported");
}

std::string Scheduler::ExplainStopped(const SweepRecord& sweep, uint32_t job) const {
  if (!sweep.expansion->Locate(job).is_train) {
    const uint32_t train = *sweep.expansion->SourceOf(job);
    return absl::StrCat("stopped: early_stop ended its train job ", sweep.IdOf(train).ToString(),
                        "; `concur sweep retry ", sweep.row.id.ToString(), " --job ", job,
                        "` trains it to its end, and evaluates it");
  }
  return absl::StrCat("stopped by early_stop: other settings do better by ",
                      sweep.expansion->spec().early_stop->metric, "; `concur sweep retry ",
                      sweep.row.id.ToString(), " --job ", job, "` trains it to its end");
}

}  // namespace concur
