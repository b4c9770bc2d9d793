// SPDX-License-Identifier: Apache-2.0
// The coordinators that a client may ask: one, or several on one database, of which one leads and
// the others refuse calls. A client asks the same one until that does not answer, then the next.
//
// Thread-safe; Report may block while a name is looked up.
#ifndef CONCUR_PROTO_RPC_COORDINATORS_H_
#define CONCUR_PROTO_RPC_COORDINATORS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "proto/rpc/credentials.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace concur::rpc {

class Coordinators {
 public:
  struct Peer {
    std::string address;   // as the user named it
    std::string resolved;  // one of the addresses of that name; "": the channel finds one
    Credentials credentials;
    std::shared_ptr<grpc::Channel> channel;  // shared with stubs, by gRPC's design
  };
  // Shared: a call may outlast the list that its peer was in.
  using PeerPtr = std::shared_ptr<const Peer>;
  // The numeric addresses of a host, with brackets around those of IPv6; none when it has none.
  using Resolver = std::function<std::vector<std::string>(const std::string& host)>;

  // `addresses`: see ParseAddresses. Credentials are those of each address. Does not wait for a
  // connection. Shared by the clients of several threads.
  static absl::StatusOr<std::shared_ptr<Coordinators>> Make(absl::string_view addresses,
                                                            const CredentialFiles& files,
                                                            Resolver resolver = LookUp);
  static std::vector<std::string> LookUp(const std::string& host);

  // The one to ask now.
  PeerPtr current() const;
  std::vector<PeerPtr> peers() const;
  size_t size() const;
  bool several() const { return size() > 1; }
  // There may be several: a name may have more than one address, which are looked up only once the
  // first one refuses calls.
  bool may_be_several() const;

  // Each answer of a call is told here. After Unavailable and DeadlineExceeded the next coordinator
  // is current, unless another thread has moved on from `asked` already.
  void Report(const Peer& asked, const absl::Status& answer);
  // "ADDRESS (its last failure), …", of all.
  std::string Failures() const;

 private:
  struct Entry {
    PeerPtr peer;
    std::string failure;  // "": none, or not asked
  };

  explicit Coordinators(Resolver resolver) : resolver_(std::move(resolver)) {}
  // Takes the addresses that names have now.
  void ResolveNames();

  // Constant after construction.
  const Resolver resolver_;
  std::vector<PeerPtr> named_;  // as the user named them

  mutable Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
  size_t at_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_COORDINATORS_H_
