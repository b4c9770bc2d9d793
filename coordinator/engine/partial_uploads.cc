// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/partial_uploads.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace concur {

PartialUploads::PartialUploads(Clock& clock, PartialUploadLimits limits)
    : clock_(clock), limits_(limits) {}

std::vector<PartialUploads::Held>::iterator PartialUploads::FindLocked(const Digest& sender,
                                                                       const Digest& artifact) {
  const absl::Time now = clock_.Now();
  return std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
    return held.artifact == artifact && held.sender == sender && held.end > now;
  });
}

// Writers are dropped after the lock is released: they remove files or call object storage.

bool PartialUploads::Keep(const Digest& sender, const Digest& artifact,
                          std::unique_ptr<Writer> writer) {
  if (writer->bytes() < limits_.bytes_min) {
    return false;
  }
  GiveUpOld();
  std::unique_ptr<Writer> replaced;
  std::unique_ptr<Writer> oldest;
  MutexLock lock(mu_);
  if (const auto it = FindLocked(sender, artifact); it != held_.end()) {
    if (it->writer->bytes() >= writer->bytes()) {
      return false;
    }
    replaced = std::move(it->writer);
    held_.erase(it);
  } else if (held_.size() >= limits_.count_max) {
    oldest = std::move(held_.front().writer);
    held_.erase(held_.begin());
  }
  held_.push_back({sender, artifact, clock_.Now() + limits_.kept_for, std::move(writer)});
  return true;
}

int64_t PartialUploads::Offset(const Digest& sender, const Digest& artifact) {
  MutexLock lock(mu_);
  const auto it = FindLocked(sender, artifact);
  return it == held_.end() ? 0 : it->writer->bytes();
}

std::unique_ptr<PartialUploads::Writer> PartialUploads::Take(const Digest& sender,
                                                             const Digest& artifact,
                                                             int64_t offset) {
  MutexLock lock(mu_);
  const auto it = FindLocked(sender, artifact);
  if (it == held_.end() || it->writer->bytes() != offset) {
    return nullptr;
  }
  std::unique_ptr<Writer> writer = std::move(it->writer);
  held_.erase(it);
  return writer;
}

void PartialUploads::GiveUp(const Digest& sender, const Digest& artifact) {
  std::unique_ptr<Writer> given_up;
  MutexLock lock(mu_);
  if (const auto it = FindLocked(sender, artifact); it != held_.end()) {
    given_up = std::move(it->writer);
    held_.erase(it);
  }
}

void PartialUploads::GiveUpOld() {
  const absl::Time now = clock_.Now();
  std::vector<Held> old;
  MutexLock lock(mu_);
  // Sorted by their ends.
  const auto young =
      std::find_if(held_.begin(), held_.end(), [now](const Held& held) { return held.end > now; });
  old.assign(std::make_move_iterator(held_.begin()), std::make_move_iterator(young));
  held_.erase(held_.begin(), young);
}

void PartialUploads::GiveUpAll() {
  std::vector<Held> all;
  MutexLock lock(mu_);
  all.swap(held_);
}

}  // namespace concur
