// SPDX-License-Identifier: Apache-2.0
// The user service: checks and converts requests, and lets the engine answer them. ServiceFront
// calls its methods, one for each of v1::Coordinator, for callers that have the method's role;
// whether a caller may change a sweep is checked here.
//
// Thread-safe. Methods run on gRPC's threads and do not block: the engine's board answers what
// concerns sweeps alone, the engine does other work, a pool does file I/O, and another pool, which
// never waits for a disk, builds long answers.
#ifndef CONCUR_COORDINATOR_SERVICES_COORDINATOR_SERVICE_H_
#define CONCUR_COORDINATOR_SERVICES_COORDINATOR_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/secrets.h"
#include "coordinator/engine/engine.h"
#include "coordinator/engine/fleet_history.h"
#include "coordinator/engine/partial_uploads.h"
#include "coordinator/engine/upload_ledger.h"
#include "coordinator/services/call_context.h"
#include "coordinator/services/service_limits.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

class CoordinatorService {
 public:
  // All but the limits outlive the service. Artifacts are transferred on the threads of
  // `transfers`, other long work runs on `pool`, and `answers` builds the answers to reads.
  CoordinatorService(Clock& clock, Engine& engine, ArtifactStore& artifacts,
                     PartialUploads& partial, AuditLog& audit, Secrets& secrets,
                     const FleetHistory& fleet, ThreadPool& pool, ThreadPool& transfers,
                     ThreadPool& answers, ServiceLimits limits);

