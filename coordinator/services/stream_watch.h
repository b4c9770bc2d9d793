// SPDX-License-Identifier: Apache-2.0
// Open streams: how many each user has, which are stalled because the other side neither reads nor
// sends, and whose token is no longer valid. A stream that is stalled for too long is canceled, so
// that nobody holds the coordinator's memory by doing nothing; gRPC's own limits end idle
// connections, not idle calls. A stream whose token was revoked or has expired is canceled, too.
//
// Streams count by user and host: two users behind one address do not lock each other out, and the
// connections of a host count together.
#ifndef CONCUR_COORDINATOR_SERVICES_STREAM_WATCH_H_
#define CONCUR_COORDINATOR_SERVICES_STREAM_WATCH_H_

#include <grpc/grpc.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"

namespace concur {

struct StreamLimits {
  size_t per_peer_max = 1000;  // a user's on a host, for methods with StreamLimit::kPerPeer
  absl::Duration stalled_max = absl::Minutes(10);
  absl::Duration check_interval = absl::Seconds(10);
};

// "ipv4:10.0.0.7:41234" → "ipv4:10.0.0.7": the peer without its port.
std::string HostOfPeer(absl::string_view peer);

// Thread-safe; has a thread of its own.
class StreamWatch {
 public:
  // `token_is_valid` gets a Caller::sender, and is called without a lock held; Unauthenticated ends
  // the token's streams. Both outlive it.
  StreamWatch(Clock& clock, const StreamLimits& limits,
              std::function<absl::Status(const Digest&)> token_is_valid);
  ~StreamWatch();
  StreamWatch(const StreamWatch&) = delete;
  StreamWatch& operator=(const StreamWatch&) = delete;

  // --- for ServiceFront -------------------------------------------------------------------------

  // A stream begins; `call` lives until End.
  uint64_t Begin(absl::string_view peer, absl::string_view method, grpc_call* call);
  // Its caller is known. ResourceExhausted when a `counted` stream would be one more than the user
  // may have on that host; it does not count then.
  absl::Status Admit(uint64_t stream, absl::string_view user, const Digest& sender, bool counted);
  // From now on the other side has to read or to send.
  void Wait(uint64_t stream);
  // It has read or sent.
  void Go(uint64_t stream);
  void End(uint64_t stream);

 private:
  struct Stream {
    std::string host;
    std::string method;
    grpc_call* call = nullptr;  // owned by gRPC
    std::string user_and_host;  // where it counts; "": nowhere
    std::optional<Digest> sender;
    absl::Time waits_since = absl::InfiniteFuture();
  };

  void Loop();
  void CheckAll();
  void CancelStalled();
  void CancelRevoked();

  Clock& clock_;
  const StreamLimits limits_;
  const std::function<absl::Status(const Digest&)> token_is_valid_;
  mutable Mutex mutex_;
  CondVar stop_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> by_user_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last member: it uses the others from its start
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_STREAM_WATCH_H_
