// SPDX-License-Identifier: Apache-2.0
#include "coordinator/gate/socket.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/http/listener.h"
#include "base/status_macros.h"

namespace concur::gate {
namespace {

constexpr int kUnixBacklog = 512;
constexpr int64_t kPemBytesMax = 1 << 20;
// In the form of TLS: a length before the name.
constexpr unsigned char kHttp2[] = {2, 'h', '2'};

std::string TlsError() {
  std::string text(256, '\0');
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.c_str();
}

absl::Status BadFile(const std::string& file, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("TLS: ", file, ": expected ", expected, ": ", TlsError()));
}

int SelectHttp2(SSL* /*ssl*/, const unsigned char** out, unsigned char* length,
                const unsigned char* in, unsigned in_length, void* /*unused*/) {
  unsigned char* selected = nullptr;
  if (SSL_select_next_proto(&selected, length, kHttp2, sizeof kHttp2, in, in_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

absl::StatusOr<Listeners> ListenOnPath(const std::string& address) {
  const std::string path(absl::StripPrefix(address, "unix:"));
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof where.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(
        address, ": expected a path of at most ", sizeof where.sun_path - 1, " bytes after unix:"));
  }
  path.copy(where.sun_path, path.size());
  auto* const bytes = reinterpret_cast<sockaddr*>(&where);  // NOLINT
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (probe.valid() && connect(probe.get(), bytes, sizeof where) == 0) {
      return absl::UnavailableError(absl::StrCat(address, ": another process listens there"));
    }
    unlink(path.c_str());
  }
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() || bind(fd.get(), bytes, sizeof where) != 0 ||
      listen(fd.get(), kUnixBacklog) != 0) {
    return absl::UnavailableError(
        absl::StrCat(address, ": ", std::generic_category().message(errno)));
  }
  Listeners listeners;
  listeners.sockets.push_back(std::move(fd));
  listeners.address = address;
  return listeners;
}

// Host and port as text; IPv4 also where it came to a socket of both versions.
std::pair<std::string, std::string> TextOf(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {std::string(absl::StripPrefix(host.data(), "::ffff:")), port.data()};
}

}  // namespace

absl::StatusOr<Listeners> ListenOn(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) {
    return ListenOnPath(address);
  }
  const std::string host = address.substr(0, address.rfind(':'));
  const std::string name(absl::StripSuffix(absl::StripPrefix(host, "["), "]"));
  http::Endpoint endpoint;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &endpoint.port)) {
    return absl::InvalidArgumentError(absl::StrCat(address, ": expected HOST:PORT or unix:PATH"));
  }
  if (host == "0.0.0.0") {  // as gRPC did: every address, of both versions where there are two
    absl::StatusOr<Listeners> both = ListenOn(absl::StrCat("[::]:", endpoint.port));
    if (both.ok()) {
      both->address = absl::StrCat(host, both->address.substr(both->address.rfind(':')));
      return both;
    }
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::UnavailableError(absl::StrCat(address, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  Listeners listeners;
  absl::Status failed;
  for (; found != nullptr; found = found->ai_next) {
    endpoint.host = TextOf(found->ai_addr, found->ai_addrlen).first;
    absl::StatusOr<http::Listener> listener = http::Listen(endpoint);
    if (listener.ok()) {
      endpoint.port = listener->endpoint.port;  // the same one on every address
      listeners.sockets.push_back(std::move(listener->socket));
      continue;
    }
    failed = absl::UnavailableError(listener.status().message());
    if (absl::IsAlreadyExists(listener.status())) {
      return failed;  // clients of this address would talk to another program
    }
  }
  listeners.address = absl::StrCat(host, ":", endpoint.port);
  return listeners.sockets.empty() ? absl::StatusOr<Listeners>(failed) : std::move(listeners);
}

std::string NameOfPeer(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) {
    return "unix:";
  }
  const auto [host, port] =
      TextOf(reinterpret_cast<const sockaddr*>(&address), sizeof address);  // NOLINT
  return absl::StrContains(host, ':') ? absl::StrCat("ipv6:[", host, "]:", port)
                                      : absl::StrCat("ipv4:", host, ":", port);
}

absl::StatusOr<TlsContext> MakeTlsContext(const TlsFiles& files) {
  TlsContext context(nullptr, SSL_CTX_free);
  if (files.certificate.empty()) {
    if (!files.key.empty() || !files.client_ca.empty()) {
      return absl::InvalidArgumentError("TLS: expected a certificate beside the key or client CA");
    }
    return context;
  }
  // Names the file that cannot be read, or is unreasonably large.
  for (const std::string& file : {files.certificate, files.key, files.client_ca}) {
    CONCUR_RETURN_IF_ERROR(file.empty() ? absl::OkStatus() : ReadFile(file, kPemBytesMax).status());
  }
  ERR_clear_error();
  context.reset(SSL_CTX_new(TLS_server_method()));
  CONCUR_CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A resumed session would have to be bound to the client's certificate; handshakes are rare.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.get(), SelectHttp2, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return BadFile(files.certificate, "certificates in PEM");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return BadFile(files.key, "the certificate's key in PEM");
  }
  if (!files.client_ca.empty()) {
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr ||
        SSL_CTX_load_verify_locations(context.get(), files.client_ca.c_str(), nullptr) != 1) {
      return BadFile(files.client_ca, "certificates in PEM");
    }
    SSL_CTX_set_client_CA_list(context.get(), names);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

Wire::Wire(FileDescriptor socket, SSL_CTX* tls)
    : socket_(std::move(socket)), ssl_(tls == nullptr ? nullptr : SSL_new(tls), SSL_free) {
  if (tls != nullptr) {
    CONCUR_CHECK(ssl_ != nullptr);  // else it would be served in clear text, without certificates
    SSL_set_fd(ssl_.get(), socket_.get());
    SSL_set_accept_state(ssl_.get());
  }
}

Wire::Moved Wire::Result(int done) const {
  if (done > 0) {
    return done;
  }
  const int error = SSL_get_error(ssl_.get(), done);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

Wire::Moved Wire::Read(absl::Span<char> into) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    return Result(SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size())));
  }
  const ssize_t got = recv(socket_.get(), into.data(), into.size(), 0);
  return got > 0 ? got : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

Wire::Moved Wire::Write(absl::string_view from) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    return Result(SSL_write(ssl_.get(), from.data(), static_cast<int>(from.size())));
  }
  const ssize_t sent = send(socket_.get(), from.data(), from.size(), MSG_NOSIGNAL);
  return sent >= 0 ? sent : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

void Wire::End() {
  if (has_shaken_hands()) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ssl_.reset();
  shutdown(socket_.get(), SHUT_WR);
}

bool Wire::has_shaken_hands() const {
  return ssl_ != nullptr && SSL_is_init_finished(ssl_.get()) == 1;
}

std::string Wire::certificate() const {
  if (ssl_ == nullptr) {
    return "";
  }
  const std::unique_ptr<X509, void (*)(X509*)> shown(SSL_get1_peer_certificate(ssl_.get()),
                                                     X509_free);
  if (shown == nullptr) {
    return "";
  }
  std::string common(256, '\0');
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName,
                                               common.data(), static_cast<int>(common.size()));
  common.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return common;
}

}  // namespace concur::gate
