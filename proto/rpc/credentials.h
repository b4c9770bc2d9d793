// SPDX-License-Identifier: Apache-2.0
// The credentials of a client: the CA that it trusts, its own certificate, and a bearer token.
//
// On the coordinator's machine its user need not name a token, nor a CA: the coordinator records in
// that user's home directory where those for its address are (RecordServer), and only that user's
// clients find them there.
//
// Thread-safe (stateless functions; Credentials is a value).
#ifndef CONCUR_PROTO_RPC_CREDENTIALS_H_
#define CONCUR_PROTO_RPC_CREDENTIALS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::rpc {

// Paths of PEM files and of a file with a token; "" for none.
struct CredentialFiles {
  std::string ca;           // turns TLS on: the coordinator's certificate must be signed by it
  std::string certificate;  // the client's own, where the coordinator asks for one
  std::string key;
  std::string token;
};

struct Credentials {
  std::string ca;  // PEM; "": no TLS
  std::string certificate;
  std::string key;
  std::string key_file;    // "": there is no key
  std::string token_file;  // "": `token` is all there is
  std::string token;
  std::string recorded_for;  // the local address whose recorded token is used; "": one was named

  // The token, read again from its file, so that a renewed one is used without a restart; the token
  // read before if the file is gone. A recorded one is looked up again, too: a coordinator that is
  // still starting records it only then. "" when there is none.
  std::string CurrentToken() const;
};

// True if the address is this machine's own: a unix socket or the loopback device.
bool IsLocalAddress(absl::string_view address);

// Reads the files. The token is that of files.token, else of CONCUR_TOKEN, else the recorded one of
// a local address; of the latter, also the recorded CA and certificate where files.ca is "". Errors
// name the file. PermissionDenied when others can read a token's file, or when another user listens
// at an address whose token was recorded.
absl::StatusOr<Credentials> LoadCredentials(absl::string_view address,
                                            const CredentialFiles& files);

// Records for this user's clients that `files` are for the coordinator at `address` on this
// machine. In $XDG_STATE_HOME/concur/servers, else ~/.local/state/concur/servers.
absl::Status RecordServer(absl::string_view address, const CredentialFiles& files);
void ForgetServer(absl::string_view address);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CREDENTIALS_H_
