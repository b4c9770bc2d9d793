// SPDX-License-Identifier: Apache-2.0
#include "cli/client/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/client/server_address.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/sweep/sweep.h"
#include "core/sweep/sweep_name.h"
#include "proto/rpc/call.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_score.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/coordinators.h"
#include "proto/rpc/diagnose.h"
#include "proto/rpc/status.h"
#include "proto/rpc/upload.h"

namespace concur::cli {
namespace {

constexpr int kSweepsPage = 1000;
constexpr int kJobsPage = 1000;
constexpr int kScoresPage = 10'000;
constexpr size_t kDigestsPerCall = 10'000;
// Time in which one of several coordinators takes over, and loads; meanwhile the next one is asked
// at least so often.
constexpr absl::Duration kTakeOverMax = absl::Seconds(20);
constexpr absl::Duration kTakeOverPoll = absl::Milliseconds(200);

// True if a stream that ended so should reconnect. A coordinator that stops cancels its streams.
bool MayComeBack(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

// InvalidArgument for a path. Every call that names a sweep checks it: commands that read scores
// take a bundle's in place of a sweep; the others are told here, and not that no coordinator
// answers. "OWNER/NAME" is a path if there is such a file.
absl::Status CheckNamesSweep(const std::string& sweep) {
  const SweepName name = ParseSweepName(sweep);
  const bool is_path =
      absl::StrContains(sweep, '/') &&
      (name.owner.empty() || name.owner[0] == '.' || absl::StrContains(name.owner, '/') ||
       !ValidateName(name.name).ok() || std::filesystem::exists(sweep));
  if (!is_path || JobId::Parse(sweep).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", sweep, "\" is a path; expected a sweep of a coordinator, by id or name (\"",
      "concur bundle load ", sweep, "\" makes one of imported results)"));
}

class GrpcClient : public Client {
 public:
  GrpcClient(std::string address, std::shared_ptr<rpc::Coordinators> coordinators,
             std::ostream* notes)
      : Client(std::move(address)), coordinators_(std::move(coordinators)), notes_(notes) {}

  std::unique_ptr<Client> ForAsides(absl::Duration call_max) const override {
    auto client = std::make_unique<GrpcClient>(address_, coordinators_, nullptr);
    client->call_max_ = call_max;
    client->set_patience(absl::ZeroDuration());
    return client;
  }

  absl::StatusOr<v1::CreateSweepResponse> CreateSweep(
      const v1::CreateSweepRequest& request) override {
    return Repeat<v1::CreateSweepResponse>(request, &v1::Coordinator::Stub::CreateSweep,
                                           absl::Minutes(2));
  }

  absl::StatusOr<v1::CreateSweepResponse> ImportSweep(
      const v1::ImportSweepRequest& request) override {
    return Repeat<v1::CreateSweepResponse>(request, &v1::Coordinator::Stub::ImportSweep,
                                           absl::Minutes(2));
  }

  absl::StatusOr<v1::Sweep> GetSweep(const std::string& sweep, Include include) override {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    request.set_include_spec(include == Include::kSpec);
    request.set_include_services(include == Include::kServices);
    return Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::GetSweep);
  }

  absl::StatusOr<std::vector<v1::Sweep>> ListSweeps(const std::string& owner,
                                                    size_t count_max) override {
    v1::ListSweepsRequest request;
    request.set_owner(owner);
    request.set_page_size(kSweepsPage);
    return Pages<v1::Sweep, v1::ListSweepsResponse>(
        request, count_max, &v1::Coordinator::Stub::ListSweeps,
        [](v1::ListSweepsResponse& page) { return page.mutable_sweeps(); });
  }

