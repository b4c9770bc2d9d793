// SPDX-License-Identifier: Apache-2.0
#include "core/state/assignments.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur {

void Assignments::Occupy(const Assignment& assignment, int sign) {
  if (!assignment.ahead) {
    used_.cpu_millis += sign * assignment.resources.cpu_millis;
    used_.memory_bytes += sign * assignment.resources.memory_bytes;
    used_.gpus += sign * assignment.resources.gpus;
    used_.gpu_share += sign * assignment.resources.gpu_share;
    OccupyShortly(assignment, sign);
  }
  if (assignment.resources.gpu_share > 0 && assignment.gpu_mask != 0) {
    const int gpu = std::countr_zero(assignment.gpu_mask);
    int32_t& shares = gpu_shares_[static_cast<size_t>(gpu)];
    shares += sign * assignment.resources.gpu_share;
    gpus_shared_ = (gpus_shared_ & ~assignment.gpu_mask) | (shares > 0 ? assignment.gpu_mask : 0);
  } else if (sign > 0) {
    gpus_used_ |= assignment.gpu_mask;
  } else {
    gpus_used_ &= ~assignment.gpu_mask;
  }
}

void Assignments::OccupyShortly(const Assignment& assignment, int sign) {
  if (assignment.is_short && !assignment.ahead && !assignment.stopping) {
    short_attempts_ += static_cast<size_t>(sign);
    used_shortly_.cpu_millis += sign * assignment.resources.cpu_millis;
    used_shortly_.memory_bytes += sign * assignment.resources.memory_bytes;
  }
}

void Assignments::Add(AttemptId id, const Assignment& assignment) {
  if (assignment.ahead) {
    ahead_.insert(id);
    ahead_cpu_micros_ += assignment.ahead_cpu_micros;
  }
  services_ += id.job.IsService() ? 1 : 0;
  Occupy(assignment, 1);
  CONCUR_CHECK(all_.emplace(id, assignment).second);
}

std::optional<Assignment> Assignments::Remove(
    AttemptId id, const Resources& capacity,
    absl::FunctionRef<void(AttemptId, const Assignment&)> started, uint32_t slots) {
  const auto it = all_.find(id);
  if (it == all_.end()) {
    return std::nullopt;
  }
  const Assignment removed = it->second;
  all_.erase(it);
  services_ -= id.job.IsService() ? 1 : 0;
  Occupy(removed, -1);
  if (removed.ahead) {
    ahead_.erase(id);
    ahead_cpu_micros_ -= removed.ahead_cpu_micros;
  } else {
    StartAheadThatFits(capacity, started, slots);
  }
  return removed;
}

const Assignment* Assignments::Find(AttemptId id) const {
  const auto it = all_.find(id);
  return it == all_.end() ? nullptr : &it->second;
}

void Assignments::StartAheadThatFits(const Resources& capacity,
                                     absl::FunctionRef<void(AttemptId, const Assignment&)> started,
                                     uint32_t slots) {
  while (!ahead_.empty()) {
    const auto it = all_.find(*ahead_.begin());
    CONCUR_CHECK(it != all_.end());
    Assignment& first = it->second;
    if (!first.resources.FitsIn(FreeOf(capacity, slots))) {
      return;
    }
    ahead_.erase(ahead_.begin());
    ahead_cpu_micros_ -= first.ahead_cpu_micros;
    first.ahead = false;
    first.ahead_cpu_micros = 0;
    first.time_left = first.taken && !first.stopping ? first.time_max : first.time_left;
    Occupy(first, 1);
    started(it->first, first);
  }
}

// --- room
// -----------------------------------------------------------------------------------------

size_t Assignments::started() const {
  return static_cast<size_t>(std::count_if(all_.begin(), all_.end(), [](const auto& entry) {
    return entry.second.MayHaveStarted() && !entry.first.job.IsService();
  }));
}

