// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/upload_ledger.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur {

void UploadLedger::Remove(Uploads& uploads, const Digest& digest) {
  if (const auto found = uploads.all.find(digest); found != uploads.all.end()) {
    uploads.bytes -= found->second.bytes;
    uploads.all.erase(found);
  }
}

void UploadLedger::Put(Uploads& uploads, const Digest& digest, const Upload& upload) {
  Remove(uploads, digest);
  uploads.all[digest] = upload;
  uploads.bytes += upload.bytes;
  uploads.next_expire_time = std::min(uploads.next_expire_time, upload.expire_time);
}

UploadLedger::Uploads* UploadLedger::FindLocked(const std::string& user) {
  const auto found = users_.find(user);
  if (found == users_.end()) {
    return nullptr;
  }
  Uploads& uploads = found->second;
  if (const absl::Time now = clock_.Now(); uploads.next_expire_time <= now) {
    Uploads left;
    for (const auto& [digest, upload] : uploads.all) {
      if (upload.expire_time > now) {
        Put(left, digest, upload);
      }
    }
    uploads = std::move(left);
  }
  if (uploads.all.empty()) {
    users_.erase(found);
    return nullptr;
  }
  return &uploads;
}

absl::StatusOr<int64_t> UploadLedger::Begin(const std::string& user, const Digest& digest,
                                            int64_t announced, int64_t free_bytes) {
  MutexLock lock(mu_);
  const Uploads* uploads = FindLocked(user);
  int64_t others = uploads == nullptr ? 0 : uploads->bytes;
  size_t count = uploads == nullptr ? 0 : uploads->all.size();
  if (uploads != nullptr && uploads->all.contains(digest)) {
    others -= uploads->all.at(digest).bytes;
    --count;
  }
  if (count >= kUploadsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(user, " has uploaded ", count, " files that no sweep uses, and more than ",
                     kUploadsMax, " are not kept: submit the sweeps that use them"));
  }
  const int64_t left = std::max<int64_t>(0, free_bytes - others);
  if (left == 0 || announced > left) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the quota stored_bytes_max of ", user, " leaves ", left, " bytes, and this upload has ",
        announced == 0 ? std::string("more") : absl::StrCat(announced), " (", others,
        " bytes of earlier uploads, which no sweep uses, count until they are collected): delete ",
        "sweeps that are no longer needed, or ask for a larger quota"));
  }
  const int64_t granted = announced == 0 ? left : announced;
  Put(users_[user], digest, {granted, absl::InfiniteFuture()});
  return granted;
}

void UploadLedger::End(const std::string& user, const Digest& digest, int64_t bytes) {
  MutexLock lock(mu_);
  Uploads* uploads = FindLocked(user);
  if (uploads == nullptr || !uploads->all.contains(digest)) {
    return;  // a sweep has claimed it meanwhile
  }
  if (bytes == 0) {
    Remove(*uploads, digest);
  } else {
    Put(*uploads, digest, {bytes, clock_.Now() + kept_for_});
  }
}

void UploadLedger::Claim(const std::string& user, const std::vector<Digest>& digests) {
  MutexLock lock(mu_);
  if (Uploads* uploads = FindLocked(user)) {
    for (const Digest& digest : digests) {
      Remove(*uploads, digest);
    }
  }
}

int64_t UploadLedger::BytesOf(const std::string& user, const std::vector<Digest>& digests) {
  MutexLock lock(mu_);
  const Uploads* uploads = FindLocked(user);
  int64_t sum = uploads == nullptr ? 0 : uploads->bytes;
  for (const Digest& digest : digests) {
    if (uploads != nullptr && uploads->all.contains(digest)) {
      sum -= uploads->all.at(digest).bytes;
    }
  }
  return sum;
}

}  // namespace concur