  absl::StatusOr<v1::Sweep> ChangeSweep(const std::string& sweep, SweepChange change) override {
    switch (change) {
      case SweepChange::kPause:
        return CallForSweep(sweep, &v1::Coordinator::Stub::PauseSweep);
      case SweepChange::kResume:
        return CallForSweep(sweep, &v1::Coordinator::Stub::ResumeSweep);
      case SweepChange::kCancel:
        break;
    }
    return CallForSweep(sweep, &v1::Coordinator::Stub::CancelSweep);
  }
  absl::StatusOr<v1::Sweep> SetSweep(const std::string& sweep, std::optional<int32_t> priority,
                                     std::optional<double> budget_usd) override {
    absl::StatusOr<v1::Sweep> changed =
        absl::InvalidArgumentError("expected --priority or --budget-usd, got neither");
    if (priority) {
      v1::SetPriorityRequest request;
      request.set_sweep(sweep);
      request.set_priority(*priority);
      changed = Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::SetPriority);
      CONCUR_RETURN_IF_ERROR(changed.status());
    }
    if (budget_usd) {
      v1::SetBudgetRequest request;
      request.set_sweep(sweep);
      request.set_usd(*budget_usd);
      changed = Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::SetBudget);
    }
    return changed;
  }

  absl::StatusOr<v1::Job> CancelJob(const std::string& job) override {
    v1::CancelJobRequest request;
    request.set_job(job);
    return Repeat<v1::Job>(request, &v1::Coordinator::Stub::CancelJob);
  }

  absl::Status DeleteSweep(const std::string& sweep) override {
    CONCUR_RETURN_IF_ERROR(CheckNamesSweep(sweep));
    v1::DeleteSweepRequest request;
    request.set_sweep(sweep);
    v1::DeleteSweepResponse response;
    return Once(request, &v1::Coordinator::Stub::DeleteSweep, &response);
  }

  absl::StatusOr<uint32_t> RetryJobs(const v1::RetryJobsRequest& request) override {
    CONCUR_RETURN_IF_ERROR(CheckNamesSweep(request.sweep()));
    // Not repeated: between two of them a job may have failed anew.
    v1::RetryJobsResponse response;
    CONCUR_RETURN_IF_ERROR(Once(request, &v1::Coordinator::Stub::RetryJobs, &response));
    return response.retried();
  }

  absl::Status ListJobs(v1::ListJobsRequest request, size_t count_max,
                        const std::function<bool(v1::Job)>& each) override {
    if (request.page_size() == 0) {
      request.set_page_size(kJobsPage);
    }
    return EachOfPages<v1::Job, v1::ListJobsResponse>(
        std::move(request), count_max, &v1::Coordinator::Stub::ListJobs,
        [](v1::ListJobsResponse& page) { return page.mutable_jobs(); }, each);
  }

  absl::StatusOr<v1::Job> GetJob(const std::string& job, bool include_steps) override {
    v1::GetJobRequest request;
    request.set_job(job);
    request.set_include_steps(include_steps);
    return Repeat<v1::Job>(request, &v1::Coordinator::Stub::GetJob);
  }

  absl::StatusOr<std::vector<v1::Worker>> ListWorkers() override {
    v1::ListWorkersRequest request;
    request.set_page_size(kSweepsPage);
    return Pages<v1::Worker, v1::ListWorkersResponse>(
        request, 0, &v1::Coordinator::Stub::ListWorkers,
        [](v1::ListWorkersResponse& page) { return page.mutable_workers(); });
  }

  absl::StatusOr<std::vector<v1::JobDuration>> ListDurations(
      std::map<std::string, google::protobuf::Duration>* loads) override {
    v1::ListDurationsRequest request;
    request.set_page_size(kSweepsPage);
    return Pages<v1::JobDuration, v1::ListDurationsResponse>(
        request, 0, &v1::Coordinator::Stub::ListDurations,
        [loads](v1::ListDurationsResponse& page) {
          loads->insert(page.loads().begin(), page.loads().end());
          return page.mutable_durations();
        });
  }

  absl::StatusOr<std::vector<v1::AuditEntry>> ListAuditEntries(v1::ListAuditEntriesRequest request,
                                                               size_t count_max) override {
    request.set_page_size(kSweepsPage);
    return Pages<v1::AuditEntry, v1::ListAuditEntriesResponse>(
        std::move(request), count_max, &v1::Coordinator::Stub::ListAuditEntries,
        [](v1::ListAuditEntriesResponse& page) { return page.mutable_entries(); });
  }

  absl::StatusOr<v1::Worker> DrainWorker(const std::string& worker, bool undo) override {
    v1::DrainWorkerRequest request;
    request.set_worker(worker);
    request.set_undo(undo);
    return Repeat<v1::Worker>(request, &v1::Coordinator::Stub::DrainWorker);
  }

  absl::StatusOr<std::vector<v1::NamedResource>> ListResources() override {
    const absl::StatusOr<v1::ListResourcesResponse> response = Repeat<v1::ListResourcesResponse>(
        v1::ListResourcesRequest(), &v1::Coordinator::Stub::ListResources);
    if (!response.ok() && !absl::IsUnimplemented(response.status())) {
      return response.status();
    }
    const v1::ListResourcesResponse listed = response.value_or(v1::ListResourcesResponse());
    return std::vector<v1::NamedResource>(listed.resources().begin(), listed.resources().end());
  }

  absl::StatusOr<v1::NamedResource> SetResource(const std::string& name, int64_t amount,
                                                int64_t per_minute) override {
    v1::SetResourceRequest request;
    request.set_name(name);
    request.set_amount(amount);
    request.set_per_minute(per_minute);
    return Repeat<v1::NamedResource>(request, &v1::Coordinator::Stub::SetResource);
  }

  absl::Status Delete(Named kind, const std::string& name) override {
    return kind == Named::kResource
               ? DeleteOnce<v1::DeleteResourceRequest>(name, &v1::Coordinator::Stub::DeleteResource)
               : DeleteOnce<v1::DeleteSecretRequest>(name, &v1::Coordinator::Stub::DeleteSecret);
  }

  absl::StatusOr<std::vector<v1::Pool>> ListPools() override {
    CONCUR_ASSIGN_OR_RETURN(
        v1::ListPoolsResponse response,
        Repeat<v1::ListPoolsResponse>(v1::ListPoolsRequest(), &v1::Coordinator::Stub::ListPools));
    return std::vector<v1::Pool>(response.pools().begin(), response.pools().end());
  }

  absl::StatusOr<v1::Pool> GetPool(const std::string& pool) override {
    v1::GetPoolRequest request;
    request.set_pool(pool);
    return Repeat<v1::Pool>(request, &v1::Coordinator::Stub::GetPool);
  }

  absl::StatusOr<v1::Pool> CreatePool(const v1::PoolSpec& spec, bool validate_only) override {
    v1::CreatePoolRequest request;
    *request.mutable_spec() = spec;
    request.set_validate_only(validate_only);
    return Repeat<v1::Pool>(request, &v1::Coordinator::Stub::CreatePool);
  }

  absl::StatusOr<v1::Pool> PausePool(const std::string& pool, const std::string& reason) override {
    v1::PausePoolRequest request;
    request.set_pool(pool);
    request.set_reason(reason);
    return Repeat<v1::Pool>(request, &v1::Coordinator::Stub::PausePool);
  }

  absl::StatusOr<v1::Pool> ResumePool(const std::string& pool) override {
    v1::ResumePoolRequest request;
    request.set_pool(pool);
    return Repeat<v1::Pool>(request, &v1::Coordinator::Stub::ResumePool);
  }

  absl::Status DeletePool(const std::string& pool, bool at_once) override {
    v1::DeletePoolRequest request;
    request.set_pool(pool);
    request.set_at_once(at_once);
    v1::DeletePoolResponse response;
    return Once(request, &v1::Coordinator::Stub::DeletePool, &response);
  }

  absl::StatusOr<v1::Secret> SetSecret(const std::string& name, const std::string& value) override {
    for (const rpc::Coordinators::PeerPtr& peer : coordinators_->peers()) {
      if (peer->credentials.ca.empty() && !rpc::IsLocalAddress(peer->address)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the secret would cross the network to ", peer->address,
                         " in clear text: name the coordinator's CA with --ca or CONCUR_CA"));
      }
    }
    v1::SetSecretRequest request;
    request.set_name(name);
    request.set_value(value);
    return Repeat<v1::Secret>(request, &v1::Coordinator::Stub::SetSecret);
  }

  absl::StatusOr<std::vector<v1::Secret>> ListSecrets() override {
    CONCUR_ASSIGN_OR_RETURN(v1::ListSecretsResponse response,
                            Repeat<v1::ListSecretsResponse>(v1::ListSecretsRequest(),
                                                            &v1::Coordinator::Stub::ListSecrets));
    return std::vector<v1::Secret>(response.secrets().begin(), response.secrets().end());
  }

  absl::Status ListScores(const std::string& sweep, const std::string& metric,
                          const std::function<void(JobScore)>& each) override {
    v1::ListScoresRequest request;
    request.set_sweep(sweep);
    request.set_metric(metric);
    request.set_page_size(kScoresPage);
    size_t count = 0;
    absl::Status bad;
    CONCUR_RETURN_IF_ERROR((EachOfPages<v1::Score, v1::ListScoresResponse>(
        request, 0, &v1::Coordinator::Stub::ListScores,
        [](v1::ListScoresResponse& page) { return page.mutable_scores(); },
        [&](const v1::Score& proto) {
          absl::StatusOr<JobScore> score =
              rpc::FromProto(proto, FieldPath("response").Field("scores", count++));
          if (!score.ok()) {
            bad = score.status();
            return false;
          }
          each(*std::move(score));
          return true;
        })));
    return bad;
  }

  absl::Status WatchSweep(const std::string& sweep, const std::string& cursor,
                          v1::WatchSweepRequest::Events events, absl::Duration outage_max,
                          const std::function<bool(const v1::WatchSweepResponse&)>& on_update,
                          const std::function<void(const absl::Status&)>& on_outage) override {
    CONCUR_RETURN_IF_ERROR(CheckNamesSweep(sweep));
    v1::WatchSweepRequest request;
    request.set_sweep(sweep);
    request.set_cursor(cursor);
    request.set_events(events);
    bool wanted = true;
    return Resume(
        outage_max,
        [&](v1::Coordinator::Stub& stub, grpc::ClientContext& context,
            const std::function<void()>& heard) {
          const auto reader = stub.WatchSweep(&context, request);
          v1::WatchSweepResponse response;
          while (wanted && reader->Read(&response)) {
            heard();
            request.set_cursor(response.cursor());
            wanted = on_update(response);
          }
          if (!wanted) {
            context.TryCancel();
          }
          const grpc::Status status = reader->Finish();
          return wanted ? status : grpc::Status::OK;
        },
        on_outage);
  }

  absl::Status ReadLog(const std::string& job, int64_t offset, bool follow,
                       const std::function<void(const v1::ReadLogResponse&)>& on_data) override {
    v1::ReadLogRequest request;
    request.set_job(job);
    request.set_offset(offset);
    request.set_follow(follow);
    return Resume(
        absl::Minutes(1),
        [&](v1::Coordinator::Stub& stub, grpc::ClientContext& context,
            const std::function<void()>& heard) {
          const auto reader = stub.ReadLog(&context, request);
          v1::ReadLogResponse response;
          while (reader->Read(&response)) {
            heard();
            request.set_offset(response.offset() + static_cast<int64_t>(response.data().size()));
            on_data(response);
          }
          return reader->Finish();
        },
        [](const absl::Status&) {});
  }

  void CancelStreams() override {
    MutexLock lock(mutex_);
    canceled_ = true;
    if (stream_ != nullptr) {
      stream_->TryCancel();
    }
  }

  absl::StatusOr<std::vector<Digest>> FindMissingArtifacts(
      const std::vector<Digest>& digests) override {
    std::vector<Digest> missing;
    for (size_t begin = 0; begin < digests.size(); begin += kDigestsPerCall) {
      v1::FindMissingArtifactsRequest request;
      for (size_t i = begin; i < std::min(digests.size(), begin + kDigestsPerCall); ++i) {
        request.add_digests(digests[i].ToBytes());
      }
      CONCUR_ASSIGN_OR_RETURN(const v1::FindMissingArtifactsResponse response,
                              Repeat<v1::FindMissingArtifactsResponse>(
                                  request, &v1::Coordinator::Stub::FindMissingArtifacts));
      for (const std::string& bytes : response.digests()) {
        CONCUR_ASSIGN_OR_RETURN(const Digest digest,
                                rpc::DigestFromBytes(bytes, FieldPath("response.digests")));
        missing.push_back(digest);
      }
    }
    return missing;
  }

  absl::Status UploadFile(const std::string& path, const Digest& digest,
                          const std::function<void(int64_t)>& on_progress) override {
    rpc::CallOptions options = Options();
    options.total_timeout = absl::Hours(24);  // a large file takes its time
    return Reached(rpc::CallWithRetry(options, [&](grpc::ClientContext&) {
      const auto stub = MakeStub();
      return rpc::ToGrpcStatus(
          rpc::UploadFile(rpc::UploadMethodsOf(*stub), digest, path, {nullptr, on_progress}));
    }));
  }

  absl::Status StreamArtifact(const Digest& digest,
                              const std::function<absl::Status(absl::string_view)>& sink) override {
    v1::DownloadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    int64_t offset = 0;
    Sha256 hasher;
    absl::Status taken;
    CONCUR_RETURN_IF_ERROR(Resume(
        absl::Minutes(1),
        [&](v1::Coordinator::Stub& stub, grpc::ClientContext& context,
            const std::function<void()>& heard) {
          request.set_offset(offset);
          const auto reader = stub.DownloadArtifact(&context, request);
          v1::DownloadArtifactResponse response;
          while (taken.ok() && reader->Read(&response)) {
            heard();
            offset += static_cast<int64_t>(response.data().size());
            hasher.Update(response.data());
            taken = sink(response.data());
          }
          if (!taken.ok()) {
            context.TryCancel();
          }
          const grpc::Status status = reader->Finish();
          return taken.ok() ? status : grpc::Status::OK;
        },
        [](const absl::Status&) {}));
    CONCUR_RETURN_IF_ERROR(taken);
    return hasher.Finish() == digest
               ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat("artifact ", digest.ToHex(),
                                                  ": the bytes received have another digest"));
  }

 private:
  template <typename Response, typename Request>
  using Method = grpc::Status (v1::Coordinator::Stub::*)(grpc::ClientContext*, const Request&,
                                                         Response*);

  rpc::CallOptions Options(absl::Duration attempt_timeout = absl::Seconds(30)) const {
    rpc::CallOptions options;
    options.coordinators = coordinators_.get();
    options.attempt_timeout = std::min(attempt_timeout, call_max_);
    options.total_timeout = options.attempt_timeout + std::max(patience_, kTakeOverMax);
    if (coordinators_->several()) {
      options.backoff_max = kTakeOverPoll;
    }
    return options;
  }

  // A stub is little beside a call.
  std::unique_ptr<v1::Coordinator::Stub> MakeStub() const {
    return v1::Coordinator::NewStub(coordinators_->current()->channel);
  }

  // True when calls are no longer repeated, after `failures` for `time`. Each of several
  // coordinators is asked.
  bool IsOver(size_t failures, absl::Duration time) const {
    const bool waits = patience_ > absl::ZeroDuration() && coordinators_->several();
    return failures >= coordinators_->size() &&
           time > (waits ? std::max(patience_, kTakeOverMax) : patience_);
  }

  // Tells the user once that the program is waiting.
  void NoteOutage() {
    if (notes_ != nullptr && !noted_) {
      *notes_ << "concur: no answer from " << address_ << ", trying again…" << std::endl;
      noted_ = true;
    }
  }

  // Adds the address, and what to do, to an Unavailable error.
  absl::Status Reached(const absl::Status& status) const {
    if (!absl::IsUnavailable(status)) {
      return status;
    }
    // gRPC reports a refused TLS handshake as Unavailable, too.
    for (const rpc::Coordinators::PeerPtr& peer : coordinators_->peers()) {
      CONCUR_RETURN_IF_ERROR(rpc::DiagnoseHandshake(peer->address, peer->credentials));
    }
    return absl::UnavailableError(absl::StrCat(
        coordinators_->several() ? "no coordinator leads at " : "no coordinator answers at ",
        coordinators_->Failures(),
        "; start one with \"concur up\", or name one with --server or CONCUR_SERVER"));
  }

  template <typename Response, typename Request>
  absl::StatusOr<Response> Repeat(const Request& request, Method<Response, Request> method,
                                  absl::Duration attempt_timeout = absl::Seconds(30)) {
    if constexpr (requires {
                    { request.sweep() } -> std::same_as<const std::string&>;
                  }) {
      CONCUR_RETURN_IF_ERROR(CheckNamesSweep(request.sweep()));
    }
    rpc::CallOptions options = Options(attempt_timeout);
    const absl::Time start = absl::Now();
    size_t attempts = 0;
    absl::Status last;
    options.is_canceled = [&] {
      if (absl::Now() - start > absl::Seconds(1)) {
        NoteOutage();
      }
      return absl::IsUnavailable(last) && IsOver(attempts, absl::Now() - start);
    };
    Response response;
    const absl::Status status = rpc::CallWithRetry(options, [&](grpc::ClientContext& context) {
      const auto stub = MakeStub();
      grpc::Status answer = (stub.get()->*method)(&context, request, &response);
      last = rpc::FromGrpcStatus(answer);
      ++attempts;
      return answer;
    });
    if (!status.ok()) {
      return Reached(absl::IsCancelled(status) ? last : status);
    }
    return response;
  }

  template <typename Request>
  absl::StatusOr<v1::Sweep> CallForSweep(const std::string& sweep,
                                         Method<v1::Sweep, Request> method) {
    Request request;
    request.set_sweep(sweep);
    return Repeat<v1::Sweep>(request, method);
  }

  template <typename Request, typename Response>
  absl::Status DeleteOnce(const std::string& name, Method<Response, Request> method) {
    Request request;
    request.set_name(name);
    Response response;
    return Once(request, method, &response);
  }

  // For calls that are not safe to repeat. Where there may be several coordinators, a call that is
  // finds the leader first.
  template <typename Response, typename Request>
  absl::Status Once(const Request& request, Method<Response, Request> method, Response* response) {
    if (coordinators_->may_be_several()) {
      v1::ListSweepsRequest any;
      any.set_page_size(1);
      CONCUR_RETURN_IF_ERROR(
          Repeat<v1::ListSweepsResponse>(any, &v1::Coordinator::Stub::ListSweeps).status());
    }
    return Reached(rpc::CallOnce(Options(), [&](grpc::ClientContext& context) {
      return (MakeStub().get()->*method)(&context, request, response);
    }));
  }

  template <typename Thing, typename Response, typename Request, typename List>
  absl::StatusOr<std::vector<Thing>> Pages(Request request, size_t count_max,
                                           Method<Response, Request> method, List list) {
    std::vector<Thing> things;
    CONCUR_RETURN_IF_ERROR((EachOfPages<Thing, Response>(std::move(request), count_max, method,
                                                         list, [&things](Thing thing) {
                                                           things.push_back(std::move(thing));
                                                           return true;
                                                         })));
    return things;
  }

  // Until `each` returns false.
  template <typename Thing, typename Response, typename Request, typename List, typename Each>
  absl::Status EachOfPages(Request request, size_t count_max, Method<Response, Request> method,
                           List list, const Each& each) {
    size_t count = 0;
    while (true) {
      if (count_max != 0) {
        request.set_page_size(
            static_cast<int32_t>(std::min<size_t>(request.page_size(), count_max - count)));
      }
      CONCUR_ASSIGN_OR_RETURN(Response page, Repeat(request, method));
      for (Thing& thing : *list(page)) {
        ++count;
        if (!each(std::move(thing))) {
          return absl::OkStatus();
        }
      }
      if (page.next_page_token().empty() || (count_max != 0 && count >= count_max)) {
        return absl::OkStatus();
      }
      request.set_page_token(page.next_page_token());
    }
  }

  using Stream = std::function<grpc::Status(v1::Coordinator::Stub&, grpc::ClientContext&,
                                            const std::function<void()>& heard)>;

  // Runs `stream` again whenever it ended because the server was unavailable.
  absl::Status Resume(absl::Duration outage_max, const Stream& stream,
                      const std::function<void(const absl::Status&)>& on_outage) {
    absl::Time last_heard = absl::Now();
    bool ever_heard = false;
    for (size_t failures = 1;; ++failures) {
      grpc::ClientContext context;
      if (!EnterStream(&context)) {
        return absl::CancelledError("interrupted");
      }
      const rpc::Coordinators::PeerPtr asked = coordinators_->current();
      const auto stub = v1::Coordinator::NewStub(asked->channel);
      absl::Status status = rpc::FromGrpcStatus(stream(*stub, context, [&] {
        last_heard = absl::Now();
        ever_heard = true;
        failures = 1;  // the end of this stream
      }));
      coordinators_->Report(*asked, status);
      const bool canceled = LeaveStream();
      if (canceled) {
        return absl::CancelledError("interrupted");
      }
      if (!MayComeBack(status)) {
        return status;
      }
      const absl::Duration silence = absl::Now() - last_heard;
      if (ever_heard ? silence > outage_max : IsOver(failures, silence)) {
        return Reached(status);
      }
      if (failures >= coordinators_->size()) {  // before, another one may lead
        on_outage(status);
      }
      rpc::WaitToRepeat(coordinators_->current()->channel.get(),
                        rpc::BackoffBefore(Options(), static_cast<int>(failures), 0.5),
                        [this] { return IsCanceled(); });
    }
  }

  bool EnterStream(grpc::ClientContext* context) {
    MutexLock lock(mutex_);
    stream_ = context;
    return !canceled_;
  }
  // True when CancelStreams was called.
  bool LeaveStream() {
    MutexLock lock(mutex_);
    stream_ = nullptr;
    return canceled_;
  }
  bool IsCanceled() {
    MutexLock lock(mutex_);
    return canceled_;
  }

  const std::shared_ptr<rpc::Coordinators> coordinators_;  // shared with those for asides
  std::ostream* const notes_;
  absl::Duration call_max_ = absl::InfiniteDuration();
  bool noted_ = false;

  Mutex mutex_;
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool canceled_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<Client>> ConnectWithNotes(const std::string& address,
                                                         const rpc::CredentialFiles& files,
                                                         std::ostream* notes) {
  CONCUR_ASSIGN_OR_RETURN(std::shared_ptr<rpc::Coordinators> coordinators,
                          rpc::Coordinators::Make(address, files));
  return std::make_unique<GrpcClient>(address, std::move(coordinators), notes);
}

}  // namespace

absl::StatusOr<std::string> DownloadArtifact(Client& client, const Digest& digest,
                                             int64_t bytes_max) {
  std::string data;
  CONCUR_RETURN_IF_ERROR(client.StreamArtifact(digest, [&](absl::string_view piece) {
    data.append(piece.data(), piece.size());
    return static_cast<int64_t>(data.size()) > bytes_max
               ? absl::ResourceExhaustedError(absl::StrCat("artifact ", digest.ToHex(),
                                                           ": expected at most ", bytes_max,
                                                           " bytes, got more"))
               : absl::OkStatus();
  }));
  return data;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const rpc::CredentialFiles& files) {
  return ConnectWithNotes(address, files, nullptr);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::string address, AwaitServerAddress(context));
  return ConnectWithNotes(address, context.credentials,
                          context.output == OutputMode::kJson ? nullptr : &context.err);
}

}  // namespace concur::cli
