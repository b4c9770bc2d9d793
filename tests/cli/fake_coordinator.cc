// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/fake_coordinator.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur::testing {
namespace {

constexpr int kPage = 2;  // small pages, so that every list has several

grpc::Status NotFound(const std::string& what) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no ", what)};
}

// The page of `list` that the token asks for, a twentieth of the list, at least `kPage` and at most
// `size` long; returns the next token.
template <typename Thing, typename Add>
std::string Page(const std::vector<Thing>& list, const std::string& token, int size, Add add) {
  constexpr size_t kPages = 20;
  size_t begin = 0;
  CONCUR_CHECK(token.empty() || absl::SimpleAtoi(token, &begin));
  const size_t length = std::max<size_t>(kPage, list.size() / kPages);
  const size_t end = std::min(list.size(), begin + std::min<size_t>(length, size));
  for (size_t i = begin; i < end; ++i) {
    add(list[i]);
  }
  return end < list.size() ? absl::StrCat(end) : "";
}

}  // namespace

FakeCoordinator::FakeCoordinator() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  CONCUR_CHECK(server_ != nullptr && port != 0);
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeCoordinator::~FakeCoordinator() { server_->Shutdown(); }

grpc::Status FakeCoordinator::Reach() {
  if (unavailable_calls > 0) {
    --unavailable_calls;
    return {grpc::StatusCode::UNAVAILABLE, "going away"};
  }
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::Find(const std::string& name, v1::Sweep* sweep) {
  if (grpc::Status status = Reach(); !status.ok()) {
    return status;
  }
  for (const v1::Sweep& candidate : sweeps) {
    if (candidate.id() == name || candidate.name() == name) {
      *sweep = candidate;
      return grpc::Status::OK;
    }
  }
  return NotFound(absl::StrCat("sweep \"", name, "\""));
}

grpc::Status FakeCoordinator::CreateSweep(Context*, const v1::CreateSweepRequest* request,
                                          v1::CreateSweepResponse* response) {
  MutexLock lock(mutex_);
  created.push_back(*request);
  if (grpc::Status status = Reach(); !status.ok()) {
    return status;
  }
  *response->mutable_sweep() = sweeps.at(0);
  response->add_warnings("no worker has a GPU");
  *response->mutable_jobs() = {planned.begin(), planned.end()};
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ImportSweep(Context*, const v1::ImportSweepRequest* request,
                                          v1::CreateSweepResponse* response) {
  MutexLock lock(mutex_);
  imported.push_back(*request);
  if (grpc::Status status = Reach(); !status.ok()) {
    return status;
  }
  *response->mutable_sweep() = sweeps.at(0);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::GetSweep(Context*, const v1::GetSweepRequest* request,
                                       v1::Sweep* sweep) {
  MutexLock lock(mutex_);
  grpc::Status status = Find(request->sweep(), sweep);
  if (!request->include_spec()) {
    sweep->clear_spec();
  }
  if (!request->include_services()) {
    sweep->clear_services();
  }
  return status;
}

grpc::Status FakeCoordinator::ListSweeps(Context*, const v1::ListSweepsRequest* request,
                                         v1::ListSweepsResponse* response) {
  MutexLock lock(mutex_);
  if (grpc::Status status = Reach(); !status.ok()) {
    return status;
  }
  page_tokens.push_back(request->page_token());
  response->set_next_page_token(
      Page(sweeps, request->page_token(), request->page_size(),
           [&](const v1::Sweep& sweep) { *response->add_sweeps() = sweep; }));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::CancelSweep(Context*, const v1::CancelSweepRequest* request,
                                          v1::Sweep* sweep) {
  MutexLock lock(mutex_);
  grpc::Status status = Find(request->sweep(), sweep);
  sweep->set_state(v1::Sweep::STATE_CANCELING);
  return status;
}

grpc::Status FakeCoordinator::CancelJob(Context*, const v1::CancelJobRequest* request,
                                        v1::Job* job) {
  MutexLock lock(mutex_);
  for (v1::Job& known : jobs) {
    if (known.id() == request->job()) {
      if (known.state() != v1::Job::STATE_SUCCEEDED && known.state() != v1::Job::STATE_FAILED) {
        known.set_state(v1::Job::STATE_CANCELED);
      }
      *job = known;
      return Reach();
    }
  }
  return {grpc::StatusCode::NOT_FOUND, "no job " + request->job()};
}

grpc::Status FakeCoordinator::SetBudget(Context*, const v1::SetBudgetRequest* request,
                                        v1::Sweep* sweep) {
  MutexLock lock(mutex_);
  if (grpc::Status status = Find(request->sweep(), sweep); !status.ok()) {
    return status;
  }
  sweep->set_budget_usd(request->usd());
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::SetPriority(Context*, const v1::SetPriorityRequest* request,
                                          v1::Sweep* sweep) {
  MutexLock lock(mutex_);
  if (grpc::Status status = Find(request->sweep(), sweep); !status.ok()) {
    return status;
  }
  sweep->set_priority(request->priority());
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::PauseSweep(Context*, const v1::PauseSweepRequest* request,
                                         v1::Sweep* sweep) {
  MutexLock lock(mutex_);
  if (grpc::Status status = Find(request->sweep(), sweep); !status.ok()) {
    return status;
  }
  return {grpc::StatusCode::FAILED_PRECONDITION, "s12 has ended"};
}

grpc::Status FakeCoordinator::DeleteSweep(Context*, const v1::DeleteSweepRequest* request,
                                          v1::DeleteSweepResponse*) {
  MutexLock lock(mutex_);
  deleted.push_back(request->sweep());
  if (unavailable_deletions > 0) {
    --unavailable_deletions;
    return {grpc::StatusCode::UNAVAILABLE, "going away"};
  }
  return Reach();
}

grpc::Status FakeCoordinator::RetryJobs(Context*, const v1::RetryJobsRequest* request,
                                        v1::RetryJobsResponse* response) {
  MutexLock lock(mutex_);
  retried.push_back(*request);
  response->set_retried(static_cast<uint32_t>(request->jobs_size()));
  return Reach();
}

grpc::Status FakeCoordinator::ListJobs(Context*, const v1::ListJobsRequest* request,
                                       v1::ListJobsResponse* response) {
  MutexLock lock(mutex_);
  std::vector<const v1::Job*> wanted;
  for (const v1::Job& job : jobs) {
    const auto& states = request->states();
    if (states.empty() || std::find(states.begin(), states.end(), job.state()) != states.end()) {
      wanted.push_back(&job);
    }
  }
  list_requests.push_back(*request);
  page_tokens.push_back(request->page_token());
  response->set_next_page_token(Page(wanted, request->page_token(), request->page_size(),
                                     [&](const v1::Job* job) { *response->add_jobs() = *job; }));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::GetJob(Context*, const v1::GetJobRequest* request, v1::Job* job) {
  MutexLock lock(mutex_);
  job_requests.push_back(*request);
  for (const v1::Job& candidate : jobs) {
    if (candidate.id() == request->job() && candidate.id() != deleted_job) {
      *job = candidate;
      if (!request->include_steps()) {
        job->clear_steps();
      }
      return grpc::Status::OK;
    }
  }
  return NotFound(absl::StrCat("job \"", request->job(), "\""));
}

grpc::Status FakeCoordinator::WatchSweep(Context*, const v1::WatchSweepRequest* request,
                                         grpc::ServerWriter<v1::WatchSweepResponse>* writer) {
  MutexLock lock(mutex_);
  watch_cursors.push_back(request->cursor());
  watch_events.push_back(request->events());
  while (watched_ < watch.size()) {
    const v1::WatchSweepResponse& message = watch[watched_++];
    if (!message.has_sweep()) {
      return {grpc::StatusCode::UNAVAILABLE, "the coordinator restarts"};
    }
    writer->Write(message);
  }
  return watch.empty() ? NotFound("sweep") : grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListWorkers(Context*, const v1::ListWorkersRequest* request,
                                          v1::ListWorkersResponse* response) {
  MutexLock lock(mutex_);
  response->set_next_page_token(
      Page(workers, request->page_token(), request->page_size(),
           [&](const v1::Worker& worker) { *response->add_workers() = worker; }));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListDurations(Context*, const v1::ListDurationsRequest* request,
                                            v1::ListDurationsResponse* response) {
  MutexLock lock(mutex_);
  response->set_next_page_token(
      Page(durations, request->page_token(), request->page_size(),
           [&](const v1::JobDuration& duration) { *response->add_durations() = duration; }));
  for (const auto& [approach, seconds] : loads) {
    (*response->mutable_loads())[approach].set_seconds(seconds);
  }
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListAuditEntries(Context*, const v1::ListAuditEntriesRequest* request,
                                               v1::ListAuditEntriesResponse* response) {
  MutexLock lock(mutex_);
  audit_requests.push_back(*request);
  response->set_next_page_token(
      Page(audit, request->page_token(), request->page_size(),
           [&](const v1::AuditEntry& entry) { *response->add_entries() = entry; }));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::DrainWorker(Context*, const v1::DrainWorkerRequest* request,
                                          v1::Worker* worker) {
  MutexLock lock(mutex_);
  drained.push_back(*request);
  *worker = workers.at(0);
  worker->set_state(request->undo() ? v1::Worker::STATE_LIVE : v1::Worker::STATE_DRAINING);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListResources(Context*, const v1::ListResourcesRequest*,
                                            v1::ListResourcesResponse* response) {
  MutexLock lock(mutex_);
  for (const auto& [name, amount] : resources) {
    v1::NamedResource& resource = *response->add_resources();
    resource.set_name(name);
    resource.set_amount(amount);
    resource.set_in_use(amount);
    resource.set_waiting(1'234);
    resource.set_per_minute(per_minute);
  }
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::SetResource(Context*, const v1::SetResourceRequest* request,
                                          v1::NamedResource* resource) {
  MutexLock lock(mutex_);
  resources[request->name()] = request->amount();
  per_minute = request->per_minute();
  resource->set_name(request->name());
  resource->set_amount(request->amount());
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::DeleteResource(Context*, const v1::DeleteResourceRequest* request,
                                             v1::DeleteResourceResponse*) {
  MutexLock lock(mutex_);
  return resources.erase(request->name()) == 1
             ? grpc::Status::OK
             : NotFound(absl::StrCat("resource \"", request->name(), "\""));
}

grpc::Status FakeCoordinator::ListScores(Context*, const v1::ListScoresRequest* request,
                                         v1::ListScoresResponse* response) {
  MutexLock lock(mutex_);
  response->set_next_page_token(
      Page(scores, request->page_token(), request->page_size(),
           [&](const v1::Score& score) { *response->add_scores() = score; }));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ReadLog(Context*, const v1::ReadLogRequest* request,
                                      grpc::ServerWriter<v1::ReadLogResponse>* writer) {
  MutexLock lock(mutex_);
  // Byte by byte, and away once in the middle when the test asks for it.
  for (size_t i = static_cast<size_t>(request->offset()); i < log.size(); ++i) {
    v1::ReadLogResponse piece;
    piece.set_offset(static_cast<int64_t>(i));
    piece.set_data(log.substr(i, 1));
    piece.set_attempt(1);
    writer->Write(piece);
    if (i == log.size() / 2) {
      if (grpc::Status status = Reach(); !status.ok()) {
        return status;
      }
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::FindMissingArtifacts(Context*,
                                                   const v1::FindMissingArtifactsRequest* request,
                                                   v1::FindMissingArtifactsResponse* response) {
  MutexLock lock(mutex_);
  for (const std::string& bytes : request->digests()) {
    if (artifacts.count(*Digest::FromBytes(bytes)) == 0) {
      response->add_digests(bytes);
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::GetUploadOffset(Context*, const v1::GetUploadOffsetRequest* request,
                                              v1::GetUploadOffsetResponse* response) {
  MutexLock lock(mutex_);
  if (held_bytes_max < 0) {
    return {grpc::StatusCode::UNIMPLEMENTED, ""};
  }
  response->set_offset(static_cast<int64_t>(held[request->digest()].size()));
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::UploadArtifact(Context*,
                                             grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                                             v1::UploadArtifactResponse* response) {
  MutexLock lock(mutex_);
  v1::UploadArtifactRequest request;
  std::string digest;
  std::string data;
  int64_t size_bytes = 0;
  uploaded.push_back(0);
  while (reader->Read(&request)) {
    digest += request.digest();
    size_bytes += request.size_bytes();
    if (request.offset() > 0) {
      data = held[digest];
      if (static_cast<int64_t>(data.size()) != request.offset()) {
        return {grpc::StatusCode::ABORTED, "offset: begin at 0"};
      }
    }
    data += request.data();
    uploaded.back() += request.data().size();
  }
  if (grpc::Status status = Reach(); !status.ok()) {
    held[digest] = data.substr(0, static_cast<size_t>(std::max<int64_t>(held_bytes_max, 0)));
    return {broken_upload, status.error_message()};
  }
  if (Sha256Of(data).ToBytes() != digest || static_cast<int64_t>(data.size()) != size_bytes) {
    return {grpc::StatusCode::DATA_LOSS, "the bytes have another digest"};
  }
  artifacts[Sha256Of(data)] = data;
  response->set_digest(digest);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::DownloadArtifact(
    Context*, const v1::DownloadArtifactRequest* request,
    grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) {
  MutexLock lock(mutex_);
  const auto found = artifacts.find(*Digest::FromBytes(request->digest()));
  if (found == artifacts.end()) {
    return {grpc::StatusCode::NOT_FOUND, "no such artifact"};
  }
  if (grpc::Status status = Reach(); !status.ok()) {
    return status;
  }
  constexpr size_t kPiece = 100;  // several pieces, to be put together again
  for (auto at = static_cast<size_t>(request->offset()); at < found->second.size(); at += kPiece) {
    v1::DownloadArtifactResponse response;
    response.set_data(found->second.substr(at, kPiece));
    writer->Write(response);
  }
  return grpc::Status::OK;
}

}  // namespace concur::testing
