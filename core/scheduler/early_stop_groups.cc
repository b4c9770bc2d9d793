// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/early_stop_groups.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/state/sweep_record.h"

namespace concur {

bool EarlyStopGroups::IsCompared(const SweepRecord& sweep, uint32_t job) {
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

void EarlyStopGroups::Begin(SweepRecord& sweep) {
  for (uint32_t group = 0; sweep.early_stop && group < sweep.early_stop->size(); ++group) {
    sweep.early_stop->LetGo(group);
  }
}

bool EarlyStopGroups::HasLetGo(const SweepRecord& sweep, uint32_t job) const {
  const auto place = sweep.early_stop ? sweep.early_stop->Find(job) : std::nullopt;
  return !place ||
         (*sweep.early_stop)[place->group].StateOf(place->setting) != EarlyStop::State::kPaused;
}

void EarlyStopGroups::NoteReport(SweepRecord& sweep, uint32_t job, const ReportedStep& step) {
  const auto place = sweep.early_stop->Find(job);
  if (!place || step.name != sweep.expansion->spec().early_stop->metric || step.step < 1) {
    return;
  }
  (*sweep.early_stop)[place->group].Report(place->setting, step.step, step.value);
  sweep.early_stop->LetGo(place->group);
  unjudged_.insert({sweep.row.id, place->group});
}

void EarlyStopGroups::NoteChange(SweepRecord& sweep, uint32_t job, JobState before) {
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

std::pair<SweepId, uint32_t> EarlyStopGroups::TakeUnjudged() {
  const auto first = *unjudged_.begin();
  unjudged_.erase(unjudged_.begin());
  return first;
}

void EarlyStopGroups::EndSlices(const SweepRecord& sweep) {
  for (uint32_t group = 0; sweep.early_stop && group < sweep.early_stop->size(); ++group) {
    unjudged_.insert({sweep.row.id, group});
  }
}

bool EarlyStopGroups::IsInSlices(const SweepRecord& sweep) {
  return sweep.row.retry || (sweep.row.canceled && sweep.next_canceled < sweep.jobs.size());
}

void EarlyStopGroups::Forget(SweepId sweep) {
  unjudged_.erase(unjudged_.lower_bound({sweep, 0}),
                  unjudged_.lower_bound({SweepId{sweep.number + 1}, 0}));
}

absl::Status EarlyStopGroups::Restore(SweepRecord& sweep, const std::vector<StepRow>& reports) {
  const std::string& metric = sweep.expansion->spec().early_stop->metric;
  const auto by_job = [](const StepRow& row, JobId id) { return row.id < id; };
  for (uint32_t group = 0; group < sweep.early_stop->size(); ++group) {
    EarlyStop& rule = (*sweep.early_stop)[group];
    for (uint32_t setting = 0; setting < rule.size(); ++setting) {
      const uint32_t job = sweep.early_stop->JobOf({group, setting});
      const JobTable::Job& record = sweep.jobs[job];
      const bool is_canceled = sweep.IsCanceled(job) && !IsTerminal(record.state());
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
      if (record.state() == JobState::kRunning && !HasLetGo(sweep, job) && !IsInSlices(sweep)) {
        return absl::DataLossError(absl::StrCat("early_stop of job ", sweep.IdOf(job).ToString(),
                                                ": it runs, but has come to its rung"));
      }
    }
    sweep.early_stop->LetGo(group);
    unjudged_.insert({sweep.row.id, group});
  }
  return absl::OkStatus();
}

void EarlyStopGroups::CheckInvariants(const SweepRecord& sweep) const {
  if (IsInSlices(sweep)) {
    return;
  }
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

}  // namespace concur
