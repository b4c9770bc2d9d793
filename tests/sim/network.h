// SPDX-License-Identifier: Apache-2.0
// A network that loses, duplicates, delays and reorders messages, and can be cut in one direction.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_NETWORK_H_
#define CONCUR_TESTS_SIM_NETWORK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "tests/sim/world.h"

namespace concur::sim {

// A machine's number in the network.
using Node = int;
inline constexpr Node kCoordinatorNode = 0;
inline constexpr Node kUsersNode = 1;  // workers follow

class Network {
 public:
  // Longest delay of a message.
  static constexpr absl::Duration kDelayMax = absl::Seconds(12);

  explicit Network(World& world) : world_(world) {}

  // Delivers a message some time later: once, twice or never. When it is lost, `lost` may be called
  // (a broken connection) or not (a half-open one).
  void Send(Node from, Node to, std::function<void()> deliver, std::function<void()> lost = {});

  // Messages from one node to the other are lost until `until`.
  void Cut(Node from, Node to, absl::Duration duration);
  void Heal() { cuts_.clear(); }

 private:
  World& world_;
  std::map<std::pair<Node, Node>, absl::Time> cuts_;  // until when
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_NETWORK_H_
