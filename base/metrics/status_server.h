// SPDX-License-Identifier: Apache-2.0
// The pages that a monitoring system reads over HTTP: /metrics, /healthz and /readyz. And files for
// whoever knows their paths.
//
// By libmicrohttpd: one thread moves all bytes and waits for nobody, so that idle connections keep
// no probe out. /readyz and /metrics have a thread each, whose functions may take their time. The
// pages are not secret and change nothing; still, serve them on the loopback interface or a private
// network only.
//
// Thread-compatible; the pages' functions run on the server's threads.
#ifndef CONCUR_BASE_METRICS_STATUS_SERVER_H_
#define CONCUR_BASE_METRICS_STATUS_SERVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace concur {

struct StatusPages {
  // Body of /metrics, in Prometheus' text format.
  std::function<std::string()> metrics;
  // Result of /readyz: OK, or why work cannot be done now (503). /healthz says only that the
  // process answers: restarting a process that is merely waiting would prolong the outage.
  std::function<absl::Status()> ready;
  // Files by the path of their page, "/worker/DIGEST". They are opened at the start: what replaces
  // one later is not served.
  std::map<std::string, std::string> files = {};
};

struct StatusLimits {
  // As those of http::HttpLimits.
  size_t connections_max = 1024;
  absl::Duration idle_max = absl::Seconds(5);
  // Less, so that one address leaves room for the probes of others. Further ones are closed.
  size_t connections_per_peer_max = 768;
  // Requests for one page that wait for it or are being answered; more get 503.
  size_t waiting_max = 16;
};

class StatusServer {
 public:
  // Listens on HOST:PORT, where port 0 takes a free one and the host is an address, not a name.
  // InvalidArgument for another form; Unavailable when it is taken or not this machine's. As
  // OpenRegularFile for a file.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Start(const std::string& listen,
                                                             StatusPages pages,
                                                             const StatusLimits& limits = {});
  // Waits for the pages' functions, not for clients.
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // HOST:PORT with the real port.
  const std::string& address() const { return address_; }

 private:
  class Loop;
  StatusServer(std::string address, std::unique_ptr<Loop> loop);

  std::string address_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace concur

#endif  // CONCUR_BASE_METRICS_STATUS_SERVER_H_
