// SPDX-License-Identifier: Apache-2.0
#include "core/state/named_resources.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace concur {
namespace {

// Time that one token takes to come, and when the bucket has one.
absl::Duration TokenTime(const NamedResources::Resource& resource) {
  return absl::Minutes(1) / resource.per_minute;
}

absl::Time TokenAt(const NamedResources::Resource& resource) {
  return resource.per_minute == 0
             ? absl::InfinitePast()
             : resource.full_at + TokenTime(resource) -
                   std::max(absl::Duration(absl::Seconds(1)), TokenTime(resource));
}

}  // namespace

void NamedResources::Set(const std::string& name, int64_t amount, int64_t per_minute,
                         absl::Time now) {
  Resource& resource = resources_[name];
  resource.amount = amount;
  if (resource.per_minute != per_minute) {
    resource.per_minute = per_minute;
    resource.full_at = per_minute == 0
                           ? absl::InfinitePast()
                           : now + std::max(absl::Duration(absl::Seconds(1)), TokenTime(resource));
  }
}

void NamedResources::Unset(const std::string& name) {
  Resource& resource = resources_[name];
  resource.amount.reset();
  resource.per_minute = 0;
}

const std::string* NamedResources::Paced(uint32_t set, absl::Time now) const {
  for (const auto& [name, units] : sets_[set]) {
    const auto it = resources_.find(name);
    if (it != resources_.end() && TokenAt(it->second) > now) {
      return &name;
    }
  }
  return nullptr;
}

void NamedResources::CountStart(uint32_t set, absl::Time now) {
  for (const auto& [name, units] : sets_[set]) {
    if (Resource& resource = resources_[name]; resource.per_minute > 0) {
      resource.full_at = std::max(resource.full_at, now) + TokenTime(resource);
    }
  }
}

absl::Time NamedResources::NextToken(absl::Time now) const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [name, resource] : resources_) {
    if (const absl::Time token = TokenAt(resource); token > now) {
      next = std::min(next, token);
    }
  }
  return next;
}

uint32_t NamedResources::Add(const Uses& uses) {
  const auto [it, is_new] = numbers_.try_emplace(uses, static_cast<uint32_t>(sets_.size()));
  if (is_new) {
    sets_.push_back(uses);
  }
  return it->second;
}

bool NamedResources::Overlap(uint32_t a, uint32_t b) const {
  return std::any_of(sets_[a].begin(), sets_[a].end(),
                     [&](const auto& use) { return sets_[b].contains(use.first); });
}

std::optional<int64_t> NamedResources::AmountOf(const std::string& name) const {
  const auto it = resources_.find(name);
  return it == resources_.end() ? std::nullopt : it->second.amount;
}

size_t NamedResources::count() const {
  return static_cast<size_t>(
      std::count_if(resources_.begin(), resources_.end(),
                    [](const auto& entry) { return entry.second.amount.has_value(); }));
}

void NamedResources::Change(uint32_t set, std::optional<uint32_t> owner, int held, int owned) {
  if (set == kUnknown) {
    unknown_ += held;
    return;
  }
  for (const auto& [name, units] : sets_[set]) {
    Resource& resource = resources_[name];
    resource.in_use += held * units;
    CONCUR_CHECK(resource.in_use >= 0);
    if (owner) {
      int64_t& own = resource.by_owner[*owner];
      own += owned * units;
      CONCUR_CHECK(own >= 0);
      if (own == 0) {
        resource.by_owner.erase(*owner);
      }
    }
  }
}

const std::string* NamedResources::Lacking(uint32_t set) const {
  for (const auto& [name, units] : sets_[set]) {
    const auto it = resources_.find(name);
    if (it == resources_.end() || !it->second.amount ||
        it->second.in_use + units > *it->second.amount) {
      return &name;
    }
  }
  return nullptr;
}

int64_t NamedResources::ShareHeldBy(uint32_t owner, uint32_t set) const {
  int64_t share = 0;
  for (const auto& [name, units] : sets_[set]) {
    const auto it = resources_.find(name);
    if (it == resources_.end()) {
      continue;
    }
    const auto own = it->second.by_owner.find(owner);
    const int64_t held = own == it->second.by_owner.end() ? 0 : own->second;
    const int64_t amount = std::max<int64_t>(1, it->second.amount.value_or(0));
    share = std::max(share, std::min(kHeldShareMax, held * 1'000'000 / amount));
  }
  return share;
}

std::map<std::string, int64_t> NamedResources::Free() const {
  std::map<std::string, int64_t> free;
  for (const auto& [name, resource] : resources_) {
    free[name] = std::max<int64_t>(0, resource.amount.value_or(0) - resource.in_use);
  }
  return free;
}

size_t NamedResources::TakeFrom(std::map<std::string, int64_t>& free, uint32_t set,
                                size_t jobs) const {
  for (const auto& [name, units] : sets_[set]) {
    jobs = std::min(jobs, static_cast<size_t>(free[name] / units));
  }
  for (const auto& [name, units] : sets_[set]) {
    free[name] -= units * static_cast<int64_t>(jobs);
  }
  return jobs;
}

NamedResources NamedResources::Unheld() const {
  NamedResources unheld = *this;
  unheld.unknown_ = 0;
  for (auto& [name, resource] : unheld.resources_) {
    resource.in_use = 0;
    resource.by_owner.clear();
  }
  return unheld;
}

void NamedResources::CheckInvariants(const NamedResources& recount) const {
  CONCUR_CHECK(sets_.size() == numbers_.size() && sets_.front().empty());
  for (const auto& [uses, number] : numbers_) {
    CONCUR_CHECK(sets_[number] == uses);
  }
  CONCUR_CHECK(resources_ == recount.resources_ && unknown_ == recount.unknown_);
}

}  // namespace concur
