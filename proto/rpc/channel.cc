// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace concur::rpc {
namespace {

constexpr size_t kUnixPathBytesMax = 107;  // sun_path without its NUL

// Adds the token to a call. gRPC's own call credentials refuse a channel without TLS, which on the
// loopback device is all there is.
class TokenAdder final : public grpc::experimental::Interceptor {
 public:
  explicit TokenAdder(const Credentials& credentials) : credentials_(credentials) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      if (const std::string token = credentials_.CurrentToken(); !token.empty()) {
        methods->GetSendInitialMetadata()->insert(
            {"authorization", absl::StrCat("Bearer ", token)});
      }
    }
    methods->Proceed();
  }

 private:
  const Credentials& credentials_;  // the factory's, which lives as long as the channel
};

class TokenAdderFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenAdderFactory(Credentials credentials) : credentials_(std::move(credentials)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* /*info*/) override {
    return new TokenAdder(credentials_);  // the call owns it
  }

 private:
  const Credentials credentials_;
};

}  // namespace

absl::StatusOr<std::string> ParseAddress(absl::string_view address) {
  const auto refuse = [address](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", address, "\": ", why, "; expected HOST:PORT or unix:/path"));
  };
  if (address.size() > 1000) {
    return absl::InvalidArgumentError("address: expected at most 1000 bytes");
  }
  for (const char c : address) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == ' ') {
      return refuse("expected no spaces or control characters");
    }
  }
  if (absl::ConsumePrefix(&address, "unix:")) {
    if (address.empty() || address[0] != '/') {
      return refuse("expected an absolute path after unix:");
    }
    if (address.size() > kUnixPathBytesMax) {
      return refuse(absl::StrCat("expected a path of at most ", kUnixPathBytesMax, " bytes"));
    }
    return absl::StrCat("unix:", address);
  }
  if (absl::StrContains(address, "://")) {
    return refuse("expected no scheme");
  }
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) {
    return refuse(colon == 0 ? "expected a host before the colon" : "expected a port");
  }
  absl::string_view host = address.substr(0, colon);
  const absl::string_view port = address.substr(colon + 1);
  int number = 0;
  if (port.empty() || !std::all_of(port.begin(), port.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(port, &number) || number > 65'535) {
    return refuse("expected a port from 0 to 65535");
  }
  if (absl::StrContains(host, ":") && !(host.front() == '[' && host.back() == ']')) {
    return refuse("expected brackets around an IPv6 address");
  }
  // The resolver is named so that no host is taken for a scheme.
  return absl::StrCat("dns:///", host, ":", number);
}

absl::StatusOr<std::vector<std::string>> ParseAddresses(absl::string_view addresses) {
  std::vector<std::string> parsed = absl::StrSplit(addresses, ',');
  if (parsed.size() > kAddressesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kAddressesMax, " addresses, got ", parsed.size()));
  }
  for (const std::string& address : parsed) {
    CONCUR_RETURN_IF_ERROR(ParseAddress(address).status());
  }
  return parsed;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(absl::string_view address,
                                                           const Credentials& credentials,
                                                           absl::string_view resolved,
                                                           bool several) {
  CONCUR_ASSIGN_OR_RETURN(const std::string target,
                          ParseAddress(resolved.empty() ? address : resolved));
  if (credentials.ca.empty() && !credentials.token.empty() && !IsLocalAddress(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token would cross the network to ", address,
                     " in clear text: name the coordinator's CA with --ca or CONCUR_CA, or, for a "
                     "coordinator without authentication, no token"));
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesLimit);
  arguments.SetMaxSendMessageSize(kMessageBytesLimit);
  // The server takes pings that are 2 s apart.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, several ? 3'000 : 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, several ? 3'000 : 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // As long as nobody answers at the address, before the next coordinator is asked.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, several ? 1'000 : 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);             // CallWithRetry retries
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);          // HTTP proxies do not apply
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a new channel connects anew
  if (!resolved.empty()) {
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, std::string(address));
  }
  std::shared_ptr<grpc::ChannelCredentials> channel_credentials =
      credentials.ca.empty()
          ? grpc::InsecureChannelCredentials()
          : grpc::SslCredentials({credentials.ca, credentials.key, credentials.certificate});
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (!credentials.token.empty() || !credentials.recorded_for.empty()) {
    interceptors.push_back(std::make_unique<TokenAdderFactory>(credentials));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, channel_credentials, arguments, std::move(interceptors));
}

bool WaitToRepeat(grpc::Channel* channel, absl::Duration duration,
                  const std::function<bool()>& is_canceled) {
  constexpr absl::Duration kStep = absl::Milliseconds(50);
  const absl::Time end = absl::Now() + duration;
  // A server that is connected and refuses calls gets the whole pause.
  const bool connected =
      channel != nullptr && channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY;
  while (true) {
    if (is_canceled && is_canceled()) {
      return false;
    }
    const absl::Duration rest = end - absl::Now();
    if (rest <= absl::ZeroDuration()) {
      return true;
    }
    const absl::Duration step = std::min(rest, kStep);
    if (channel == nullptr || connected) {
      absl::SleepFor(step);
    } else if (channel->WaitForConnected(absl::ToChronoTime(absl::Now() + step))) {
      return true;
    }
  }
}

}  // namespace concur::rpc
