// SPDX-License-Identifier: Apache-2.0
// The clients behind gRPC's names of connections, "fd:17". Thread-safe.
#ifndef CONCUR_COORDINATOR_GATE_PEERS_H_
#define CONCUR_COORDINATOR_GATE_PEERS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace concur::gate {

struct Peer {
  std::string address;      // "ipv4:10.0.0.7:41234", "ipv6:[::1]:7", "unix:"
  std::string certificate;  // the name in the client's certificate; "": it showed none
};

class Peers {
 public:
  // The peer behind gRPC's name of a connection; the name itself where the gate has none, as for
  // calls in this process. Ask when a call begins: after the connection's end another may get the
  // same name.
  Peer Of(absl::string_view name) const {
    MutexLock lock(mutex_);
    const auto found = peers_.find(name);
    return found == peers_.end() ? Peer{std::string(name), ""} : found->second;
  }

  // At most as many are kept as this process has had descriptors.
  void Set(int fd, Peer peer) {
    MutexLock lock(mutex_);
    peers_[absl::StrCat("fd:", fd)] = std::move(peer);
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur::gate

#endif  // CONCUR_COORDINATOR_GATE_PEERS_H_
