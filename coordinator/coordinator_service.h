// The user service: checks and converts requests, and lets the engine answer them. Behind
// GuardedCoordinator, which lets in only who may call a method; here only a sweep's owner and
// admins change it.
//
// Thread-safe. Reactions run on gRPC's threads and do not block: what is asked of sweeps alone is
// on the engine's board, other work goes to the engine, files to the pool, and long answers to a
// pool that waits for no disk.
#ifndef CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_
#define CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "coordinator/access.h"
#include "coordinator/engine.h"
#include "core/capacity.h"
#include "core/pool.h"
#include "store/artifact_store.h"

namespace concur {

struct ServiceLimits {
  int64_t sweeps_max = 100'000;
  int64_t jobs_per_sweep_max = 10'000'000;
  int64_t artifact_bytes_max = int64_t{64} << 30;
  std::string data_directory;
  // Sweeps and their data are refused while there are fewer bytes free on the disk.
  int64_t disk_free_min = 0;
  // The largest workers that others will ever start; empty: unknown.
  std::vector<PoolLimit> pools;
  std::set<ProviderKind> providers;  // of pools that can be added
  // Why a pool's workers could not work here; null: nothing is known.
  std::function<absl::Status(const PoolSpec&)> check_pool;
};

class CoordinatorService final : public v1::Coordinator::CallbackService {
 public:
  // All outlive the service. `access` tells who calls: the owner of what is submitted.
  // Artifacts move on the threads of `transfers`, everything else that takes long on `pool`;
  // `answers` makes the answers to reads.
  CoordinatorService(Engine& engine, ArtifactStore& artifacts, ThreadPool& pool,
                     ThreadPool& transfers, ThreadPool& answers, Access& access,
                     ServiceLimits limits);

  grpc::ServerUnaryReactor* CreateSweep(grpc::CallbackServerContext* context,
                                        const v1::CreateSweepRequest* request,
                                        v1::CreateSweepResponse* response) override;
  grpc::ServerUnaryReactor* GetSweep(grpc::CallbackServerContext* context,
                                     const v1::GetSweepRequest* request,
                                     v1::Sweep* response) override;
  grpc::ServerUnaryReactor* ListSweeps(grpc::CallbackServerContext* context,
                                       const v1::ListSweepsRequest* request,
                                       v1::ListSweepsResponse* response) override;
  grpc::ServerUnaryReactor* PauseSweep(grpc::CallbackServerContext* context,
                                       const v1::PauseSweepRequest* request,
                                       v1::Sweep* response) override;
  grpc::ServerUnaryReactor* ResumeSweep(grpc::CallbackServerContext* context,
                                        const v1::ResumeSweepRequest* request,
                                        v1::Sweep* response) override;
  grpc::ServerUnaryReactor* CancelSweep(grpc::CallbackServerContext* context,
                                        const v1::CancelSweepRequest* request,
                                        v1::Sweep* response) override;
  grpc::ServerUnaryReactor* DeleteSweep(grpc::CallbackServerContext* context,
                                        const v1::DeleteSweepRequest* request,
                                        v1::DeleteSweepResponse* response) override;
  grpc::ServerUnaryReactor* RetryJobs(grpc::CallbackServerContext* context,
                                      const v1::RetryJobsRequest* request,
                                      v1::RetryJobsResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response) override;
  // WatchSweep, with responses as bytes.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FollowSweep(const v1::WatchSweepRequest& request);
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* ListDurations(grpc::CallbackServerContext* context,
                                          const v1::ListDurationsRequest* request,
                                          v1::ListDurationsResponse* response) override;
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::Worker* response) override;
  grpc::ServerUnaryReactor* ListPools(grpc::CallbackServerContext* context,
                                      const v1::ListPoolsRequest* request,
                                      v1::ListPoolsResponse* response) override;
  grpc::ServerUnaryReactor* GetPool(grpc::CallbackServerContext* context,
                                    const v1::GetPoolRequest* request, v1::Pool* response) override;
  grpc::ServerUnaryReactor* CreatePool(grpc::CallbackServerContext* context,
                                       const v1::CreatePoolRequest* request,
                                       v1::Pool* response) override;
  grpc::ServerUnaryReactor* PausePool(grpc::CallbackServerContext* context,
                                      const v1::PausePoolRequest* request,
                                      v1::Pool* response) override;
  grpc::ServerUnaryReactor* ResumePool(grpc::CallbackServerContext* context,
                                       const v1::ResumePoolRequest* request,
                                       v1::Pool* response) override;
  grpc::ServerUnaryReactor* DeletePool(grpc::CallbackServerContext* context,
                                       const v1::DeletePoolRequest* request,
                                       v1::DeletePoolResponse* response) override;
  grpc::ServerUnaryReactor* ListScores(grpc::CallbackServerContext* context,
                                       const v1::ListScoresRequest* request,
                                       v1::ListScoresResponse* response) override;
  grpc::ServerUnaryReactor* GetMatrix(grpc::CallbackServerContext* context,
                                      const v1::GetMatrixRequest* request,
                                      v1::Matrix* response) override;
  grpc::ServerWriteReactor<v1::ReadLogResponse>* ReadLog(
      grpc::CallbackServerContext* context, const v1::ReadLogRequest* request) override;
  grpc::ServerUnaryReactor* FindMissingArtifacts(
      grpc::CallbackServerContext* context, const v1::FindMissingArtifactsRequest* request,
      v1::FindMissingArtifactsResponse* response) override;
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request) override;

 private:
  absl::StatusOr<Caller> CallerOf(const grpc::CallbackServerContext& context) const;

  Engine& engine_;
  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  ThreadPool& transfers_;
  ThreadPool& answers_;
  Access& access_;
  const ServiceLimits limits_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_COORDINATOR_SERVICE_H_
