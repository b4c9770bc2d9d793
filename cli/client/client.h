// SPDX-License-Identifier: Apache-2.0
// The coordinator's API for the `concur` program. Every call has a deadline, and is repeated while
// the server is unavailable where that is safe. What names a sweep is InvalidArgument when it is a
// path, as of a bundle.
//
// Thread-compatible, but for CancelStreams, which any thread may call. gRPC stays in client.cc.
#ifndef CONCUR_CLI_CLIENT_CLIENT_H_
#define CONCUR_CLI_CLIENT_CLIENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job_score.h"
#include "proto/rpc/coordinators.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace concur::cli {

// An attempt to submit a sweep.
constexpr absl::Duration kSubmitTimeout = absl::Minutes(2);

class Client {
 public:
  static constexpr int32_t kPage = 1000;  // things in a page of a list

  // `address` may name several coordinators (rpc::ParseAddresses). Does not wait for a connection.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address,
                                                         const rpc::CredentialFiles& files);
  // To AwaitServerAddress(context); says on context.err that it waits, when it does.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(CommandContext& context);
  // Another client of the same coordinator, for a thread of its own. Its calls are not repeated,
  // and none takes longer than `call_max`.
  std::unique_ptr<Client> ForAsides(absl::Duration call_max) const;

  const std::string& address() const { return address_; }
  // Time for which calls are repeated while nobody answers, unless several coordinators are named:
  // a take-over is waited for then, if this is not 0. Default 3 s.
  void set_patience(absl::Duration patience) { patience_ = patience; }

  // Calls the method of v1::Coordinator that takes this request, and repeats the call while nobody
  // answers. REQUIRES: it is safe to repeat, and Response is what the method answers.
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(const Request& request,
                                absl::Duration attempt_timeout = absl::Seconds(30)) {
    Response response;
    CONCUR_RETURN_IF_ERROR(Repeat(request, &response, attempt_timeout));
    return response;
  }
  // The same for methods that are not safe to repeat. Where there may be several coordinators, a
  // call that is finds the leader first.
  template <typename Response, typename Request>
  absl::StatusOr<Response> CallOnce(const Request& request) {
    Response response;
    CONCUR_RETURN_IF_ERROR(Once(request, &response));
    return response;
  }
  // The things of a page, as &v1::ListJobsResponse::mutable_jobs.
  template <typename Thing, typename Response>
  using ListOf = google::protobuf::RepeatedPtrField<Thing>* (Response::*)();
  // Calls `each` for the things in all pages of a list, as they come, up to `count_max` of them
  // (0: all) or until it returns false.
  template <typename Thing, typename Response, typename Request, typename Each>
  absl::Status ForEach(Request request, size_t count_max, ListOf<Thing, Response> list,
                       const Each& each) {
    if (request.page_size() == 0) {
      request.set_page_size(kPage);
    }
    size_t count = 0;
    while (true) {
      if (count_max != 0) {
        request.set_page_size(
            static_cast<int32_t>(std::min<size_t>(request.page_size(), count_max - count)));
      }
      CONCUR_ASSIGN_OR_RETURN(Response page, Call<Response>(request));
      for (auto& thing : *(page.*list)()) {
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

  // All of them, or the first `count_max`.
  template <typename Thing, typename Response, typename Request>
  absl::StatusOr<std::vector<Thing>> ListAll(Request request, size_t count_max,
                                             ListOf<Thing, Response> list) {
    std::vector<Thing> things;
    CONCUR_RETURN_IF_ERROR(ForEach(std::move(request), count_max, list, [&things](Thing thing) {
      things.push_back(std::move(thing));
      return true;
    }));
    return things;
  }

  enum class Include { kCounts, kSpec, kServices };
  absl::StatusOr<v1::Sweep> GetSweep(const std::string& sweep, Include include);
  // All pages up to `count_max` sweeps; 0: all.
  absl::StatusOr<std::vector<v1::Sweep>> ListSweeps(const std::string& owner, size_t count_max);
  absl::StatusOr<v1::Sweep> CancelSweep(const std::string& sweep);
  // The number of jobs that run again. Not repeated: between two of them a job may fail anew.
  absl::StatusOr<uint32_t> RetryJobs(const v1::RetryJobsRequest& request);
  // As ForEach.
  absl::Status ListJobs(const v1::ListJobsRequest& request, size_t count_max,
                        const std::function<bool(v1::Job)>& each);
  absl::StatusOr<v1::Job> GetJob(const std::string& job, bool include_steps);
  absl::StatusOr<std::vector<v1::Worker>> ListWorkers();
  // None with a coordinator that knows none yet.
  absl::StatusOr<v1::ListResourcesResponse> ListResources();
  absl::StatusOr<v1::ListPoolsResponse> ListPools();
  absl::StatusOr<v1::Pool> GetPool(const std::string& pool);
  // InvalidArgument when the value would cross the network in clear text.
  absl::StatusOr<v1::Secret> SetSecret(const std::string& name, const std::string& value);
  // Calls `each` with the scores in order of their jobs, while more are fetched.
  absl::Status ListScores(const std::string& sweep, const std::string& metric,
                          const std::function<void(JobScore)>& each);

  // Calls `on_update` with a snapshot, then with what changes, until the sweep has ended, or
  // `on_update` returns false; `events` says which job changes are reported one by one. Resumes by
  // cursor when the server goes away for less than `outage_max`; `on_outage` is called each time.
  // Cancelled after CancelStreams.
  absl::Status WatchSweep(const std::string& sweep, const std::string& cursor,
                          v1::WatchSweepRequest::Events events, absl::Duration outage_max,
                          const std::function<bool(const v1::WatchSweepResponse&)>& on_update,
                          const std::function<void(const absl::Status&)>& on_outage);
  // Calls `on_data` with pieces of the log in order, from `offset` on. Resumes like WatchSweep.
  absl::Status ReadLog(const std::string& job, int64_t offset, bool follow,
                       const std::function<void(const v1::ReadLogResponse&)>& on_data);
  // Ends running and later streams.
  void CancelStreams();

  absl::StatusOr<std::vector<Digest>> FindMissingArtifacts(const std::vector<Digest>& digests);
  // Uploads a file whose digest is known, from where an earlier call was interrupted; `on_progress`
  // gets the number of bytes that the server has. DataLoss when the file has changed since its
  // digest was taken.
  absl::Status UploadFile(const std::string& path, const Digest& digest,
                          const std::function<void(int64_t)>& on_progress);
  // Gives the bytes of an artifact to `sink` piece by piece, up to the sink's first error. NotFound
  // when it is not kept (any more); DataLoss, at the end, when they do not match the digest.
  absl::Status StreamArtifact(const Digest& digest,
                              const std::function<absl::Status(absl::string_view)>& sink);

 private:
  // Functions that need gRPC's types.
  struct Calls;

  Client(std::string address, std::shared_ptr<rpc::Coordinators> coordinators, std::ostream* notes)
      : address_(std::move(address)), coordinators_(std::move(coordinators)), notes_(notes) {}
  static absl::StatusOr<std::unique_ptr<Client>> Make(const std::string& address,
                                                      const rpc::CredentialFiles& files,
                                                      std::ostream* notes);
  absl::Status Repeat(const google::protobuf::Message& request, google::protobuf::Message* response,
                      absl::Duration attempt_timeout);
  absl::Status Once(const google::protobuf::Message& request, google::protobuf::Message* response);

  const std::string address_;
  const std::shared_ptr<rpc::Coordinators> coordinators_;  // shared with those for asides
  std::ostream* const notes_;
  absl::Duration patience_ = absl::Seconds(3);
  absl::Duration call_max_ = absl::InfiniteDuration();
  bool noted_ = false;

  Mutex mutex_;
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool canceled_ ABSL_GUARDED_BY(mutex_) = false;
};

// All bytes of an artifact, as StreamArtifact gives them. ResourceExhausted beyond `bytes_max`.
absl::StatusOr<std::string> DownloadArtifact(Client& client, const Digest& digest,
                                             int64_t bytes_max);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CLIENT_CLIENT_H_
