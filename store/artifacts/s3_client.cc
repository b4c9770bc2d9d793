// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/s3_client.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::s3 {
namespace {

constexpr int64_t kAnswerBytesMax = int64_t{16} << 20;  // a page of a list has 1,000 keys
constexpr int64_t kErrorBytesMax = int64_t{64} * 1024;
constexpr size_t kMessageBytesMax = 300;

// Errors worth retrying: S3 throttling and broken connections.
bool IsTransient(int code, const std::string& name) {
  static const auto& names =
      *new std::set<std::string>{"BadDigest",      "IncompleteBody",   "InternalError",
                                 "RequestTimeout", "OperationAborted", "ServiceUnavailable",
                                 "SlowDown",       "TooManyRequests",  "XAmzContentSHA256Mismatch"};
  return names.count(name) > 0 || code == 408 || code == 425 || code == 429 ||
         (code >= 500 && code != 501);
}

absl::Status With(absl::StatusCode code, absl::string_view message, absl::string_view remedy) {
  return absl::Status(code, absl::StrCat(message, "; ", remedy));
}

// Characters of our keys and of servers' ids, as a query has them.
std::string Encoded(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"%", "%25"}, {"/", "%2F"}, {"+", "%2B"}, {"=", "%3D"}, {" ", "%20"}, {"&", "%26"}});
}

void Sleep(const Options& options, absl::Duration duration) {
  if (options.sleep) {
    options.sleep(duration);
  } else {
    absl::SleepFor(duration);
  }
}

}  // namespace

struct Client::Call {
  std::string method = {};
  std::string key = {};    // "": the bucket
  std::string query = {};  // as a signature has it: sorted, encoded, with "=" behind every name
  absl::string_view body = {};
  Digest digest = Sha256Of("");  // the body's
  std::vector<std::string> headers = {};
  int64_t offset = 0;
};

struct Client::Answer {
  std::string body;
  std::string tag;
  int64_t bytes = 0;
  std::string modified;
};

Client::Client(Clock& clock, Options options)
    : options_(std::move(options)),
      credentials_(options_.credentials_file, options_.credentials),
      http_(clock, {.stall = options_.stall, .ca_file = options_.ca_file}) {}

std::string Client::location() const {
  return absl::StrCat(options_.endpoint, "/", options_.bucket, options_.prefix.empty() ? "" : "/",
                      options_.prefix);
}

// --- one request
// -----------------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<http::Exchange>> Client::Send(const Call& call) {
  CONCUR_ASSIGN_OR_RETURN(const Credentials credentials, credentials_.Current());
  http::Request request;
  request.method = call.method;
  request.url = absl::StrCat(options_.endpoint, "/", options_.bucket, call.key.empty() ? "" : "/",
                             call.key, call.query.empty() ? "" : "?", call.query);
  request.headers = call.headers;
  request.headers.push_back(absl::StrCat("x-amz-content-sha256: ", call.digest.ToHex()));
  if (!credentials.session_token.empty()) {
    request.headers.push_back(absl::StrCat("x-amz-security-token: ", credentials.session_token));
  }
  if (call.method == "PUT" || call.method == "POST") {
    request.headers.emplace_back("Content-Type: application/octet-stream");
  }
  request.body = call.body;
  request.offset = call.offset;
  request.signature =
      http::Signature{options_.region, "s3", credentials.access_key, credentials.secret_key};
  CONCUR_ASSIGN_OR_RETURN(auto exchange, http_.Send(request));
  CONCUR_RETURN_IF_ERROR(StatusOf(call, *exchange));
  return exchange;
}

