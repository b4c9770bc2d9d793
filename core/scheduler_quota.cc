// What owners use, and how much they may.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler.h"

namespace concur {
namespace {

// The data files of a sweep, each once.
std::map<Digest, int64_t> DataOf(const SweepSpec& spec) {
  std::map<Digest, int64_t> data;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    for (const std::optional<DataFile>* file : {&benchmark.train, &benchmark.test}) {
      if (file->has_value()) {
        data[(*file)->digest] = (*file)->bytes;
      }
    }
  }
  return data;
}

}  // namespace

// What a job's own result keeps, by the rules of core/retention.h.
int64_t Scheduler::StoredBytesOf(const SweepRecord& sweep, uint32_t job) const {
  const Slot& slot = sweep.slots[job];
  const JobResult* result = ResultOf(sweep, job);
  if (result == nullptr || (slot.flags & kReused) != 0) {
    return 0;
  }
  const KeepPolicy& keep = sweep.expansion->spec().keep;
  int64_t bytes = 0;
  for (const ArtifactRef& artifact : result->artifacts) {
    bool kept = true;
    switch (artifact.kind) {
      case ArtifactKind::kSystem:
        kept = (slot.flags & kSystemCollected) == 0;
        break;
      case ArtifactKind::kPredictions:
      case ArtifactKind::kExamples:
        kept = keep.predictions;
        break;
      case ArtifactKind::kLog:
        kept = keep.logs || !result->succeeded;
        break;
      case ArtifactKind::kMetrics:
        break;
    }
    bytes += kept ? artifact.bytes : 0;
  }
  return bytes;
}

void Scheduler::ChargeResult(const SweepRecord& sweep, uint32_t job, int sign) {
  owners_[sweep.owner].stored_bytes += sign * StoredBytesOf(sweep, job);
}

void Scheduler::ChargeData(const SweepRecord& sweep, int sign) {
  Owner& owner = owners_[sweep.owner];
  for (const auto& [digest, bytes] : DataOf(sweep.expansion->spec())) {
    DataUse& use = owner.data[digest];
    if (use.sweeps == 0) {
      use.bytes = bytes;
      owner.stored_bytes += bytes;
    }
    use.sweeps = static_cast<uint32_t>(static_cast<int64_t>(use.sweeps) + sign);
    if (use.sweeps == 0) {
      owner.stored_bytes -= use.bytes;
      owner.data.erase(digest);
    }
  }
}

bool Scheduler::MayStart(uint32_t owner) const {
  const Owner& record = owners_[owner];
  const Quota& quota = record.quota;
  return (quota.running_jobs_max == 0 || record.running < quota.running_jobs_max) &&
         (quota.stored_bytes_max == 0 || record.stored_bytes < quota.stored_bytes_max);
}

std::string Scheduler::ExplainQuota(uint32_t owner) const {
  const Owner& record = owners_[owner];
  const Quota& quota = record.quota;
  if (quota.running_jobs_max != 0 && record.running >= quota.running_jobs_max) {
    return absl::StrCat("waits for its owner's quota: ", record.name, " runs ", record.running,
                        " jobs, and running_jobs_max is ", quota.running_jobs_max);
  }
  if (quota.stored_bytes_max != 0 && record.stored_bytes >= quota.stored_bytes_max) {
    return absl::StrCat("waits for its owner's quota: ", record.name, " stores ",
                        record.stored_bytes, " bytes, and stored_bytes_max is ",
                        quota.stored_bytes_max,
                        "; `concur sweep delete` of what is no longer needed makes room");
  }
  return "";
}

absl::Status Scheduler::CheckQuota(const std::string& owner, const SweepSpec& spec) const {
  const Quota& quota = policy_.quotas.Of(owner);
  if (quota.stored_bytes_max == 0) {
    return absl::OkStatus();
  }
  const auto it = owner_index_.find(owner);
  int64_t stored = 0;
  int64_t added = 0;
  for (const auto& [digest, bytes] : DataOf(spec)) {
    const bool known = it != owner_index_.end() && owners_[it->second].data.contains(digest);
    added += known ? 0 : bytes;
  }
  if (it != owner_index_.end()) {
    stored = owners_[it->second].stored_bytes;
  }
  if (stored + added <= quota.stored_bytes_max && stored < quota.stored_bytes_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(owner, " stores ", stored, " bytes and this adds ", added,
                   ", more than the quota stored_bytes_max of ", quota.stored_bytes_max,
                   ": delete sweeps that are no longer needed, or ask for a larger quota"));
}

OwnerUse Scheduler::UseOf(const std::string& owner) const {
  OwnerUse use;
  use.quota = policy_.quotas.Of(owner);
  if (const auto it = owner_index_.find(owner); it != owner_index_.end()) {
    use.running_jobs = owners_[it->second].running;
    use.stored_bytes = owners_[it->second].stored_bytes;
  }
  return use;
}

void Scheduler::CheckQuotas() const {
  std::vector<int64_t> running(owners_.size());
  std::vector<int64_t> stored(owners_.size());
  std::vector<std::map<Digest, uint32_t>> data(owners_.size());
  for (const auto& [name, worker] : workers_) {
    for (const auto& [id, held] : worker->held) {
      if (held.owner != kNone) {
        ++running[held.owner];
      }
    }
  }
  for (const auto& [id, sweep] : sweeps_) {
    for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
      stored[sweep->owner] += StoredBytesOf(*sweep, job);
    }
    for (const auto& [digest, bytes] : DataOf(sweep->expansion->spec())) {
      ++data[sweep->owner][digest];
    }
  }
  for (size_t i = 0; i < owners_.size(); ++i) {
    const Owner& owner = owners_[i];
    CONCUR_CHECK(owner.data.size() == data[i].size());
    for (const auto& [digest, use] : owner.data) {
      CONCUR_CHECK(use.sweeps == data[i].at(digest));
      stored[i] += use.bytes;
    }
    CONCUR_CHECK(owner.running == running[i]);
    CONCUR_CHECK(owner.stored_bytes == stored[i]);
  }
}

}  // namespace concur