  grpc::ServerUnaryReactor* CreateSweep(CallContext* call, const v1::CreateSweepRequest* request,
                                        v1::CreateSweepResponse* response);
  grpc::ServerUnaryReactor* ImportSweep(CallContext* call, const v1::ImportSweepRequest* request,
                                        v1::CreateSweepResponse* response);
  grpc::ServerUnaryReactor* GetSweep(CallContext* call, const v1::GetSweepRequest* request,
                                     v1::Sweep* response);
  grpc::ServerUnaryReactor* ListSweeps(CallContext* call, const v1::ListSweepsRequest* request,
                                       v1::ListSweepsResponse* response);
  grpc::ServerUnaryReactor* PauseSweep(CallContext* call, const v1::PauseSweepRequest* request,
                                       v1::Sweep* response);
  grpc::ServerUnaryReactor* ResumeSweep(CallContext* call, const v1::ResumeSweepRequest* request,
                                        v1::Sweep* response);
  grpc::ServerUnaryReactor* SetPriority(CallContext* call, const v1::SetPriorityRequest* request,
                                        v1::Sweep* response);
  grpc::ServerUnaryReactor* SetBudget(CallContext* call, const v1::SetBudgetRequest* request,
                                      v1::Sweep* response);
  grpc::ServerUnaryReactor* CancelSweep(CallContext* call, const v1::CancelSweepRequest* request,
                                        v1::Sweep* response);
  grpc::ServerUnaryReactor* CancelJob(CallContext* call, const v1::CancelJobRequest* request,
                                      v1::Job* response);
  grpc::ServerUnaryReactor* DeleteSweep(CallContext* call, const v1::DeleteSweepRequest* request,
                                        v1::DeleteSweepResponse* response);
  grpc::ServerUnaryReactor* RetryJobs(CallContext* call, const v1::RetryJobsRequest* request,
                                      v1::RetryJobsResponse* response);
  grpc::ServerUnaryReactor* ListJobs(CallContext* call, const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response);
  grpc::ServerUnaryReactor* GetJob(CallContext* call, const v1::GetJobRequest* request,
                                   v1::Job* response);
  // Writes bytes of v1::WatchSweepResponse, encoded once for all watchers.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchSweep(CallContext* call,
                                                         const v1::WatchSweepRequest* request);
  grpc::ServerUnaryReactor* ListWorkers(CallContext* call, const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response);
  grpc::ServerUnaryReactor* ListDurations(CallContext* call,
                                          const v1::ListDurationsRequest* request,
                                          v1::ListDurationsResponse* response);
  grpc::ServerUnaryReactor* GetFleetHistory(CallContext* call,
                                            const v1::GetFleetHistoryRequest* request,
                                            v1::FleetHistory* response);
  grpc::ServerUnaryReactor* ListResources(CallContext* call,
                                          const v1::ListResourcesRequest* request,
                                          v1::ListResourcesResponse* response);
  grpc::ServerUnaryReactor* SetResource(CallContext* call, const v1::SetResourceRequest* request,
                                        v1::NamedResource* response);
  grpc::ServerUnaryReactor* DeleteResource(CallContext* call,
                                           const v1::DeleteResourceRequest* request,
                                           v1::DeleteResourceResponse* response);
  grpc::ServerUnaryReactor* DrainWorker(CallContext* call, const v1::DrainWorkerRequest* request,
                                        v1::Worker* response);
  grpc::ServerUnaryReactor* ListPools(CallContext* call, const v1::ListPoolsRequest* request,
                                      v1::ListPoolsResponse* response);
  grpc::ServerUnaryReactor* GetPool(CallContext* call, const v1::GetPoolRequest* request,
                                    v1::Pool* response);
  grpc::ServerUnaryReactor* CreatePool(CallContext* call, const v1::CreatePoolRequest* request,
                                       v1::Pool* response);
  grpc::ServerUnaryReactor* PausePool(CallContext* call, const v1::PausePoolRequest* request,
                                      v1::Pool* response);
  grpc::ServerUnaryReactor* ResumePool(CallContext* call, const v1::ResumePoolRequest* request,
                                       v1::Pool* response);
  grpc::ServerUnaryReactor* DeletePool(CallContext* call, const v1::DeletePoolRequest* request,
                                       v1::DeletePoolResponse* response);
  grpc::ServerUnaryReactor* ListScores(CallContext* call, const v1::ListScoresRequest* request,
                                       v1::ListScoresResponse* response);
  grpc::ServerWriteReactor<v1::ReadLogResponse>* ReadLog(CallContext* call,
                                                         const v1::ReadLogRequest* request);
  grpc::ServerUnaryReactor* ListAuditEntries(CallContext* call,
                                             const v1::ListAuditEntriesRequest* request,
                                             v1::ListAuditEntriesResponse* response);
  grpc::ServerUnaryReactor* FindMissingArtifacts(CallContext* call,
                                                 const v1::FindMissingArtifactsRequest* request,
                                                 v1::FindMissingArtifactsResponse* response);
  grpc::ServerUnaryReactor* GetUploadOffset(CallContext* call,
                                            const v1::GetUploadOffsetRequest* request,
                                            v1::GetUploadOffsetResponse* response);
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      CallContext* call, v1::UploadArtifactResponse* response);
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      CallContext* call, const v1::DownloadArtifactRequest* request);
  grpc::ServerUnaryReactor* SetSecret(CallContext* call, const v1::SetSecretRequest* request,
                                      v1::Secret* response);
  grpc::ServerUnaryReactor* ListSecrets(CallContext* call, const v1::ListSecretsRequest* request,
                                        v1::ListSecretsResponse* response);
  grpc::ServerUnaryReactor* DeleteSecret(CallContext* call, const v1::DeleteSecretRequest* request,
                                         v1::DeleteSecretResponse* response);

 private:
  Clock& clock_;
  const absl::Time started_;
  Engine& engine_;
  ArtifactStore& artifacts_;
  PartialUploads& partial_;
  AuditLog& audit_;
  Secrets& secrets_;
  const FleetHistory& fleet_;
  ThreadPool& pool_;
  ThreadPool& transfers_;
  ThreadPool& answers_;
  const ServiceLimits limits_;
  UploadLedger uploads_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_COORDINATOR_SERVICE_H_
