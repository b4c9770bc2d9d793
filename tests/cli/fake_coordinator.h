// SPDX-License-Identifier: Apache-2.0
// A coordinator that says what a test put into it, on a free port of the loopback device.
//
// Fill in the members before the call; read what came in after it. The mutex guards all of them
// while a call runs.
#ifndef CONCUR_TESTS_CLI_FAKE_COORDINATOR_H_
#define CONCUR_TESTS_CLI_FAKE_COORDINATOR_H_

#include <grpcpp/server.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/mutex.h"
#include "concur/v1/coordinator.grpc.pb.h"

namespace concur::testing {

class FakeCoordinator : public v1::Coordinator::Service {
 public:
  FakeCoordinator();
  ~FakeCoordinator() override;

  const std::string& address() const { return address_; }

  std::vector<v1::Sweep> sweeps;  // newest first
  std::vector<v1::Job> jobs;      // any sweep's
  std::string deleted_job;        // ListJobs has it, GetJob no longer
  std::vector<v1::Worker> workers;
  std::vector<v1::Score> scores;
  std::vector<v1::AuditEntry> audit;        // newest first
  std::map<Digest, std::string> artifacts;  // that the store has
  // Responses of WatchSweep, message by message; an empty one ends the stream as Unavailable.
  std::vector<v1::WatchSweepResponse> watch;
  std::string log;
  // The next calls are answered so.
  int unavailable_calls = 0;
  int unavailable_deletions = 0;
  // Number of bytes held of an upload that ends so; -1: the server is an older one.
  int64_t held_bytes_max = -1;
  grpc::StatusCode broken_upload = grpc::StatusCode::UNAVAILABLE;  // the reported end

  // Requests that came in.
  std::vector<v1::CreateSweepRequest> created;
  std::vector<v1::PlannedJob> planned;
  std::vector<v1::ImportSweepRequest> imported;
  std::vector<v1::RetryJobsRequest> retried;
  std::vector<std::string> watch_cursors;
  std::vector<v1::WatchSweepRequest::Events> watch_events;
  std::vector<v1::ListJobsRequest> list_requests;
  std::vector<v1::GetJobRequest> job_requests;
  std::vector<std::string> page_tokens;
  std::vector<v1::ListAuditEntriesRequest> audit_requests;
  std::vector<std::string> deleted;
  std::vector<v1::DrainWorkerRequest> drained;
  std::map<std::string, int64_t> resources;  // amounts
  int64_t per_minute = 0;                    // as it was set last
  std::vector<v1::JobDuration> durations;
  std::map<std::string, int64_t> loads;     // services', in seconds
  std::vector<size_t> uploaded;             // bytes of each upload
  std::map<std::string, std::string> held;  // by digest

 private:
  using Context = grpc::ServerContext;
  grpc::Status CreateSweep(Context*, const v1::CreateSweepRequest*,
                           v1::CreateSweepResponse*) override;
  grpc::Status ImportSweep(Context*, const v1::ImportSweepRequest*,
                           v1::CreateSweepResponse*) override;
  grpc::Status GetSweep(Context*, const v1::GetSweepRequest*, v1::Sweep*) override;
  grpc::Status ListSweeps(Context*, const v1::ListSweepsRequest*, v1::ListSweepsResponse*) override;
  grpc::Status CancelSweep(Context*, const v1::CancelSweepRequest*, v1::Sweep*) override;
  grpc::Status CancelJob(Context*, const v1::CancelJobRequest*, v1::Job*) override;
  grpc::Status PauseSweep(Context*, const v1::PauseSweepRequest*, v1::Sweep*) override;
  grpc::Status SetBudget(Context*, const v1::SetBudgetRequest*, v1::Sweep*) override;
  grpc::Status SetPriority(Context*, const v1::SetPriorityRequest*, v1::Sweep*) override;
  grpc::Status DeleteSweep(Context*, const v1::DeleteSweepRequest*,
                           v1::DeleteSweepResponse*) override;
  grpc::Status RetryJobs(Context*, const v1::RetryJobsRequest*, v1::RetryJobsResponse*) override;
  grpc::Status ListJobs(Context*, const v1::ListJobsRequest*, v1::ListJobsResponse*) override;
  grpc::Status GetJob(Context*, const v1::GetJobRequest*, v1::Job*) override;
  grpc::Status WatchSweep(Context*, const v1::WatchSweepRequest*,
                          grpc::ServerWriter<v1::WatchSweepResponse>*) override;
  grpc::Status ListWorkers(Context*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse*) override;
  grpc::Status ListDurations(Context*, const v1::ListDurationsRequest*,
                             v1::ListDurationsResponse*) override;
  grpc::Status ListAuditEntries(Context*, const v1::ListAuditEntriesRequest*,
                                v1::ListAuditEntriesResponse*) override;
  grpc::Status DrainWorker(Context*, const v1::DrainWorkerRequest*, v1::Worker*) override;
  grpc::Status ListResources(Context*, const v1::ListResourcesRequest*,
                             v1::ListResourcesResponse*) override;
  grpc::Status SetResource(Context*, const v1::SetResourceRequest*, v1::NamedResource*) override;
  grpc::Status DeleteResource(Context*, const v1::DeleteResourceRequest*,
                              v1::DeleteResourceResponse*) override;
  grpc::Status ListScores(Context*, const v1::ListScoresRequest*, v1::ListScoresResponse*) override;
  grpc::Status ReadLog(Context*, const v1::ReadLogRequest*,
                       grpc::ServerWriter<v1::ReadLogResponse>*) override;
  grpc::Status FindMissingArtifacts(Context*, const v1::FindMissingArtifactsRequest*,
                                    v1::FindMissingArtifactsResponse*) override;
  grpc::Status GetUploadOffset(Context*, const v1::GetUploadOffsetRequest*,
                               v1::GetUploadOffsetResponse*) override;
  grpc::Status UploadArtifact(Context*, grpc::ServerReader<v1::UploadArtifactRequest>*,
                              v1::UploadArtifactResponse*) override;
  grpc::Status DownloadArtifact(Context*, const v1::DownloadArtifactRequest*,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>*) override;

  // Unavailable as often as the test asked for.
  grpc::Status Reach();
  grpc::Status Find(const std::string& name, v1::Sweep* sweep);

  Mutex mutex_;
  size_t watched_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CLI_FAKE_COORDINATOR_H_
