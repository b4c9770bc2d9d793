// SPDX-License-Identifier: Apache-2.0
#include "core/state/services.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace concur {

uint32_t Services::Add(const Digest& key, uint32_t owner, const ApproachSpec& approach,
                       const Setting& setting) {
  const auto [it, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(services_.size()));
  if (is_new) {
    services_.push_back(
        {.owner = owner, .approach = approach.name, .setting = setting, .spec = *approach.service});
  }
  return it->second;
}

void Services::SetLoads(const std::map<std::string, absl::Duration>& loads) {
  for (Service& service : services_) {
    if (const auto it = loads.find(service.approach); it != loads.end()) {
      service.load = it->second;
    }
  }
}

std::map<std::string, absl::Duration> Services::Loads() const {
  std::map<std::string, absl::Duration> loads;
  for (const Service& service : services_) {
    if (service.load) {
      absl::Duration& longest = loads[service.approach];
      longest = std::max(longest, *service.load);
    }
  }
  return loads;
}

uint32_t Services::AddSet(std::vector<uint32_t> services) {
  std::erase(services, 0);
  std::sort(services.begin(), services.end());
  services.erase(std::unique(services.begin(), services.end()), services.end());
  const auto [it, is_new] = set_numbers_.try_emplace(services, static_cast<uint32_t>(sets_.size()));
  if (is_new) {
    for (const uint32_t service : services) {
      services_[service].sets.push_back(it->second);
    }
    sets_.push_back(std::move(services));
  }
  return it->second;
}

bool Services::Contains(uint32_t set, uint32_t service) const {
  return std::binary_search(sets_[set].begin(), sets_[set].end(), service);
}

Resources Services::ResourcesOf(uint32_t set, const std::string& worker) const {
  Resources all{.cpu_millis = 0};
  for (const uint32_t service : sets_[set]) {
    if (!InstanceOn(worker, service)) {
      all = Together(all, services_[service].spec.resources);
    }
  }
  return all;
}

size_t Services::CountOn(const std::string& worker, uint32_t set) const {
  return static_cast<size_t>(
      std::count_if(sets_[set].begin(), sets_[set].end(),
                    [&](uint32_t service) { return InstanceOn(worker, service).has_value(); }));
}

bool Services::HasAll(const std::string& worker, uint32_t set) const {
  return CountOn(worker, set) == sets_[set].size();
}

Services::Instance* Services::Find(const std::string& worker, AttemptId id) {
  const auto it = instances_.find(id);
  return it == instances_.end() || it->second.worker != worker ? nullptr : &it->second;
}

const Services::Instance* Services::Find(const std::string& worker, AttemptId id) const {
  const auto it = instances_.find(id);
  return it == instances_.end() || it->second.worker != worker ? nullptr : &it->second;
}

std::optional<AttemptId> Services::InstanceOn(const std::string& worker, uint32_t service) const {
  const auto& live = services_[service].live;
  const auto it = live.find(worker);
  return it == live.end() ? std::nullopt : std::optional(it->second);
}

AttemptId Services::NewAttempt(JobId service, absl::Time now) {
  const int64_t seconds = std::clamp<int64_t>(absl::ToUnixSeconds(now), 1, INT32_MAX);
  last_attempt_ = std::max(last_attempt_ + 1, static_cast<uint32_t>(seconds));
  while (Contains({service, {last_attempt_}})) {
    ++last_attempt_;
  }
  return {service, {last_attempt_}};
}

void Services::AddInstance(AttemptId id, Instance instance) {
  if (!instance.stopping) {
    CONCUR_CHECK(services_[instance.service].live.emplace(instance.worker, id).second);
  }
  CONCUR_CHECK(instances_.emplace(id, std::move(instance)).second);
}

void Services::SetReady(AttemptId id, absl::Time now) {
  Instance& instance = instances_.at(id);
  if (!instance.ready) {
    instance.ready = true;
    instance.idle_since = now;
    Service& service = services_[instance.service];
    if (instance.start_time) {
      service.load = now - *instance.start_time;
    }
    Forgive(instance.service);
  }
}

void Services::SetStopping(AttemptId id) {
  Instance& instance = instances_.at(id);
  if (!instance.stopping) {
    instance.stopping = true;
    services_[instance.service].live.erase(instance.worker);
  }
}

void Services::RemoveInstance(AttemptId id) {
  SetStopping(id);
  instances_.erase(id);
}

void Services::FailStart(uint32_t number, const std::string& worker, absl::Time next_start,
                         const JobResult& result) {
  Service& service = services_[number];
  service.next_start = next_start;
  service.failed_on.insert(worker);
  ++service.failed_starts;
  service.failure = result;
  delayed_.insert(number);
}

const JobResult* Services::FailureOf(uint32_t set, absl::Time now) const {
  for (const uint32_t number : sets_[set]) {
    const Service& service = services_[number];
    if (service.failed_starts >= kServiceStartsMax && service.live.empty() &&
        service.next_start > now) {
      return &*service.failure;
    }
  }
  return nullptr;
}

void Services::Forgive(uint32_t number) {
  Service& service = services_[number];
  service.failed_starts = 0;
  service.failed_on.clear();
  service.next_start = absl::InfinitePast();
  service.failure.reset();
  delayed_.erase(number);
}

void Services::AddUser(const std::string& worker, uint32_t set) {
  for (const uint32_t service : sets_[set]) {
    ++services_[service].users[worker];
  }
}

void Services::RemoveUser(const std::string& worker, uint32_t set, absl::Time now) {
  for (const uint32_t service : sets_[set]) {
    auto& users = services_[service].users;
    const auto it = users.find(worker);
    CONCUR_CHECK(it != users.end());
    if (--it->second > 0) {
      continue;
    }
    users.erase(it);
    if (const auto id = InstanceOn(worker, service)) {
      instances_.at(*id).idle_since = now;
    }
  }
}

size_t Services::UsersOn(const std::string& worker, uint32_t service) const {
  const auto& users = services_[service].users;
  const auto it = users.find(worker);
  return it == users.end() ? 0 : it->second;
}

bool Services::HasPlace(const std::string& worker, uint32_t service) const {
  const auto id = InstanceOn(worker, service);
  return id && instances_.at(*id).ready &&
         UsersOn(worker, service) < services_[service].spec.serves;
}

absl::Time Services::NextDeadline(absl::Time now,
                                  absl::FunctionRef<bool(uint32_t service)> wants) const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, instance] : instances_) {
    if (!instance.stopping && UsersOn(instance.worker, instance.service) == 0 &&
        !wants(instance.service)) {
      next = std::min(next, instance.idle_since + services_[instance.service].spec.idle);
    }
  }
  for (const uint32_t number : delayed_) {
    if (services_[number].next_start > now) {
      next = std::min(next, services_[number].next_start);
    }
  }
  return next;
}

void Services::CheckInvariants() const {
  size_t instances = 0;
  for (const auto& [id, instance] : instances_) {
    CONCUR_CHECK(id.job.IsService());
    if (!instance.stopping) {
      ++instances;
      CONCUR_CHECK(InstanceOn(instance.worker, instance.service) == id);
    }
  }
  size_t live = 0;
  for (const Service& service : services_) {
    live += service.live.size();
  }
  CONCUR_CHECK(instances == live);
  CONCUR_CHECK(sets_.size() == set_numbers_.size() && sets_.front().empty());
}

}  // namespace concur
