// SPDX-License-Identifier: Apache-2.0
// The gateway and the artifact transfer over gRPC, to the coordinator that leads.
#ifndef CONCUR_WORKER_AGENT_GRPC_GATEWAY_H_
#define CONCUR_WORKER_AGENT_GRPC_GATEWAY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "core/sync/sync.h"
#include "proto/rpc/callback_threads.h"
#include "proto/rpc/coordinators.h"
#include "worker/gateway_client.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace concur::worker {

// Gateway's functions belong to the loop thread, the others are thread-safe.
class GrpcGateway : public Gateway, public ArtifactTransfer {
 public:
  // `on_answer` is called from gRPC's threads when Poll has something to give.
  GrpcGateway(std::shared_ptr<rpc::Coordinators> coordinators, std::function<void()> on_answer);
  // Cancels pending calls and waits for their end.
  ~GrpcGateway() override;

  void StartSync(const SyncRequest& request, absl::Duration timeout) override;
  void CancelSync(uint64_t sequence) override;
  std::vector<SyncAnswer> Poll() override;

  absl::Status Upload(const Digest& digest, const std::string& path,
                      const IsCanceled& is_canceled) override;
  absl::Status Download(const Digest& digest, int64_t offset,
                        const std::function<absl::Status(absl::string_view)>& sink,
                        const IsCanceled& is_canceled) override;

 private:
  struct Call;

  void Send(Call* call, grpc::ClientContext* context);
  // Sends the call to the next coordinator, if one is left, or ends it.
  void OnFailure(Call* call, const absl::Status& status);
  void OnDone(uint64_t sequence, absl::StatusOr<SyncResponse> response);

  const rpc::CallbackThreads callback_threads_;
  // Constant after construction.
  const std::shared_ptr<rpc::Coordinators> coordinators_;  // a call may outlast its peer there
  const std::function<void()> on_answer_;

  Mutex mu_;
  CondVar call_ended_;
  std::map<uint64_t, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<SyncAnswer> answers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_GRPC_GATEWAY_H_