Resources Assignments::FreeShortly(const Resources& capacity, uint32_t slots) const {
  if (slots > 0 && jobs() - ahead() - short_attempts_ >= slots) {
    return Resources{.cpu_millis = -1};
  }
  return Resources{
      .cpu_millis = capacity.cpu_millis - used_.cpu_millis + used_shortly_.cpu_millis,
      .memory_bytes = capacity.memory_bytes - used_.memory_bytes + used_shortly_.memory_bytes};
}

Resources Assignments::FreeOf(const Resources& capacity, uint32_t slots) const {
  if (slots > 0 && jobs() - ahead() >= slots) {
    return Resources{.cpu_millis = -1};
  }
  Resources free{.cpu_millis = capacity.cpu_millis - used_.cpu_millis,
                 .memory_bytes = capacity.memory_bytes - used_.memory_bytes,
                 .gpus = capacity.gpus - used_.gpus - std::popcount(gpus_shared_)};
  int32_t shares = 0;
  for (uint64_t rest = gpus_shared_; rest != 0; rest &= rest - 1) {
    const int32_t used = gpu_shares_[static_cast<size_t>(std::countr_zero(rest))];
    shares += used;
    free.gpu_share = std::max(free.gpu_share, kGpuShares - used);
  }
  if (std::popcount(gpus_used_) != used_.gpus || shares != used_.gpu_share) {
    free.gpus = std::min(free.gpus, 0);
    free.gpu_share = 0;
  }
  return free;
}

uint64_t Assignments::GpusFor(const Resources& request) const {
  if (request.gpu_share > 0) {
    uint64_t fullest = 0;
    int32_t most = 0;
    for (uint64_t rest = gpus_shared_; rest != 0; rest &= rest - 1) {
      const int32_t used = gpu_shares_[static_cast<size_t>(std::countr_zero(rest))];
      if (used + request.gpu_share <= kGpuShares && used > most) {
        most = used;
        fullest = rest & -rest;
      }
    }
    if (fullest != 0) {
      return fullest;
    }
  }
  uint64_t mask = 0;
  for (int32_t gpu = 0, taken = 0; gpu < kGpusMax && taken < request.GpuCount(); ++gpu) {
    const uint64_t bit = uint64_t{1} << gpu;
    if (((gpus_used_ | gpus_shared_) & bit) == 0) {
      mask |= bit;
      ++taken;
    }
  }
  return mask;
}

bool Assignments::GpusAreFree(uint64_t mask, const Resources& request) const {
  if (request.gpu_share > 0 && std::has_single_bit(mask)) {
    return (mask & gpus_used_) == 0 &&
           gpu_shares_[static_cast<size_t>(std::countr_zero(mask))] + request.gpu_share <=
               kGpuShares;
  }
  return (mask & (gpus_used_ | gpus_shared_)) == 0;
}

// --- orders
// ---------------------------------------------------------------------------------------

void Assignments::BeginSync(absl::Time now, absl::Duration counted_max) {
  for (auto& [id, assignment] : all_) {
    assignment.listed = false;
    assignment.time_left -= std::min(now - assignment.time_left_at, counted_max);
    assignment.time_left_at = now;
  }
}

bool Assignments::SetListed(AttemptId id) {
  const auto it = all_.find(id);
  if (it == all_.end()) {
    return false;
  }
  Assignment& assignment = it->second;
  assignment.listed = true;
  if (!std::exchange(assignment.taken, true) && !assignment.stopping) {
    assignment.time_left = assignment.time_max;
  }
  return true;
}

std::vector<AttemptId> Assignments::EndSync() {
  std::vector<AttemptId> stopped;
  for (auto& [id, assignment] : all_) {
    if (assignment.listed) {
      continue;
    }
    if (assignment.stopping) {
      stopped.push_back(id);
    } else {
      assignment.order_sent = false;
    }
  }
  return stopped;
}

std::vector<AttemptId> Assignments::Overdue() const {
  std::vector<AttemptId> overdue;
  for (const auto& [id, assignment] : all_) {
    if (assignment.time_left < absl::ZeroDuration()) {
      overdue.push_back(id);
    }
  }
  return overdue;
}

