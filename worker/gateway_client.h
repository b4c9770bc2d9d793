// SPDX-License-Identifier: Apache-2.0
// Communication of a worker with its coordinator.
#ifndef CONCUR_WORKER_GATEWAY_CLIENT_H_
#define CONCUR_WORKER_GATEWAY_CLIENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/sync/sync.h"

namespace concur::worker {

struct SyncAnswer {
  uint64_t sequence = 0;  // the request's
  absl::StatusOr<SyncResponse> response;
};

// Sync calls. The agent's loop thread calls every function; none blocks.
class Gateway {
 public:
  virtual ~Gateway() = default;

  // Begins a call that fails with DeadlineExceeded after `timeout`.
  virtual void StartSync(const SyncRequest& request, absl::Duration timeout) = 0;
  // The answer to this call is no longer wanted; it may still come.
  virtual void CancelSync(uint64_t sequence) = 0;
  // Answers that have come since the last call, in order of arrival.
  virtual std::vector<SyncAnswer> Poll() = 0;
};

// Moves artifacts between this machine and the coordinator.
//
// Thread-safe. Calls block for as long as data moves; Unavailable says to try again later.
class ArtifactTransfer {
 public:
  using IsCanceled = std::function<bool()>;

  virtual ~ArtifactTransfer() = default;

  // Sends the file at `path`, whose digest is `digest`; resumes an interrupted earlier call. OK if
  // the coordinator has it already.
  virtual absl::Status Upload(const Digest& digest, const std::string& path,
                              const IsCanceled& is_canceled) = 0;
  // Gives the bytes of an artifact from `offset` on to `sink`, piece by piece; stops at its first
  // error. NotFound when the coordinator does not have it. The caller checks the digest.
  virtual absl::Status Download(const Digest& digest, int64_t offset,
                                const std::function<absl::Status(absl::string_view)>& sink,
                                const IsCanceled& is_canceled) = 0;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_GATEWAY_CLIENT_H_
