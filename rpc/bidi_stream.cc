// SPDX-License-Identifier: Apache-2.0
#include "rpc/bidi_stream.h"

namespace concur::rpc {

void KeepUntilExit(const std::shared_ptr<grpc::Channel>& channel) {
  static Mutex mu;
  // Being read here keeps it reachable for leak checkers, too.
  static auto* const kept = new std::shared_ptr<grpc::Channel>;
  MutexLock lock(mu);
  if (*kept == nullptr) {
    *kept = channel;
  }
}

}  // namespace concur::rpc
