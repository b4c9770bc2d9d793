// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/cache_index.h"

#include <string>

namespace concur::worker {

void CacheIndex::Hold(const std::string& name) {
  MutexLock lock(mu_);
  while (removing_.contains(name)) {
    removed_.Wait(mu_);
  }
  ++holds_[name];
}

void CacheIndex::Release(const std::string& name) {
  MutexLock lock(mu_);
  const auto it = holds_.find(name);
  if (it != holds_.end() && --it->second == 0) {
    holds_.erase(it);
  }
}

void CacheIndex::Use(const std::string& name, int64_t bytes) {
  MutexLock lock(mu_);
  if (const auto it = places_.find(name); it != places_.end()) {
    bytes_ += bytes - it->second->bytes;
    it->second->bytes = bytes;
    items_.splice(items_.end(), items_, it->second);
    return;
  }
  places_[name] = items_.insert(items_.end(), {name, bytes});
  bytes_ += bytes;
}

bool CacheIndex::UseAgain(const std::string& name) {
  MutexLock lock(mu_);
  const auto it = places_.find(name);
  if (it != places_.end()) {
    items_.splice(items_.end(), items_, it->second);
  }
  return it != places_.end();
}

std::optional<std::string> CacheIndex::NextToGo() {
  MutexLock lock(mu_);
  if (bytes_max_ == 0 || bytes_ <= bytes_max_) {
    return std::nullopt;
  }
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    if (holds_.contains(item->name)) {
      continue;
    }
    std::string name = item->name;
    bytes_ -= item->bytes;
    places_.erase(name);
    items_.erase(item);
    removing_.insert(name);
    return name;
  }
  return std::nullopt;
}

void CacheIndex::Removed(const std::string& name) {
  {
    MutexLock lock(mu_);
    removing_.erase(name);
  }
  removed_.NotifyAll();
}

int64_t CacheIndex::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

}  // namespace concur::worker
