#include "metrics/status_server.h"

#include <arpa/inet.h>
#include <civetweb.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/log.h"

namespace concur {
namespace {

// Scrapes are few and short. One thread is for those who ask, one for those who dawdle.
constexpr char kThreads[] = "3";
constexpr char kRequestMillisecondsMax[] = "2000";
constexpr char kRequestBytesMax[] = "8192";

struct Address {
  std::string host;  // without brackets
  int port = 0;
};

// Names are refused: civetweb would listen on whatever they happen to mean.
absl::StatusOr<Address> ParseAddress(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address.host = listen.substr(0, colon);
    if (absl::StartsWith(address.host, "[") && absl::EndsWith(address.host, "]")) {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host == "localhost") {
      address.host = "127.0.0.1";
    }
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    const bool is_address = inet_pton(AF_INET, address.host.c_str(), bytes.data()) == 1 ||
                            inet_pton(AF_INET6, address.host.c_str(), bytes.data()) == 1;
    const std::string port = listen.substr(colon + 1);
    const bool is_number = port.find_first_not_of("0123456789") == std::string::npos;
    if (is_address && is_number && absl::SimpleAtoi(port, &address.port) && address.port <= 65535) {
      return address;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "metrics: expected HOST:PORT with a numeric host, such as 127.0.0.1:9464, got \"", listen,
      "\""));
}

std::string AddressText(const Address& address, int port) {
  return absl::StrContains(address.host, ':') ? absl::StrCat("[", address.host, "]:", port)
                                              : absl::StrCat(address.host, ":", port);
}

void Answer(mg_connection* connection, int status, absl::string_view type, absl::string_view body) {
  const bool head_only = absl::string_view(mg_get_request_info(connection)->request_method) ==
                         absl::string_view("HEAD");
  const std::string head =
      absl::StrCat("HTTP/1.1 ", status, " ", mg_get_response_code_text(connection, status),
                   "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
                   status == 405 ? "\r\nAllow: GET, HEAD" : "",
                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (!head_only) {
    mg_write(connection, body.data(), body.size());
  }
}

constexpr char kText[] = "text/plain; charset=utf-8";

// Whether the page is asked for, and not something done to it.
bool IsRead(mg_connection* connection) {
  const absl::string_view method = mg_get_request_info(connection)->request_method;
  if (method == "GET" || method == "HEAD") {
    return true;
  }
  Answer(connection, 405, kText, "expected GET or HEAD\n");
  return false;
}

int OnMetrics(mg_connection* connection, void* pages) {
  if (IsRead(connection)) {
    Answer(connection, 200, "text/plain; version=0.0.4; charset=utf-8",
           static_cast<StatusPages*>(pages)->metrics());
  }
  return 200;  // whatever is not 0 tells civetweb that the request was dealt with
}

int OnHealth(mg_connection* connection, void*) {
  if (IsRead(connection)) {
    Answer(connection, 200, kText, "ok\n");
  }
  return 200;
}

int OnReady(mg_connection* connection, void* pages) {
  if (IsRead(connection)) {
    const absl::Status status = static_cast<StatusPages*>(pages)->ready();
    Answer(connection, status.ok() ? 200 : 503, kText,
           status.ok() ? std::string("ok\n") : absl::StrCat(status.message(), "\n"));
  }
  return 200;
}

int OnOther(mg_connection* connection, void*) {
  Answer(connection, 404, kText, "no such page; there are /metrics, /healthz and /readyz\n");
  return 200;
}

int OnMessage(const mg_connection*, const char* message) {
  LogDebug("http", {{"reason", message}});
  return 1;
}

}  // namespace

struct StatusServer::Http {
  explicit Http(StatusPages given) : pages(std::move(given)) { mg_init_library(0); }
  ~Http() {
    if (context != nullptr) {
      Stop();
    }
    mg_exit_library();
  }

  // civetweb's listener looks whether it is to stop every two seconds, or when somebody connects.
  void Stop() {
    std::atomic<bool> stopped = false;
    std::thread stopper([&] {
      mg_stop(context);
      stopped = true;
    });
    while (!stopped) {
      mg_connection* knock =
          mg_connect_client(knock_host.c_str(), bound_port, /*use_ssl=*/0, nullptr, 0);
      mg_close_connection(knock);
      absl::SleepFor(absl::Milliseconds(5));
    }
    stopper.join();
  }

  StatusPages pages;
  mg_context* context = nullptr;
  std::string knock_host;
  int bound_port = 0;
};

StatusServer::StatusServer(std::unique_ptr<Http> http) : http_(std::move(http)) {}

StatusServer::~StatusServer() = default;

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(const std::string& listen,
                                                                  StatusPages pages) {
  absl::StatusOr<Address> address = ParseAddress(listen);
  if (!address.ok()) {
    return address.status();
  }
  auto http = std::make_unique<Http>(std::move(pages));
  const std::string port = AddressText(*address, address->port);
  const std::array<const char*, 13> options = {"listening_ports",
                                               port.c_str(),
                                               "num_threads",
                                               kThreads,
                                               "request_timeout_ms",
                                               kRequestMillisecondsMax,
                                               "max_request_size",
                                               kRequestBytesMax,
                                               "enable_keep_alive",
                                               "no",
                                               "enable_directory_listing",
                                               "no",
                                               nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = OnMessage;
  http->context = mg_start(&callbacks, nullptr, const_cast<const char**>(options.data()));
  mg_server_port bound{};
  if (http->context == nullptr || mg_get_server_ports(http->context, 1, &bound) != 1) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", listen,
                     ": the address is taken or not this machine's; choose another with "
                     "--metrics-listen"));
  }
  mg_set_request_handler(http->context, "/metrics$", OnMetrics, &http->pages);
  mg_set_request_handler(http->context, "/healthz$", OnHealth, nullptr);
  mg_set_request_handler(http->context, "/readyz$", OnReady, &http->pages);
  mg_set_request_handler(http->context, "**", OnOther, nullptr);  // the first that matches is taken
  http->bound_port = bound.port;
  http->knock_host = address->host == "0.0.0.0" ? "127.0.0.1"
                     : address->host == "::"    ? "::1"
                                                : address->host;
  auto server = std::unique_ptr<StatusServer>(new StatusServer(std::move(http)));
  server->address_ = AddressText(*address, bound.port);
  return server;
}

}  // namespace concur
