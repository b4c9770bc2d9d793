// SPDX-License-Identifier: Apache-2.0
#include "base/http/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/http/request_timer.h"
#include "base/mutex.h"
#include "base/thread_pool.h"

namespace concur::http {
namespace {

constexpr size_t kConnectionBytesMax = 32768;  // for a request's head, and for what is being sent
constexpr size_t kEventBlockBytes = 16384;
constexpr int kSendBytes = 32768;  // send buffer for events to a viewer; the kernel doubles it
constexpr size_t kQueryFieldsMax = 64;

unsigned WholeSeconds(absl::Duration duration) {
  return static_cast<unsigned>(
      std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1)))));
}

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

// "ipv4:127.0.0.1:41234".
std::string PeerOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) {
    return "unknown";
  }
  char text[INET6_ADDRSTRLEN] = "";
  if (info->client_addr->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(info->client_addr);  // NOLINT
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    return absl::StrCat("ipv6:[", text, "]:", ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(info->client_addr);  // NOLINT
  inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  return absl::StrCat("ipv4:", text, ":", ntohs(v4->sin_port));
}

MHD_Result AddQueryField(void* to, MHD_ValueKind /*kind*/, const char* key, size_t key_size,
                         const char* value, size_t value_size) {
  auto* fields = static_cast<std::vector<std::pair<std::string, std::string>>*>(to);
  if (fields->size() > kQueryFieldsMax) {
    return MHD_NO;
  }
  fields->emplace_back(std::string(key, key_size),
                       value == nullptr ? std::string() : std::string(value, value_size));
  return MHD_YES;
}

HttpResponse TooMany(const char* what) {
  return {503,
          "application/json",
          absl::StrCat(R"({"error":{"code":"UNAVAILABLE","message":"too many )", what,
                       R"( at a time; try again"}})"),
          {{"Retry-After", "2"}}};
}

}  // namespace

// libmicrohttpd's daemon and what is open on it.
class HttpServer::Loop {
 public:
  Loop(const HttpLimits& limits, Handler handler)
      : limits_(limits),
        connections_max_(RequestTimer::ConnectionsMax(limits.connections_max)),
        handler_(std::move(handler)),
        timer_(connections_max_, limits.idle_max, limits.answer_rate_min),
        heartbeat_(1) {}

