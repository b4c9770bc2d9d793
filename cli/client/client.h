// SPDX-License-Identifier: Apache-2.0
// The coordinator's API for the `concur` program. Every call has a deadline, and is repeated while
// the server is unavailable where that is safe. What names a sweep is InvalidArgument when it is a
// path, as of a bundle.
//
// Thread-compatible, but for CancelStreams, which any thread may call. gRPC stays in client.cc.
#ifndef CONCUR_CLI_CLIENT_CLIENT_H_
#define CONCUR_CLI_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "cli/app/context.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job_score.h"

namespace concur::cli {

class Client {
 public:
  // `address` may name several coordinators (rpc::ParseAddresses). Does not wait for a connection.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address,
                                                         const rpc::CredentialFiles& files);
  // To AwaitServerAddress(context); says on context.err that it waits, when it does.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(CommandContext& context);
  virtual ~Client() = default;
  // Another client of the same coordinator, for a thread of its own. Its calls are not repeated,
  // and none takes longer than `call_max`.
  virtual std::unique_ptr<Client> ForAsides(absl::Duration call_max) const = 0;

  const std::string& address() const { return address_; }
  // Time for which calls are repeated while nobody answers, unless several coordinators are named:
  // a take-over is waited for then, if this is not 0. Default 3 s.
  void set_patience(absl::Duration patience) { patience_ = patience; }

  virtual absl::StatusOr<v1::CreateSweepResponse> CreateSweep(const v1::CreateSweepRequest&) = 0;
  virtual absl::StatusOr<v1::CreateSweepResponse> ImportSweep(const v1::ImportSweepRequest&) = 0;
  enum class Include { kCounts, kSpec, kServices };
  virtual absl::StatusOr<v1::Sweep> GetSweep(const std::string& sweep, Include include) = 0;
  // All pages up to `count_max` sweeps; 0: all.
  virtual absl::StatusOr<std::vector<v1::Sweep>> ListSweeps(const std::string& owner,
                                                            size_t count_max) = 0;
  enum class SweepChange { kPause, kResume, kCancel };
  virtual absl::StatusOr<v1::Sweep> ChangeSweep(const std::string& sweep, SweepChange change) = 0;
  // Changes what is given; InvalidArgument when nothing is.
  virtual absl::StatusOr<v1::Sweep> SetSweep(const std::string& sweep,
                                             std::optional<int32_t> priority,
                                             std::optional<double> budget_usd) = 0;
  virtual absl::StatusOr<v1::Job> CancelJob(const std::string& job) = 0;
  // Not repeated: a second one would not find the sweep.
  virtual absl::Status DeleteSweep(const std::string& sweep) = 0;
  virtual absl::StatusOr<uint32_t> RetryJobs(const v1::RetryJobsRequest&) = 0;
  // Calls `each` for one job after the other, as they come, up to `count_max` of them (0: all) or
  // until it returns false.
  virtual absl::Status ListJobs(v1::ListJobsRequest request, size_t count_max,
                                const std::function<bool(v1::Job)>& each) = 0;
  virtual absl::StatusOr<v1::Job> GetJob(const std::string& job, bool include_steps) = 0;
  virtual absl::StatusOr<std::vector<v1::Worker>> ListWorkers() = 0;
  // `loads` as in v1::ListDurationsResponse.
  virtual absl::StatusOr<std::vector<v1::JobDuration>> ListDurations(
      std::map<std::string, google::protobuf::Duration>* loads) = 0;
  virtual absl::StatusOr<v1::Worker> DrainWorker(const std::string& worker, bool undo) = 0;
  // Empty with a coordinator that knows none yet.
  virtual absl::StatusOr<std::vector<v1::NamedResource>> ListResources() = 0;
  virtual absl::StatusOr<v1::NamedResource> SetResource(const std::string& name, int64_t amount,
                                                        int64_t per_minute) = 0;
  // Not repeated: a second one would not find it.
  enum class Named { kResource, kSecret };
  virtual absl::Status Delete(Named kind, const std::string& name) = 0;
  virtual absl::StatusOr<std::vector<v1::Pool>> ListPools() = 0;
  // With its explanation and its workers.
  virtual absl::StatusOr<v1::Pool> GetPool(const std::string& pool) = 0;
  virtual absl::StatusOr<v1::Pool> CreatePool(const v1::PoolSpec& spec, bool validate_only) = 0;
  virtual absl::StatusOr<v1::Pool> PausePool(const std::string& pool,
                                             const std::string& reason) = 0;
  virtual absl::StatusOr<v1::Pool> ResumePool(const std::string& pool) = 0;
  // Not repeated: a second one may not find the pool.
  virtual absl::Status DeletePool(const std::string& pool, bool at_once) = 0;
  virtual absl::StatusOr<v1::Secret> SetSecret(const std::string& name,
                                               const std::string& value) = 0;
  virtual absl::StatusOr<std::vector<v1::Secret>> ListSecrets() = 0;
  // Entries of the audit log, newest first, up to `count_max` of them (0: all).
  virtual absl::StatusOr<std::vector<v1::AuditEntry>> ListAuditEntries(
      v1::ListAuditEntriesRequest request, size_t count_max) = 0;
  // Calls `each` with the scores in order of their jobs, while more are fetched.
  virtual absl::Status ListScores(const std::string& sweep, const std::string& metric,
                                  const std::function<void(JobScore)>& each) = 0;

  // Calls `on_update` with a snapshot, then with what changes, until the sweep has ended, or
  // `on_update` returns false; `events` says which job changes are reported one by one. Resumes by
  // cursor when the server goes away for less than `outage_max`; `on_outage` is called each time.
  // Cancelled after CancelStreams.
  virtual absl::Status WatchSweep(
      const std::string& sweep, const std::string& cursor, v1::WatchSweepRequest::Events events,
      absl::Duration outage_max,
      const std::function<bool(const v1::WatchSweepResponse&)>& on_update,
      const std::function<void(const absl::Status&)>& on_outage) = 0;
  // Calls `on_data` with pieces of the log in order, from `offset` on. Resumes like WatchSweep.
  virtual absl::Status ReadLog(const std::string& job, int64_t offset, bool follow,
                               const std::function<void(const v1::ReadLogResponse&)>& on_data) = 0;
  // Ends running and later streams.
  virtual void CancelStreams() = 0;

  virtual absl::StatusOr<std::vector<Digest>> FindMissingArtifacts(
      const std::vector<Digest>& digests) = 0;
  // Uploads a file whose digest is known, from where an earlier call was interrupted; `on_progress`
  // gets the number of bytes that the server has. DataLoss when the file has changed since its
  // digest was taken.
  virtual absl::Status UploadFile(const std::string& path, const Digest& digest,
                                  const std::function<void(int64_t)>& on_progress) = 0;
  // Gives the bytes of an artifact to `sink` piece by piece, up to the sink's first error. NotFound
  // when it is not kept (any more); DataLoss, at the end, when they do not match the digest.
  virtual absl::Status StreamArtifact(
      const Digest& digest, const std::function<absl::Status(absl::string_view)>& sink) = 0;

 protected:
  explicit Client(std::string address) : address_(std::move(address)) {}

  const std::string address_;
  absl::Duration patience_ = absl::Seconds(3);
};

// All bytes of an artifact, as StreamArtifact gives them. ResourceExhausted beyond `bytes_max`.
absl::StatusOr<std::string> DownloadArtifact(Client& client, const Digest& digest,
                                             int64_t bytes_max);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CLIENT_CLIENT_H_
