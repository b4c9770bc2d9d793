// SPDX-License-Identifier: Apache-2.0
// Early stopping: only settings that another setting of their cell beats are stopped, and with a
// train job all that waits for it. That a restart keeps the decisions is checked with what else it
// keeps (checker_blame.cc); that what was stopped does not run again, with all ends of jobs.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/early_stop/early_stop_brackets.h"
#include "tests/sim/checker.h"

namespace concur::sim {

namespace {

// The first setting of the block that is compared: what others start from is not.
uint32_t FirstCompared(const Expansion& expansion, uint32_t block) {
  return expansion.IsSource(block) ? 1 : 0;
}

}  // namespace

// The train jobs of the other settings of the approach, train set, seed and bracket.
// REQUIRES: the setting is compared.
std::vector<JobId> Checker::ComparedWith(JobId train) const {
  const Expansion& expansion = *workload_.sweeps[planned_.at(train.sweep)].expansion;
  const JobCoordinates own = expansion.Locate(train.index);
  const uint32_t settings = expansion.blocks()[own.block].settings;
  const EarlyStopBrackets brackets(expansion.spec().early_stop->rule, settings);
  const uint32_t first = FirstCompared(expansion, own.block);
  const uint32_t bracket = brackets.PlaceOf(own.setting - first).bracket;
  std::vector<JobId> others;
  for (uint32_t job = 0; job < expansion.job_count(); ++job) {
    const JobCoordinates at = expansion.Locate(job);
    if (at.is_train && at.block == own.block && at.seed_index == own.seed_index &&
        at.setting != own.setting && at.setting >= first &&
        brackets.PlaceOf(at.setting - first).bracket == bracket) {
      others.push_back({train.sweep, job});
    }
  }
  return others;
}

void Checker::CheckStopped(const std::vector<JobId>& stopped) {
  for (const JobId& id : stopped) {
    if (!planned_.contains(id.sweep)) {
      continue;
    }
    const Expansion& expansion = *workload_.sweeps[planned_.at(id.sweep)].expansion;
    if (!expansion.spec().early_stop) {
      world_.Fail(
          absl::StrCat("job ", id.ToString(), " was stopped in a sweep without early_stop"));
      return;
    }
    const auto in_state = [&](JobId job, JobState state) {
      const auto row = rows_.find(job);
      return row != rows_.end() && row->second.state == state;
    };
    if (!expansion.Locate(id.index).is_train) {
      const auto train = expansion.SourceOf(id.index);
      if (!train || !in_state({id.sweep, *train}, JobState::kStopped)) {
        world_.Fail(absl::StrCat("job ", id.ToString(), " was stopped, but not its train job"));
      }
      continue;
    }
    ++stopped_;
    const JobCoordinates at = expansion.Locate(id.index);
    if (at.setting < FirstCompared(expansion, at.block)) {
      world_.Fail(absl::StrCat("job ", id.ToString(), " was stopped, and others start from it"));
      return;
    }
    const std::vector<JobId> others = ComparedWith(id);
    const bool halves = Halves(expansion.spec().early_stop->rule.method);
    const bool one_is_left = std::any_of(others.begin(), others.end(), [&](JobId job) {
      return halves ? in_state(job, JobState::kSucceeded) : !in_state(job, JobState::kStopped);
    });
    // After a retry the best one may run anew, and a failed one come back alone.
    if (!one_is_left && !revived_.contains(id.sweep)) {
      world_.Fail(absl::StrCat("job ", id.ToString(), " was stopped, and of its cell no setting ",
                               halves ? "has been" : "is", " trained to the end"));
    }
  }
}

bool Checker::MayBeStopped(JobId id) const {
  const Expansion& expansion = *workload_.sweeps[planned_.at(id.sweep)].expansion;
  const bool is_train = expansion.Locate(id.index).is_train;
  const auto train = is_train ? std::optional(id.index) : expansion.SourceOf(id.index);
  if (!expansion.spec().early_stop || !train) {
    return false;
  }
  const auto row = rows_.find({id.sweep, *train});
  return row != rows_.end() && row->second.state == JobState::kStopped;
}

}  // namespace concur::sim
