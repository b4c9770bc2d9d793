// SPDX-License-Identifier: Apache-2.0
#include "base/metrics/status_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/http/listener.h"
#include "base/http/request_timer.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"

namespace concur {
namespace {

constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kBytes[] = "application/octet-stream";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr size_t kConnectionBytesMax = 16384;  // for a request's head, and for what is being sent

unsigned Seconds(absl::Duration duration) {
  return static_cast<unsigned>(
      std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1)))));
}

struct ServedFile {
  FileDescriptor descriptor;
  uint64_t bytes = 0;
};

struct Answer {
  unsigned status = 200;
  const char* type = kText;
  std::string body;
  const ServedFile* file = nullptr;  // instead of the body
};

// A request from its head to the end of its answer.
struct Request {
  bool is_asked = false;  // true once a page's thread was asked for the answer
  std::optional<Answer> answer;
};

}  // namespace

// libmicrohttpd's server: one thread moves all bytes. A request for a slow page is suspended while
// the page's own thread makes the answer.
class StatusServer::Loop {
 public:
  Loop(StatusPages pages, const StatusLimits& limits)
      : pages_(std::move(pages)),
        limits_(limits),
        connections_max_(http::RequestTimer::ConnectionsMax(limits.connections_max)),
        timer_(connections_max_, limits.idle_max) {}

