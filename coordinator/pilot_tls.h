// What the workers of pools know their coordinator by, and what they show to it, where it speaks
// TLS. All of it is checked before any worker is started: one on another machine that cannot
// connect tells nobody but its own log.
//
// Immutable after Load.
#ifndef CONCUR_COORDINATOR_PILOT_TLS_H_
#define CONCUR_COORDINATOR_PILOT_TLS_H_

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
  std::string ca;  // of the server's certificate
  std::string certificate;
  std::string key;
};

class PilotTls {
 public:
  // `server` is what the coordinator uses itself. Without a certificate nothing is needed, and what
  // `files` names is for a proxy before the coordinator. With one, what is not named in `files` is
  // looked for beside the server's certificate, where init-tls puts it: ca.pem (before it, the
  // server's client_ca) and, when the server asks its clients for a certificate, client.pem and
  // client.key.
  // InvalidArgument, naming the field of the options, when something is missing or would be
  // refused by the other side: another CA, an expired certificate, a key of another one.
  static absl::StatusOr<PilotTls> Load(const TlsFiles& server, const PilotFiles& files);

  // InvalidArgument, with the names that there are, unless the server's certificate is for the host
  // of "HOST:PORT". OK without TLS and for unix sockets.
  absl::Status CheckAddress(absl::string_view address) const;

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

#endif  // CONCUR_COORDINATOR_PILOT_TLS_H_
