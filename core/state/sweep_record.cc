// SPDX-License-Identifier: Apache-2.0
#include "core/state/sweep_record.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/sweep/needs.h"
#include "core/sweep/retention.h"

namespace concur {

SweepRecord::SweepRecord(SweepRow new_row, std::shared_ptr<const Expansion> new_expansion)
    : row(std::move(new_row)),
      expansion(std::move(new_expansion)),
      first_expansion(expansion),
      keys(*expansion),
      jobs(expansion->job_count()),
      tallies(*expansion) {
  if (expansion->spec().early_stop) {
    early_stop.emplace(*expansion);
  }
  for (const Block& block : expansion->blocks()) {
    if (!block.has_train) {
      const bool is_imported = expansion->spec().imported.has_value();
      const bool may_wait = is_imported || expansion->spec().search;
      const uint32_t end = block.first_job + (may_wait ? block.JobCount() : 0);
      for (uint32_t job = block.first_job; job < end; ++job) {
        if (is_imported || AwaitsSetting(job)) {
          jobs.SetState(job, JobState::kBlocked);
        }
      }
      continue;
    }
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t train = block.first_job + cell * stride;
      const bool has_begun = !block.source && !AwaitsSetting(train);
      for (uint32_t job = has_begun ? train + 1 : train; job < train + stride; ++job) {
        jobs.SetState(job, JobState::kBlocked);
      }
    }
  }
}

SweepState SweepRecord::State() const {
  if (row.canceled) {
    return stopping > 0 || jobs.unfinished() > 0 ? SweepState::kCanceling : SweepState::kCanceled;
  }
  if (!IsOver()) {
    return row.paused || row.over_budget ? SweepState::kPaused : SweepState::kActive;
  }
  if (stopping > 0) {
    return SweepState::kCanceling;  // its last jobs were canceled one by one
  }
  if (jobs.count(JobState::kSucceeded) + jobs.count(JobState::kStopped) == jobs.size()) {
    return SweepState::kSucceeded;
  }
  if (expansion->spec().imported) {
    return SweepState::kSucceeded;  // its canceled jobs are gaps of what was imported
  }
  // Jobs are canceled one by one, too, and a retry of some of a canceled sweep leaves the others
  // so.
  const bool failed = jobs.count(JobState::kFailed) + jobs.count(JobState::kSkipped) > 0;
  return failed ? SweepState::kFailed : SweepState::kCanceled;
}

void SweepRecord::SetState(uint32_t job, JobState state) {
  const JobState before = jobs[job].state();
  if (IsTerminal(before) || IsTerminal(state)) {
    const uint32_t kind = expansion->Locate(job).kind;
    tallies.Remove(kind, before);
    tallies.Add(kind, state);
  }
  jobs.SetState(job, state);
}

SpentLedger::Kind SweepRecord::SpentKindOf(uint32_t job) const {
  const JobCoordinates at = expansion->Locate(job);
  return {at.is_train, expansion->blocks()[at.block].approach, groups[at.kind]};
}

int32_t SweepRecord::Priority() const { return row.priority.value_or(expansion->spec().priority); }

uint32_t SweepRecord::ServiceOf(JobId instance) const {
  const JobCoordinates at = expansion->Locate(instance.ServedJob().index);
  if (at.is_train) {
    return 0;
  }
  const uint32_t place = instance.ServicePlace();
  if (place == 0) {
    const auto it = services.find(at.first_job_of_cell);
    return it == services.end() ? 0 : it->second;
  }
  const std::vector<uint32_t> needs =
      NeedsOf(expansion->spec(), expansion->blocks()[at.block].approach, at.test_benchmark);
  return place <= needs.size() ? needed[needs[place - 1]] : 0;
}

uint32_t SweepRecord::ServicesOf(const JobCoordinates& at) const {
  if (at.is_train || asked.empty()) {
    return 0;
  }
  const auto own = services.find(at.first_job_of_cell);
  const auto it = asked.find(
      {own == services.end() ? 0 : own->second, need_sets.empty() ? 0 : need_sets[at.kind]});
  return it == asked.end() ? 0 : it->second;
}

