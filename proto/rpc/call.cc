// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/call.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/status.h"

namespace concur::rpc {
namespace {

constexpr int kBackoffDoublingsMax = 30;

}  // namespace

absl::Duration BackoffBefore(const CallOptions& options, int attempt, double uniform) {
  const int doublings = std::clamp(attempt - 1, 0, kBackoffDoublingsMax);
  const absl::Duration full =
      std::min(options.backoff_max, options.backoff_min * std::ldexp(1.0, doublings));
  return full * (0.5 + uniform / 2);
}

absl::Status CallOnce(const CallOptions& options,
                      const std::function<grpc::Status(grpc::ClientContext&)>& attempt) {
  grpc::ClientContext context;
  const absl::Duration timeout = std::min(options.attempt_timeout, options.total_timeout);
  if (timeout < absl::InfiniteDuration()) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  }
  const Coordinators::PeerPtr asked =
      options.coordinators == nullptr ? nullptr : options.coordinators->current();
  absl::Status status = FromGrpcStatus(attempt(context));
  if (absl::IsCancelled(status)) {
    // Not by this side: a server that stops cancels the calls that come late.
    status = absl::UnavailableError(status.message());
  }
  if (asked != nullptr) {
    options.coordinators->Report(*asked, status);
  }
  return status;
}

absl::Status CallWithRetry(const CallOptions& options,
                           const std::function<grpc::Status(grpc::ClientContext&)>& attempt) {
  const absl::Time start = absl::Now();
  const absl::Time end = start + options.total_timeout;
  // Jitter need not be repeatable: it only keeps clients apart.
  Random random(
      static_cast<uint64_t>(absl::ToUnixNanos(start)) ^ (static_cast<uint64_t>(getpid()) << 40),
      "rpc backoff");
  for (int number = 1;; ++number) {
    CallOptions once = options;
    once.total_timeout = std::max(end - absl::Now(), absl::Milliseconds(1));
    absl::Status status = CallOnce(once, attempt);
    Coordinators* const list = options.coordinators;
    if (!absl::IsUnavailable(status) &&
        !(absl::IsDeadlineExceeded(status) && list != nullptr && list->several())) {
      return status;
    }
    const absl::Duration pause = BackoffBefore(options, number, random.Uniform());
    if (absl::Now() + pause >= end) {
      return status;
    }
    const Coordinators::PeerPtr next = list == nullptr ? nullptr : list->current();
    if (!WaitToRepeat(next == nullptr ? nullptr : next->channel.get(), pause,
                      options.is_canceled)) {
      return absl::CancelledError("interrupted while the server was unavailable");
    }
  }
}

}  // namespace concur::rpc
