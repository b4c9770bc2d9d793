// Streams that are under way: how many each peer has open, and which stand still because the other
// side neither reads nor sends. A stream that stands still for too long is broken off, so that
// nobody holds the coordinator's memory by doing nothing.
//
// A peer is a host: its connections count together. What is counted and broken off is what gRPC's
// own limits do not see: those end idle connections, not idle calls.
#ifndef CONCUR_COORDINATOR_STREAM_WATCH_H_
#define CONCUR_COORDINATOR_STREAM_WATCH_H_

#include <grpc/grpc.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace concur {

struct StreamLimits {
  size_t per_peer_max = 1000;  // of users' streams; workers open theirs one by one
  absl::Duration stalled_max = absl::Minutes(10);
};

// "ipv4:10.0.0.7:41234" → "ipv4:10.0.0.7": the peer without its port.
std::string HostOfPeer(absl::string_view peer);

// Thread-safe; has a thread of its own.
class StreamWatch {
 public:
  // `clock` outlives it.
  StreamWatch(Clock& clock, const StreamLimits& limits);
  ~StreamWatch();
  StreamWatch(const StreamWatch&) = delete;
  StreamWatch& operator=(const StreamWatch&) = delete;

  // ResourceExhausted when the peer has more streams open than it may, the one that asks included.
  absl::Status Check(absl::string_view peer) const;

  // --- for the interceptor ----------------------------------------------------------------------

  // A stream begins; `call` lives until End. Only those that are `counted` count for their peer.
  uint64_t Begin(absl::string_view peer, absl::string_view method, grpc_call* call, bool counted);
  // From now on the other side has to read or to send.
  void Wait(uint64_t stream);
  // It has.
  void Go(uint64_t stream);
  void End(uint64_t stream);

 private:
  struct Stream {
    std::string host;
    std::string method;
    grpc_call* call = nullptr;  // owned by gRPC
    bool counted = false;
    absl::Time waits_since = absl::InfiniteFuture();
  };

  void Loop();
  void BreakOff();

  Clock& clock_;
  const StreamLimits limits_;
  mutable Mutex mutex_;
  CondVar stop_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> by_host_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last member: it uses the others from its start
};

// Tells a StreamWatch of the streams of both services.
class StreamWatchFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `watch` outlives it.
  explicit StreamWatchFactory(StreamWatch& watch) : watch_(watch) {}
  // Null for calls that are no streams.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  StreamWatch& watch_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_STREAM_WATCH_H_
