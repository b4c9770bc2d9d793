// SPDX-License-Identifier: Apache-2.0
// Checks of quarantines and of jobs that are given up early.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/sim/checker.h"

namespace concur::sim {

// --- workers -------------------------------------------------------------------------------------

Checker::Held Checker::HeldBy(const Scheduler& scheduler) {
  Held held;
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    if (worker.quarantine_span != absl::ZeroDuration()) {
      held.set_aside[worker.info.name] = {worker.quarantine_end, worker.quarantine_span,
                                          worker.quarantine_reason, worker.info.incarnation};
    }
  }
  held.blame = scheduler.views().ListBlame();
  held.deaths = scheduler.views().ListDeaths();
  for (const SweepId& id : scheduler.views().ListSweeps()) {
    const SweepView sweep = *scheduler.views().FindSweep(id);
    if (sweep.state == SweepState::kCanceling) {
      // A restart cancels at once what turns would cancel.
      std::erase_if(held.deaths, [&](const auto& entry) { return entry.first.sweep == id; });
      continue;
    }
    for (uint32_t job = 0; sweep.expansion->spec().early_stop && job < sweep.expansion->job_count();
         ++job) {
      const JobView view = scheduler.views().ViewJob({id, job});
      if (view.early_stop) {
        held.settings[view.id] = {*view.early_stop, view.rung};
      }
    }
  }
  return held;
}

void Checker::RememberBlame(const Scheduler& scheduler) {
  Held held = HeldBy(scheduler);
  for (const auto& [worker, set_aside] : held.set_aside) {
    const auto before = held_.set_aside.find(worker);
    if (!set_aside.reason.empty() &&
        (before == held_.set_aside.end() || before->second != set_aside)) {
      ++quarantines_;
      if (before == held_.set_aside.end() || before->second.reason.empty()) {
        CheckSuspect(worker, held);
      }
      if (world_.tracing()) {
        world_.Trace(absl::StrCat(worker, " is set aside until ", FormatIsoTime(set_aside.end),
                                  ": ", set_aside.reason));
      }
    }
  }
  held_ = std::move(held);
}

void Checker::OnTurnInDoubt(const Scheduler& scheduler) { held_in_doubt_ = HeldBy(scheduler); }

std::string Checker::DifferenceAfterRestart(const Held& before, const Held& after, absl::Time now) {
  for (const auto& [worker, set_aside] : before.set_aside) {
    const auto it = after.set_aside.find(worker);
    // Setting the clock back prolongs no quarantine.
    const absl::Time end = std::min(set_aside.end, now + set_aside.span);
    if (it == after.set_aside.end() || it->second.span != set_aside.span ||
        it->second.reason != set_aside.reason ||
        absl::ToUnixNanos(it->second.end) != absl::ToUnixNanos(end)) {
      return absl::StrCat("worker ", worker, " was set aside until ", FormatIsoTime(set_aside.end),
                          ", and is ",
                          it == after.set_aside.end() || it->second.reason.empty()
                              ? "free"
                              : absl::StrCat("so until ", FormatIsoTime(it->second.end)),
                          " after a restart");
    }
  }
  if (before.set_aside.size() != after.set_aside.size()) {
    return "a worker is set aside after a restart that was not before";
  }
  for (const auto& [job, setting] : before.settings) {
    const auto it = after.settings.find(job);
    if (it == after.settings.end() || it->second != setting) {
      return absl::StrCat("a restart changed what early_stop had decided of job ", job.ToString());
    }
  }
  if (before.blame != after.blame) {
    return absl::StrCat("a restart changed what is held against workers: ", before.blame.size(),
                        " rows became ", after.blame.size());
  }
  if (before.deaths != after.deaths) {
    return absl::StrCat("a restart changed which jobs' workers died: ", before.deaths.size(),
                        " jobs became ", after.deaths.size());
  }
  return "";
}

void Checker::CheckBlameKept(const Scheduler& scheduler, absl::Time now) {
  const Held held = HeldBy(scheduler);
  const std::string difference = DifferenceAfterRestart(held_, held, now);
  if (!difference.empty() && held_in_doubt_ &&
      DifferenceAfterRestart(*held_in_doubt_, held, now).empty()) {
    held_ = *std::move(held_in_doubt_);
  } else if (!difference.empty()) {
    world_.Fail(difference);
  }
  held_in_doubt_.reset();
}

// A worker is set aside for jobs that it failed and workers on other machines did, as the table
// says that is saved.
void Checker::CheckSuspect(const std::string& worker, const Held& held) {
  std::map<std::string, std::string> hosts;
  for (const PlannedWorker& planned : workload_.workers) {
    hosts[planned.name] = planned.host;
  }
  std::set<Digest> failed;
  std::set<Digest> done_elsewhere;
  for (const BlameRow& row : held.blame) {
    if (row.worker == worker && row.failures > 0) {
      failed.insert(row.kind);
    } else if (row.success_time && hosts[row.worker] != hosts[worker]) {
      done_elsewhere.insert(row.kind);
    }
  }
  std::erase_if(failed, [&](const Digest& key) { return !done_elsewhere.contains(key); });
  if (failed.size() < kQuarantineFailures) {
    world_.Fail(absl::StrCat(worker, " is set aside: ", held.set_aside.at(worker).reason,
                             "; but workers on other machines did ", failed.size(),
                             " of the jobs that it failed"));
  }
}

