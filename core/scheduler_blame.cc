// Blame before action: which workers get nothing for a while, and what of a sweep is given up
// early.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/clock.h"
#include "core/scheduler.h"

namespace concur {

// --- workers
// --------------------------------------------------------------------------------------

void Scheduler::NoteSuccess(const SweepRecord& sweep, uint32_t job, const WorkerRecord& worker) {
  const Durations::Group group = GroupOf(sweep, sweep.expansion->Locate(job));
  for (const std::string& suspect : blame_.AddSuccess(group, worker.info.name)) {
    JudgeWorker(suspect);
  }
}

void Scheduler::NoteFailure(const SweepRecord& sweep, uint32_t job, const WorkerRecord& worker,
                            FailureClass failure) {
  if (CountsForBlame(failure)) {
    blame_.AddFailure(GroupOf(sweep, sweep.expansion->Locate(job)), worker.info.name);
    JudgeWorker(worker.info.name);
  }
}

// A worker takes nothing new for a while when others succeed on what it fails. Not the last one
// that could: a bad worker is better than none.
void Scheduler::JudgeWorker(const std::string& name) {
  const auto it = workers_.find(name);
  if (it == workers_.end() || policy_.quarantine_failures == 0 ||
      it->second->quarantine_end > now_) {
    return;
  }
  const Blame::Suspicion suspicion = blame_.SuspicionOf(name);
  if (suspicion.failures < policy_.quarantine_failures) {
    return;
  }
  const bool others = std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const WorkerRecord& other = *entry.second;
    return entry.first != name && !other.lost && !other.drain_asked && !other.drain_self &&
           other.quarantine_end <= now_;
  });
  if (!others) {
    return;
  }
  WorkerRecord& worker = *it->second;
  const Durations::Group example = suspicion.groups.front();
  worker.quarantine_reason =
      absl::StrCat("failed ", suspicion.failures, " times at what succeeds on ",
                   absl::StrJoin(suspicion.succeeded, ", "), ": ",
                   durations_.is_train(example) ? "train" : "eval", " jobs of ",
                   durations_.approach(example), " on ", durations_.benchmark(example),
                   suspicion.groups.size() > 1
                       ? absl::StrCat(" and ", suspicion.groups.size() - 1, " other kinds")
                       : "");
  worker.quarantine_span = worker.quarantine_span == absl::ZeroDuration()
                               ? policy_.quarantine_min
                               : std::min(worker.quarantine_span * 2, policy_.quarantine_max);
  worker.quarantine_end = now_ + worker.quarantine_span;
  quarantines_.insert({worker.quarantine_end, name});
}

// The worker may try again; what it failed is forgotten, but not that it was quarantined.
void Scheduler::EndQuarantine(WorkerRecord& worker) {
  quarantines_.erase({worker.quarantine_end, worker.info.name});
  worker.quarantine_end = absl::InfinitePast();
  worker.quarantine_reason.clear();
  blame_.Pardon(worker.info.name);
}

void Scheduler::EndQuarantines() {
  while (!quarantines_.empty() && quarantines_.begin()->first <= now_) {
    EndQuarantine(*workers_.at(quarantines_.begin()->second));
  }
}

// --- what of a sweep is hopeless
// ------------------------------------------------------------------

// Why nothing more of these blocks should be tried: empty, or how much of them failed, where
// `limit` jobs or more failed on at least two of the axis' other side, none succeeded, and the
// failures are not all of one worker while there are others.
std::string Scheduler::HopelessText(const SweepRecord& sweep,
                                    const std::vector<uint32_t>& blocks) const {
  const uint32_t limit = sweep.expansion->spec().failures_max_per_block;
  uint32_t failed = 0;
  uint32_t failing_blocks = 0;
  for (const uint32_t index : blocks) {
    failed += sweep.block_failures[index];
    failing_blocks += sweep.block_failures[index] > 0 ? 1 : 0;
  }
  if (limit == 0 || failed < limit || failing_blocks < 2) {
    return "";
  }
  std::set<std::string> failing_workers;
  for (const uint32_t index : blocks) {
    const Block& block = sweep.expansion->blocks()[index];
    for (uint32_t job = block.first_job; job < block.first_job + block.JobCount(); ++job) {
      const Slot& slot = sweep.slots[job];
      if (slot.state == JobState::kSucceeded) {
        return "";
      }
      if (slot.state == JobState::kFailed) {
        const uint32_t holder = sweep.results[slot.result].holder;
        failing_workers.insert(holder == kNone ? "" : holders_[holder].worker);
      }
    }
  }
  if (IsOneWorkersFault(failing_workers)) {
    return "";
  }
  return absl::StrCat(failed, " jobs failed on ", failing_blocks, " of ", blocks.size(), ", on ",
                      failing_workers.size(), failing_workers.size() == 1 ? " worker" : " workers",
                      ", and none succeeded");
}

