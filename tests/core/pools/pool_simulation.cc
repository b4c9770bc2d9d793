// SPDX-License-Identifier: Apache-2.0
#include "tests/core/pools/pool_simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur::testing {
namespace {

constexpr absl::Duration kLease = absl::Seconds(30);
constexpr absl::Duration kBoot = absl::Seconds(3);

Labels LabelsOfImage(const std::string& image) {
  return image.empty() ? Labels() : Labels{{kImageLabel, image}};
}

}  // namespace

void AddPool(PoolSimulation& simulation, PoolSpec spec) {
  simulation.specs_.push_back(spec);
  CONCUR_CHECK_OK(simulation.pools_->Add(spec, absl::StrCat(simulation.specs_.size() - 1)));
  simulation.Save();
}

int PoolSimulation::jobs_left() const {
  int left = 0;
  for (const auto& [kind, count] : jobs_) {
    left += count;
  }
  for (const auto& [name, machine] : machines_) {
    left += machine.ended ? 0 : static_cast<int>(machine.busy.size());
  }
  return left;
}

int PoolSimulation::alive() const {
  return static_cast<int>(std::count_if(machines_.begin(), machines_.end(),
                                        [](const auto& entry) { return !entry.second.ended; }));
}

int PoolSimulation::alive_of(const std::string& image) const {
  return static_cast<int>(std::count_if(machines_.begin(), machines_.end(), [&](const auto& entry) {
    return !entry.second.ended && entry.second.image == image;
  }));
}

std::vector<std::string> PoolSimulation::OfAnotherImage() const {
  std::vector<std::string> names;
  for (const PoolView& view : pools_->List()) {
    for (const PilotRow* row : view.pilots) {
      const auto it = machines_.find(row->name);
      if (it != machines_.end() && it->second.image != row->image) {
        names.push_back(row->name);
      }
    }
  }
  return names;
}

int PoolSimulation::working() const {
  return static_cast<int>(std::count_if(machines_.begin(), machines_.end(), [](const auto& entry) {
    return !entry.second.ended && entry.second.joined;
  }));
}

std::unique_ptr<Pools> PoolSimulation::MakePools() const {
  PoolsPolicy policy;
  if (bug_ == PoolBug::kSupplyIsCertain) {
    policy.doubt_after = absl::InfiniteDuration();
  }
  return std::make_unique<Pools>(policy);
}

void PoolSimulation::Steps(int count) {
  for (int i = 0; i < count; ++i) {
    Step();
  }
}

bool PoolSimulation::RunToEnd(int rest, int limit) {
  for (int i = 0; i < limit; ++i) {
    if (jobs_left() == 0 && alive() <= rest) {
      return true;
    }
    Step();
  }
  return false;
}

void PoolSimulation::Step() {
  now_ += absl::Seconds(1);
  RunMachines();
  pools_->Advance(now_, World());
  pools_->CheckInvariants();
  Save();  // before anybody is asked for anything
  Carry();
  pools_->CheckInvariants();
  most_alive_ = std::max(most_alive_, alive());
}

void PoolSimulation::Save() {
  Batch batch;
  pools_->TakeRows(&batch);
  next_pilot_ = batch.next_pilot_number.value_or(next_pilot_);
  for (const PoolRow& row : batch.put_pools) {
    pool_rows_[row.name] = row;
  }
  for (const std::string& name : batch.delete_pools) {
    pool_rows_.erase(name);
  }
  for (const PilotRow& row : batch.put_pilots) {
    pilot_rows_[row.name] = row;
  }
  for (const std::string& name : batch.delete_pilots) {
    pilot_rows_.erase(name);
  }
}

void PoolSimulation::Restart() {
  pools_ = MakePools();
  Snapshot snapshot;
  snapshot.next_pilot_number = next_pilot_;
  for (const auto& [name, row] : pool_rows_) {
    snapshot.pools.push_back(row);
  }
  for (const auto& [name, row] : pilot_rows_) {
    snapshot.pilots.push_back(row);
    if (bug_ == PoolBug::kImageForgotten) {
      snapshot.pilots.back().image.clear();
    }
  }
  const auto decode = [this](absl::string_view text) -> absl::StatusOr<PoolSpec> {
    size_t index = 0;
    CONCUR_CHECK(absl::SimpleAtoi(text, &index));
    return specs_.at(index);
  };
  CONCUR_CHECK_OK(pools_->Restore(snapshot, decode, now_));
  // Every worker that was known, also one that has ended, gets a lease of its own.
  for (auto& [name, machine] : machines_) {
    machine.called = false;
    machine.last_call = now_;
  }
}

void PoolSimulation::ForgetQueue() {
  for (auto& [name, machine] : machines_) {
    machine.ended = machine.ended || machine.runs_since == absl::InfiniteFuture();
  }
  std::erase_if(machines_, [](const auto& entry) {
    return entry.second.ended && entry.second.runs_since == absl::InfiniteFuture();
  });
}

