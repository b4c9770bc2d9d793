// SPDX-License-Identifier: Apache-2.0
// Sockets that HTTP servers of this project listen on.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_HTTP_LISTENER_H_
#define CONCUR_BASE_HTTP_LISTENER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"

namespace concur::http {

struct Endpoint {
  std::string host;  // an address without brackets, never a name
  int port = 0;

  // "HOST:PORT", an IPv6 host in brackets.
  std::string ToString() const;
  // True if only this machine reaches it.
  bool IsLoopback() const;
};

// Reads "HOST:PORT"; "localhost" is 127.0.0.1. Other names are refused, since they may resolve to
// unexpected addresses: InvalidArgument, which begins with `what`.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view what, const std::string& text);

struct Listener {
  FileDescriptor socket;
  Endpoint endpoint;  // with the real port
};

// Listens without blocking; port 0 takes a free one. AlreadyExists when the address is taken,
// InvalidArgument for one with an interface ("fe80::1%eth0"), the system's error otherwise.
absl::StatusOr<Listener> Listen(const Endpoint& endpoint);

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_LISTENER_H_