// A worker in quarantine gets no new jobs, unless it was started again.
void Checker::CheckNotSetAside(const JobRow& row, const Batch& batch, absl::Time now) {
  const auto it = held_.set_aside.find(row.worker);
  if (std::any_of(batch.put_workers.begin(), batch.put_workers.end(), [&](const WorkerRow& put) {
        return put.name == row.worker && it != held_.set_aside.end() &&
               put.incarnation != it->second.incarnation;
      })) {
    return;
  }
  if (row.state == JobState::kRunning && it != held_.set_aside.end() && it->second.end > now) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " was given to ", row.worker,
                             ", which is set aside until ", FormatIsoTime(it->second.end), ": ",
                             it->second.reason));
  }
}

// --- giving up -----------------------------------------------------------------------------------

void Checker::CheckSkipped(const std::vector<JobId>& skipped,
                           const std::set<JobId>& just_succeeded) {
  for (const JobId& id : skipped) {
    const auto planned = planned_.find(id.sweep);
    if (planned == planned_.end()) {
      continue;
    }
    const auto source = workload_.sweeps[planned->second].expansion->SourceOf(id.index);
    const auto source_row = source ? rows_.find({id.sweep, *source}) : rows_.end();
    if (source_row != rows_.end() && (source_row->second.state == JobState::kFailed ||
                                      source_row->second.state == JobState::kSkipped)) {
      continue;  // a skipped one is looked at itself
    }
    ++given_up_;
    // Jobs that a retry requeued in the same turn cannot be counted any more.
    if (!IsBeingRetried(id.sweep) && !IsHopeless(id, just_succeeded)) {
      world_.Fail(absl::StrCat("job ", id.ToString(), " was given up although not ",
                               workload_.sweeps[planned->second].failures_max,
                               " jobs like it had failed, or one had succeeded"));
    }
  }
}

// True if a job may be skipped though no faults happen any more: it fails itself, or so many jobs
// of its test do (some kill their workers, and others succeed) that the order of their ends
// decides.
bool Checker::MayBeGivenUp(size_t planned, uint32_t job) const {
  const PlannedSweep& sweep = workload_.sweeps[planned];
  const std::vector<JobOutcome>& outcomes = (*expected_)[planned];
  const JobCoordinates own = sweep.expansion->Locate(job);
  uint32_t failures = 0;
  for (uint32_t other = 0; other < outcomes.size(); ++other) {
    const JobCoordinates at = sweep.expansion->Locate(other);
    failures += !own.is_train && !at.is_train && at.test_benchmark == own.test_benchmark &&
                        outcomes[other].state == JobState::kFailed
                    ? 1
                    : 0;
  }
  const std::optional<uint32_t> source = sweep.expansion->SourceOf(job);
  return sweep.failures_max > 0 &&
         (outcomes[job].state == JobState::kFailed || failures >= sweep.failures_max ||
          (source && MayBeGivenUp(planned, *source)));
}

// True if the user's limit of jobs failed, and none succeeded, in one of these groups: the job's
// approach on its train set; the same, evaluated on its test; its approach; its train set; its
// test.
bool Checker::IsHopeless(JobId id, const std::set<JobId>& just_succeeded) const {
  const PlannedSweep& sweep = workload_.sweeps[planned_.at(id.sweep)];
  const Expansion& expansion = *sweep.expansion;
  const JobCoordinates own = expansion.Locate(id.index);
  const Block& own_block = expansion.blocks()[own.block];
  using Like = std::function<bool(const JobCoordinates&, const Block&)>;
  const auto same_test = [&own](const JobCoordinates& at) {
    return !own.is_train && !at.is_train && at.test_benchmark == own.test_benchmark;
  };
  const Like likes[] = {
      [&](const JobCoordinates& at, const Block&) { return at.block == own.block; },
      [&](const JobCoordinates& at, const Block&) {
        return at.block == own.block && same_test(at);
      },
      [&](const JobCoordinates&, const Block& block) {
        return block.approach == own_block.approach;
      },
      [&](const JobCoordinates&, const Block& block) {
        return block.has_train && own_block.has_train && block.train_set == own_block.train_set;
      },
      [&](const JobCoordinates& at, const Block&) { return same_test(at); },
  };
  return std::any_of(std::begin(likes), std::end(likes), [&](const Like& like) {
    uint32_t failed = 0;
    for (uint32_t job = 0; job < expansion.job_count(); ++job) {
      const JobCoordinates at = expansion.Locate(job);
      const auto row = rows_.find({id.sweep, job});
      if (row == rows_.end() || !like(at, expansion.blocks()[at.block])) {
        continue;
      }
      if (row->second.state == JobState::kSucceeded && !just_succeeded.contains(row->first)) {
        return false;
      }
      failed += row->second.state == JobState::kFailed ? 1 : 0;
    }
    return sweep.failures_max > 0 && failed >= sweep.failures_max;
  });
}

}  // namespace concur::sim