PoolWorld PoolSimulation::World() const {
  PoolWorld world;
  for (const auto& [kind, count] : jobs_) {
    DemandClass demand;
    demand.resources = {1000, 0, 0};
    demand.labels = LabelsOfImage(kind.first);
    demand.ready = static_cast<uint64_t>(count);
    demand.run_time = kind.second;
    world.demand.push_back(demand);
  }
  for (const auto& [name, machine] : machines_) {
    if (!machine.joined) {
      continue;
    }
    PoolWorld::Worker worker;
    worker.place.name = name;
    // A worker's call says what it has.
    const bool called = machine.called || bug_ == PoolBug::kRestoredIsLive;
    worker.place.labels = LabelsOfImage(machine.image);
    worker.place.capacity = called ? machine.pool.resources : Resources{.cpu_millis = 0};
    worker.place.running = static_cast<uint32_t>(machine.ended ? 0 : machine.busy.size());
    worker.live = now_ - machine.last_call < kLease;
    worker.called = called;
    worker.draining = machine.draining;
    world.workers.push_back(worker);
    if (!machine.ended && !machine.draining && !machine.busy.empty()) {
      DemandClass demand;
      demand.resources = {1000, 0, 0};
      demand.labels = worker.place.labels;
      demand.running = machine.busy.size();
      demand.run_time = absl::Seconds(60);
      world.demand.push_back(demand);
    }
  }
  return world;
}

void PoolSimulation::Carry() {
  PoolActions actions = pools_->TakeActions();
  for (const auto& [name, drain] : actions.drain) {
    if (const auto it = machines_.find(name); it != machines_.end()) {
      it->second.draining = drain;
    }
  }
  for (const PoolActions::Start& start : actions.start) {
    Start(start);
  }
  for (const PoolActions::Stop& stop : actions.stop) {
    for (const std::string& name : stop.pilots) {
      const auto it = machines_.find(name);
      if (it != machines_.end() && !it->second.ended) {
        it->second.ended = true;
        it->second.last_call = absl::InfinitePast();  // it says good-bye
      }
    }
  }
  for (const ProviderKind kind : actions.observe) {
    Observe(kind);
  }
}

void PoolSimulation::Start(const PoolActions::Start& start) {
  started_ += static_cast<int>(start.pilots.size());
  if (random_.Chance(faults_.refuse)) {
    pools_->Started(start.pilots, absl::FailedPreconditionError("invalid account"), now_);
    return;
  }
  const bool lost = random_.Chance(faults_.lose_pilot);
  std::vector<std::string> ids;
  for (const std::string& name : start.pilots) {
    CONCUR_CHECK(!machines_.contains(name));  // a name is never used twice
    if (!lost) {
      Machine& machine = machines_[name];
      machine.pool = start.pool;
      if (const auto it = start.pool.labels.find(kImageLabel); it != start.pool.labels.end()) {
        machine.image = it->second;
      }
      machine.asked = now_;
      machine.joins = !random_.Chance(faults_.never_join);
    }
    ids.push_back(absl::StrCat("id-", name));
  }
  if (random_.Chance(faults_.lose_answer)) {
    pools_->Started(start.pilots, absl::DeadlineExceededError("no answer"), now_);
  } else {
    pools_->Started(start.pilots, ids, now_);
  }
}

void PoolSimulation::Observe(ProviderKind kind) {
  if (random_.Chance(faults_.blind)) {
    pools_->Observed(kind, absl::UnavailableError("not reachable"), now_, now_);
    return;
  }
  std::vector<PilotReport> reports;
  for (const auto& [name, machine] : machines_) {
    if (machine.pool.provider != kind) {
      continue;
    }
    const bool runs = machine.runs_since != absl::InfiniteFuture();
    reports.push_back({name,
                       machine.ended ? PilotReport::State::kEnded
                       : runs        ? PilotReport::State::kRunning
                                     : PilotReport::State::kPending,
                       "", machine.ended ? "ended" : "Priority",
                       stuck_impossible_ && IsStuck(machine) && bug_ != PoolBug::kSupplyIsCertain,
                       machine.ended && faults_.taken_back && bug_ != PoolBug::kTakenBackFails});
  }
  pools_->Observed(kind, reports, now_, now_);
}

void PoolSimulation::RunMachines() {
  int running = 0;
  for (auto& [name, machine] : machines_) {
    running += !machine.ended && machine.runs_since != absl::InfiniteFuture() ? 1 : 0;
  }
  for (auto& [name, machine] : machines_) {
    if (machine.ended) {
      continue;
    }
    if (machine.runs_since == absl::InfiniteFuture()) {
      if (running < slots_ && !IsStuck(machine)) {
        ++running;
        machine.runs_since = now_;
      }
      continue;
    }
    if (!machine.joined && (!machine.joins || now_ < machine.runs_since + kBoot)) {
      continue;
    }
    const bool leaves = machine.joined && random_.Chance(faults_.leave);
    machine.joined = true;
    if (leaves || random_.Chance(faults_.die)) {
      machine.ended = true;  // its jobs return to the queue, of the dead when the lease is over
      jobs_[{machine.image, absl::Seconds(20)}] += static_cast<int>(machine.busy.size());
      if (leaves) {
        machine.last_call = absl::InfinitePast();
      }
      continue;
    }
    machine.last_call = now_;
    machine.called = true;
    GiveJobs(machine);
    if (machine.draining && machine.busy.empty()) {
      machine.ended = true;
      machine.last_call = absl::InfinitePast();
    }
  }
}

void PoolSimulation::GiveJobs(Machine& machine) {
  std::erase_if(machine.busy, [this](absl::Time end) { return end <= now_; });
  const auto slots = static_cast<size_t>(machine.pool.resources.cpu_millis / 1000);
  for (auto& [kind, count] : jobs_) {
    while (kind.first == machine.image && !machine.draining && count > 0 &&
           machine.busy.size() < slots) {
      --count;
      machine.busy.push_back(now_ + kind.second);
    }
  }
}

}  // namespace concur::testing
