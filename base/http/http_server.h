// SPDX-License-Identifier: Apache-2.0
// The HTTP server of the page, by libmicrohttpd: one thread moves all bytes and waits for nobody. A
// request is suspended until its handler answers, from any thread; a stream of events is suspended
// while there is none.
//
// Thread-safe; the handler runs on the server's thread and must not block.
#ifndef CONCUR_BASE_HTTP_HTTP_SERVER_H_
#define CONCUR_BASE_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/http_exchange.h"
#include "base/http/listener.h"

namespace concur::http {

struct HttpLimits {
  size_t connections_max = 512;  // fewer where the process may have few descriptors
  // The head of a request must come within this time, its body within four times as long (see
  // request_timer.h). An answer whose reader stands still that long is given up; so is one that it
  // takes more slowly than at `answer_rate_min`, in bytes a second, after the time of a body. Whole
  // seconds.
  absl::Duration idle_max = absl::Seconds(15);
  int64_t answer_rate_min = 0;              // 0: as request_timer.h's
  size_t body_bytes_max = size_t{1} << 20;  // more gets 413
  size_t requests_max = 64;                 // being answered at a time; more get 503
  // Streams of events to all viewers, at most half of the connections; more get 503.
  size_t streams_max = 400;
  absl::Duration heartbeat = absl::Seconds(15);
};

// A request that waits for its answer: exactly one of the two is to be called, from any thread.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  virtual void Answer(HttpResponse response) = 0;
  // Answers with the response's head and, as its body, the events. When there are too many streams
  // the outlet is closed at once.
  virtual void AnswerWithEvents(HttpResponse head, std::shared_ptr<EventOutlet> events) = 0;
};

class HttpServer {
 public:
  // Shared with whoever answers, who may be later than the client's end.
  using Handler = std::function<void(std::shared_ptr<HttpExchange>)>;

  // Takes the listener over. Unavailable when no thread or descriptor is left.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(http::Listener listener,
                                                           const HttpLimits& limits,
                                                           Handler handler);
  // Ends the streams and waits until every request is answered.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // For tests: what the heartbeat's thread does at every interval.
  void HeartbeatForTest();
  size_t streams() const;

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_HTTP_SERVER_H_
