// SPDX-License-Identifier: Apache-2.0
// A client's way to a coordinator: addresses and channels.
//
// A channel is thread-safe; WaitToRepeat blocks the calling thread.
#ifndef CONCUR_PROTO_RPC_CHANNEL_H_
#define CONCUR_PROTO_RPC_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/rpc/credentials.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace concur::rpc {

// The largest message that either side takes: a sweep of ten million seeds fits.
inline constexpr int kMessageBytesLimit = 128 * 1024 * 1024;
// Pieces of an artifact's stream.
inline constexpr int64_t kChunkBytes = int64_t{256} * 1024;
// An interrupted upload of at most this size starts again: what was received is discarded.
inline constexpr int64_t kResumableBytesMin = int64_t{1} << 20;

// InvalidArgument unless `address` is "host:port", "[v6]:port" or "unix:/path"; a port is 0 to
// 65535. Returns the address as gRPC takes it.
absl::StatusOr<std::string> ParseAddress(absl::string_view address);

// The addresses of a list with commas, at most kAddressesMax; InvalidArgument when one is none.
inline constexpr size_t kAddressesMax = 16;
absl::StatusOr<std::vector<std::string>> ParseAddresses(absl::string_view addresses);

// A channel to `address`; does not wait for a connection. Idle connections are kept alive by pings,
// a dead one is noticed within half a minute, and reconnects back off from 100 ms to 5 s. With a CA
// among the credentials it speaks TLS. InvalidArgument when a token would cross a network without.
// With `resolved`, one of the addresses that `address` has, it connects to that one only, and
// expects the certificate of `address`. One of `several` coordinators that is dead is noticed
// within ten seconds: another one may lead.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(absl::string_view address,
                                                           const Credentials& credentials = {},
                                                           absl::string_view resolved = "",
                                                           bool several = false);

// Waits before a retry: for `duration`, or until the channel connects. With gRPC's blocking API a
// connection makes progress only while a thread waits on the channel, so sleeping is not enough.
// Without a `channel` it sleeps. Returns false as soon as `is_canceled`, if set, returns true.
bool WaitToRepeat(grpc::Channel* channel, absl::Duration duration,
                  const std::function<bool()>& is_canceled);

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_CHANNEL_H_
