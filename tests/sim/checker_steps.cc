// SPDX-License-Identifier: Apache-2.0
// Reports of jobs: each report counts once, of the attempt that runs, and is kept once the worker
// has been answered.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/checker.h"

namespace concur::sim {
namespace {

std::string StepText(JobId job, const ReportedStep& step) {
  return absl::StrCat("step ", step.step, " of job ", job.ToString());
}

}  // namespace

void Checker::OnStep(const AttemptStep& step) { reported_steps_[step.id].push_back(step.step); }

void Checker::Apply(const Batch& batch, Steps& steps) {
  for (const StepRow& row : batch.put_steps) {
    steps[row.id].insert_or_assign(row.step.step, row);
  }
  for (const auto& [id, before] : batch.delete_steps) {
    const auto it = steps.find(id);
    if (it == steps.end()) {
      continue;
    }
    std::erase_if(it->second,
                  [end = before](const auto& entry) { return entry.second.arrival < end; });
    if (it->second.empty()) {
      steps.erase(it);
    }
  }
  for (const SweepId& id : batch.delete_sweeps) {
    std::erase_if(steps, [&](const auto& entry) { return entry.first.sweep == id; });
  }
}

void Checker::CheckSteps(const Batch& batch) {
  for (const auto& [id, before] : batch.delete_steps) {
    steps_dropped_.insert(id);
  }
  for (const StepRow& row : batch.put_steps) {
    ++counted_steps_;
    const auto counted = steps_.find(row.id);
    if (counted != steps_.end() && counted->second.contains(row.step.step) &&
        !steps_dropped_.contains(row.id)) {
      world_.Fail(absl::StrCat(StepText(row.id, row.step), " was counted twice"));
    }
    // The worker knew of the attempt only after it had been saved.
    const auto job = rows_.find(row.id);
    if (job == rows_.end() || job->second.attempt != row.attempt) {
      world_.Fail(absl::StrCat(StepText(row.id, row.step), " was counted of attempt ",
                               row.attempt.number, ", which is not the latest one saved"));
    }
    const std::vector<ReportedStep>& reported = reported_steps_[{row.id, row.attempt}];
    if (std::find(reported.begin(), reported.end(), row.step) == reported.end()) {
      world_.Fail(absl::StrCat(StepText(row.id, row.step), " was counted of attempt ",
                               row.attempt.number, ", which has not reported it"));
    }
  }
  Apply(batch, steps_);
}

void Checker::CheckStepsKept(const Snapshot& snapshot) {
  const auto is_loaded = [&](const Steps& steps) {
    return std::equal(steps.begin(), steps.end(), snapshot.steps.begin(), snapshot.steps.end(),
                      [](const auto& entry, const StepSeriesRow& row) {
                        return entry.first == row.id && entry.second.size() == row.series.count &&
                               entry.second.rbegin()->first == row.series.last;
                      });
  };
  if (in_doubt_) {
    Steps with = steps_;
    Apply(*in_doubt_, with);
    if (is_loaded(with)) {
      for (const auto& [id, before] : in_doubt_->delete_steps) {
        steps_dropped_.insert(id);
      }
      steps_ = std::move(with);
      return;
    }
  }
  if (!is_loaded(steps_)) {
    world_.Fail("a restart does not find the reports that were saved");
  }
}

void Checker::OnStepsConfirmed(const std::vector<AttemptStep>& steps) {
  for (const auto& [id, step] : steps) {
    if (step.name == kUsdName) {
      CheckSpentSaved(id, step);
      continue;
    }
    if (left_out_.contains(id.job.sweep)) {
      continue;
    }
    const auto row = rows_.find(id.job);
    if (row == rows_.end() || row->second.attempt != id.attempt || row->second.reused_from ||
        steps_dropped_.contains(id.job) ||
        (row->second.state != JobState::kRunning && row->second.state != JobState::kSucceeded)) {
      continue;  // it came too late, or no longer counts
    }
    const auto counted = steps_.find(id.job);
    if (counted == steps_.end() || !counted->second.contains(step.step)) {
      world_.Fail(absl::StrCat(StepText(id.job, step), " was acknowledged and is not saved"));
    }
  }
}

}  // namespace concur::sim
