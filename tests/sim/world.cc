// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/world.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace concur::sim {

World::World(uint64_t seed, const FaultRates& rates, Bug bug, std::ostream* trace)
    : rates_(rates), bug_(bug), trace_(trace), random_(seed, "sim.world") {}

void World::At(absl::Time time, std::function<void()> work) {
  // Whole microseconds, the resolution of times on disk.
  const absl::Time whole = kStart + absl::Ceil(time - kStart, absl::Microseconds(1));
  events_.push(Event{std::max(whole, now_), next_number_++, std::move(work)});
}

bool World::RunNext() {
  if (events_.empty()) {
    return false;
  }
  // top() is const, but the event is removed next.
  Event event = std::move(const_cast<Event&>(events_.top()));
  events_.pop();
  now_ = event.time;
  ++steps_;
  event.work();
  return true;
}

absl::Duration World::Between(absl::Duration low, absl::Duration high) {
  return absl::Trunc(low + (high - low) * random_.Uniform(), absl::Microseconds(1));
}

bool World::Strikes(Fault fault) {
  if (!faults_ || rates_[fault] <= 0 || !random_.Chance(rates_[fault])) {
    return false;
  }
  Count(fault);
  return true;
}

void World::Trace(absl::string_view text) {
  *trace_ << absl::StrFormat("%10.3f  ", absl::ToDoubleSeconds(age())) << text << "\n";
}

void World::Fail(std::string violation) {
  if (tracing()) {
    Trace(absl::StrCat("BROKEN: ", violation));
  }
  if (violation_.empty()) {
    violation_ = std::move(violation);
  }
}

}  // namespace concur::sim