bool Assignments::Stop(AttemptId id, StopReason reason, absl::Duration time_max, bool counted) {
  const auto it = all_.find(id);
  CONCUR_CHECK(it != all_.end());
  if (it->second.stopping) {
    return false;
  }
  OccupyShortly(it->second, -1);
  it->second.stopping = true;
  it->second.counted = counted;
  it->second.time_left = time_max;
  it->second.reason = reason;
  it->second.order_sent = false;
  return true;
}

Assignment Assignments::Abandon(AttemptId id) {
  Assignment& assignment = all_.at(id);
  CONCUR_CHECK(assignment.stopping);
  const Assignment before = assignment;
  assignment.counted = false;
  assignment.owner.reset();
  assignment.time_left = absl::InfiniteDuration();
  return before;
}

bool Assignments::HasOrders() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& entry) {
    return !entry.second.order_sent && (entry.second.stopping || !entry.second.listed);
  });
}

std::vector<StopOrder> Assignments::TakeOrders(size_t starts_max,
                                               absl::FunctionRef<void(AttemptId, uint64_t)> start) {
  std::vector<StopOrder> stop;
  size_t starts = 0;
  for (auto& [id, assignment] : all_) {
    if (assignment.stopping) {
      stop.push_back({id, assignment.reason});
      assignment.order_sent = true;
    } else if (!assignment.listed && starts < starts_max) {
      ++starts;
      start(id, assignment.gpu_mask);
      assignment.order_sent = true;
    }
  }
  return stop;
}

void Assignments::CheckInvariants() const {
  Resources used{.cpu_millis = 0};
  uint64_t gpus_used = 0;
  std::array<int32_t, kGpusMax> gpu_shares{};
  absl::btree_set<AttemptId> ahead;
  int64_t ahead_cpu_micros = 0;
  Resources used_shortly{.cpu_millis = 0};
  size_t short_attempts = 0;
  for (const auto& [id, assignment] : all_) {
    if (assignment.is_short && !assignment.ahead && !assignment.stopping) {
      ++short_attempts;
      used_shortly.cpu_millis += assignment.resources.cpu_millis;
      used_shortly.memory_bytes += assignment.resources.memory_bytes;
    }
    if (assignment.ahead) {
      CONCUR_CHECK(assignment.gpu_mask == 0 && assignment.resources.GpuCount() == 0);
      ahead.insert(id);
      ahead_cpu_micros += assignment.ahead_cpu_micros;
    } else {
      used.cpu_millis += assignment.resources.cpu_millis;
      used.memory_bytes += assignment.resources.memory_bytes;
      used.gpus += assignment.resources.gpus;
      used.gpu_share += assignment.resources.gpu_share;
    }
    if (assignment.resources.gpu_share > 0 && assignment.gpu_mask != 0) {
      CONCUR_CHECK(std::has_single_bit(assignment.gpu_mask));
      gpu_shares[static_cast<size_t>(std::countr_zero(assignment.gpu_mask))] +=
          assignment.resources.gpu_share;
    } else {
      CONCUR_CHECK((gpus_used & assignment.gpu_mask) == 0);
      gpus_used |= assignment.gpu_mask;
    }
    CONCUR_CHECK(!assignment.counted || assignment.stopping);
  }
  CONCUR_CHECK(used == used_ && gpus_used == gpus_used_ && gpu_shares == gpu_shares_);
  for (size_t gpu = 0; gpu < gpu_shares.size(); ++gpu) {
    const uint64_t bit = uint64_t{1} << gpu;
    CONCUR_CHECK(gpu_shares[gpu] <= kGpuShares);
    CONCUR_CHECK((gpus_shared_ & bit) == (gpu_shares[gpu] > 0 ? bit : 0));
    CONCUR_CHECK((gpus_shared_ & gpus_used_ & bit) == 0);
  }
  CONCUR_CHECK(ahead == ahead_ && ahead_cpu_micros == ahead_cpu_micros_ &&
               used_shortly == used_shortly_ && short_attempts == short_attempts_);
}

}  // namespace concur
