// SPDX-License-Identifier: Apache-2.0
#include "qa/http/question_server.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/http/listener.h"
#include "base/http/request_guard.h"
#include "base/status_macros.h"

namespace concur::qa {
namespace {

http::HttpResponse Refused(unsigned status, absl::string_view message) {
  return {.status = status, .body = absl::StrCat(message, "\n")};
}

}  // namespace

absl::StatusOr<std::unique_ptr<QuestionServer>> QuestionServer::Start(int port) {
  CONCUR_ASSIGN_OR_RETURN(http::Listener listener, http::Listen({"127.0.0.1", port}));
  std::unique_ptr<QuestionServer> server(new QuestionServer());
  server->port_ = listener.endpoint.port;
  http::HttpLimits limits;
  limits.body_bytes_max = kQuestionBatchBytes + kServeLineBytesMax;
  limits.requests_max = kQuestionRequestsMax;
  CONCUR_ASSIGN_OR_RETURN(
      server->server_, http::HttpServer::Start(
                           std::move(listener), limits,
                           [server = server.get()](std::shared_ptr<http::HttpExchange> exchange) {
                             server->Handle(std::move(exchange));
                           }));
  return server;
}

// The HTTP server waits until every request is answered.
QuestionServer::~QuestionServer() {
  Stop();
  std::deque<std::shared_ptr<http::HttpExchange>> left;
  {
    MutexLock lock(mutex_);
    left.swap(queue_);
  }
  for (const auto& exchange : left) {
    exchange->Answer(Refused(503, "the reader ends"));
  }
}

void QuestionServer::Handle(std::shared_ptr<http::HttpExchange> exchange) {
  const http::HttpRequest& request = exchange->request();
  absl::Status allowed = http::CheckHost(request.host);
  allowed.Update(http::CheckOrigin(request));
  if (!allowed.ok()) {
    exchange->Answer(Refused(403, allowed.message()));
  } else if (request.path == "/health" && request.method == "GET") {
    exchange->Answer({.body = "ok\n"});
  } else if (request.path != "/answer" || request.method != "POST") {
    exchange->Answer(Refused(404, "expected GET /health or POST /answer"));
  } else {
    {
      MutexLock lock(mutex_);
      if (!stopped_) {
        queue_.push_back(std::move(exchange));
        changed_.NotifyAll();
        return;
      }
    }
    exchange->Answer(Refused(503, "the reader ends"));
  }
}

absl::Status QuestionServer::Run(Answerer answer) {
  for (;;) {
    std::shared_ptr<http::HttpExchange> exchange;  // shared with the queue
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopped_) {
        changed_.Wait(mutex_);
      }
      if (stopped_) {
        return absl::OkStatus();
      }
      exchange = queue_.front();
    }
    std::istringstream in(exchange->request().body);
    std::ostringstream out;
    absl::Status status = ServeAnswers(in, out, answer, "request");
    {
      MutexLock lock(mutex_);
      queue_.pop_front();
    }
    if (status.ok()) {
      exchange->Answer({.type = "application/jsonl", .body = out.str()});
    } else if (absl::IsInvalidArgument(status)) {
      exchange->Answer(Refused(400, status.message()));
    } else {
      exchange->Answer(Refused(500, status.message()));
      return status;
    }
  }
}

void QuestionServer::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

absl::Status ServeOverHttp(int64_t port, Answerer answer) {
  if (port < 1 || port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("--http: expected a port from 1 to ", UINT16_MAX, ", got ", port));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<QuestionServer> server,
                          QuestionServer::Start(static_cast<int>(port)));
  return server->Run(answer);
}

}  // namespace concur::qa
