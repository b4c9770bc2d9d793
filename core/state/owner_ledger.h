// SPDX-License-Identifier: Apache-2.0
// Current use by each owner of sweeps, and whether the owner's quota allows more: jobs of sweeps,
// attempts that occupy workers, and stored bytes (each data file of the owner's sweeps once, and
// what results keep).
//
// Owners are numbered in the order in which they come, and stay when their sweeps go.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_OWNER_LEDGER_H_
#define CONCUR_CORE_STATE_OWNER_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/digest.h"
#include "core/quota.h"
#include "core/resources.h"
#include "core/sweep/sweep.h"

namespace concur {

class OwnerLedger {
 public:
  // `quotas` outlives this.
  explicit OwnerLedger(const QuotaPolicy& quotas) : quotas_(quotas) {}

  // The owner's number; a new owner gets the next one.
  uint32_t Add(const std::string& name);
  const std::string& name(uint32_t owner) const { return owners_[owner].name; }

  // An attempt occupies a worker, or no longer does. That of a service is no running job.
  void AddAttempt(uint32_t owner, const Resources& resources, bool is_service = false);
  void RemoveAttempt(uint32_t owner, const Resources& resources, bool is_service = false);
  // Changes the bytes that results keep: more, or less when `bytes` is negative.
  void AddBytes(uint32_t owner, int64_t bytes) { owners_[owner].stored_bytes += bytes; }
  // The same of checkpoints, which count until their jobs end.
  void AddCheckpointBytes(uint32_t owner, int64_t bytes) {
    owners_[owner].stored_bytes += bytes;
    owners_[owner].checkpoint_bytes += bytes;
  }
  // Changes the number of jobs of the owner's sweeps.
  void AddJobs(uint32_t owner, int64_t jobs) { owners_[owner].jobs += jobs; }
  // The data files of a sweep.
  void AddData(uint32_t owner, const SweepSpec& spec);
  void RemoveData(uint32_t owner, const SweepSpec& spec);

  // The owner's share of the machines, for taking turns. In thousandths of a CPU; a GPU counts
  // as 16 CPUs, and each attempt as one more, so that attempts which ask for nothing count too.
  int64_t ShareOf(uint32_t owner) const { return owners_[owner].share; }
  // True if the quota allows another attempt.
  bool MayStart(uint32_t owner) const { return LimitReached(owner) == Limit::kNone; }
  // The limit of the quota that forbids it.
  enum class Limit { kNone, kRunningJobs, kStoredBytes };
  Limit LimitReached(uint32_t owner) const;
  // OK when the owner, who has also uploaded `unclaimed_bytes` that no sweep uses, may add a sweep
  // with this data; ResourceExhausted, with the numbers, when the quota on stored bytes forbids it.
  absl::Status CheckQuota(const std::string& name, const SweepSpec& spec,
                          int64_t unclaimed_bytes) const;
  // OK when the owner may add a sweep of so many jobs; ResourceExhausted, with the numbers.
  absl::Status CheckJobs(const std::string& name, int64_t jobs) const;
  // Bytes that the quota on stored bytes leaves; nullopt when there is no such quota.
  std::optional<int64_t> FreeBytesOf(const std::string& name) const;
  OwnerUse UseOf(const std::string& name) const;

  // Ends the process when names and numbers disagree, or when `recount`, to which all that counts
  // now has been added afresh, differs.
  void CheckInvariants(const OwnerLedger& recount) const;

 private:
  struct DataUse {
    int64_t bytes = 0;
    uint32_t sweeps = 0;
  };
  struct Owner {
    std::string name;
    Quota quota;
    int64_t share = 0;
    int64_t jobs = 0;
    int64_t running = 0;
    int64_t stored_bytes = 0;                   // results, checkpoints and data
    int64_t checkpoint_bytes = 0;               // part of these
    absl::flat_hash_map<Digest, DataUse> data;  // data of the owner's sweeps
  };

  const Owner* Find(const std::string& name) const;

  const QuotaPolicy& quotas_;
  std::vector<Owner> owners_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_OWNER_LEDGER_H_
