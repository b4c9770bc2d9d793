// SPDX-License-Identifier: Apache-2.0
// Limits on what one owner may use at a time.
//
// Values.
#ifndef CONCUR_CORE_QUOTA_H_
#define CONCUR_CORE_QUOTA_H_

#include <cstdint>
#include <map>
#include <string>

namespace concur {

// 0: no limit.
struct Quota {
  int64_t jobs_max = 0;  // in all kept sweeps of the owner
  int64_t running_jobs_max = 0;
  int64_t stored_bytes_max = 0;

  friend bool operator==(const Quota&, const Quota&) = default;
};

struct QuotaPolicy {
  Quota otherwise;  // applies to owners that are not named
  std::map<std::string, Quota> owners;

  const Quota& Of(const std::string& owner) const {
    const auto it = owners.find(owner);
    return it == owners.end() ? otherwise : it->second;
  }
};

// Current use by one owner.
struct OwnerUse {
  // Attempts of the owner's sweeps that occupy workers, those that are being stopped included.
  int64_t running_jobs = 0;
  // Data files of the owner's sweeps, each once, and what the results of the owner's jobs keep;
  // results that were taken over from another job count where they were made.
  int64_t stored_bytes = 0;
  int64_t checkpoint_bytes = 0;  // part of these: checkpoints of jobs that have not ended
  Quota quota;
};

}  // namespace concur

#endif  // CONCUR_CORE_QUOTA_H_
