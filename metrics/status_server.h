// The pages that a monitoring system reads over HTTP: /metrics, /healthz and /readyz.
//
// HTTP itself is civetweb's: a few threads, a limit on the time and the size of a request, and no
// other page than these three. Nothing on them is secret, and nothing can be changed through them;
// they still belong on the loopback device or a network of the machines' own.
//
// Thread-compatible; the pages' functions run on the server's threads, several at a time.
#ifndef CONCUR_METRICS_STATUS_SERVER_H_
#define CONCUR_METRICS_STATUS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur {

struct StatusPages {
  // Of /metrics, in Prometheus' text format.
  std::function<std::string()> metrics;
  // Of /readyz: OK, or why work cannot be done now (503). /healthz says only that the process
  // answers: who restarts what is merely waiting makes it wait longer.
  std::function<absl::Status()> ready;
};

class StatusServer {
 public:
  // Listens on HOST:PORT, where port 0 takes a free one and the host is an address, not a name.
  // InvalidArgument when it is none; Unavailable when it is taken or not this machine's.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Start(const std::string& listen,
                                                             StatusPages pages);
  // Waits for requests that are being answered.
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // HOST:PORT with the real port.
  const std::string& address() const { return address_; }

 private:
  struct Http;
  explicit StatusServer(std::unique_ptr<Http> http);

  std::string address_;
  const std::unique_ptr<Http> http_;
};

}  // namespace concur

#endif  // CONCUR_METRICS_STATUS_SERVER_H_
