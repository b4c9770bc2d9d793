// SPDX-License-Identifier: Apache-2.0
// The TLS files that the workers of pools use: the CA of the coordinator's certificate, and their
// own certificate. All of them are checked before any worker is started, because a worker on
// another machine that cannot connect reports it only in its own log.
//
// Immutable after Load.
#ifndef CONCUR_COORDINATOR_ACCESS_PILOT_TLS_H_
#define CONCUR_COORDINATOR_ACCESS_PILOT_TLS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// Paths of PEM files; "": none.
struct TlsFiles {
  std::string certificate;  // the server's; turns TLS on
  std::string key;
  std::string client_ca;  // clients must show a certificate that it signed
};
struct PilotFiles {
  std::string ca;  // the CA of the server's certificate
  std::string certificate;
  std::string key;
};

class PilotTls {
 public:
  // `server` has the coordinator's own files. If it has no certificate, none are needed, and those
  // in `files` are for a proxy in front of the coordinator. If it has, files that `files` does not
  // name default to those that init-tls puts beside the server's certificate: ca.pem (or the
  // server's client_ca, which takes precedence) and, when the server requires client certificates,
  // client.pem and client.key.
  // InvalidArgument, naming the field of the options, when a file is missing or would be refused by
  // the other side: another CA, an expired certificate, a key of another certificate.
  static absl::StatusOr<PilotTls> Load(const TlsFiles& server, const PilotFiles& files);

  // InvalidArgument, which lists the certificate's names, unless it is for the host
  // of "HOST:PORT", of one of several with commas: other coordinators have the others. OK without
  // TLS and for unix sockets.
  absl::Status CheckAddress(absl::string_view addresses) const;

  // PEM; "" for none.
  const std::string& ca() const { return ca_; }
  const std::string& certificate() const { return certificate_; }
  const std::string& key() const { return key_; }

 private:
  std::string server_certificate_;
  std::string ca_;
  std::string certificate_;
  std::string key_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_PILOT_TLS_H_
