#include "coordinator/guarded_services.h"

#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "concur/v1/worker.grpc.pb.h"
#include "coordinator/authorization.h"
#include "rpc/status.h"

namespace concur {
namespace {

// Ends a call at once, whatever kind it is.
template <typename Reactor>
class Refusal final : public Reactor {
 public:
  explicit Refusal(const absl::Status& status) { this->Finish(rpc::ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

// What `serve` returns when the check was passed.
template <typename Serve>
auto Guarded(const absl::Status& checked, Serve serve) -> decltype(serve()) {
  using Reactor = std::remove_pointer_t<decltype(serve())>;
  return checked.ok() ? serve() : new Refusal<Reactor>(checked);
}

// WatchSweep is raw: what it writes was encoded once for all watchers.
class GuardedCoordinator final
    : public v1::Coordinator::WithRawCallbackMethod_WatchSweep<v1::Coordinator::CallbackService> {
 public:
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
  grpc::ServerUnaryReactor* GetUploadOffset(Context*, const v1::GetUploadOffsetRequest*,
                                            v1::GetUploadOffsetResponse*) override;
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
  GuardedWorkerGateway(Access& access, WorkerService& service)
      : access_(access), service_(service) {}

  using Context = grpc::CallbackServerContext;
  grpc::ServerUnaryReactor* Sync(Context*, const v1::SyncRequest*, v1::SyncResponse*) override;
  grpc::ServerUnaryReactor* GetUploadOffset(Context*, const v1::GetUploadOffsetRequest*,
                                            v1::GetUploadOffsetResponse*) override;
  grpc::ServerReadReactor<v1::UploadArtifactRequest>* UploadArtifact(
      Context*, v1::UploadArtifactResponse*) override;
  grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* DownloadArtifact(
      Context*, const v1::DownloadArtifactRequest*) override;

 private:
  absl::Status Check(Context* context, absl::string_view method) const;

  Access& access_;
  WorkerService& service_;
};

// --- users ---------------------------------------------------------------------------------------

absl::Status GuardedCoordinator::Check(Context* context, absl::string_view method) const {
  return access_.Check(absl::StrCat("/concur.v1.Coordinator/", method), AuthorizationOf(*context))
      .status();
}

absl::Status GuardedCoordinator::CheckStream(Context* context, absl::string_view method) const {
  CONCUR_RETURN_IF_ERROR(Check(context, method));
  return streams_.Check(context->peer());
}

grpc::ServerUnaryReactor* GuardedCoordinator::CreateSweep(Context* context,
                                                          const v1::CreateSweepRequest* request,
                                                          v1::CreateSweepResponse* response) {
  return Guarded(Check(context, "CreateSweep"),
                 [&] { return service_.CreateSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::GetSweep(Context* context,
                                                       const v1::GetSweepRequest* request,
                                                       v1::Sweep* response) {
  return Guarded(Check(context, "GetSweep"),
                 [&] { return service_.GetSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListSweeps(Context* context,
                                                         const v1::ListSweepsRequest* request,
                                                         v1::ListSweepsResponse* response) {
  return Guarded(Check(context, "ListSweeps"),
                 [&] { return service_.ListSweeps(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::PauseSweep(Context* context,
                                                         const v1::PauseSweepRequest* request,
                                                         v1::Sweep* response) {
  return Guarded(Check(context, "PauseSweep"),
                 [&] { return service_.PauseSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ResumeSweep(Context* context,
                                                          const v1::ResumeSweepRequest* request,
                                                          v1::Sweep* response) {
  return Guarded(Check(context, "ResumeSweep"),
                 [&] { return service_.ResumeSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::CancelSweep(Context* context,
                                                          const v1::CancelSweepRequest* request,
                                                          v1::Sweep* response) {
  return Guarded(Check(context, "CancelSweep"),
                 [&] { return service_.CancelSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::DeleteSweep(Context* context,
                                                          const v1::DeleteSweepRequest* request,
                                                          v1::DeleteSweepResponse* response) {
  return Guarded(Check(context, "DeleteSweep"),
                 [&] { return service_.DeleteSweep(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::RetryJobs(Context* context,
                                                        const v1::RetryJobsRequest* request,
                                                        v1::RetryJobsResponse* response) {
  return Guarded(Check(context, "RetryJobs"),
                 [&] { return service_.RetryJobs(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListJobs(Context* context,
                                                       const v1::ListJobsRequest* request,
                                                       v1::ListJobsResponse* response) {
  return Guarded(Check(context, "ListJobs"),
                 [&] { return service_.ListJobs(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::GetJob(Context* context,
                                                     const v1::GetJobRequest* request,
                                                     v1::Job* response) {
  return Guarded(Check(context, "GetJob"),
                 [&] { return service_.GetJob(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListWorkers(Context* context,
                                                          const v1::ListWorkersRequest* request,
                                                          v1::ListWorkersResponse* response) {
  return Guarded(Check(context, "ListWorkers"),
                 [&] { return service_.ListWorkers(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListDurations(Context* context,
                                                            const v1::ListDurationsRequest* request,
                                                            v1::ListDurationsResponse* response) {
  return Guarded(Check(context, "ListDurations"),
                 [&] { return service_.ListDurations(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::DrainWorker(Context* context,
                                                          const v1::DrainWorkerRequest* request,
                                                          v1::Worker* response) {
  return Guarded(Check(context, "DrainWorker"),
                 [&] { return service_.DrainWorker(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListPools(Context* context,
                                                        const v1::ListPoolsRequest* request,
                                                        v1::ListPoolsResponse* response) {
  return Guarded(Check(context, "ListPools"),
                 [&] { return service_.ListPools(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::GetPool(Context* context,
                                                      const v1::GetPoolRequest* request,
                                                      v1::Pool* response) {
  return Guarded(Check(context, "GetPool"),
                 [&] { return service_.GetPool(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::CreatePool(Context* context,
                                                         const v1::CreatePoolRequest* request,
                                                         v1::Pool* response) {
  return Guarded(Check(context, "CreatePool"),
                 [&] { return service_.CreatePool(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::PausePool(Context* context,
                                                        const v1::PausePoolRequest* request,
                                                        v1::Pool* response) {
  return Guarded(Check(context, "PausePool"),
                 [&] { return service_.PausePool(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ResumePool(Context* context,
                                                         const v1::ResumePoolRequest* request,
                                                         v1::Pool* response) {
  return Guarded(Check(context, "ResumePool"),
                 [&] { return service_.ResumePool(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::DeletePool(Context* context,
                                                         const v1::DeletePoolRequest* request,
                                                         v1::DeletePoolResponse* response) {
  return Guarded(Check(context, "DeletePool"),
                 [&] { return service_.DeletePool(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::ListScores(Context* context,
                                                         const v1::ListScoresRequest* request,
                                                         v1::ListScoresResponse* response) {
  return Guarded(Check(context, "ListScores"),
                 [&] { return service_.ListScores(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::GetMatrix(Context* context,
                                                        const v1::GetMatrixRequest* request,
                                                        v1::Matrix* response) {
  return Guarded(Check(context, "GetMatrix"),
                 [&] { return service_.GetMatrix(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::FindMissingArtifacts(
    Context* context, const v1::FindMissingArtifactsRequest* request,
    v1::FindMissingArtifactsResponse* response) {
  return Guarded(Check(context, "FindMissingArtifacts"),
                 [&] { return service_.FindMissingArtifacts(context, request, response); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* GuardedCoordinator::WatchSweep(
    Context* context, const grpc::ByteBuffer* request) {
  v1::WatchSweepRequest parsed;
  absl::Status checked = CheckStream(context, "WatchSweep");
  if (checked.ok()) {
    grpc::ByteBuffer bytes(*request);  // parsing takes them away
    checked = rpc::FromGrpcStatus(
        grpc::SerializationTraits<v1::WatchSweepRequest>::Deserialize(&bytes, &parsed));
  }
  return Guarded(checked, [&] { return service_.FollowSweep(parsed); });
}

grpc::ServerWriteReactor<v1::ReadLogResponse>* GuardedCoordinator::ReadLog(
    Context* context, const v1::ReadLogRequest* request) {
  return Guarded(CheckStream(context, "ReadLog"),
                 [&] { return service_.ReadLog(context, request); });
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* GuardedCoordinator::DownloadArtifact(
    Context* context, const v1::DownloadArtifactRequest* request) {
  return Guarded(CheckStream(context, "DownloadArtifact"),
                 [&] { return service_.DownloadArtifact(context, request); });
}

grpc::ServerUnaryReactor* GuardedCoordinator::GetUploadOffset(
    Context* context, const v1::GetUploadOffsetRequest* request,
    v1::GetUploadOffsetResponse* response) {
  return Guarded(Check(context, "GetUploadOffset"),
                 [&] { return service_.GetUploadOffset(context, request, response); });
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* GuardedCoordinator::UploadArtifact(
    Context* context, v1::UploadArtifactResponse* response) {
  return Guarded(CheckStream(context, "UploadArtifact"),
                 [&] { return service_.UploadArtifact(context, response); });
}

// --- workers -------------------------------------------------------------------------------------

absl::Status GuardedWorkerGateway::Check(Context* context, absl::string_view method) const {
  return access_.Check(absl::StrCat("/concur.v1.WorkerGateway/", method), AuthorizationOf(*context))
      .status();
}

grpc::ServerUnaryReactor* GuardedWorkerGateway::Sync(Context* context,
                                                     const v1::SyncRequest* request,
                                                     v1::SyncResponse* response) {
  return Guarded(Check(context, "Sync"), [&] { return service_.Sync(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedWorkerGateway::GetUploadOffset(
    Context* context, const v1::GetUploadOffsetRequest* request,
    v1::GetUploadOffsetResponse* response) {
  return Guarded(Check(context, "GetUploadOffset"),
                 [&] { return service_.GetUploadOffset(context, request, response); });
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* GuardedWorkerGateway::UploadArtifact(
    Context* context, v1::UploadArtifactResponse* response) {
  return Guarded(Check(context, "UploadArtifact"),
                 [&] { return service_.UploadArtifact(context, response); });
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* GuardedWorkerGateway::DownloadArtifact(
    Context* context, const v1::DownloadArtifactRequest* request) {
  return Guarded(Check(context, "DownloadArtifact"),
                 [&] { return service_.DownloadArtifact(context, request); });
}

}  // namespace

std::unique_ptr<grpc::Service> MakeGuardedCoordinator(Access& access, const StreamWatch& streams,
                                                      CoordinatorService& service) {
  return std::make_unique<GuardedCoordinator>(access, streams, service);
}

std::unique_ptr<grpc::Service> MakeGuardedWorkerGateway(Access& access, WorkerService& service) {
  return std::make_unique<GuardedWorkerGateway>(access, service);
}

}  // namespace concur
