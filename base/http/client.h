// SPDX-License-Identifier: Apache-2.0
// HTTP and HTTPS by libcurl, for downloads, object storage and the Kubernetes API: a request is
// sent whole, and the caller reads the answer at its own pace. A slow reader slows the server down
// instead of filling memory.
//
// A Client is thread-safe and keeps connections for the next request; an Interrupt is thread-safe;
// an Exchange is thread-compatible.
#ifndef CONCUR_BASE_HTTP_CLIENT_H_
#define CONCUR_BASE_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace concur::http {

// Amazon's Signature Version 4. The request's headers must have x-amz-content-sha256; its query
// must be percent-encoded, sorted by name, and have a "=" after every name.
struct Signature {
  std::string region;
  std::string service;
  std::string access_key;
  std::string secret_key;
};

// Cancels a request and the reading of its answer, from any thread.
class Interrupt {
 public:
  void Set();
  void Clear();
  bool IsSet();

 private:
  friend class Exchange;
  // The libcurl multi handle that has to wake up; null for none.
  void Attach(void* multi);

  Mutex mutex_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  void* multi_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

struct Request {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url = {};
  // Additional headers, "Name: value". Each needs a value: libcurl 7.88 signs a header without one
  // but does not send it.
  std::vector<std::string> headers = {};
  absl::string_view body = {};  // for PUT, POST and DELETE; outlives Send
  int64_t offset = 0;           // first byte that is wanted
  int redirects_max = 0;
  std::optional<Signature> signature = std::nullopt;
  // Not over a kept connection: when the server has closed one meanwhile, libcurl sends the request
  // again, which is wrong where the server may have carried it out.
  bool fresh_connection = false;
  absl::Duration timeout = absl::InfiniteDuration();   // limit on the whole exchange
  std::optional<absl::Duration> stall = std::nullopt;  // instead of the client's
  Interrupt* interrupt = nullptr;  // serves one exchange at a time, which it outlives; null: none
};

struct ClientOptions {
  absl::Duration stall = absl::Minutes(1);  // without a byte in either direction
  absl::Duration connect_timeout = absl::Seconds(30);
  std::string ca_file = {};  // for private servers; "": the system's CAs
  // The same as PEM text, and the client's own certificate; "": none.
  std::string ca_pem = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  bool verify_server = true;  // false: any certificate is trusted
};

// True if a Send that failed cannot have reached the server, so that repeating it is safe.
bool NothingSent(const absl::Status& status);

class Client;

// A response whose headers have arrived. Destroying it before the end closes the connection. The
// client must outlive it.
class Exchange {
 public:
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int code() const;       // 200, 404, …
  int64_t bytes() const;  // size of the body; -1 when the server does not say
  std::string Header(const std::string& name) const;  // "" if absent

  // Appends the next `bytes_max` bytes of the answer to `data`, or as many as there are. With none,
  // the answer has ended, and was whole. Unavailable when the connection broke, stalled or timed
  // out, Cancelled when it was interrupted; the bytes before that are given first.
  absl::Status Read(int64_t bytes_max, std::string* data);
  // The same, but returns as soon as there are any bytes.
  absl::Status ReadSome(int64_t bytes_max, std::string* data);

 private:
  friend class Client;
  struct Transfer;
  explicit Exchange(std::unique_ptr<Transfer> transfer);
  absl::Status Read(size_t bytes_min, size_t bytes_max, std::string* data);

  std::unique_ptr<Transfer> transfer_;
};

class Client {
 public:
  // `clock` outlives the client and measures stalls.
  Client(Clock& clock, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends, and waits for the head of the answer; answers such as 404 are no errors here. Checks
  // certificates; honours http_proxy, https_proxy, all_proxy and no_proxy.
  //   Unavailable         no answer, a stall or a timeout: worth another try later
  //   InvalidArgument     the address
  //   FailedPrecondition  the server's certificate is not trusted, or it redirects too often
  //   Cancelled           interrupted
  absl::StatusOr<std::unique_ptr<Exchange>> Send(const Request& request);

 private:
  friend class Exchange;
  struct Pool;

  Clock& clock_;
  const ClientOptions options_;
  const std::unique_ptr<Pool> pool_;
};

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_CLIENT_H_
