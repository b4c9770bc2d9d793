// SPDX-License-Identifier: Apache-2.0
#include "cli/client/client.h"

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
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

// The method of v1::Coordinator that takes the request; each has a request of its own.
const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Message& request,
                                                   const google::protobuf::Message& response) {
  const google::protobuf::ServiceDescriptor& service =
      *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          "concur.v1.Coordinator");
  int index = 0;
  while (service.method(index)->input_type() != request.GetDescriptor()) {
    CONCUR_CHECK(++index < service.method_count());
  }
  CONCUR_CHECK(service.method(index)->output_type() == response.GetDescriptor());
  return *service.method(index);
}

// The request's field "sweep"; "" if it has none.
std::string SweepIn(const google::protobuf::Message& request) {
  const google::protobuf::FieldDescriptor* field =
      request.GetDescriptor()->FindFieldByName("sweep");
  return field == nullptr ? "" : request.GetReflection()->GetString(request, field);
}

grpc::Status CallBlocking(grpc::Channel& channel, const google::protobuf::MethodDescriptor& method,
                          grpc::ClientContext& context, const google::protobuf::Message& request,
                          google::protobuf::Message* response) {
  const std::string path = absl::StrCat("/", method.service()->full_name(), "/", method.name());
  using Bytes = google::protobuf::MessageLite;  // as the code that gRPC generates does
  return grpc::internal::BlockingUnaryCall<Bytes, Bytes>(
      &channel, grpc::internal::RpcMethod(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC),
      &context, request, response);
}

}  // namespace

struct Client::Calls {
  static rpc::CallOptions Options(const Client& client,
                                  absl::Duration attempt_timeout = absl::Seconds(30)) {
    rpc::CallOptions options;
    options.coordinators = client.coordinators_.get();
    options.attempt_timeout = std::min(attempt_timeout, client.call_max_);
    options.total_timeout = options.attempt_timeout + std::max(client.patience_, kTakeOverMax);
    if (client.coordinators_->several()) {
      options.backoff_max = kTakeOverPoll;
    }
    return options;
  }

  // True when calls are no longer repeated, after `failures` for `time`. Each of several
  // coordinators is asked.
  static bool IsOver(const Client& client, size_t failures, absl::Duration time) {
    const bool waits = client.patience_ > absl::ZeroDuration() && client.coordinators_->several();
    return failures >= client.coordinators_->size() &&
           time > (waits ? std::max(client.patience_, kTakeOverMax) : client.patience_);
  }

  // Tells the user once that the program is waiting.
  static void NoteOutage(Client& client) {
    if (client.notes_ != nullptr && !client.noted_) {
      *client.notes_ << "concur: no answer from " << client.address_ << ", trying again…"
                     << std::endl;
      client.noted_ = true;
    }
  }

  // Adds the address, and what to do, to an Unavailable error.
  static absl::Status Reached(const Client& client, const absl::Status& status) {
    if (!absl::IsUnavailable(status)) {
      return status;
    }
    // gRPC reports a refused TLS handshake as Unavailable, too.
    for (const rpc::Coordinators::PeerPtr& peer : client.coordinators_->peers()) {
      CONCUR_RETURN_IF_ERROR(rpc::DiagnoseHandshake(peer->address, peer->credentials));
    }
    return absl::UnavailableError(absl::StrCat(
        client.coordinators_->several() ? "no coordinator leads at " : "no coordinator answers at ",
        client.coordinators_->Failures(),
        "; start one with \"concur up\", or name one with --server or CONCUR_SERVER"));
  }

  using Stream = std::function<grpc::Status(v1::Coordinator::Stub&, grpc::ClientContext&,
                                            const std::function<void()>& heard)>;

  // Runs `stream` again whenever it ended because the server was unavailable.
  static absl::Status Resume(Client& client, absl::Duration outage_max, const Stream& stream,
                             const std::function<void(const absl::Status&)>& on_outage) {
    absl::Time last_heard = absl::Now();
    bool ever_heard = false;
    for (size_t failures = 1;; ++failures) {
      grpc::ClientContext context;
      if (!EnterStream(client, &context)) {
        return absl::CancelledError("interrupted");
      }
      const rpc::Coordinators::PeerPtr asked = client.coordinators_->current();
      const auto stub = v1::Coordinator::NewStub(asked->channel);
      absl::Status status = rpc::FromGrpcStatus(stream(*stub, context, [&] {
        last_heard = absl::Now();
        ever_heard = true;
        failures = 1;  // the end of this stream
      }));
      client.coordinators_->Report(*asked, status);
      if (LeaveStream(client)) {
        return absl::CancelledError("interrupted");
      }
      if (!MayComeBack(status)) {
        return status;
      }
      const absl::Duration silence = absl::Now() - last_heard;
      if (ever_heard ? silence > outage_max : IsOver(client, failures, silence)) {
        return Reached(client, status);
      }
      if (failures >= client.coordinators_->size()) {  // before, another one may lead
        on_outage(status);
      }
      rpc::WaitToRepeat(client.coordinators_->current()->channel.get(),
                        rpc::BackoffBefore(Options(client), static_cast<int>(failures), 0.5),
                        [&client] { return IsCanceled(client); });
    }
  }

