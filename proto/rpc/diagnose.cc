// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/diagnose.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace concur::rpc {
namespace {

constexpr int kStepSeconds = 2;
constexpr unsigned char kHttp2[] = {2, 'h', '2'};

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* thing) const {
    kFree(thing);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freer<SSL_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

// OpenSSL writes to a peer that may hang up; that must not end the program.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

FileDescriptor Connect(const sockaddr* address, socklen_t size) {
  FileDescriptor fd(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kStepSeconds, 0};
  // The limits are those of connecting, too.
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      connect(fd.get(), address, size) != 0) {
    return FileDescriptor();
  }
  return fd;
}

// The host of HOST:PORT, without the brackets of an IPv6 address.
std::string HostOf(absl::string_view address) {
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) {
    absl::ConsumeSuffix(&host, "]");
  }
  return std::string(host);
}

// Invalid when nobody answers.
FileDescriptor Connect(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "unix:")) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address.size() >= sizeof name.sun_path) {
      return FileDescriptor();
    }
    std::memcpy(name.sun_path, address.data(), address.size());
    return Connect(reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port(address.substr(address.rfind(':') + 1));
  if (getaddrinfo(HostOf(address).c_str(), port.c_str(), &hints, &found) != 0) {
    return FileDescriptor();
  }
  const std::unique_ptr<addrinfo, Freer<freeaddrinfo>> owned(found);
  return found == nullptr ? FileDescriptor() : Connect(found->ai_addr, found->ai_addrlen);
}

// Loads the client's CA and certificate. Parts that cannot be read are left out: then the handshake
// fails with an error that is reported.
void UseCredentials(SSL_CTX* context, const Credentials& credentials) {
  const Bio ca(BIO_new_mem_buf(credentials.ca.data(), static_cast<int>(credentials.ca.size())));
  while (const Certificate certificate{PEM_read_bio_X509(ca.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
  }
  const Bio own(BIO_new_mem_buf(credentials.certificate.data(),
                                static_cast<int>(credentials.certificate.size())));
  const Bio own_key(
      BIO_new_mem_buf(credentials.key.data(), static_cast<int>(credentials.key.size())));
  const Certificate certificate(PEM_read_bio_X509(own.get(), nullptr, nullptr, nullptr));
  const Key key(PEM_read_bio_PrivateKey(own_key.get(), nullptr, nullptr, nullptr));
  if (certificate != nullptr && key != nullptr) {
    SSL_CTX_use_certificate(context, certificate.get());
    SSL_CTX_use_PrivateKey(context, key.get());
  }
  ERR_clear_error();
}

void ExpectName(SSL* session, absl::string_view address) {
  const std::string host =
      absl::StartsWith(address, "unix:") ? std::string("localhost") : HostOf(address);
  X509_VERIFY_PARAM* expected = SSL_get0_param(session);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) != 1) {
    SSL_set_tlsext_host_name(session, host.c_str());
    X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
  }
  ERR_clear_error();
}

absl::Status Refuse(absl::string_view address, absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("the coordinator at ", address, " ", why));
}

// Why the server's certificate was rejected.
absl::Status ExplainVerification(absl::string_view address, long result) {  // NOLINT
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return Refuse(address,
                  "shows a certificate for other names: ask for it by one of them, or have it "
                  "made for this one with \"concur-coordinator init-tls --host\"");
  }
  if (result == X509_V_ERR_CERT_HAS_EXPIRED) {
    return Refuse(address,
                  "shows a certificate that has expired: its admin renews it with "
                  "\"concur-coordinator init-tls\"");
  }
  return Refuse(address, absl::StrCat("shows a certificate that the CA of --ca did not sign (",
                                      X509_verify_cert_error_string(result),
                                      "): name the CA of this coordinator"));
}

// After the client's side of the handshake: a server that accepts the client's certificate sends
// SETTINGS; one that rejects it closes the connection.
absl::Status ExplainSilence(absl::string_view address, SSL* session,
                            const Credentials& credentials) {
  char byte = 0;
  if (SSL_read(session, &byte, 1) > 0) {
    return absl::OkStatus();
  }
  if (credentials.certificate.empty()) {
    return Refuse(address,
                  "hangs up after the handshake: it asks for a certificate of the client; name "
                  "yours with --certificate and --key");
  }
  return Refuse(address,
                "hangs up after the handshake: it does not take the client's certificate of "
                "--certificate, which a CA that it trusts must have signed");
}

}  // namespace

absl::Status DiagnoseHandshake(absl::string_view address, const Credentials& credentials) {
  const WithoutSigpipe no_signal;
  const FileDescriptor fd = Connect(address);
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (!fd.valid() || context == nullptr) {
    return absl::OkStatus();
  }
  const bool expects_tls = !credentials.ca.empty();
  UseCredentials(context.get(), credentials);
  const Session session(SSL_new(context.get()));
  if (session == nullptr || SSL_set_fd(session.get(), fd.get()) != 1) {
    return absl::OkStatus();
  }
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof kHttp2);
  SSL_set_verify(session.get(), expects_tls ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  ExpectName(session.get(), address);
  const bool shaken = SSL_connect(session.get()) == 1;
  const long verified = SSL_get_verify_result(session.get());  // NOLINT(google-runtime-int)
  const bool speaks_tls = shaken || SSL_get0_peer_certificate(session.get()) != nullptr;
  absl::Status status;
  if (!expects_tls) {
    status = speaks_tls ? Refuse(address,
                                 "speaks TLS: name the CA that signed its certificate with --ca or "
                                 "CONCUR_CA")
                        : absl::OkStatus();
  } else if (!shaken && verified != X509_V_OK) {
    status = ExplainVerification(address, verified);
  } else if (!speaks_tls) {
    status = Refuse(address,
                    "speaks no TLS, which --ca or CONCUR_CA asks for: leave that out, unless "
                    "another program has taken the address");
  } else {
    status = ExplainSilence(address, session.get(), credentials);
  }
  ERR_clear_error();
  return status;
}

}  // namespace concur::rpc
