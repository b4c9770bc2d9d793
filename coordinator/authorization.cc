#include "coordinator/authorization.h"

#include <iterator>
#include <string>

namespace concur {

std::string AuthorizationOf(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  if (begin == end || std::next(begin) != end) {
    return "";
  }
  return std::string(begin->second.data(), begin->second.size());
}

}  // namespace concur
