// SPDX-License-Identifier: Apache-2.0
// A reader as a service (docs/readers.md): answers over HTTP on 127.0.0.1. GET /health is answered
// at once with 200; POST /answer has lines as ServeAnswers reads them, and gets its lines back.
// Requests wait in a queue for the one thread that answers; beyond kQuestionRequestsMax they get
// 503.
//
// Thread-safe, but for Run.
#ifndef CONCUR_QA_HTTP_QUESTION_SERVER_H_
#define CONCUR_QA_HTTP_QUESTION_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/http_server.h"
#include "base/mutex.h"
#include "qa/serve.h"

namespace concur::qa {

inline constexpr size_t kQuestionRequestsMax = 256;
// A client sends what it has once it is more than this, so that the requests of others come
// between.
inline constexpr size_t kQuestionBatchBytes = size_t{64} << 10;

class QuestionServer {
 public:
  // Listens; 0 takes a free port. AlreadyExists when the port is taken.
  static absl::StatusOr<std::unique_ptr<QuestionServer>> Start(int port);
  // Waiting requests get 503.
  ~QuestionServer();

  int port() const { return port_; }
  // Answers on this thread, one request after the other, until Stop. InvalidArgument, of a line or
  // of `answer`, is told to the client with 400; any other error of `answer` with 500, and is
  // returned.
  absl::Status Run(Answerer answer);
  void Stop();

 private:
  QuestionServer() = default;
  void Handle(std::shared_ptr<http::HttpExchange> exchange);

  int port_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // The first is being answered. Shared with the server, for which the client may go earlier.
  std::deque<std::shared_ptr<http::HttpExchange>> queue_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<http::HttpServer> server_;
};

// Starts a server on the port of `serve --http`, and runs it.
absl::Status ServeOverHttp(int64_t port, Answerer answer);

}  // namespace concur::qa

#endif  // CONCUR_QA_HTTP_QUESTION_SERVER_H_