// Whether only one worker failed although there are others to try.
bool Scheduler::IsOneWorkersFault(const std::set<std::string>& failing) const {
  return failing.size() == 1 &&
         std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
           return !entry.second->lost && !failing.contains(entry.first);
         });
}

std::vector<uint32_t> Scheduler::BlocksLike(const SweepRecord& sweep, uint32_t block,
                                            bool same_approach) {
  const std::vector<Block>& blocks = sweep.expansion->blocks();
  std::vector<uint32_t> like;
  for (uint32_t index = 0; index < blocks.size(); ++index) {
    if (same_approach ? blocks[index].approach == blocks[block].approach
                      : blocks[index].has_train && blocks[block].has_train &&
                            blocks[index].train_set == blocks[block].train_set) {
      like.push_back(index);
    }
  }
  return like;
}

// Why the approach or the train set of a block was, or is to be, given up; empty when neither is.
std::string Scheduler::WhyGivenUp(const SweepRecord& sweep, uint32_t block,
                                  std::vector<uint32_t>* blocks) const {
  const SweepSpec& spec = sweep.expansion->spec();
  const Block& own = sweep.expansion->blocks()[block];
  *blocks = BlocksLike(sweep, block, /*same_approach=*/true);
  if (const std::string text = HopelessText(sweep, *blocks); !text.empty()) {
    return absl::StrCat("approach ", spec.approaches[own.approach].name,
                        " fails everywhere: ", text, " (train sets, failures_max_per_block ",
                        spec.failures_max_per_block, ")");
  }
  if (own.has_train) {
    *blocks = BlocksLike(sweep, block, /*same_approach=*/false);
    if (const std::string text = HopelessText(sweep, *blocks); !text.empty()) {
      return absl::StrCat(
          "train set ", spec.train_sets[own.train_set].name, " fails with every approach: ", text,
          " (approaches, failures_max_per_block ", spec.failures_max_per_block, ")");
    }
  }
  blocks->clear();
  return "";
}

void Scheduler::SkipBlock(SweepRecord& sweep, uint32_t index, const std::string& reason) {
  const Block& block = sweep.expansion->blocks()[index];
  for (uint32_t job = block.first_job; job < block.first_job + block.JobCount(); ++job) {
    const JobState state = sweep.slots[job].state;
    if (state == JobState::kReady || state == JobState::kBlocked || state == JobState::kBackoff) {
      SetState(sweep, job, JobState::kSkipped);
      Announce(sweep, job, reason);
    }
  }
}

// After a job of the block failed for good.
void Scheduler::GiveUpEarly(SweepRecord& sweep, uint32_t block) {
  const uint32_t limit = sweep.expansion->spec().failures_max_per_block;
  if (limit == 0) {
    return;
  }
  if (sweep.block_failures[block] == limit) {
    SkipBlock(sweep, block, absl::StrCat(limit, " jobs of its approach and train set failed"));
  }
  std::vector<uint32_t> blocks;
  const std::string reason = WhyGivenUp(sweep, block, &blocks);
  for (const uint32_t index : blocks) {
    SkipBlock(sweep, index, reason);
  }
}

// --- invariants
// -----------------------------------------------------------------------------------

void Scheduler::CheckBlame() const {
  blame_.CheckInvariants();
  size_t quarantined = 0;
  for (const auto& [name, worker] : workers_) {
    if (worker->quarantine_end == absl::InfinitePast()) {
      CONCUR_CHECK(worker->quarantine_reason.empty());
      continue;
    }
    // No state without a deadline.
    CONCUR_CHECK(!worker->quarantine_reason.empty());
    CONCUR_CHECK(quarantines_.contains({worker->quarantine_end, name}));
    ++quarantined;
  }
  CONCUR_CHECK(quarantined == quarantines_.size());
}

}  // namespace concur
