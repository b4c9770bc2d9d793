// Who gets what, when: choosing jobs for workers that listen.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/scheduler.h"

namespace concur {
namespace {

// What one whole GPU counts in an owner's share, in thousandths of a CPU.
constexpr int64_t kGpuShare = 16'000;
// Eval jobs remembered as near to a worker, and looked at when one is chosen.
constexpr size_t kLocalMax = 4'096;
constexpr int kLocalLooksMax = 8;

uint64_t LowestFree(uint64_t used, int32_t count) {
  uint64_t mask = 0;
  for (int32_t gpu = 0, taken = 0; gpu < kGpusMax && taken < count; ++gpu) {
    const uint64_t bit = uint64_t{1} << gpu;
    if ((used & bit) == 0) {
      mask |= bit;
      ++taken;
    }
  }
  return mask;
}

// In microseconds of one CPU.
int64_t CpuMicros(absl::Duration time, int64_t cpu_millis) {
  return absl::ToInt64Microseconds(time) * std::max<int64_t>(cpu_millis, 1) / 1000;
}

}  // namespace

// --- durations
// ------------------------------------------------------------------------------------

void Scheduler::FindGroups(SweepRecord& sweep) {
  const SweepSpec& spec = sweep.expansion->spec();
  for (const Block& block : sweep.expansion->blocks()) {
    auto& groups = sweep.groups.emplace_back();
    const std::string& approach = spec.approaches[block.approach].name;
    if (block.has_train) {
      groups.push_back(durations_.GroupOf(approach, spec.train_sets[block.train_set].name, true));
    }
    for (const uint32_t test : block.tests) {
      groups.push_back(durations_.GroupOf(approach, spec.benchmarks[test].name, false));
    }
    sweep.tallies.emplace_back(groups.size());
    for (const Durations::Group group : groups) {
      ready_.SetRank(group, durations_.RankOf(group));
    }
  }
}

Durations::Group Scheduler::GroupOf(const SweepRecord& sweep, const JobCoordinates& at) const {
  const bool has_train = sweep.expansion->blocks()[at.block].has_train;
  return sweep.groups[at.block][at.is_train ? 0 : (has_train ? 1 : 0) + at.test_ordinal];
}

// Kinds of jobs are numbered as in FindGroups.
void Scheduler::FindLabels(SweepRecord& sweep) {
  if (!sweep.expansion->has_labels()) {
    return;
  }
  const auto number_of = [this](const Labels& labels) -> uint32_t {
    if (labels.empty()) {
      return 0;
    }
    const auto [it, is_new] =
        label_set_index_.try_emplace(labels, static_cast<uint32_t>(label_sets_.size()));
    if (is_new) {
      label_sets_.push_back(labels);
    }
    return it->second;
  };
  for (const Block& block : sweep.expansion->blocks()) {
    auto& sets = sweep.label_sets.emplace_back();
    if (block.has_train) {
      sets.push_back(number_of(sweep.expansion->LabelsOf(block, std::nullopt)));
    }
    for (const uint32_t test : block.tests) {
      sets.push_back(number_of(sweep.expansion->LabelsOf(block, test)));
    }
  }
}

uint32_t Scheduler::LabelSetOf(const SweepRecord& sweep, const JobCoordinates& at) const {
  if (sweep.label_sets.empty()) {
    return 0;
  }
  const bool has_train = sweep.expansion->blocks()[at.block].has_train;
  return sweep.label_sets[at.block][at.is_train ? 0 : (has_train ? 1 : 0) + at.test_ordinal];
}

bool Scheduler::HasLabelsFor(const WorkerRecord& worker, uint32_t label_set) const {
  return label_set == 0 || LabelsMatch(label_sets_[label_set], worker.info.labels);
}

// REQUIRES: the job has succeeded. What it took over from another one says nothing new.
void Scheduler::Learn(const SweepRecord& sweep, uint32_t job) {
  if ((sweep.slots[job].flags & kReused) == 0) {
    durations_.Add(
        GroupOf(sweep, sweep.expansion->Locate(job)), ResultOf(sweep, job)->run_time,
        [this](Durations::Group group, Durations::Rank rank) { ready_.SetRank(group, rank); });
  }
}

void Scheduler::Unlearn(const SweepRecord& sweep, uint32_t job) {
  if ((sweep.slots[job].flags & kReused) == 0) {
    durations_.Remove(
        GroupOf(sweep, sweep.expansion->Locate(job)), ResultOf(sweep, job)->run_time,
        [this](Durations::Group group, Durations::Rank rank) { ready_.SetRank(group, rank); });
  }
}

void Scheduler::SetExpectedDurations(
    absl::FunctionRef<absl::Duration(absl::string_view, absl::string_view, bool)> expected) {
  for (Durations::Group group = 0; group < durations_.size(); ++group) {
    durations_.SetPrior(
        group,
        expected(durations_.approach(group), durations_.benchmark(group),
                 durations_.is_train(group)),
        [this](Durations::Group changed, Durations::Rank rank) { ready_.SetRank(changed, rank); });
  }
}

// --- shares and room
// ------------------------------------------------------------------------------

uint32_t Scheduler::OwnerOf(const std::string& name) {
  const auto [it, is_new] = owner_index_.try_emplace(name, static_cast<uint32_t>(owners_.size()));
  if (is_new) {
    Owner& owner = owners_.emplace_back();
    owner.name = name;
    owner.quota = policy_.quotas.Of(name);
  }
  return it->second;
}

// What an attempt counts when owners take turns; one more, so that jobs that claim nothing count.
int64_t Scheduler::ShareOf(const Held& held) {
  return 1 + held.resources.cpu_millis + kGpuShare * held.resources.gpus;
}

void Scheduler::Occupy(WorkerRecord& worker, const Held& held, int sign) {
  if (!held.ahead) {
    worker.used.cpu_millis += sign * held.resources.cpu_millis;
    worker.used.memory_bytes += sign * held.resources.memory_bytes;
    worker.used.gpus += sign * held.resources.gpus;
  }
  if (sign > 0) {
    worker.gpus_used |= held.gpu_mask;
  } else {
    worker.gpus_used &= ~held.gpu_mask;
  }
  if (held.owner != kNone) {
    owners_[held.owner].used += sign * ShareOf(held);
    owners_[held.owner].running += sign;
  }
}

// The worker starts what waits there as soon as there is room; here it is counted so.
void Scheduler::StartAheadThatFits(WorkerRecord& worker) {
  while (!worker.ahead.empty()) {
    const auto it = worker.held.find(*worker.ahead.begin());
    CONCUR_CHECK(it != worker.held.end());
    Held& held = it->second;
    if (!held.resources.FitsIn(FreeOf(worker))) {
      return;
    }
    worker.ahead.erase(worker.ahead.begin());
    worker.ahead_cpu_micros -= held.ahead_cpu_micros;
    Occupy(worker, held, -1);
    held.ahead = false;
    held.ahead_cpu_micros = 0;
    Occupy(worker, held, 1);
  }
}

Resources Scheduler::FreeOf(const WorkerRecord& worker) const {
  const Resources& capacity = worker.info.capacity;
  Resources free{.cpu_millis = capacity.cpu_millis - worker.used.cpu_millis,
                 .memory_bytes = capacity.memory_bytes - worker.used.memory_bytes,
                 .gpus = capacity.gpus - worker.used.gpus};
  if (std::popcount(worker.gpus_used) != worker.used.gpus) {
    free.gpus = std::min(free.gpus, 0);  // which ones are free is not known until something ends
  }
  return free;
}

// --- dispatch
// -------------------------------------------------------------------------------------

bool Scheduler::TakesJobs(const WorkerRecord& worker) const {
  return !worker.lost && !worker.drain_asked && !worker.drain_self && worker.quarantine_end <= now_;
}

void Scheduler::Dispatch() {
  if (ready_.size() == 0) {
    return;
  }
  std::vector<WorkerRecord*> open;
  for (auto& [name, worker] : workers_) {
    if (worker->listening && TakesJobs(*worker)) {
      open.push_back(worker.get());
    }
  }
  // Turns are taken, beginning after the worker that was served last, so that work spreads.
  const auto after = std::find_if(open.begin(), open.end(), [&](const WorkerRecord* worker) {
    return worker->info.name > last_served_;
  });
  std::rotate(open.begin(), after, open.end());
  std::vector<WorkerRecord*> busy = open;
  while (!open.empty() && ready_.size() > 0) {
    std::erase_if(open, [&](WorkerRecord* worker) { return !DispatchOne(*worker); });
  }
  // Only when nobody has room for it is anything given ahead.
  while (!busy.empty() && ready_.size() > 0) {
    std::erase_if(busy, [&](WorkerRecord* worker) { return !DispatchAhead(*worker); });
  }
}

bool Scheduler::DispatchOne(WorkerRecord& worker) {
  const Resources free = FreeOf(worker);
  // Most workers are full most of the time: they are not compared with every lane.
  return ready_.cpu_millis_min() <= free.cpu_millis &&
         Give(
             worker,
             [&](const ReadyQueue::Lane& lane) {
               return lane.resources.FitsIn(free) && HasLabelsFor(worker, lane.labels) &&
                      HasTimeFor(worker, lane.group) && MayStart(lane.owner);
             },
             /*ahead=*/false);
}

bool Scheduler::DispatchAhead(WorkerRecord& worker) {
  const Durations::Rank longest = Durations::RankOf(policy_.ahead_job_max);
  const int64_t cpu_millis = worker.info.capacity.cpu_millis;
  return worker.ahead.size() < worker.info.queue_max && ready_.rank_min() <= longest &&
         worker.ahead_cpu_micros < CpuMicros(policy_.ahead, cpu_millis) &&
         Give(
             worker,
             [&](const ReadyQueue::Lane& lane) {
               return durations_.RankOf(lane.group) <= longest && lane.resources.gpus == 0 &&
                      lane.resources.FitsIn(worker.info.capacity) &&
                      HasLabelsFor(worker, lane.labels) && HasTimeFor(worker, lane.group) &&
                      MayStart(lane.owner);
             },
             /*ahead=*/true);
}

// An eval job of the same sweep as `like` whose system the worker made: it need not be fetched.
std::optional<JobId> Scheduler::LocalChoice(WorkerRecord& worker, const ReadyQueue::Lane& like,
                                            ReadyQueue::Accept accept) {
  auto it = worker.local.lower_bound(JobId{like.sweep, 0});
  for (int looks = 0; looks < kLocalLooksMax && it != worker.local.end() && it->sweep == like.sweep;
       ++looks) {
    if (!HasJob(*it) || SlotOf(*it).state != JobState::kReady) {
      it = worker.local.erase(it);  // somebody else has it, or it has ended
      continue;
    }
    const ReadyQueue::Lane lane = LaneOf(SweepOf(*it), it->index);
    if (accept(lane)) {
      return *it;
    }
    ++it;
  }
  return std::nullopt;
}

// Takes a job out of the queue.
std::optional<JobId> Scheduler::Choose(WorkerRecord& worker, ReadyQueue::Accept accept) {
  const auto first = ready_.First(accept, [this](uint32_t owner) { return owners_[owner].used; });
  if (!first) {
    return std::nullopt;
  }
  JobId id{first->lane.sweep, first->job};
  if (!first->lane.is_train) {
    id = LocalChoice(worker, first->lane, accept).value_or(id);
  }
  ready_.Erase(LaneOf(SweepOf(id), id.index), id.index);
  return id;
}

bool Scheduler::Give(WorkerRecord& worker, ReadyQueue::Accept accept, bool ahead) {
  if (worker.held.size() >= kSyncAttemptsMax) {
    return false;  // it could not list more, which matters to jobs that claim no resources
  }
  while (const std::optional<JobId> id = Choose(worker, accept)) {
    SweepRecord& sweep = SweepOf(*id);
    Slot& slot = sweep.slots[id->index];
    const Digest key = sweep.keys->KeyOf(id->index);
    if (TryReuse(sweep, id->index, key)) {
      continue;
    }
    if (const auto leader = in_flight_.find(key);
        leader != in_flight_.end() && (slot.flags & kNoReuse) == 0) {
      // Equal work is running: wait for its result.
      const JobId leading = leader->second;
      SetState(sweep, id->index, JobState::kBlocked);
      leader_[*id] = leading;
      followers_[leading].insert(*id);
      continue;
    }
    const ReadyQueue::Lane lane = LaneOf(sweep, id->index);
    Held held;
    held.resources = lane.resources;
    if (ahead) {
      held.ahead = true;
      held.ahead_cpu_micros =
          CpuMicros(durations_.Expected(lane.group).value_or(Durations::Mean{}).mean,
                    lane.resources.cpu_millis);
    } else {
      held.gpu_mask = LowestFree(worker.gpus_used, held.resources.gpus);
    }
    // A worker may list attempts that were never given to it, as after a restored backup: a new one
    // is none of those.
    do {
      ++slot.attempt;
    } while (worker.held.contains(AttemptId{*id, {slot.attempt}}));
    slot.flags &= static_cast<uint8_t>(~kSettled);
    StartRunning(sweep, id->index, worker, held.gpu_mask, key);
    Hold(worker, AttemptId{*id, {slot.attempt}}, held);
    last_served_ = worker.info.name;
    return true;
  }
  return false;
}

void Scheduler::NoteLocal(const SweepRecord& sweep, uint32_t train_job, WorkerRecord& worker) {
  for (uint32_t eval = train_job + 1; eval < sweep.expansion->EndOfCell(train_job); ++eval) {
    if (sweep.slots[eval].state == JobState::kReady) {
      worker.local.insert({sweep.row.id, eval});
    }
  }
  while (worker.local.size() > kLocalMax) {
    worker.local.erase(worker.local.begin());  // the oldest sweep's first jobs
  }
}

// --- invariants
// -----------------------------------------------------------------------------------

void Scheduler::CheckDispatch() const {
  std::vector<int64_t> used(owners_.size());
  for (const auto& [name, worker] : workers_) {
    absl::btree_set<AttemptId> ahead;
    int64_t cpu_micros = 0;
    for (const auto& [id, held] : worker->held) {
      if (held.owner != kNone) {
        used[held.owner] += ShareOf(held);
      }
      if (held.ahead) {
        CONCUR_CHECK(held.gpu_mask == 0 && held.resources.gpus == 0);
        ahead.insert(id);
        cpu_micros += held.ahead_cpu_micros;
      }
    }
    CONCUR_CHECK(ahead == worker->ahead && cpu_micros == worker->ahead_cpu_micros);
    CONCUR_CHECK(worker->local.size() <= kLocalMax);
  }
  for (size_t i = 0; i < owners_.size(); ++i) {
    CONCUR_CHECK(owners_[i].used == used[i]);
    CONCUR_CHECK(owner_index_.at(owners_[i].name) == i);
  }
  CONCUR_CHECK(label_sets_.size() == label_set_index_.size() + 1);
  std::map<Durations::Group, std::pair<int64_t, uint64_t>> totals;
  for (const auto& [id, sweep] : sweeps_) {
    CONCUR_CHECK(owners_[sweep->owner].name == sweep->row.owner);
    CONCUR_CHECK(sweep->label_sets.size() ==
                 (sweep->expansion->has_labels() ? sweep->expansion->blocks().size() : 0));
    for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
      const Slot& slot = sweep->slots[job];
      if (slot.state == JobState::kSucceeded && (slot.flags & kReused) == 0) {
        auto& [micros, count] = totals[GroupOf(*sweep, sweep->expansion->Locate(job))];
        micros += Durations::MicrosOf(ResultOf(*sweep, job)->run_time);
        ++count;
      }
    }
  }
  for (Durations::Group group = 0; group < durations_.size(); ++group) {
    CONCUR_CHECK(durations_.TotalOf(group) == totals[group]);
  }
}

}  // namespace concur