ReadyQueue::Lane SweepRecord::LaneOf(uint32_t job) const {
  const JobCoordinates at = expansion->Locate(job);
  const SweepSpec& spec = expansion->spec();
  const ApproachSpec& approach = spec.approaches[expansion->blocks()[at.block].approach];
  return ReadyQueue::Lane{
      .priority = Priority(),
      .owner = owner,
      .sweep = row.id,
      .is_train = at.is_train,
      .resources = at.is_train ? approach.train_resources : approach.predict_resources,
      .labels = label_sets.empty() ? 0 : label_sets[at.kind],
      .uses = use_sets.empty() ? 0 : use_sets[at.kind],
      .services = ServicesOf(at),
      .group = groups[at.kind]};
}

bool SweepRecord::MayTakeResult(uint32_t job) const {
  const std::vector<Block>& blocks = expansion->blocks();
  bool reruns = jobs[job].no_reuse;
  for (std::optional<uint32_t> block = expansion->Locate(job).block; block && !reruns;
       block = blocks[*block].source) {
    reruns = expansion->spec().approaches[blocks[*block].approach].rerun;
  }
  return !reruns;
}

bool SweepRecord::HasSystem(uint32_t job) const {
  const JobResult* result = jobs.ResultOf(job);
  return jobs[job].state() == JobState::kSucceeded && !jobs[job].system_collected &&
         result != nullptr && FindArtifact(*result, ArtifactKind::kSystem) != nullptr;
}

bool SweepRecord::NeedsSystem(uint32_t train_job) const {
  bool needs = false;
  expansion->ForEachDependent(
      train_job, [&](uint32_t job) { needs = needs || jobs[job].state() != JobState::kSucceeded; });
  return needs;
}

bool SweepRecord::AwaitsSource(uint32_t job) const {
  const auto source = expansion->SourceOf(job);
  return source && jobs[*source].state() != JobState::kSucceeded;
}

bool SweepRecord::AwaitsSetting(uint32_t job) const {
  if (!expansion->spec().search) {
    return false;
  }
  const JobCoordinates at = expansion->Locate(job);
  return !expansion->HasSetting(at.block, at.setting);
}

void SweepRecord::Choose(const std::vector<Proposal>& proposals) {
  expansion = std::make_shared<const Expansion>(expansion->WithProposals(proposals));
  keys = ContentKeys(*expansion);
}

absl::string_view SweepRecord::SourceText(uint32_t job) const {
  return expansion->Locate(job).is_train ? "the train job that it starts from" : "its train job";
}

int64_t SweepRecord::StoredBytesOf(uint32_t job) const {
  const JobResult* result = jobs.ResultOf(job);
  return result == nullptr || jobs[job].reused()
             ? 0
             : KeptBytesOf(expansion->spec().keep, *result, jobs[job].system_collected);
}

void SweepRecord::CheckInvariants() const {
  CONCUR_CHECK(jobs.size() == expansion->job_count());
  jobs.CheckInvariants();
  FailureTallies recount(*expansion);
  for (uint32_t job = 0; job < jobs.size(); ++job) {
    recount.Add(expansion->Locate(job).kind, jobs[job].state());
  }
  CONCUR_CHECK(recount == tallies);
  CONCUR_CHECK(row.end_time.has_value() == IsTerminal(State()));
  CONCUR_CHECK(groups.size() == expansion->kind_count());
  for (const auto& [job, counts] : steps) {
    CONCUR_CHECK(job < jobs.size());
    CONCUR_CHECK(counts.total() > 0 && counts.total() <= kStepsOfJobMax);
  }
  spent.CheckInvariants([this](auto visit) {
    for (uint32_t job = 0; job < jobs.size(); ++job) {
      if (jobs[job].state() == JobState::kSucceeded && TaughtDuration(job)) {
        visit(job, SpentKindOf(job));
      }
    }
  });
  for (const auto& [job, checkpoint] : checkpoints) {
    CONCUR_CHECK(!IsTerminal(jobs[job].state()));
    CONCUR_CHECK(checkpoint.attempt > 0 && checkpoint.attempt <= jobs[job].attempt);
  }
  CONCUR_CHECK(label_sets.size() == (expansion->has_labels() ? expansion->kind_count() : 0));
  CONCUR_CHECK(use_sets.size() == (expansion->has_uses() ? expansion->kind_count() : 0));
  CONCUR_CHECK(need_sets.empty() || need_sets.size() == expansion->kind_count());
}

}  // namespace concur
