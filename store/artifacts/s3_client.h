// SPDX-License-Identifier: Apache-2.0
// The requests of object storage that speaks S3, signed (Signature Version 4), checked, and tried
// again when that may help. Keys are of letters, digits, "/", "-", "_" and ".": they mean the same
// in an address, in a signature and on every server.
//
// Thread-safe; calls block for as long as data moves or a retry waits.
//
// Errors, with the server's own words and what to do:
//   NotFound            there is no such object
//   FailedPrecondition  no such bucket, another region, a wrong clock or certificate
//   Unauthenticated     the credentials are wrong or have expired
//   PermissionDenied    they do not allow this
//   Unimplemented       the server does not know this request
//   Aborted             the multipart upload is no more
//   Unavailable         the server or the network failed again and again
#ifndef CONCUR_STORE_ARTIFACTS_S3_CLIENT_H_
#define CONCUR_STORE_ARTIFACTS_S3_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/http/client.h"
#include "store/artifacts/s3_credentials.h"
#include "store/artifacts/s3_xml.h"

namespace concur::s3 {

struct Options {
  std::string endpoint;  // "https://HOST[:PORT]"
  std::string bucket;
  std::string prefix;  // begins every key, without "/" at its ends; "": none
  std::string region = "us-east-1";
  std::string ca_file;           // CAs of private servers; "": the system's CAs
  std::string credentials_file;  // "": `credentials`
  Credentials credentials;

  int64_t part_bytes =
      int64_t{8} << 20;  // larger artifacts go in parts of this size; 5 MiB or more
  int page_size = 1000;  // entries in a page of a list
  int attempts_max = 6;
  absl::Duration backoff = absl::Milliseconds(200);  // doubled with each attempt
  absl::Duration backoff_max = absl::Seconds(10);
  absl::Duration stall = absl::Seconds(20);        // without a byte
  absl::Duration touched_for = absl::Hours(1);     // a younger object is as good as put now
  std::function<void(absl::Duration)> sleep = {};  // absl::SleepFor when empty
};

class Client {
 public:
  // Outlived by `clock`.
  Client(Clock& clock, Options options);

  const Options& options() const { return options_; }
  // ENDPOINT/BUCKET/PREFIX, for people.
  std::string location() const;

  struct Info {
    int64_t bytes = 0;
    absl::Time modified = {};
  };
  absl::StatusOr<Info> Head(const std::string& key);
  // The object from `offset` on; code() is 200 when the server begins at its front all the same.
  // A response that breaks off later is not tried again.
  absl::StatusOr<std::unique_ptr<http::Exchange>> Get(const std::string& key, int64_t offset);
  // A small object at once.
  absl::StatusOr<std::string> Read(const std::string& key, int64_t bytes_max);
  // The server compares what it got with `digest` before the object is there.
  absl::Status Put(const std::string& key, absl::string_view data, const Digest& digest);
  // Within the server; onto itself, it makes the object as new.
  absl::Status Copy(const std::string& from, const std::string& to);
  // OK when there is none.
  absl::Status Delete(const std::string& key);
  // The objects whose keys begin with `prefix` and come behind `after`, some of them.
  absl::StatusOr<ObjectPage> List(const std::string& prefix, const std::string& after);

  absl::StatusOr<std::string> BeginUpload(const std::string& key);
  // Parts count from 1. Returns the part's tag.
  absl::StatusOr<std::string> PutPart(const std::string& key, const std::string& upload, int number,
                                      absl::string_view data);
  absl::Status CompleteUpload(const std::string& key, const std::string& upload,
                              const std::vector<std::string>& tags);
  // Tried once.
  absl::Status AbortUpload(const std::string& key, const std::string& upload);
  absl::StatusOr<UploadPage> ListUploads(const std::string& prefix, const UploadPage& previous);

  // Calls `attempt` until its result is not Unavailable, with waits between, or enough.
  absl::Status Retry(const std::function<absl::Status()>& attempt) const;
  // Waits after so many attempts in a row without a result.
  void WaitAfter(int attempts, const absl::Status& why) const;

 private:
  struct Call;    // a request
  struct Answer;  // a response, whole

  absl::StatusOr<std::unique_ptr<http::Exchange>> Send(const Call& call);
  absl::StatusOr<Answer> Perform(const Call& call);  // with retries
  absl::StatusOr<Answer> PerformOnce(const Call& call);
  absl::Status StatusOf(const Call& call, http::Exchange& exchange);

  const Options options_;
  CredentialsSource credentials_;
  http::Client http_;
};

}  // namespace concur::s3

#endif  // CONCUR_STORE_ARTIFACTS_S3_CLIENT_H_
