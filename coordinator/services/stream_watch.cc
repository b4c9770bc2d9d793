// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/stream_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"

namespace concur {
std::string HostOfPeer(absl::string_view peer) {
  const bool has_port = absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:");
  return std::string(has_port ? peer.substr(0, peer.rfind(':')) : peer);
}

StreamWatch::StreamWatch(Clock& clock, const StreamLimits& limits,
                         std::function<absl::Status(const Digest&)> token_is_valid)
    : clock_(clock),
      limits_(limits),
      token_is_valid_(std::move(token_is_valid)),
      thread_([this] { Loop(); }) {}

StreamWatch::~StreamWatch() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  thread_.join();
}

uint64_t StreamWatch::Begin(absl::string_view peer, absl::string_view method, grpc_call* call) {
  Stream stream;
  stream.host = HostOfPeer(peer);
  stream.method = std::string(method);
  stream.call = call;
  MutexLock lock(mutex_);
  streams_.emplace(next_, std::move(stream));
  return next_++;
}

absl::Status StreamWatch::Admit(uint64_t stream, absl::string_view user, const Digest& sender,
                                bool counted) {
  MutexLock lock(mutex_);
  Stream& admitted = streams_.at(stream);
  admitted.sender = sender;
  if (!counted) {
    return absl::OkStatus();
  }
  std::string user_and_host = absl::StrCat(user, " at ", admitted.host);
  size_t& count = by_user_[user_and_host];
  if (count >= limits_.per_peer_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(user_and_host, " has ", count, " streams open, and ",
                     "limits.streams_per_peer_max is ", limits_.per_peer_max, ": end one first"));
  }
  ++count;
  admitted.user_and_host = std::move(user_and_host);
  return absl::OkStatus();
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
  if (const auto count = by_user_.find(it->second.user_and_host); count != by_user_.end()) {
    if (--count->second == 0) {
      by_user_.erase(count);
    }
  }
  streams_.erase(it);
}

void StreamWatch::Loop() {
  const absl::Duration interval = std::min(limits_.check_interval, limits_.stalled_max / 4);
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
    CheckAll();
  }
}

void StreamWatch::CheckAll() {
  CancelStalled();
  CancelRevoked();
}

// Within one interval: a token that was revoked must not go on reading logs.
void StreamWatch::CancelRevoked() {
  absl::flat_hash_set<Digest> senders;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, stream] : streams_) {
      if (stream.sender.has_value()) {
        senders.insert(*stream.sender);
      }
    }
  }
  for (const Digest& sender : senders) {
    const absl::Status valid = token_is_valid_(sender);
    if (!absl::IsUnauthenticated(valid)) {
      continue;  // also when the tokens cannot be read now: new calls are refused then
    }
    std::vector<Stream> revoked;
    {
      MutexLock lock(mutex_);
      for (auto& [id, stream] : streams_) {
        if (stream.sender == sender) {
          // Canceled below without the lock; the reference keeps a call that ends meanwhile.
          grpc_call_ref(stream.call);
          revoked.push_back(stream);
          stream.sender.reset();
        }
      }
    }
    for (const Stream& stream : revoked) {
      LogInfo("a stream was ended: its token is no longer valid",
              {{"peer", stream.host},
               {"method", stream.method},
               {"reason", std::string(valid.message())}});
      grpc_call_cancel_with_status(stream.call, GRPC_STATUS_UNAUTHENTICATED,
                                   std::string(valid.message()).c_str(), nullptr);
      grpc_call_unref(stream.call);
    }
  }
}

void StreamWatch::CancelStalled() {
  const absl::Time now = clock_.Now();
  std::vector<Stream> stalled;
  {
    MutexLock lock(mutex_);
    for (auto& [id, stream] : streams_) {
      if (stream.waits_since + limits_.stalled_max <= now) {
        // Canceled below without the lock; the reference keeps a call that ends meanwhile.
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

}  // namespace concur
