// Why a coordinator that is there cannot be spoken with: gRPC only says that it is unavailable,
// which is also what it says when nobody is there.
//
// Thread-safe (stateless); blocks for a few seconds at most.
#ifndef CONCUR_RPC_DIAGNOSE_H_
#define CONCUR_RPC_DIAGNOSE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/credentials.h"

namespace concur::rpc {

// Shakes hands once, as a client with these credentials would. PermissionDenied says what does not
// fit (TLS against none, another CA, a name that the certificate lacks, no certificate of the
// client's or a wrong one) and what to do. OK when nobody listens or nothing of this is wrong.
absl::Status DiagnoseHandshake(absl::string_view address, const Credentials& credentials);

}  // namespace concur::rpc

#endif  // CONCUR_RPC_DIAGNOSE_H_
