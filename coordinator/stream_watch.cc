#include "coordinator/stream_watch.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"

namespace concur {
namespace {

using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::ServerRpcInfo;

constexpr absl::Duration kLookMax = absl::Seconds(10);
constexpr char kUsersService[] = "/concur.v1.Coordinator/";

// One stream's. gRPC calls it in order, from its own threads.
class StreamInterceptor final : public grpc::experimental::Interceptor {
 public:
  StreamInterceptor(StreamWatch& watch, ServerRpcInfo& info)
      : watch_(watch),
        receives_(info.type() == ServerRpcInfo::Type::CLIENT_STREAMING),
        info_(info) {}
  ~StreamInterceptor() override {
    if (stream_ != 0) {
      watch_.End(stream_);
    }
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    const auto at = [methods](InterceptionHookPoints point) {
      return methods->QueryInterceptionHookPoint(point);
    };
    if (stream_ == 0) {
      grpc::ServerContextBase& context = *info_.server_context();
      stream_ = watch_.Begin(context.peer(), info_.method(), context.c_call(),
                             absl::StartsWith(info_.method(), kUsersService));
      if (receives_) {
        watch_.Wait(stream_);
      }
    }
    if (receives_ && at(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      watch_.Wait(stream_);  // for the next one
    } else if (at(InterceptionHookPoints::POST_SEND_MESSAGE)) {
      watch_.Go(stream_);
    }
    if (at(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      watch_.Wait(stream_);
    }
    methods->Proceed();
  }

 private:
  StreamWatch& watch_;
  const bool receives_;
  ServerRpcInfo& info_;
  uint64_t stream_ = 0;
};

}  // namespace

std::string HostOfPeer(absl::string_view peer) {
  const bool has_port = absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:");
  return std::string(has_port ? peer.substr(0, peer.rfind(':')) : peer);
}

StreamWatch::StreamWatch(Clock& clock, const StreamLimits& limits)
    : clock_(clock), limits_(limits), thread_([this] { Loop(); }) {}

StreamWatch::~StreamWatch() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  thread_.join();
}

absl::Status StreamWatch::Check(absl::string_view peer) const {
  const std::string host = HostOfPeer(peer);
  MutexLock lock(mutex_);
  const auto it = by_host_.find(host);
  if (it == by_host_.end() || it->second <= limits_.per_peer_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      host, " has ", it->second - 1, " streams open, and limits.streams_per_peer_max is ",
      limits_.per_peer_max, ": end one first"));
}

uint64_t StreamWatch::Begin(absl::string_view peer, absl::string_view method, grpc_call* call,
                            bool counted) {
  Stream stream;
  stream.host = HostOfPeer(peer);
  stream.method = std::string(method);
  stream.call = call;
  stream.counted = counted;
  MutexLock lock(mutex_);
  if (counted) {
    ++by_host_[stream.host];
  }
  streams_.emplace(next_, std::move(stream));
  return next_++;
}

void StreamWatch::Wait(uint64_t stream) {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  streams_.at(stream).waits_since = now;
}

void StreamWatch::Go(uint64_t stream) {
  MutexLock lock(mutex_);
  streams_.at(stream).waits_since = absl::InfiniteFuture();
}

void StreamWatch::End(uint64_t stream) {
  MutexLock lock(mutex_);
  const auto it = streams_.find(stream);
  CONCUR_CHECK(it != streams_.end());
  if (it->second.counted) {
    const auto host = by_host_.find(it->second.host);
    if (--host->second == 0) {
      by_host_.erase(host);
    }
  }
  streams_.erase(it);
}

void StreamWatch::Loop() {
  const absl::Duration interval = std::min(kLookMax, limits_.stalled_max / 4);
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (!stopping_) {
        stop_.WaitWithTimeout(mutex_, interval);
      }
      if (stopping_) {
        return;
      }
    }
    BreakOff();
  }
}

void StreamWatch::BreakOff() {
  const absl::Time now = clock_.Now();
  std::vector<Stream> stalled;
  {
    MutexLock lock(mutex_);
    for (auto& [id, stream] : streams_) {
      if (stream.waits_since + limits_.stalled_max <= now) {
        // It is canceled without the lock, and may have ended by then.
        grpc_call_ref(stream.call);
        stalled.push_back(stream);
        stream.waits_since = absl::InfiniteFuture();
      }
    }
  }
  for (const Stream& stream : stalled) {
    LogWarning("a stream was broken off: the other side neither reads nor sends",
               {{"peer", stream.host},
                {"method", stream.method},
                {"seconds", absl::StrCat(absl::ToInt64Seconds(now - stream.waits_since))}});
    grpc_call_cancel_with_status(stream.call, GRPC_STATUS_RESOURCE_EXHAUSTED,
                                 "the other side stood still for too long", nullptr);
    grpc_call_unref(stream.call);
  }
}

grpc::experimental::Interceptor* StreamWatchFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const bool is_stream = info->type() == ServerRpcInfo::Type::CLIENT_STREAMING ||
                         info->type() == ServerRpcInfo::Type::SERVER_STREAMING ||
                         info->type() == ServerRpcInfo::Type::BIDI_STREAMING;
  return is_stream ? new StreamInterceptor(watch_, *info) : nullptr;
}

}  // namespace concur
