// Who a call says that it comes from.
#ifndef CONCUR_COORDINATOR_AUTHORIZATION_H_
#define CONCUR_COORDINATOR_AUTHORIZATION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <string>

#include "base/digest.h"

namespace concur {

// The header "authorization" among those of a call; "" when there is none, or more than one.
std::string AuthorizationIn(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);
std::string AuthorizationOf(const grpc::ServerContextBase& context);
// A name for whose token the call has: calls with the same token have the same. It is no token.
Digest SenderOf(const grpc::ServerContextBase& context);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_AUTHORIZATION_H_
