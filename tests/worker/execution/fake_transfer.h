// SPDX-License-Identifier: Apache-2.0
// A coordinator's artifacts in memory.
#ifndef CONCUR_TESTS_WORKER_EXECUTION_FAKE_TRANSFER_H_
#define CONCUR_TESTS_WORKER_EXECUTION_FAKE_TRANSFER_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "worker/gateway_client.h"

namespace concur::worker {

// Thread-safe.
class FakeTransfer : public ArtifactTransfer {
 public:
  Digest Add(absl::string_view data) {
    MutexLock lock(mu_);
    const Digest digest = Sha256Of(data);
    artifacts_[digest] = std::string(data);
    return digest;
  }
  bool Has(const Digest& digest) {
    MutexLock lock(mu_);
    return artifacts_.contains(digest);
  }
  std::string Get(const Digest& digest) {
    MutexLock lock(mu_);
    return artifacts_.at(digest);
  }
  int downloads() {
    MutexLock lock(mu_);
    return downloads_;
  }
  // The next `calls` calls fail as Unavailable; a download gives `bytes` bytes first.
  void Break(int calls, size_t bytes = 0) {
    MutexLock lock(mu_);
    broken_calls_ = calls;
    broken_bytes_ = bytes;
  }
  // Uploads of the artifact fail so.
  void Refuse(const Digest& digest, absl::Status status) {
    MutexLock lock(mu_);
    refused_[digest] = std::move(status);
  }
  // Uploads of the artifact go on until they are canceled.
  void Hold(const Digest& digest) { Refuse(digest, absl::OkStatus()); }
  // Number of those that have begun.
  int held() {
    MutexLock lock(mu_);
    return held_;
  }
  // Downloads give other bytes than were asked for.
  void Corrupt(const Digest& digest, absl::string_view data) {
    MutexLock lock(mu_);
    artifacts_[digest] = std::string(data);
  }

  absl::Status Upload(const Digest& digest, const std::string& path,
                      const IsCanceled& is_canceled) override {
    CONCUR_ASSIGN_OR_RETURN(std::string data, ReadFile(path));
    {
      MutexLock lock(mu_);
      if (broken_calls_ > 0) {
        --broken_calls_;
        return absl::UnavailableError("connection lost");
      }
      const auto refused = refused_.find(digest);
      if (refused == refused_.end()) {
        artifacts_[digest] = std::move(data);
        return absl::OkStatus();
      }
      if (!refused->second.ok()) {
        return refused->second;
      }
      ++held_;
    }
    while (!is_canceled()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return absl::CancelledError("canceled");
  }

  absl::Status Download(const Digest& digest, int64_t offset,
                        const std::function<absl::Status(absl::string_view)>& sink,
                        const IsCanceled& /*is_canceled*/) override {
    std::string data;
    bool broken = false;
    {
      MutexLock lock(mu_);
      ++downloads_;
      const auto it = artifacts_.find(digest);
      if (it == artifacts_.end()) {
        return absl::NotFoundError("no such artifact");
      }
      data = it->second.substr(static_cast<size_t>(offset));
      if (broken_calls_ > 0) {
        --broken_calls_;
        broken = true;
        data.resize(std::min(data.size(), broken_bytes_));
      }
    }
    CONCUR_RETURN_IF_ERROR(sink(data));
    return broken ? absl::UnavailableError("connection lost") : absl::OkStatus();
  }

 private:
  Mutex mu_;
  std::map<Digest, std::string> artifacts_ ABSL_GUARDED_BY(mu_);
  std::map<Digest, absl::Status> refused_ ABSL_GUARDED_BY(mu_);  // OK: held
  int held_ ABSL_GUARDED_BY(mu_) = 0;
  int downloads_ ABSL_GUARDED_BY(mu_) = 0;
  int broken_calls_ ABSL_GUARDED_BY(mu_) = 0;
  size_t broken_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace concur::worker

#endif  // CONCUR_TESTS_WORKER_EXECUTION_FAKE_TRANSFER_H_
