// SPDX-License-Identifier: Apache-2.0
// The sockets that a gate listens on, and a client's, in clear text or by TLS, which never waits.
//
// Thread-compatible.
#ifndef CONCUR_COORDINATOR_GATE_SOCKET_H_
#define CONCUR_COORDINATOR_GATE_SOCKET_H_

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file.h"
#include "coordinator/access/pilot_tls.h"

struct ssl_ctx_st;
struct ssl_st;

namespace concur::gate {

struct Listeners {
  std::vector<FileDescriptor> sockets;  // at least one
  std::string address;                  // with the actual port
};

// Listens, without blocking, on "HOST:PORT", all addresses of the host, or "unix:PATH", in place of
// a socket that is there. Unavailable when the address is taken or not this machine's.
absl::StatusOr<Listeners> ListenOn(const std::string& address);

// "ipv4:10.0.0.7:41234", "ipv6:[::1]:7" or "unix:".
std::string NameOfPeer(const sockaddr_storage& address);

using TlsContext = std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)>;

// TLS 1.2 or later for HTTP/2, by these files; null where no certificate is named. With a client CA
// each client has to show a certificate that it signed. The error names the file.
absl::StatusOr<TlsContext> MakeTlsContext(const TlsFiles& files);

class Wire {
 public:
  // Bytes moved; 0: none now, come again when the socket is ready; -1: the connection has ended.
  using Moved = ssize_t;

  // `tls` may be null.
  Wire(FileDescriptor socket, ssl_ctx_st* tls);
  // The first one makes the handshake.
  Moved Read(absl::Span<char> into);
  Moved Write(absl::string_view from);
  // Sends nothing more, and reads without TLS what is to be dropped: the other side gets what was
  // sent as long as this one reads on.
  void End();

  // The handshake of TLS is over; false in clear text, which has none.
  bool has_shaken_hands() const;
  int fd() const { return socket_.get(); }
  // The common name in the client's certificate; "" without one.
  std::string certificate() const;

 private:
  Moved Result(int done) const;

  FileDescriptor socket_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
};

}  // namespace concur::gate

#endif  // CONCUR_COORDINATOR_GATE_SOCKET_H_
