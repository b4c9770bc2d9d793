// Blame before action: which workers get nothing for a while.
#include <algorithm>
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
  for (const std::string& suspect : blame_.AddSuccess(group, worker.info.name, now_)) {
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
      it->second->quarantine_end != absl::InfinitePast()) {
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
  SaveWorker(worker);
}

// The worker may try again; what it failed is forgotten, but not that it was quarantined.
void Scheduler::EndQuarantine(WorkerRecord& worker) {
  blame_.Pardon(worker.info.name);
  if (worker.quarantine_end == absl::InfinitePast()) {
    return;
  }
  quarantines_.erase({worker.quarantine_end, worker.info.name});
  worker.quarantine_end = absl::InfinitePast();
  worker.quarantine_reason.clear();
  SaveWorker(worker);
}

void Scheduler::EndQuarantines() {
  while (!quarantines_.empty() && quarantines_.begin()->first <= now_) {
    EndQuarantine(*workers_.at(quarantines_.begin()->second));
  }
}

BlameRow Scheduler::BlameRowOf(Durations::Group group, const std::string& worker) const {
  const Blame::Cell cell = blame_.CellOf(group, worker);
  return BlameRow{.worker = worker,
                  .approach = durations_.approach(group),
                  .benchmark = durations_.benchmark(group),
                  .is_train = durations_.is_train(group),
                  .failures = cell.failures,
                  .success_time = cell.success_time};
}

std::vector<BlameRow> Scheduler::ListBlame() const {
  std::vector<BlameRow> rows;
  blame_.ForEach([&](Durations::Group group, const std::string& worker, const Blame::Cell&) {
    rows.push_back(BlameRowOf(group, worker));
  });
  std::sort(rows.begin(), rows.end(),
            [](const BlameRow& a, const BlameRow& b) { return a.Key() < b.Key(); });
  return rows;
}

// --- invariants
// -----------------------------------------------------------------------------------

void Scheduler::CheckBlame() const {
  blame_.CheckInvariants();
  blame_.ForEach([&](Durations::Group, const std::string& worker, const Blame::Cell&) {
    CONCUR_CHECK(workers_.contains(worker));
  });
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
