// SPDX-License-Identifier: Apache-2.0
// The page: one address with the static files, the API and the logins (docs/page.md).
//
// It is a client of the coordinator that runs in its process. Every answer about sweeps, jobs and
// workers comes from a gRPC call with the viewer's own token, so that there is one list of rules.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_PAGE_PAGE_SERVER_H_
#define CONCUR_COORDINATOR_PAGE_PAGE_SERVER_H_

#include <grpcpp/channel.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/http/http_server.h"
#include "base/http/session.h"
#include "base/mutex.h"
#include "coordinator/page/api.h"
#include "coordinator/page/login_link.h"
#include "coordinator/page/tables.h"

namespace concur::page {

// Who a token belongs to.
struct Viewer {
  std::string user;
  std::string role;
};

struct PageOptions {
  std::string listen;  // HOST:PORT of the loopback device; port 0 takes a free one
  std::string data_directory;
  bool without_authentication = false;
  std::string version;
  std::vector<ApiMethod> methods;
  // Whose token it is; fails as a call would.
  std::function<absl::StatusOr<Viewer>(const ApiCaller& caller)> authenticate;
  // The token of the user who runs the coordinator.
  std::function<absl::StatusOr<std::string>()> local_token;
  http::HttpLimits http;
  size_t streams_per_user_max = 100;
  absl::Duration session = absl::Hours(7 * 24);
};

class PageServer {
 public:
  // InvalidArgument for an address that is not one of the loopback device; Unavailable when it is
  // taken. `clock` outlives the server.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(Clock& clock, PageOptions options,
                                                           std::shared_ptr<grpc::Channel> channel);
  // Cancels calls in progress and waits for them.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "http://127.0.0.1:7449/".
  const std::string& address() const { return address_; }
  // The file with the link that logs its reader in.
  static std::string LinkPath(const std::string& data_directory);

 private:
  using Exchange = std::shared_ptr<http::HttpExchange>;

  PageServer(Clock& clock, PageOptions options, std::shared_ptr<grpc::Channel> channel,
             std::string key, const http::Endpoint& endpoint);

  void Handle(const Exchange& exchange);
  void HandleApi(const Exchange& exchange, const std::string& name);
  void CallMethod(const Exchange& exchange, const ApiMethod& method, const ApiCaller& caller);
  void OpenStream(const Exchange& exchange, const ApiMethod& method, const ApiCaller& caller,
                  const std::string& request);
  http::HttpResponse LogIn(const http::HttpRequest& request);
  absl::StatusOr<std::string> TokenFrom(const http::HttpRequest& request);
  http::HttpResponse LogOut() const;
  // The metadata of calls on the viewer's behalf. Unauthenticated, or PermissionDenied when a
  // browser sends the cookie without the value that belongs to it.
  absl::StatusOr<ApiCaller> CallerOf(const http::HttpRequest& request) const;
  std::string SessionCookie(const std::string& value, absl::Duration age) const;

  Clock& clock_;
  const PageOptions options_;
  const std::string address_;
  const std::string cookie_name_;
  const http::SessionSealer sealer_;
  LoginLink link_;
  Mutex mutex_;
  std::map<std::string, size_t> streams_ ABSL_GUARDED_BY(mutex_);  // by user
  Api api_;  // waits for its calls, which use the members above
  Tables tables_;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_PAGE_SERVER_H_
