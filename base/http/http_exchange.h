// SPDX-License-Identifier: Apache-2.0
// A request over HTTP and its response, as the page's handlers see them.
//
// Values; EventOutlet is thread-safe.
#ifndef CONCUR_BASE_HTTP_HTTP_EXCHANGE_H_
#define CONCUR_BASE_HTTP_HTTP_EXCHANGE_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace concur::http {

struct HttpRequest {
  std::string method;
  std::string path;  // decoded
  std::vector<std::pair<std::string, std::string>> query;
  // Headers; "" where there is none.
  std::string host;
  std::string origin;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string cookies;
  std::string authorization;
  std::string csrf;  // X-Concur-CSRF
  std::string content_type;
  std::string if_none_match;
  std::string body;
  std::string peer;  // "ipv4:127.0.0.1:41234", as gRPC writes it
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Events on their way to one viewer. The producer writes one, and the next one once `on_drained` is
// called: a slow viewer costs one event of memory and delays nobody.
class EventOutlet {
 public:
  // Where the connection waits until there is something to send. Called with the outlet's lock
  // held; must not call the outlet.
  struct Connection {
    std::function<void()> suspend;
    std::function<void()> resume;
  };

  // --- the producer -----------------------------------------------------------------------------

  // `on_drained`: the last event was handed to the socket. `on_closed`: the viewer is gone, or all
  // was sent; called once, and nothing after it. Neither is called with a lock held, and both are
  // forgotten then. REQUIRES: called before the outlet is given to the server.
  void SetCallbacks(std::function<void()> on_drained, std::function<void()> on_closed);
  void Write(absl::string_view event);
  // Closes the connection after what was written.
  void End();

  // --- the server -------------------------------------------------------------------------------

  void Attach(Connection connection);
  // Writes a comment, which viewers ignore, if nothing waits: a dead viewer is found by it.
  void WriteHeartbeat();
  // Up to `size` bytes; 0 after suspending the connection; -1 at the end.
  ssize_t Read(char* to, size_t size);
  // The connection is gone.
  void Close();

 private:
  void AppendLocked(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::function<void()> on_drained_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_closed_ ABSL_GUARDED_BY(mutex_);
  Connection connection_ ABSL_GUARDED_BY(mutex_);
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes of `waiting_`
  bool has_event_ ABSL_GUARDED_BY(mutex_) = false;
  bool suspended_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_HTTP_EXCHANGE_H_