absl::Status Client::StatusOf(const Call& call, http::Exchange& exchange) {
  const int code = exchange.code();
  if (code == 200 || code == 204 || code == 206) {
    return absl::OkStatus();
  }
  std::string body;
  while (static_cast<int64_t>(body.size()) < kErrorBytesMax) {
    const size_t before = body.size();
    if (!exchange.Read(kErrorBytesMax, &body).ok() || body.size() == before) {
      break;  // the code says enough
    }
  }
  const ErrorText error = ParseError(body);
  const std::string message =
      absl::StrCat(options_.endpoint, "/", options_.bucket, ": ", call.method, " ", call.key,
                   ": the server ", "answers ", code, error.code.empty() ? "" : " ", error.code,
                   error.message.empty() ? "" : ": ", error.message.substr(0, kMessageBytesMax));
  const std::string origin = credentials_.origin();
  const std::string& name = error.code;
  const std::string region =
      error.region.empty() ? exchange.Header("x-amz-bucket-region") : error.region;
  if (name == "NoSuchBucket") {
    return With(absl::StatusCode::kFailedPrecondition, message,
                "make the bucket, or mend artifacts.s3.bucket");
  }
  if (name == "NoSuchUpload") {
    return absl::AbortedError(message);
  }
  if (code == 404) {
    return absl::NotFoundError(message);
  }
  if (IsTransient(code, name)) {
    return absl::UnavailableError(message);
  }
  if (code == 501 || code == 405) {
    return absl::UnimplementedError(message);
  }
  if (name == "ExpiredToken" || name == "InvalidToken" || name == "TokenRefreshRequired") {
    return With(absl::StatusCode::kUnauthenticated, message,
                absl::StrCat("the credentials of ", origin, " have expired: renew them"));
  }
  if (name == "InvalidAccessKeyId" || name == "SignatureDoesNotMatch") {
    return With(absl::StatusCode::kUnauthenticated, message,
                absl::StrCat("the access key or its secret, of ", origin, ", is wrong"));
  }
  if (name == "RequestTimeTooSkewed") {
    return With(absl::StatusCode::kFailedPrecondition, message,
                "the clock of this machine or of the server is wrong");
  }
  if (code == 301 || code == 307 || name == "AuthorizationHeaderMalformed" || !region.empty()) {
    return With(absl::StatusCode::kFailedPrecondition, message,
                absl::StrCat("artifacts.s3.region is ", options_.region, "; the bucket is in ",
                             region.empty() ? "another region" : region));
  }
  if (code == 401 || code == 403) {
    return With(absl::StatusCode::kPermissionDenied, message,
                absl::StrCat("the credentials of ", origin,
                             " must allow s3:GetObject, s3:PutObject, s3:DeleteObject, "
                             "s3:AbortMultipartUpload, s3:ListBucket and "
                             "s3:ListBucketMultipartUploads"));
  }
  return code == 400 ? absl::InvalidArgumentError(message) : absl::FailedPreconditionError(message);
}

absl::StatusOr<Client::Answer> Client::PerformOnce(const Call& call) {
  CONCUR_ASSIGN_OR_RETURN(const auto exchange, Send(call));
  Answer answer;
  answer.tag = exchange->Header("etag");
  answer.modified = exchange->Header("last-modified");
  answer.bytes = exchange->bytes();
  if (call.method == "HEAD") {
    return answer;
  }
  for (;;) {
    const size_t before = answer.body.size();
    CONCUR_RETURN_IF_ERROR(exchange->Read(kAnswerBytesMax, &answer.body));
    if (answer.body.size() == before) {
      break;
    }
    if (static_cast<int64_t>(answer.body.size()) > kAnswerBytesMax) {
      return absl::DataLossError(absl::StrCat(location(), ": the answer is too long"));
    }
  }
  // Copies and completed uploads may fail after the server has said 200.
  if (const ErrorText error = ParseError(answer.body); !error.code.empty()) {
    const std::string message =
        absl::StrCat(location(), ": ", call.method, " ", call.key, ": the server answers ",
                     error.code, ": ", error.message.substr(0, kMessageBytesMax));
    return IsTransient(200, error.code) ? absl::UnavailableError(message)
                                        : absl::FailedPreconditionError(message);
  }
  return answer;
}

void Client::WaitAfter(int attempts, const absl::Status& why) const {
  const absl::Duration wait =
      std::min(options_.backoff * (1 << std::min(attempts - 1, 16)), options_.backoff_max);
  LogDebug("object storage is asked again",
           {{"error", why.ToString()}, {"wait", absl::FormatDuration(wait)}});
  Sleep(options_, wait);
}

absl::Status Client::Retry(const std::function<absl::Status()>& attempt) const {
  for (int attempts = 1;; ++attempts) {
    absl::Status status = attempt();
    if (!absl::IsUnavailable(status)) {
      return status;
    }
    if (attempts >= options_.attempts_max) {
      return absl::UnavailableError(absl::StrCat(status.message(), " (", attempts, " attempts)"));
    }
    WaitAfter(attempts, status);
  }
}

absl::StatusOr<Client::Answer> Client::Perform(const Call& call) {
  Answer answer;
  CONCUR_RETURN_IF_ERROR(Retry([&]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(answer, PerformOnce(call));
    return absl::OkStatus();
  }));
  return answer;
}

// --- the requests
// -----------------------------------------------------------------------------------------

