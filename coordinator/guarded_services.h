// The services as the network sees them: every call goes through Access before the service that
// does the work hears of it. A method that is not forwarded here does not exist outside.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_GUARDED_SERVICES_H_
#define CONCUR_COORDINATOR_GUARDED_SERVICES_H_

#include <string>

#include "concur/v1/coordinator.grpc.pb.h"
#include "concur/v1/worker.grpc.pb.h"
#include "coordinator/access.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/stream_watch.h"
#include "coordinator/worker_service.h"

namespace concur {

// The header "authorization" of a call; "" when there is none, or more than one.
std::string AuthorizationOf(const grpc::ServerContextBase& context);

// WatchSweep is raw: what it writes was encoded once for all watchers.
class GuardedCoordinator final
    : public v1::Coordinator::WithRawCallbackMethod_WatchSweep<v1::Coordinator::CallbackService> {
 public:
  // All outlive it.
  GuardedCoordinator(Access& access, const StreamWatch& streams, CoordinatorService& service)
      : access_(access), streams_(streams), service_(service) {}

  using Context = grpc::CallbackServerContext;
  grpc::ServerUnaryReactor* CreateSweep(Context*, const v1::CreateSweepRequest*,
                                        v1::CreateSweepResponse*) override;
  grpc::ServerUnaryReactor* GetSweep(Context*, const v1::GetSweepRequest*, v1::Sweep*) override;
  grpc::ServerUnaryReactor* ListSweeps(Context*, const v1::ListSweepsRequest*,
                                       v1::ListSweepsResponse*) override;
  grpc::ServerUnaryReactor* PauseSweep(Context*, const v1::PauseSweepRequest*, v1::Sweep*) override;
  grpc::ServerUnaryReactor* ResumeSweep(Context*, const v1::ResumeSweepRequest*,
                                        v1::Sweep*) override;
  grpc::ServerUnaryReactor* CancelSweep(Context*, const v1::CancelSweepRequest*,
                                        v1::Sweep*) override;
  grpc::ServerUnaryReactor* DeleteSweep(Context*, const v1::DeleteSweepRequest*,
                                        v1::DeleteSweepResponse*) override;
  grpc::ServerUnaryReactor* RetryJobs(Context*, const v1::RetryJobsRequest*,
                                      v1::RetryJobsResponse*) override;
  grpc::ServerUnaryReactor* ListJobs(Context*, const v1::ListJobsRequest*,
                                     v1::ListJobsResponse*) override;
  grpc::ServerUnaryReactor* GetJob(Context*, const v1::GetJobRequest*, v1::Job*) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchSweep(Context*,
                                                         const grpc::ByteBuffer*) override;
  grpc::ServerUnaryReactor* ListWorkers(Context*, const v1::ListWorkersRequest*,
                                        v1::ListWorkersResponse*) override;
  grpc::ServerUnaryReactor* ListDurations(Context*, const v1::ListDurationsRequest*,
                                          v1::ListDurationsResponse*) override;
  grpc::ServerUnaryReactor* DrainWorker(Context*, const v1::DrainWorkerRequest*,
                                        v1::Worker*) override;
  grpc::ServerUnaryReactor* ListPools(Context* context, const v1::ListPoolsRequest* request,
                                      v1::ListPoolsResponse* response) override;
  grpc::ServerUnaryReactor* GetPool(Context* context, const v1::GetPoolRequest* request,
                                    v1::Pool* response) override;
  grpc::ServerUnaryReactor* CreatePool(Context* context, const v1::CreatePoolRequest* request,
                                       v1::Pool* response) override;
  grpc::ServerUnaryReactor* PausePool(Context* context, const v1::PausePoolRequest* request,
                                      v1::Pool* response) override;
  grpc::ServerUnaryReactor* ResumePool(Context* context, const v1::ResumePoolRequest* request,
                                       v1::Pool* response) override;
  grpc::ServerUnaryReactor* DeletePool(Context* context, const v1::DeletePoolRequest* request,
                                       v1::DeletePoolResponse* response) override;
  grpc::ServerUnaryReactor* ListScores(Context*, const v1::ListScoresRequest*,
                                       v1::ListScoresResponse*) override;
  grpc::ServerUnaryReactor* GetMatrix(Context*, const v1::GetMatrixRequest*, v1::Matrix*) override;
  grpc::ServerWriteReactor<v1::ReadLogResponse>* ReadLog(Context*,
                                                         const v1::ReadLogRequest*) override;
  grpc::ServerUnaryReactor* FindMissingArtifacts(Context*, const v1::FindMissingArtifactsRequest*,
                                                 v1::FindMissingArtifactsResponse*) override;
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      Context*, v1::UploadArtifactResponse*) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      Context*, const v1::DownloadArtifactRequest*) override;

 private:
  absl::Status Check(Context* context, absl::string_view method) const;

  // For a stream: also that its peer may open one more.
  absl::Status CheckStream(Context* context, absl::string_view method) const;

  Access& access_;
  const StreamWatch& streams_;
  CoordinatorService& service_;
};

class GuardedWorkerGateway final : public v1::WorkerGateway::CallbackService {
 public:
  // Both outlive it.
  GuardedWorkerGateway(Access& access, WorkerService& service)
      : access_(access), service_(service) {}

  using Context = grpc::CallbackServerContext;
  grpc::ServerUnaryReactor* Sync(Context*, const v1::SyncRequest*, v1::SyncResponse*) override;
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      Context*, v1::UploadArtifactResponse*) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      Context*, const v1::DownloadArtifactRequest*) override;

 private:
  absl::Status Check(Context* context, absl::string_view method) const;

  Access& access_;
  WorkerService& service_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_GUARDED_SERVICES_H_
