#include "coordinator/authorization.h"

#include <iterator>
#include <map>
#include <string>

namespace concur {

std::string AuthorizationIn(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto [begin, end] = metadata.equal_range("authorization");
  if (begin == end || std::next(begin) != end) {
    return "";
  }
  return std::string(begin->second.data(), begin->second.size());
}

std::string AuthorizationOf(const grpc::ServerContextBase& context) {
  return AuthorizationIn(context.client_metadata());
}

Digest SenderOf(const grpc::ServerContextBase& context) {
  return Sha256Of(AuthorizationOf(context));
}

}  // namespace concur
