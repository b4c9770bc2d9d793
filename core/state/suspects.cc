// SPDX-License-Identifier: Apache-2.0
#include "core/state/suspects.h"

#include "base/check.h"

namespace concur {

bool Suspects::AddDeath(JobId id, bool shared) {
  const bool was_suspect = MustRunAlone(id);
  Deaths& deaths = deaths_[id];
  ++deaths.in_a_row;
  deaths.last_shared = shared;
  return was_suspect && !shared;
}

bool Suspects::TakeBackDeath(JobId id) {
  const auto it = deaths_.find(id);
  if (it == deaths_.end()) {
    return false;
  }
  const bool shared = it->second.last_shared;
  if (--it->second.in_a_row == 0) {
    deaths_.erase(it);
  } else {
    it->second.last_shared = false;
  }
  return shared;
}

Suspects::Deaths Suspects::Of(JobId id) const {
  const auto it = deaths_.find(id);
  return it == deaths_.end() ? Deaths() : it->second;
}

void Suspects::AddReady(JobId id) {
  CONCUR_CHECK(MustRunAlone(id));
  CONCUR_CHECK(ready_.insert(id).second);
}

void Suspects::CheckInvariants() const {
  for (const JobId& id : ready_) {
    CONCUR_CHECK(MustRunAlone(id));
  }
  for (const auto& [id, deaths] : deaths_) {
    CONCUR_CHECK(deaths.in_a_row > 0);
  }
}

}  // namespace concur
