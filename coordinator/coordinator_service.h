// The user service: checks and converts requests, and lets the engine answer them. Behind
// GuardedCoordinator, which lets in only who may call a method; here only a sweep's owner and
// admins change it.
//
// It implements no gRPC interface: the one file that does, guarded_services.cc, takes long enough
// to compile. Its methods are those of v1::Coordinator::CallbackService.
//
// Thread-safe. Reactions run on gRPC's threads and do not block: what is asked of sweeps alone is
// on the engine's board, other work goes to the engine, files to the pool, and long answers to a
// pool that waits for no disk.
#ifndef CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_
#define CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/access.h"
#include "coordinator/engine.h"
#include "coordinator/partial_uploads.h"
#include "coordinator/service_limits.h"
#include "store/artifact_store.h"

namespace concur {

class CoordinatorService {
 public:
  // All outlive the service. `access` tells who calls: the owner of what is submitted.
  // Artifacts move on the threads of `transfers`, everything else that takes long on `pool`;
  // `answers` makes the answers to reads.
  CoordinatorService(Engine& engine, ArtifactStore& artifacts, PartialUploads& partial,
                     ThreadPool& pool, ThreadPool& transfers, ThreadPool& answers, Access& access,
                     ServiceLimits limits);

  grpc::ServerUnaryReactor* CreateSweep(grpc::CallbackServerContext* context,
                                        const v1::CreateSweepRequest* request,
                                        v1::CreateSweepResponse* response);
  grpc::ServerUnaryReactor* GetSweep(grpc::CallbackServerContext* context,
                                     const v1::GetSweepRequest* request, v1::Sweep* response);
  grpc::ServerUnaryReactor* ListSweeps(grpc::CallbackServerContext* context,
                                       const v1::ListSweepsRequest* request,
                                       v1::ListSweepsResponse* response);
  grpc::ServerUnaryReactor* PauseSweep(grpc::CallbackServerContext* context,
                                       const v1::PauseSweepRequest* request, v1::Sweep* response);
  grpc::ServerUnaryReactor* ResumeSweep(grpc::CallbackServerContext* context,
                                        const v1::ResumeSweepRequest* request, v1::Sweep* response);
  grpc::ServerUnaryReactor* CancelSweep(grpc::CallbackServerContext* context,
                                        const v1::CancelSweepRequest* request, v1::Sweep* response);
  grpc::ServerUnaryReactor* DeleteSweep(grpc::CallbackServerContext* context,
                                        const v1::DeleteSweepRequest* request,
                                        v1::DeleteSweepResponse* response);
  grpc::ServerUnaryReactor* RetryJobs(grpc::CallbackServerContext* context,
                                      const v1::RetryJobsRequest* request,
                                      v1::RetryJobsResponse* response);
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response);
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response);
  // WatchSweep, with responses as bytes.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FollowSweep(const v1::WatchSweepRequest& request);
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response);
  grpc::ServerUnaryReactor* ListDurations(grpc::CallbackServerContext* context,
                                          const v1::ListDurationsRequest* request,
                                          v1::ListDurationsResponse* response);
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::Worker* response);
  grpc::ServerUnaryReactor* ListPools(grpc::CallbackServerContext* context,
                                      const v1::ListPoolsRequest* request,
                                      v1::ListPoolsResponse* response);
  grpc::ServerUnaryReactor* GetPool(grpc::CallbackServerContext* context,
                                    const v1::GetPoolRequest* request, v1::Pool* response);
  grpc::ServerUnaryReactor* CreatePool(grpc::CallbackServerContext* context,
                                       const v1::CreatePoolRequest* request, v1::Pool* response);
  grpc::ServerUnaryReactor* PausePool(grpc::CallbackServerContext* context,
                                      const v1::PausePoolRequest* request, v1::Pool* response);
  grpc::ServerUnaryReactor* ResumePool(grpc::CallbackServerContext* context,
                                       const v1::ResumePoolRequest* request, v1::Pool* response);
  grpc::ServerUnaryReactor* DeletePool(grpc::CallbackServerContext* context,
                                       const v1::DeletePoolRequest* request,
                                       v1::DeletePoolResponse* response);
  grpc::ServerUnaryReactor* ListScores(grpc::CallbackServerContext* context,
                                       const v1::ListScoresRequest* request,
                                       v1::ListScoresResponse* response);
  grpc::ServerUnaryReactor* GetMatrix(grpc::CallbackServerContext* context,
                                      const v1::GetMatrixRequest* request, v1::Matrix* response);
  grpc::ServerWriteReactor<v1::ReadLogResponse>* ReadLog(grpc::CallbackServerContext* context,
                                                         const v1::ReadLogRequest* request);
  grpc::ServerUnaryReactor* FindMissingArtifacts(grpc::CallbackServerContext* context,
                                                 const v1::FindMissingArtifactsRequest* request,
                                                 v1::FindMissingArtifactsResponse* response);
  grpc::ServerUnaryReactor* GetUploadOffset(grpc::CallbackServerContext* context,
                                            const v1::GetUploadOffsetRequest* request,
                                            v1::GetUploadOffsetResponse* response);
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response);
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request);

 private:
  absl::StatusOr<Caller> CallerOf(const grpc::CallbackServerContext& context) const;

  Engine& engine_;
  ArtifactStore& artifacts_;
  PartialUploads& partial_;
  ThreadPool& pool_;
  ThreadPool& transfers_;
  ThreadPool& answers_;
  Access& access_;
  const ServiceLimits limits_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_