  // A server with suspended requests cannot be stopped: all that were asked for are answered first.
  ~Loop() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
      while (metrics_page_.waiting + ready_page_.waiting > 0) {
        changed_.Wait(mu_);
      }
    }
    if (daemon_ != nullptr) {
      MHD_stop_daemon(daemon_);
    }
  }

  // Before Start.
  absl::Status OpenFiles() {
    for (const auto& [page, path] : pages_.files) {
      ServedFile file;
      CONCUR_ASSIGN_OR_RETURN(file.descriptor, OpenRegularFile(path));
      struct stat info {};
      if (fstat(file.descriptor.get(), &info) != 0) {
        return ErrnoStatus(errno, path, "stat");
      }
      file.bytes = static_cast<uint64_t>(info.st_size);
      files_.emplace(page, std::move(file));
    }
    return absl::OkStatus();
  }

  // Takes over the socket. False when the system has no room for a server.
  bool Start(FileDescriptor listener) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest,
        this, MHD_OPTION_LISTEN_SOCKET, listener.get(), MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(connections_max_), MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        static_cast<unsigned>(limits_.connections_per_peer_max), MHD_OPTION_CONNECTION_TIMEOUT,
        Seconds(limits_.idle_max), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytesMax,
        MHD_OPTION_NOTIFY_CONNECTION, &http::RequestTimer::OnConnection, &timer_,
        MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this, MHD_OPTION_END);
    if (daemon_ == nullptr) {
      return false;
    }
    listener.Release();  // the daemon closes it
    return true;
  }

 private:
  // A page whose function may take its time.
  struct Page {
    ThreadPool thread{1};
    size_t waiting = 0;  // under the mutex of the loop
  };

  static void OnCompleted(void* self, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode /*how*/) {
    static_cast<Loop*>(self)->timer_.RequestEnded(connection);
    delete static_cast<Request*>(*context);
    *context = nullptr;
  }

  // Called when the head has come, for each piece of a body, at their end, and after a suspension.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* /*version*/, const char* /*upload*/,
                              size_t* upload_bytes, void** context) {
    auto* loop = static_cast<Loop*>(self);
    if (*context == nullptr) {
      loop->timer_.HeadCame(connection);
      *context = new Request;
      return absl::string_view(method) == "GET" || absl::string_view(method) == "HEAD"
                 ? MHD_YES
                 : Send(connection, {405, kText, "expected GET or HEAD\n"});
    }
    auto* request = static_cast<Request*>(*context);
    if (*upload_bytes > 0) {
      *upload_bytes = 0;  // no page reads a body
      return MHD_YES;
    }
    loop->timer_.RequestCame(connection);
    if (!request->is_asked) {
      loop->Route(connection, path, *request);
      if (request->is_asked) {
        return MHD_YES;  // the answer is the page's thread's until it resumes the connection
      }
    }
    const Answer& answer = *request->answer;
    loop->timer_.AnswerBegan(connection,
                             answer.file != nullptr ? answer.file->bytes : answer.body.size());
    return Send(connection, answer);
  }

  static MHD_Result Send(MHD_Connection* connection, const Answer& answer) {
    MHD_Response* response = nullptr;
    if (answer.file != nullptr) {
      // A copy, for the response closes its descriptor. It would take -1 as well, and break off
      // after the head.
      const int copy = fcntl(answer.file->descriptor.get(), F_DUPFD_CLOEXEC, 0);
      if (copy < 0) {
        return Send(connection, {503, kText, "no descriptor is left\n"});
      }
      response = MHD_create_response_from_fd64(answer.file->bytes, copy);
    } else {
      response = MHD_create_response_from_buffer(
          answer.body.size(), const_cast<char*>(answer.body.data()),  // NOLINT: it is copied
          MHD_RESPMEM_MUST_COPY);
    }
    if (response == nullptr) {
      return MHD_NO;  // no memory is left: the connection is closed
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type);
    const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
    MHD_destroy_response(response);
    return queued;
  }

  void Route(MHD_Connection* connection, absl::string_view path, Request& request) {
    if (path == "/healthz") {
      request.answer = Answer{.body = "ok\n"};
    } else if (path == "/readyz") {
      Ask(connection, ready_page_, request, [this] {
        const absl::Status status = pages_.ready();
        return Answer{
            .status = status.ok() ? 200u : 503u,
            .body = status.ok() ? std::string("ok\n") : absl::StrCat(status.message(), "\n")};
      });
    } else if (path == "/metrics") {
      Ask(connection, metrics_page_, request,
          [this] { return Answer{.type = kMetricsText, .body = pages_.metrics()}; });
    } else if (const auto file = files_.find(std::string(path)); file != files_.end()) {
      request.answer = Answer{200, kBytes, "", &file->second};
    } else {
      request.answer =
          Answer{404, kText, "no such page; there are /metrics, /healthz and /readyz\n"};
    }
  }

  void Ask(MHD_Connection* connection, Page& page, Request& request, std::function<Answer()> make) {
    MutexLock lock(mu_);
    if (stopping_ || page.waiting >= limits_.waiting_max) {
      request.answer = Answer{503, kText, "too many requests for this page at a time\n"};
      return;
    }
    ++page.waiting;
    request.is_asked = true;
    MHD_suspend_connection(connection);
    page.thread.Submit([this, connection, &page, &request, make = std::move(make)] {
      request.answer = make();
      MutexLock end(mu_);
      --page.waiting;
      MHD_resume_connection(connection);
      changed_.NotifyAll();
    });
  }

  const StatusPages pages_;
  const StatusLimits limits_;
  const size_t connections_max_;
  std::map<std::string, ServedFile> files_;  // constant once started
  http::RequestTimer timer_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Page metrics_page_;
  Page ready_page_;
  MHD_Daemon* daemon_ = nullptr;
};

StatusServer::StatusServer(std::string address, std::unique_ptr<Loop> loop)
    : address_(std::move(address)), loop_(std::move(loop)) {}

StatusServer::~StatusServer() = default;

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(const std::string& listen,
                                                                  StatusPages pages,
                                                                  const StatusLimits& limits) {
  CONCUR_ASSIGN_OR_RETURN(const http::Endpoint endpoint, http::ParseEndpoint("metrics", listen));
  absl::StatusOr<http::Listener> listener = http::Listen(endpoint);
  if (!listener.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", listen,
                     ": the address is taken or not this machine's; choose another with "
                     "--metrics-listen"));
  }
  auto loop = std::make_unique<Loop>(std::move(pages), limits);
  CONCUR_RETURN_IF_ERROR(loop->OpenFiles());
  if (!loop->Start(std::move(listener->socket))) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", listen, ": no thread or descriptor is left"));
  }
  return std::unique_ptr<StatusServer>(
      new StatusServer(listener->endpoint.ToString(), std::move(loop)));
}

}  // namespace concur