  static bool EnterStream(Client& client, grpc::ClientContext* context) {
    MutexLock lock(client.mutex_);
    client.stream_ = context;
    return !client.canceled_;
  }
  // True when CancelStreams was called.
  static bool LeaveStream(Client& client) {
    MutexLock lock(client.mutex_);
    client.stream_ = nullptr;
    return client.canceled_;
  }
  static bool IsCanceled(Client& client) {
    MutexLock lock(client.mutex_);
    return client.canceled_;
  }
};

absl::StatusOr<std::unique_ptr<Client>> Client::Make(const std::string& address,
                                                     const rpc::CredentialFiles& files,
                                                     std::ostream* notes) {
  CONCUR_ASSIGN_OR_RETURN(std::shared_ptr<rpc::Coordinators> coordinators,
                          rpc::Coordinators::Make(address, files));
  return absl::WrapUnique(new Client(address, std::move(coordinators), notes));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const rpc::CredentialFiles& files) {
  return Make(address, files, nullptr);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::string address, AwaitServerAddress(context));
  return Make(address, context.credentials,
              context.output == OutputMode::kJson ? nullptr : &context.err);
}

std::unique_ptr<Client> Client::ForAsides(absl::Duration call_max) const {
  auto client = absl::WrapUnique(new Client(address_, coordinators_, nullptr));
  client->call_max_ = call_max;
  client->set_patience(absl::ZeroDuration());
  return client;
}

absl::Status Client::Repeat(const google::protobuf::Message& request,
                            google::protobuf::Message* response, absl::Duration attempt_timeout) {
  const google::protobuf::MethodDescriptor& method = MethodOf(request, *response);
  CONCUR_RETURN_IF_ERROR(CheckNamesSweep(SweepIn(request)));
  rpc::CallOptions options = Calls::Options(*this, attempt_timeout);
  const absl::Time start = absl::Now();
  size_t attempts = 0;
  absl::Status last;
  options.is_canceled = [&] {
    if (absl::Now() - start > absl::Seconds(1)) {
      Calls::NoteOutage(*this);
    }
    return absl::IsUnavailable(last) && Calls::IsOver(*this, attempts, absl::Now() - start);
  };
  const absl::Status status = rpc::CallWithRetry(options, [&](grpc::ClientContext& context) {
    const rpc::Coordinators::PeerPtr asked = coordinators_->current();
    grpc::Status answer = CallBlocking(*asked->channel, method, context, request, response);
    last = rpc::FromGrpcStatus(answer);
    ++attempts;
    return answer;
  });
  return Calls::Reached(*this, absl::IsCancelled(status) ? last : status);
}

absl::Status Client::Once(const google::protobuf::Message& request,
                          google::protobuf::Message* response) {
  const google::protobuf::MethodDescriptor& method = MethodOf(request, *response);
  CONCUR_RETURN_IF_ERROR(CheckNamesSweep(SweepIn(request)));
  if (coordinators_->may_be_several()) {
    v1::ListSweepsRequest any;
    any.set_page_size(1);
    CONCUR_RETURN_IF_ERROR(Call<v1::ListSweepsResponse>(any).status());
  }
  return Calls::Reached(*this,
                        rpc::CallOnce(Calls::Options(*this), [&](grpc::ClientContext& context) {
                          const rpc::Coordinators::PeerPtr asked = coordinators_->current();
                          return CallBlocking(*asked->channel, method, context, request, response);
                        }));
}

absl::StatusOr<v1::Sweep> Client::GetSweep(const std::string& sweep, Include include) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  request.set_include_spec(include == Include::kSpec);
  request.set_include_services(include == Include::kServices);
  return Call<v1::Sweep>(request);
}

absl::StatusOr<std::vector<v1::Sweep>> Client::ListSweeps(const std::string& owner,
                                                          size_t count_max) {
  v1::ListSweepsRequest request;
  request.set_owner(owner);
  return ListAll(request, count_max, &v1::ListSweepsResponse::mutable_sweeps);
}

absl::StatusOr<v1::Sweep> Client::CancelSweep(const std::string& sweep) {
  v1::CancelSweepRequest request;
  request.set_sweep(sweep);
  return Call<v1::Sweep>(request);
}

absl::StatusOr<uint32_t> Client::RetryJobs(const v1::RetryJobsRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const v1::RetryJobsResponse response,
                          CallOnce<v1::RetryJobsResponse>(request));
  return response.retried();
}

