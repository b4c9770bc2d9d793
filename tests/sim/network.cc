// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

namespace concur::sim {
namespace {

constexpr absl::Duration kLatencyMin = absl::Microseconds(200);
constexpr absl::Duration kLatencyMax = absl::Milliseconds(5);

}  // namespace

void Network::Send(Node from, Node to, std::function<void()> deliver, std::function<void()> lost) {
  if (const auto cut = cuts_.find({from, to}); cut != cuts_.end()) {
    if (world_.now() < cut->second) {
      return;
    }
    cuts_.erase(cut);
  }
  if (world_.Strikes(Fault::kDrop)) {
    return;
  }
  const absl::Duration latency = world_.Between(kLatencyMin, kLatencyMax);
  if (world_.Strikes(Fault::kHangUp)) {
    if (lost != nullptr) {
      world_.After(latency, std::move(lost));
    }
    return;
  }
  const bool delayed = world_.Strikes(Fault::kDelay);
  if (world_.Strikes(Fault::kDuplicate)) {
    world_.After(world_.Between(kLatencyMin, kDelayMax), deliver);
  }
  world_.After(delayed ? world_.Between(latency, kDelayMax) : latency, std::move(deliver));
}

void Network::Cut(Node from, Node to, absl::Duration duration) {
  absl::Time& until = cuts_[{from, to}];
  until = std::max(until, world_.now() + duration);
}

}  // namespace concur::sim