absl::StatusOr<Client::Info> Client::Head(const std::string& key) {
  const absl::StatusOr<Answer> answer = Perform({.method = "HEAD", .key = key});
  if (absl::IsNotFound(answer.status()) || absl::IsUnavailable(answer.status())) {
    return answer.status();
  }
  if (!answer.ok()) {
    CONCUR_RETURN_IF_ERROR(Get(key, 0).status());  // its answer has a message, unlike that of HEAD
    return answer.status();
  }
  Info info{.bytes = answer->bytes};
  std::string error;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", answer->modified, &info.modified, &error) ||
      info.bytes < 0) {
    return absl::DataLossError(absl::StrCat(location(), ": HEAD ", key,
                                            ": expected a size and a time, got \"",
                                            answer->modified.substr(0, 100), "\""));
  }
  return info;
}

absl::StatusOr<std::unique_ptr<http::Exchange>> Client::Get(const std::string& key,
                                                            int64_t offset) {
  std::unique_ptr<http::Exchange> exchange;
  CONCUR_RETURN_IF_ERROR(Retry([&]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(exchange, Send({.method = "GET", .key = key, .offset = offset}));
    return absl::OkStatus();
  }));
  return exchange;
}

absl::StatusOr<std::string> Client::Read(const std::string& key, int64_t bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(Answer answer, Perform({.method = "GET", .key = key}));
  if (static_cast<int64_t>(answer.body.size()) > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(location(), ": ", key, " has more than ", bytes_max, " bytes"));
  }
  return std::move(answer.body);
}

absl::Status Client::Put(const std::string& key, absl::string_view data, const Digest& digest) {
  return Perform({.method = "PUT", .key = key, .body = data, .digest = digest}).status();
}

absl::Status Client::Copy(const std::string& from, const std::string& to) {
  return Perform({.method = "PUT",
                  .key = to,
                  .headers = {absl::StrCat("x-amz-copy-source: /", options_.bucket, "/", from),
                              "x-amz-metadata-directive: REPLACE"}})
      .status();
}

absl::Status Client::Delete(const std::string& key) {
  const absl::Status status = Perform({.method = "DELETE", .key = key}).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<ObjectPage> Client::List(const std::string& prefix, const std::string& after) {
  CONCUR_ASSIGN_OR_RETURN(
      const Answer answer,
      Perform({.method = "GET",
               .query = absl::StrCat(
                   "list-type=2&max-keys=", options_.page_size, "&prefix=", Encoded(prefix),
                   after.empty() ? "" : absl::StrCat("&start-after=", Encoded(after)))}));
  return ParseObjects(answer.body);
}

absl::StatusOr<std::string> Client::BeginUpload(const std::string& key) {
  CONCUR_ASSIGN_OR_RETURN(const Answer answer,
                          Perform({.method = "POST", .key = key, .query = "uploads="}));
  return ParseUploadId(answer.body);
}

absl::StatusOr<std::string> Client::PutPart(const std::string& key, const std::string& upload,
                                            int number, absl::string_view data) {
  CONCUR_ASSIGN_OR_RETURN(
      const Answer answer,
      Perform({.method = "PUT",
               .key = key,
               .query = absl::StrCat("partNumber=", number, "&uploadId=", Encoded(upload)),
               .body = data,
               .digest = Sha256Of(data)}));
  if (answer.tag.empty()) {
    return absl::DataLossError(
        absl::StrCat(location(), ": PUT ", key, ": expected a tag of part ", number));
  }
  return answer.tag;
}

absl::Status Client::CompleteUpload(const std::string& key, const std::string& upload,
                                    const std::vector<std::string>& tags) {
  const std::string body = PartsXml(tags);
  return Perform({.method = "POST",
                  .key = key,
                  .query = absl::StrCat("uploadId=", Encoded(upload)),
                  .body = body,
                  .digest = Sha256Of(body)})
      .status();
}

absl::Status Client::AbortUpload(const std::string& key, const std::string& upload) {
  return PerformOnce(
             {.method = "DELETE", .key = key, .query = absl::StrCat("uploadId=", Encoded(upload))})
      .status();
}

absl::StatusOr<UploadPage> Client::ListUploads(const std::string& prefix,
                                               const UploadPage& previous) {
  std::string query;
  if (!previous.next_key.empty()) {
    query = absl::StrCat("key-marker=", Encoded(previous.next_key), "&");
  }
  absl::StrAppend(&query, "prefix=", Encoded(prefix));
  if (!previous.next_key.empty()) {
    absl::StrAppend(&query, "&upload-id-marker=", Encoded(previous.next_id));
  }
  absl::StrAppend(&query, "&uploads=");
  CONCUR_ASSIGN_OR_RETURN(const Answer answer, Perform({.method = "GET", .query = query}));
  return ParseUploads(answer.body);
}

}  // namespace concur::s3
