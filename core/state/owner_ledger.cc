// SPDX-License-Identifier: Apache-2.0
#include "core/state/owner_ledger.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur {
namespace {

constexpr int64_t kMillisOfGpu = 16'000;  // weight of a GPU, in thousandths of a CPU

int64_t ShareOfAttempt(const Resources& resources) {
  return 1 + resources.cpu_millis + kMillisOfGpu * resources.gpus +
         kMillisOfGpu * resources.gpu_share / kGpuShares;
}

}  // namespace

uint32_t OwnerLedger::Add(const std::string& name) {
  const auto [it, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(owners_.size()));
  if (is_new) {
    Owner& owner = owners_.emplace_back();
    owner.name = name;
    owner.quota = quotas_.Of(name);
  }
  return it->second;
}

const OwnerLedger::Owner* OwnerLedger::Find(const std::string& name) const {
  const auto it = numbers_.find(name);
  return it == numbers_.end() ? nullptr : &owners_[it->second];
}

void OwnerLedger::AddAttempt(uint32_t owner, const Resources& resources, bool is_service) {
  owners_[owner].share += ShareOfAttempt(resources);
  owners_[owner].running += is_service ? 0 : 1;
}

void OwnerLedger::RemoveAttempt(uint32_t owner, const Resources& resources, bool is_service) {
  owners_[owner].share -= ShareOfAttempt(resources);
  owners_[owner].running -= is_service ? 0 : 1;
}

void OwnerLedger::AddData(uint32_t owner, const SweepSpec& spec) {
  Owner& record = owners_[owner];
  for (const SweepFile& file : FilesOf(spec)) {
    DataUse& use = record.data[file.digest];
    if (use.sweeps == 0) {
      use.bytes = file.bytes;
      record.stored_bytes += file.bytes;
    }
    ++use.sweeps;
  }
}

void OwnerLedger::RemoveData(uint32_t owner, const SweepSpec& spec) {
  Owner& record = owners_[owner];
  for (const SweepFile& file : FilesOf(spec)) {
    const auto it = record.data.find(file.digest);
    CONCUR_CHECK(it != record.data.end());
    if (--it->second.sweeps == 0) {
      record.stored_bytes -= it->second.bytes;
      record.data.erase(it);
    }
  }
}

OwnerLedger::Limit OwnerLedger::LimitReached(uint32_t owner) const {
  const Owner& record = owners_[owner];
  const Quota& quota = record.quota;
  if (quota.running_jobs_max != 0 && record.running >= quota.running_jobs_max) {
    return Limit::kRunningJobs;
  }
  return quota.stored_bytes_max != 0 && record.stored_bytes >= quota.stored_bytes_max
             ? Limit::kStoredBytes
             : Limit::kNone;
}

absl::Status OwnerLedger::CheckJobs(const std::string& name, int64_t jobs) const {
  const int64_t limit = quotas_.Of(name).jobs_max;
  const Owner* owner = Find(name);
  const int64_t present = owner == nullptr ? 0 : owner->jobs;
  if (limit == 0 || present + jobs <= limit) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the sweeps of ", name, " have ", present, " jobs, and this one has ", jobs,
      ", more than the quota jobs_max of ", limit,
      ": delete sweeps that have ended, submit fewer jobs, or ask for a larger quota"));
}

std::optional<int64_t> OwnerLedger::FreeBytesOf(const std::string& name) const {
  const OwnerUse use = UseOf(name);
  if (use.quota.stored_bytes_max == 0) {
    return std::nullopt;
  }
  return std::max<int64_t>(0, use.quota.stored_bytes_max - use.stored_bytes);
}

absl::Status OwnerLedger::CheckQuota(const std::string& name, const SweepSpec& spec,
                                     int64_t unclaimed_bytes) const {
  const Quota& quota = quotas_.Of(name);
  if (quota.stored_bytes_max == 0) {
    return absl::OkStatus();
  }
  const Owner* owner = Find(name);
  const int64_t stored = owner == nullptr ? 0 : owner->stored_bytes;
  int64_t added = 0;
  for (const SweepFile& file : FilesOf(spec)) {
    const bool known = owner != nullptr && owner->data.contains(file.digest);
    added += known ? 0 : file.bytes;
  }
  if (stored + unclaimed_bytes + added <= quota.stored_bytes_max &&
      stored < quota.stored_bytes_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(name, " stores ", stored, " bytes",
                   unclaimed_bytes == 0
                       ? std::string()
                       : absl::StrCat(", has uploaded ", unclaimed_bytes, " that no sweep uses"),
                   " and this adds ", added, ", more than the quota stored_bytes_max of ",
                   quota.stored_bytes_max,
                   ": delete sweeps that are no longer needed, or ask for a larger quota"));
}

OwnerUse OwnerLedger::UseOf(const std::string& name) const {
  OwnerUse use;
  use.quota = quotas_.Of(name);
  if (const Owner* owner = Find(name)) {
    use.running_jobs = owner->running;
    use.stored_bytes = owner->stored_bytes;
    use.checkpoint_bytes = owner->checkpoint_bytes;
  }
  return use;
}

void OwnerLedger::CheckInvariants(const OwnerLedger& recount) const {
  CONCUR_CHECK(owners_.size() == numbers_.size());
  for (uint32_t i = 0; i < owners_.size(); ++i) {
    const Owner& owner = owners_[i];
    CONCUR_CHECK(numbers_.at(owner.name) == i);
    const Owner* counted = recount.Find(owner.name);
    const Owner none;
    counted = counted == nullptr ? &none : counted;
    CONCUR_CHECK(owner.share == counted->share && owner.running == counted->running);
    CONCUR_CHECK(owner.jobs == counted->jobs);
    CONCUR_CHECK(owner.checkpoint_bytes == counted->checkpoint_bytes);
    CONCUR_CHECK(owner.data.size() == counted->data.size());
    // Sweeps may disagree about the size of a file; whichever came first counts.
    int64_t stored = counted->stored_bytes;
    for (const auto& [digest, use] : owner.data) {
      const DataUse& other = counted->data.at(digest);
      CONCUR_CHECK(use.sweeps == other.sweeps);
      stored += use.bytes - other.bytes;
    }
    CONCUR_CHECK(owner.stored_bytes == stored);
  }
}

}  // namespace concur