absl::Status Client::ListJobs(const v1::ListJobsRequest& request, size_t count_max,
                              const std::function<bool(v1::Job)>& each) {
  return ForEach(request, count_max, &v1::ListJobsResponse::mutable_jobs, each);
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& job, bool include_steps) {
  v1::GetJobRequest request;
  request.set_job(job);
  request.set_include_steps(include_steps);
  return Call<v1::Job>(request);
}

absl::StatusOr<std::vector<v1::Worker>> Client::ListWorkers() {
  return ListAll(v1::ListWorkersRequest(), 0, &v1::ListWorkersResponse::mutable_workers);
}

absl::StatusOr<v1::ListResourcesResponse> Client::ListResources() {
  absl::StatusOr<v1::ListResourcesResponse> response =
      Call<v1::ListResourcesResponse>(v1::ListResourcesRequest());
  return absl::IsUnimplemented(response.status()) ? v1::ListResourcesResponse() : response;
}

absl::StatusOr<v1::ListPoolsResponse> Client::ListPools() {
  return Call<v1::ListPoolsResponse>(v1::ListPoolsRequest());
}

absl::StatusOr<v1::Pool> Client::GetPool(const std::string& pool) {
  v1::GetPoolRequest request;
  request.set_pool(pool);
  return Call<v1::Pool>(request);
}

absl::StatusOr<v1::Secret> Client::SetSecret(const std::string& name, const std::string& value) {
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
  return Call<v1::Secret>(request);
}

absl::Status Client::ListScores(const std::string& sweep, const std::string& metric,
                                const std::function<void(JobScore)>& each) {
  v1::ListScoresRequest request;
  request.set_sweep(sweep);
  request.set_metric(metric);
  request.set_page_size(kScoresPage);
  size_t count = 0;
  absl::Status bad;
  CONCUR_RETURN_IF_ERROR(
      (ForEach(request, 0, &v1::ListScoresResponse::mutable_scores, [&](const v1::Score& proto) {
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

absl::Status Client::WatchSweep(const std::string& sweep, const std::string& cursor,
                                v1::WatchSweepRequest::Events events, absl::Duration outage_max,
                                const std::function<bool(const v1::WatchSweepResponse&)>& on_update,
                                const std::function<void(const absl::Status&)>& on_outage) {
  CONCUR_RETURN_IF_ERROR(CheckNamesSweep(sweep));
  v1::WatchSweepRequest request;
  request.set_sweep(sweep);
  request.set_cursor(cursor);
  request.set_events(events);
  bool wanted = true;
  return Calls::Resume(
      *this, outage_max,
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

absl::Status Client::ReadLog(const std::string& job, int64_t offset, bool follow,
                             const std::function<void(const v1::ReadLogResponse&)>& on_data) {
  v1::ReadLogRequest request;
  request.set_job(job);
  request.set_offset(offset);
  request.set_follow(follow);
  return Calls::Resume(
      *this, absl::Minutes(1),
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

void Client::CancelStreams() {
  MutexLock lock(mutex_);
  canceled_ = true;
  if (stream_ != nullptr) {
    stream_->TryCancel();
  }
}

absl::StatusOr<std::vector<Digest>> Client::FindMissingArtifacts(
    const std::vector<Digest>& digests) {
  std::vector<Digest> missing;
  for (size_t begin = 0; begin < digests.size(); begin += kDigestsPerCall) {
    v1::FindMissingArtifactsRequest request;
    for (size_t i = begin; i < std::min(digests.size(), begin + kDigestsPerCall); ++i) {
      request.add_digests(digests[i].ToBytes());
    }
    CONCUR_ASSIGN_OR_RETURN(const v1::FindMissingArtifactsResponse response,
                            Call<v1::FindMissingArtifactsResponse>(request));
    for (const std::string& bytes : response.digests()) {
      CONCUR_ASSIGN_OR_RETURN(const Digest digest,
                              rpc::DigestFromBytes(bytes, FieldPath("response.digests")));
      missing.push_back(digest);
    }
  }
  return missing;
}

absl::Status Client::UploadFile(const std::string& path, const Digest& digest,
                                const std::function<void(int64_t)>& on_progress) {
  rpc::CallOptions options = Calls::Options(*this);
  options.total_timeout = absl::Hours(24);  // a large file takes its time
  return Calls::Reached(*this, rpc::CallWithRetry(options, [&](grpc::ClientContext&) {
    const auto stub = v1::Coordinator::NewStub(coordinators_->current()->channel);
    return rpc::ToGrpcStatus(
        rpc::UploadFile(rpc::UploadMethodsOf(*stub), digest, path, {nullptr, on_progress}));
  }));
}

absl::Status Client::StreamArtifact(const Digest& digest,
                                    const std::function<absl::Status(absl::string_view)>& sink) {
  v1::DownloadArtifactRequest request;
  request.set_digest(digest.ToBytes());
  int64_t offset = 0;
  Sha256 hasher;
  absl::Status taken;
  CONCUR_RETURN_IF_ERROR(Calls::Resume(
      *this, absl::Minutes(1),
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

}  // namespace concur::cli
