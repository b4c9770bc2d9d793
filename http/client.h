// HTTP and HTTPS by libcurl, as downloads and object storage need it: a request is sent whole, and
// the caller takes the bytes of the answer when it wants them, so that a slow reader holds up the
// server and no memory.
//
// A Client is thread-safe and keeps connections for the next request; an Exchange is
// thread-compatible.
#ifndef CONCUR_HTTP_CLIENT_H_
#define CONCUR_HTTP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace concur::http {

// Amazon's Signature Version 4. The request's headers must have x-amz-content-sha256; its query
// must be percent-encoded, sorted by name, and have a "=" behind every name.
struct Signature {
  std::string region;
  std::string service;
  std::string access_key;
  std::string secret_key;
};

struct Request {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url = {};
  // "Name: value", beside those that every request has. None may be without a value: libcurl 7.88
  // signs the name of a header that it then leaves out.
  std::vector<std::string> headers = {};
  absl::string_view body = {};  // of PUT and POST; outlives Send
  int64_t offset = 0;           // of the first byte that is wanted
  int redirects_max = 0;
  std::optional<Signature> signature = std::nullopt;
};

struct ClientOptions {
  absl::Duration stall = absl::Minutes(1);  // without a byte in either direction
  std::string ca_file = {};                 // of private servers; "": the system's CAs
};

class Client;

// An answer, from its head on. Dropped early, it ends the connection. Outlived by its client.
class Exchange {
 public:
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int code() const;       // 200, 404, …
  int64_t bytes() const;  // that follow; -1 when the server does not say
  std::string Header(const std::string& name) const;  // "" without

  // Appends the next bytes to `data`, until there are `bytes_max` of them or no more. With none,
  // the answer has ended, and was whole. Unavailable when it broke off or stood still; what came
  // before that is given first.
  absl::Status Read(int64_t bytes_max, std::string* data);

 private:
  friend class Client;
  struct Transfer;
  explicit Exchange(std::unique_ptr<Transfer> transfer);

  std::unique_ptr<Transfer> transfer_;
};

class Client {
 public:
  // Outlived by `clock`, which says when a transfer stands still.
  Client(Clock& clock, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends, and waits for the head of the answer; answers such as 404 are no errors here. Checks
  // certificates; honours http_proxy, https_proxy, all_proxy and no_proxy.
  //   Unavailable         no answer, or it stood still: worth another try later
  //   InvalidArgument     the address
  //   FailedPrecondition  the server's certificate is not trusted, or it redirects too often
  absl::StatusOr<std::unique_ptr<Exchange>> Send(const Request& request);

 private:
  friend class Exchange;
  struct Pool;

  Clock& clock_;
  const ClientOptions options_;
  const std::unique_ptr<Pool> pool_;
};

}  // namespace concur::http

#endif  // CONCUR_HTTP_CLIENT_H_