  // A daemon with suspended connections cannot be stopped.
  ~Loop() {
    heartbeat_.Close();
    std::set<std::shared_ptr<EventOutlet>> streams;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      streams = streams_;
    }
    for (const std::shared_ptr<EventOutlet>& stream : streams) {
      stream->End();
    }
    {
      MutexLock lock(mutex_);
      while (waiting_ > 0) {
        changed_.Wait(mutex_);
      }
    }
    if (daemon_ != nullptr) {
      MHD_stop_daemon(daemon_);
    }
  }

  bool Start(http::Listener listener) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest,
        this, MHD_OPTION_LISTEN_SOCKET, listener.socket.get(), MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(connections_max_), MHD_OPTION_CONNECTION_TIMEOUT,
        WholeSeconds(limits_.idle_max), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytesMax,
        MHD_OPTION_NOTIFY_CONNECTION, &RequestTimer::OnConnection, &timer_,
        MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this, MHD_OPTION_END);
    if (daemon_ == nullptr) {
      return false;
    }
    listener.socket.Release();  // the daemon closes it
    ScheduleHeartbeat();
    return true;
  }

  void Heartbeat() {
    std::set<std::shared_ptr<EventOutlet>> streams;
    {
      MutexLock lock(mutex_);
      streams = streams_;
    }
    for (const std::shared_ptr<EventOutlet>& stream : streams) {
      stream->WriteHeartbeat();
    }
  }

  size_t streams() {
    MutexLock lock(mutex_);
    return streams_.size();
  }

 private:
  // Lives from a request's head to its end or its answer, whichever is later.
  class Exchange final : public HttpExchange {
   public:
    Exchange(Loop& loop, MHD_Connection* connection) : loop_(loop), connection_(connection) {}
    const HttpRequest& request() const override { return request_; }

    void Answer(HttpResponse response) override {
      response_ = std::move(response);
      Resume();
    }

    void AnswerWithEvents(HttpResponse head, std::shared_ptr<EventOutlet> events) override {
      if (!loop_.AddStream(events)) {
        events->Close();
        Answer(TooMany("streams of events"));
        return;
      }
      response_ = std::move(head);
      events_ = std::move(events);
      Resume();
    }

   private:
    friend class Loop;

    // Last of all: the server's thread uses this from then on.
    void Resume() {
      answered_ = true;
      Loop& loop = loop_;
      MHD_resume_connection(connection_);
      loop.EndWaiting();
    }

    Loop& loop_;
    MHD_Connection* const connection_;
    HttpRequest request_;
    bool is_too_large_ = false;
    bool is_handed_over_ = false;
    bool answered_ = false;   // once set, the answer is below
    bool is_queued_ = false;  // the events: they are closed with their response
    HttpResponse response_;
    std::shared_ptr<EventOutlet> events_;  // shared with its producer
  };
  // State that libmicrohttpd keeps of a request.
  struct Context {
    std::shared_ptr<Exchange> exchange;  // shared with whoever answers
  };
  // State that it keeps of a stream.
  struct StreamContext {
    Loop* loop;
    std::shared_ptr<EventOutlet> events;
  };

  static void OnCompleted(void* self, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode /*how*/) {
    static_cast<Loop*>(self)->timer_.RequestEnded(connection);
    const std::unique_ptr<Context> done(static_cast<Context*>(*context));
    *context = nullptr;
    // The connection ended after the answer was given and before this thread had taken it.
    if (done != nullptr && done->exchange->events_ != nullptr && !done->exchange->is_queued_) {
      static_cast<Loop*>(self)->CloseStream(done->exchange->events_);
    }
  }

  // Called when the head has come, for each piece of a body, at their end, and after a suspension.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* /*version*/, const char* upload,
                              size_t* upload_bytes, void** context) {
    auto* loop = static_cast<Loop*>(self);
    if (*context == nullptr) {
      loop->timer_.HeadCame(connection);
      auto exchange = std::make_shared<Exchange>(*loop, connection);
      ReadHead(connection, path, method, exchange->request_);
      int64_t length = 0;
      const std::string announced = HeaderOf(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
      exchange->is_too_large_ =
          !announced.empty() && (!absl::SimpleAtoi(announced, &length) || length < 0 ||
                                 static_cast<uint64_t>(length) > loop->limits_.body_bytes_max);
      const bool is_too_large = exchange->is_too_large_;
      *context = new Context{std::move(exchange)};
      // Before the body: it is not received then.
      return is_too_large ? QueueTooLarge(connection) : MHD_YES;
    }
    Exchange& exchange = *static_cast<Context*>(*context)->exchange;
    if (*upload_bytes > 0) {
      if (exchange.request_.body.size() + *upload_bytes > loop->limits_.body_bytes_max) {
        exchange.is_too_large_ = true;
        exchange.request_.body.clear();
      }
      if (!exchange.is_too_large_) {
        exchange.request_.body.append(upload, *upload_bytes);
      }
      *upload_bytes = 0;
      return MHD_YES;
    }
    loop->timer_.RequestCame(connection);
    if (exchange.is_too_large_) {
      return QueueTooLarge(connection);
    }
    if (exchange.request_.query.size() > kQueryFieldsMax) {
      return QueueTooManyFields(connection);
    }
    if (exchange.is_handed_over_) {
      return exchange.answered_ ? loop->Queue(connection, exchange) : MHD_YES;
    }
    return loop->HandOver(connection, *static_cast<Context*>(*context));
  }

  static void ReadHead(MHD_Connection* connection, const char* path, const char* method,
                       HttpRequest& request) {
    request.method = method;
    request.path = path;
    request.host = HeaderOf(connection, MHD_HTTP_HEADER_HOST);
    request.origin = HeaderOf(connection, "Origin");
    request.fetch_site = HeaderOf(connection, "Sec-Fetch-Site");
    request.cookies = HeaderOf(connection, MHD_HTTP_HEADER_COOKIE);
    request.authorization = HeaderOf(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    request.csrf = HeaderOf(connection, "X-Concur-CSRF");
    request.content_type = HeaderOf(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    request.if_none_match = HeaderOf(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    request.peer = PeerOf(connection);
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &AddQueryField, &request.query);
  }

  MHD_Result HandOver(MHD_Connection* connection, const Context& context) {
    {
      MutexLock lock(mutex_);
      if (stopping_ || waiting_ >= limits_.requests_max) {
        return QueueResponse(connection, TooMany("requests"));
      }
      ++waiting_;
    }
    context.exchange->is_handed_over_ = true;
    MHD_suspend_connection(connection);
    handler_(context.exchange);
    return MHD_YES;
  }

  void EndWaiting() {
    MutexLock lock(mutex_);
    --waiting_;
    changed_.NotifyAll();
  }

  bool AddStream(const std::shared_ptr<EventOutlet>& events) {
    MutexLock lock(mutex_);
    return !stopping_ && streams_.size() < std::min(limits_.streams_max, connections_max_ / 2) &&
           streams_.insert(events).second;
  }

  static MHD_Result QueueTooManyFields(MHD_Connection* connection) {
    return QueueResponse(
        connection,
        {400, "application/json",
         absl::StrCat(R"({"error":{"code":"INVALID_ARGUMENT","message":"expected at most )",
                      kQueryFieldsMax, R"( fields in the query"}})")});
  }

  static MHD_Result QueueTooLarge(MHD_Connection* connection) {
    return QueueResponse(
        connection,
        {413, "application/json",
         R"({"error":{"code":"INVALID_ARGUMENT","message":"the request's body is too large"}})"});
  }

  MHD_Result Queue(MHD_Connection* connection, Exchange& exchange) {
    if (exchange.events_ == nullptr) {
      timer_.AnswerBegan(connection, exchange.response_.body.size());
      return QueueResponse(connection, exchange.response_);
    }
    // Events that a dead viewer does not read fill this much of the kernel's memory, and then their
    // producer waits. Not set for other answers: one that is larger than the buffer would
    // wait 40 ms for the receiver's acknowledgement each time that it is full.
    if (const MHD_ConnectionInfo* info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
      setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
    }
    exchange.is_queued_ = true;
    exchange.events_->Attach({[connection] { MHD_suspend_connection(connection); },
                              [connection] { MHD_resume_connection(connection); }});
    MHD_Response* response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kEventBlockBytes, &ReadEvents,
                                          new StreamContext{this, exchange.events_}, &CloseEvents);
    return QueueWithHeaders(connection, exchange.response_, response);
  }

  static ssize_t ReadEvents(void* context, uint64_t /*position*/, char* to, size_t size) {
    const ssize_t count = static_cast<StreamContext*>(context)->events->Read(to, size);
    return count < 0 ? MHD_CONTENT_READER_END_OF_STREAM : count;
  }

  static void CloseEvents(void* context) {
    const std::unique_ptr<StreamContext> stream(static_cast<StreamContext*>(context));
    stream->loop->CloseStream(stream->events);
  }

  void CloseStream(const std::shared_ptr<EventOutlet>& events) {
    {
      MutexLock lock(mutex_);
      streams_.erase(events);
    }
    events->Close();
  }

  static MHD_Result QueueResponse(MHD_Connection* connection, const HttpResponse& from) {
    MHD_Response* response = MHD_create_response_from_buffer(
        from.body.size(), const_cast<char*>(from.body.data()),  // NOLINT: it is copied
        MHD_RESPMEM_MUST_COPY);
    return QueueWithHeaders(connection, from, response);
  }

  static MHD_Result QueueWithHeaders(MHD_Connection* connection, const HttpResponse& from,
                                     MHD_Response* response) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, from.type.c_str());
    for (const auto& [name, value] : from.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    const MHD_Result queued = MHD_queue_response(connection, from.status, response);
    MHD_destroy_response(response);
    return queued;
  }

  void ScheduleHeartbeat() {
    heartbeat_.SubmitAfter(limits_.heartbeat, [this] {
      Heartbeat();
      ScheduleHeartbeat();
    });
  }

  // Constant after Start.
  const HttpLimits limits_;
  const size_t connections_max_;
  const Handler handler_;
  RequestTimer timer_;
  MHD_Daemon* daemon_ = nullptr;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // requests without an answer
  std::set<std::shared_ptr<EventOutlet>> streams_ ABSL_GUARDED_BY(mutex_);

  ThreadPool heartbeat_;
};

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(http::Listener listener,
                                                              const HttpLimits& limits,
                                                              Handler handler) {
  auto loop = std::make_unique<Loop>(limits, std::move(handler));
  if (!loop->Start(std::move(listener))) {
    return absl::UnavailableError("no thread or descriptor is left for a server");
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

void HttpServer::HeartbeatForTest() { loop_->Heartbeat(); }
size_t HttpServer::streams() const { return loop_->streams(); }

}  // namespace concur::http
