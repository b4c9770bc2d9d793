#include "cli/client.h"

#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/convert_value.h"
#include "rpc/diagnose.h"
#include "rpc/status.h"

namespace concur::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7447";
constexpr int kSweepsPage = 1000;
constexpr int kJobsPage = 1000;
constexpr int kScoresPage = 10'000;
constexpr size_t kDigestsPerCall = 10'000;
constexpr int64_t kAddressBytesMax = 4096;

// "" when it is unset.
std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return value == nullptr ? "" : value;
}

// Whether a stream may go on where it ended. A coordinator that is stopped cancels its streams.
bool MayComeBack(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

class GrpcClient : public Client {
 public:
  GrpcClient(std::string address, rpc::Credentials credentials,
             std::shared_ptr<grpc::Channel> channel, std::ostream* notes)
      : Client(std::move(address)),
        credentials_(std::move(credentials)),
        channel_(std::move(channel)),
        stub_(v1::Coordinator::NewStub(channel_)),
        notes_(notes) {}

  absl::StatusOr<v1::CreateSweepResponse> CreateSweep(
      const v1::CreateSweepRequest& request) override {
    return Repeat<v1::CreateSweepResponse>(request, &v1::Coordinator::Stub::CreateSweep,
                                           absl::Minutes(2));
  }

  absl::StatusOr<v1::Sweep> GetSweep(const std::string& sweep, bool include_spec) override {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    request.set_include_spec(include_spec);
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

  absl::StatusOr<v1::Sweep> PauseSweep(const std::string& sweep) override {
    v1::PauseSweepRequest request;
    request.set_sweep(sweep);
    return Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::PauseSweep);
  }
  absl::StatusOr<v1::Sweep> ResumeSweep(const std::string& sweep) override {
    v1::ResumeSweepRequest request;
    request.set_sweep(sweep);
    return Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::ResumeSweep);
  }
  absl::StatusOr<v1::Sweep> CancelSweep(const std::string& sweep) override {
    v1::CancelSweepRequest request;
    request.set_sweep(sweep);
    return Repeat<v1::Sweep>(request, &v1::Coordinator::Stub::CancelSweep);
  }

  absl::Status DeleteSweep(const std::string& sweep) override {
    v1::DeleteSweepRequest request;
    request.set_sweep(sweep);
    v1::DeleteSweepResponse response;
    return Reached(rpc::CallOnce(Options(), [&](grpc::ClientContext& context) {
      return stub_->DeleteSweep(&context, request, &response);
    }));
  }

  absl::StatusOr<uint32_t> RetryJobs(const v1::RetryJobsRequest& request) override {
    // Not repeated: between two of them a job may have failed anew.
    v1::RetryJobsResponse response;
    CONCUR_RETURN_IF_ERROR(Reached(rpc::CallOnce(Options(), [&](grpc::ClientContext& context) {
      return stub_->RetryJobs(&context, request, &response);
    })));
    return response.retried();
  }

  absl::StatusOr<std::vector<v1::Job>> ListJobs(v1::ListJobsRequest request,
                                                size_t count_max) override {
    request.set_page_size(kJobsPage);
    return Pages<v1::Job, v1::ListJobsResponse>(
        std::move(request), count_max, &v1::Coordinator::Stub::ListJobs,
        [](v1::ListJobsResponse& page) { return page.mutable_jobs(); });
  }

  absl::StatusOr<v1::Job> GetJob(const std::string& job) override {
    v1::GetJobRequest request;
    request.set_job(job);
    return Repeat<v1::Job>(request, &v1::Coordinator::Stub::GetJob);
  }

  absl::StatusOr<std::vector<v1::Worker>> ListWorkers() override {
    v1::ListWorkersRequest request;
    request.set_page_size(kSweepsPage);
    return Pages<v1::Worker, v1::ListWorkersResponse>(
        request, 0, &v1::Coordinator::Stub::ListWorkers,
        [](v1::ListWorkersResponse& page) { return page.mutable_workers(); });
  }

  absl::StatusOr<std::vector<v1::JobDuration>> ListDurations() override {
    v1::ListDurationsRequest request;
    request.set_page_size(kSweepsPage);
    return Pages<v1::JobDuration, v1::ListDurationsResponse>(
        request, 0, &v1::Coordinator::Stub::ListDurations,
        [](v1::ListDurationsResponse& page) { return page.mutable_durations(); });
  }

  absl::StatusOr<v1::Worker> DrainWorker(const std::string& worker, bool undo) override {
    v1::DrainWorkerRequest request;
    request.set_worker(worker);
    request.set_undo(undo);
    return Repeat<v1::Worker>(request, &v1::Coordinator::Stub::DrainWorker);
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

  absl::StatusOr<v1::Pool> CreatePool(const v1::PoolSpec& spec) override {
    v1::CreatePoolRequest request;
    *request.mutable_spec() = spec;
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
    return Reached(rpc::CallOnce(Options(), [&](grpc::ClientContext& context) {
      return stub_->DeletePool(&context, request, &response);
    }));
  }

  absl::StatusOr<std::vector<v1::Score>> ListScores(const std::string& sweep,
                                                    const std::string& metric) override {
    v1::ListScoresRequest request;
    request.set_sweep(sweep);
    request.set_metric(metric);
    request.set_page_size(kScoresPage);
    return Pages<v1::Score, v1::ListScoresResponse>(
        request, 0, &v1::Coordinator::Stub::ListScores,
        [](v1::ListScoresResponse& page) { return page.mutable_scores(); });
  }

  absl::Status WatchSweep(const std::string& sweep, v1::WatchSweepRequest::Events events,
                          absl::Duration outage_max,
                          const std::function<bool(const v1::WatchSweepResponse&)>& on_update,
                          const std::function<void(const absl::Status&)>& on_outage) override {
    v1::WatchSweepRequest request;
    request.set_sweep(sweep);
    request.set_events(events);
    bool wanted = true;
    return Resume(
        outage_max,
        [&](grpc::ClientContext& context, const std::function<void()>& heard) {
          const auto reader = stub_->WatchSweep(&context, request);
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
        [&](grpc::ClientContext& context, const std::function<void()>& heard) {
          const auto reader = stub_->ReadLog(&context, request);
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
                                rpc::DigestFromBytes(bytes, rpc::FieldPath("response.digests")));
        missing.push_back(digest);
      }
    }
    return missing;
  }

  absl::Status UploadFile(const std::string& path, const Digest& digest,
                          const std::function<void(int64_t)>& on_progress) override {
    // The error of reading the file: it must not be taken for one of the server.
    absl::Status local;
    rpc::CallOptions options = Options();
    options.attempt_timeout = absl::InfiniteDuration();  // a large file takes its time
    options.total_timeout = absl::Hours(24);
    int64_t offset = 0;
    struct stat info {};
    // Of a small file, nothing is held: not worth a call.
    bool goes_on = stat(path.c_str(), &info) == 0 && info.st_size > rpc::kResumableBytesMin;
    const auto attempt = [&](grpc::ClientContext& context) {
      v1::GetUploadOffsetResponse held;
      if (goes_on) {
        if (grpc::Status asked = AskOffset(digest, &held); !asked.ok() || held.stored()) {
          return asked;
        }
      }
      offset = held.offset();
      const grpc::Status sent =
          UploadOnce(context, path, digest, offset, info.st_size, on_progress, &local);
      // A coordinator that is stopped cancels its streams.
      return sent.error_code() == grpc::StatusCode::CANCELLED && local.ok()
                 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, sent.error_message())
                 : sent;
    };
    absl::Status status = rpc::CallWithRetry(options, attempt);
    if (offset > 0 && (absl::IsAborted(status) || absl::IsDataLoss(status))) {
      goes_on = false;  // what was held is gone, or is not of this file
      status = rpc::CallWithRetry(options, attempt);
    }
    return local.ok() ? Reached(status) : local;
  }

  absl::StatusOr<std::string> DownloadArtifact(const Digest& digest, int64_t bytes_max) override {
    v1::DownloadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    std::string data;
    bool too_large = false;
    CONCUR_RETURN_IF_ERROR(Resume(
        absl::Minutes(1),
        [&](grpc::ClientContext& context, const std::function<void()>& heard) {
          request.set_offset(static_cast<int64_t>(data.size()));
          const auto reader = stub_->DownloadArtifact(&context, request);
          v1::DownloadArtifactResponse response;
          while (!too_large && reader->Read(&response)) {
            heard();
            data += response.data();
            too_large = static_cast<int64_t>(data.size()) > bytes_max;
          }
          if (too_large) {
            context.TryCancel();
          }
          const grpc::Status status = reader->Finish();
          return too_large ? grpc::Status::OK : status;
        },
        [](const absl::Status&) {}));
    if (too_large) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "artifact ", digest.ToHex(), ": expected at most ", bytes_max, " bytes, got more"));
    }
    if (Sha256Of(data) != digest) {
      return absl::DataLossError(
          absl::StrCat("artifact ", digest.ToHex(), ": the bytes received have another digest"));
    }
    return data;
  }

 private:
  template <typename Response, typename Request>
  using Method = grpc::Status (v1::Coordinator::Stub::*)(grpc::ClientContext*, const Request&,
                                                         Response*);

  rpc::CallOptions Options(absl::Duration attempt_timeout = absl::Seconds(30)) const {
    rpc::CallOptions options;
    options.channel = channel_.get();
    options.attempt_timeout = attempt_timeout;
    options.total_timeout = attempt_timeout + patience_;
    return options;
  }

  // Says once that the program waits, so that nobody wonders.
  void NoteOutage() {
    if (notes_ != nullptr && !noted_) {
      *notes_ << "concur: no answer from " << address_ << ", trying again…" << std::endl;
      noted_ = true;
    }
  }

  // Names the server in an error that says that there is none.
  absl::Status Reached(const absl::Status& status) const {
    if (!absl::IsUnavailable(status)) {
      return status;
    }
    // gRPC says the same of a coordinator that is there and does not like our TLS.
    CONCUR_RETURN_IF_ERROR(rpc::DiagnoseHandshake(address_, credentials_));
    return absl::UnavailableError(absl::StrCat(
        "no coordinator answers at ", address_, " (", status.message(),
        "); start one with \"concur up\", or name one with --server or CONCUR_SERVER"));
  }

  template <typename Response, typename Request>
  absl::StatusOr<Response> Repeat(const Request& request, Method<Response, Request> method,
                                  absl::Duration attempt_timeout = absl::Seconds(30)) {
    rpc::CallOptions options = Options(attempt_timeout);
    const absl::Time start = absl::Now();
    options.is_canceled = [&] {
      if (absl::Now() - start > absl::Seconds(1)) {
        NoteOutage();
      }
      return absl::Now() - start > patience_ && last_unavailable_;
    };
    Response response;
    absl::Status last;
    const absl::Status status = rpc::CallWithRetry(options, [&](grpc::ClientContext& context) {
      grpc::Status answer = (stub_.get()->*method)(&context, request, &response);
      last = rpc::FromGrpcStatus(answer);
      last_unavailable_ = absl::IsUnavailable(last);
      return answer;
    });
    if (!status.ok()) {
      return Reached(absl::IsCancelled(status) ? last : status);
    }
    return response;
  }

  template <typename Thing, typename Response, typename Request, typename List>
  absl::StatusOr<std::vector<Thing>> Pages(Request request, size_t count_max,
                                           Method<Response, Request> method, List list) {
    std::vector<Thing> things;
    while (true) {
      if (count_max != 0) {
        request.set_page_size(
            static_cast<int32_t>(std::min<size_t>(request.page_size(), count_max - things.size())));
      }
      CONCUR_ASSIGN_OR_RETURN(Response page, Repeat(request, method));
      for (Thing& thing : *list(page)) {
        things.push_back(std::move(thing));
      }
      if (page.next_page_token().empty() || (count_max != 0 && things.size() >= count_max)) {
        return things;
      }
      request.set_page_token(page.next_page_token());
    }
  }

  using Stream =
      std::function<grpc::Status(grpc::ClientContext&, const std::function<void()>& heard)>;

  // Runs `stream` again whenever the server went away, until it ends in another way.
  absl::Status Resume(absl::Duration outage_max, const Stream& stream,
                      const std::function<void(const absl::Status&)>& on_outage) {
    absl::Time last_heard = absl::Now();
    bool ever_heard = false;
    for (int failures = 0;; ++failures) {
      grpc::ClientContext context;
      if (!EnterStream(&context)) {
        return absl::CancelledError("interrupted");
      }
      absl::Status status = rpc::FromGrpcStatus(stream(context, [&] {
        last_heard = absl::Now();
        ever_heard = true;
        failures = 0;
      }));
      const bool canceled = LeaveStream();
      if (canceled) {
        return absl::CancelledError("interrupted");
      }
      if (!MayComeBack(status)) {
        return status;
      }
      if (absl::Now() - last_heard > (ever_heard ? outage_max : patience_)) {
        return Reached(status);
      }
      on_outage(status);
      rpc::WaitToRepeat(channel_.get(), rpc::BackoffBefore(rpc::CallOptions(), failures + 1, 0.5),
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

  // What the coordinator has of an artifact already.
  grpc::Status AskOffset(const Digest& digest, v1::GetUploadOffsetResponse* held) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + Options().attempt_timeout));
    v1::GetUploadOffsetRequest request;
    request.set_digest(digest.ToBytes());
    const grpc::Status status = stub_->GetUploadOffset(&context, request, held);
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      return grpc::Status::OK;  // an older coordinator holds nothing
    }
    return status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED  // busy: asked again
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, status.error_message())
               : status;
  }

  // Sends what follows the first `offset` of a file's `bytes` bytes.
  grpc::Status UploadOnce(grpc::ClientContext& context, const std::string& path,
                          const Digest& digest, int64_t offset, int64_t bytes,
                          const std::function<void(int64_t)>& on_progress, absl::Status* local) {
    v1::UploadArtifactResponse response;
    const auto writer = stub_->UploadArtifact(&context, &response);
    const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() || lseek(fd.get(), offset, SEEK_SET) != offset) {
      *local = ErrnoStatus(errno, path, "open");
      context.TryCancel();
      return writer->Finish();
    }
    v1::UploadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    request.set_offset(offset);
    request.set_size_bytes(bytes);
    int64_t sent = offset;
    while (true) {
      request.mutable_data()->resize(rpc::kChunkBytes);
      const ssize_t count = read(fd.get(), request.mutable_data()->data(), rpc::kChunkBytes);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count < 0) {
        *local = ErrnoStatus(errno, path, "read");
        context.TryCancel();
        return writer->Finish();
      }
      request.mutable_data()->resize(count);
      const bool first = !request.digest().empty();
      if ((count == 0 && !first) || !writer->Write(request)) {
        break;  // the end, or the server has answered already
      }
      sent += count;
      request.clear_digest();
      request.clear_offset();
      request.clear_size_bytes();
      on_progress(sent);
      if (count == 0) {
        break;
      }
    }
    writer->WritesDone();
    return writer->Finish();
  }

  const rpc::Credentials credentials_;
  const std::shared_ptr<grpc::Channel> channel_;  // shared with the stub, by gRPC's design
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  std::ostream* const notes_;
  bool noted_ = false;
  bool last_unavailable_ = false;

  Mutex mutex_;
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool canceled_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<Client>> ConnectWithNotes(const std::string& address,
                                                         const rpc::CredentialFiles& files,
                                                         std::ostream* notes) {
  CONCUR_ASSIGN_OR_RETURN(const rpc::Credentials credentials, rpc::LoadCredentials(address, files));
  CONCUR_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                          rpc::MakeChannel(address, credentials));
  return std::make_unique<GrpcClient>(address, credentials, std::move(channel), notes);
}

}  // namespace

std::string DefaultDataDirectory() {
  const std::string xdg = Environment("XDG_DATA_HOME");
  if (!xdg.empty() && xdg[0] == '/') {  // the specification says to ignore relative ones
    return xdg + "/concur";
  }
  const std::string home = Environment("HOME");
  return (home.empty() ? std::string(".") : home) + "/.local/share/concur";
}

absl::StatusOr<std::string> ServerAddress(const CommandContext& context) {
  std::string address = context.server;
  if (address.empty()) {
    const absl::StatusOr<std::string> written =
        ReadFile(DefaultDataDirectory() + "/address", kAddressBytesMax);
    address = written.ok() ? std::string(absl::StripAsciiWhitespace(*written)) : kDefaultAddress;
  }
  CONCUR_RETURN_IF_ERROR(rpc::ParseAddress(address).status());
  return address;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const rpc::CredentialFiles& files) {
  return ConnectWithNotes(address, files, nullptr);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::string address, ServerAddress(context));
  return ConnectWithNotes(address, context.credentials,
                          context.output == OutputMode::kJson ? nullptr : &context.err);
}

}  // namespace concur::cli
