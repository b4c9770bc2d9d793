// SPDX-License-Identifier: Apache-2.0
// Explains failed TLS handshakes: gRPC reports them as Unavailable, as it does a server that does
// not run.
//
// Thread-safe (stateless); blocks for a few seconds at most.
#ifndef CONCUR_PROTO_RPC_DIAGNOSE_H_
#define CONCUR_PROTO_RPC_DIAGNOSE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/rpc/credentials.h"

namespace concur::rpc {

// Performs one handshake as a client with these credentials. PermissionDenied says what is wrong
// (TLS on one side only, another CA, a name missing from the certificate, a missing or wrong client
// certificate) and what to do. OK when no server listens or the handshake succeeds.
absl::Status DiagnoseHandshake(absl::string_view address, const Credentials& credentials);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_DIAGNOSE_H_
