// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/early_stop_judge.h"

#include <vector>

#include "core/state/sweep_record.h"

namespace concur {

void EarlyStopJudge::JudgeSettings() {
  while (groups_.HasUnjudged()) {
    const auto [id, group] = groups_.TakeUnjudged();
    SweepRecord& sweep = *book_.all().at(id);
    if (!EarlyStopGroups::IsInSlices(sweep)) {  // else all of them are judged at its end
      JudgeGroup(sweep, group);
    }
  }
}

// Brings the jobs to the states that the rule gives their settings.
void EarlyStopJudge::JudgeGroup(SweepRecord& sweep, uint32_t group) {
  EarlyStop& rule = (*sweep.early_stop)[group];
  bool is_over = rule.done();
  for (uint32_t setting = 0; setting < rule.size(); ++setting) {
    const uint32_t job = sweep.early_stop->JobOf({group, setting});
    const EarlyStop::State state = rule.StateOf(setting);
    JobTable::Job& record = sweep.jobs[job];
    if (EarlyStopGroups::IsCompared(sweep, job) && record.rung != rule.RungOf(setting)) {
      record.rung = static_cast<uint8_t>(rule.RungOf(setting));
      turn_.Touch(sweep.IdOf(job));
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
        record.state() == JobState::kBlocked && !places_.reuse.LeaderOf(sweep.IdOf(job));
    if (state == EarlyStop::State::kStopped) {
      jobs_.StopTraining(sweep, job);
    } else if (state == EarlyStop::State::kPaused && !is_paused) {
      jobs_.PauseTraining(sweep, job);
    } else if (state != EarlyStop::State::kPaused && is_paused) {
      jobs_.SetState(sweep, job, JobState::kReady);
      jobs_.Announce(sweep, job, "early_stop: it goes on");
    }
  }
  if (!is_over || groups_.IsUnjudged(sweep.row.id, group)) {
    return;
  }
  std::vector<uint32_t> lost;
  for (uint32_t setting = 0; setting < rule.size(); ++setting) {
    const uint32_t job = sweep.early_stop->JobOf({group, setting});
    if (!IsTerminal(sweep.jobs[job].state()) &&
        !jobs_.TryReuse(sweep, job, sweep.keys.KeyOf(job))) {
      lost.push_back(setting);
    }
  }
  // A job that took the result of an equal one is compared with nobody: others may go on then.
  if (groups_.IsUnjudged(sweep.row.id, group)) {
    return;
  }
  for (const uint32_t setting : lost) {
    rule.Stop(setting);
    jobs_.StopTraining(sweep, sweep.early_stop->JobOf({group, setting}));
  }
}

}  // namespace concur
