// SPDX-License-Identifier: Apache-2.0
// A unix socket that leads to another one. Each direction can be held up, as when packets of that
// direction are lost: what was sent arrives when it is let go, unless somebody gives up before.
//
// Thread-safe.
#ifndef CONCUR_TESTS_E2E_GRAY_STALL_PROXY_H_
#define CONCUR_TESTS_E2E_GRAY_STALL_PROXY_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace concur::testing {

class StallProxy {
 public:
  enum Direction { kToTarget = 0, kFromTarget = 1 };

  // Paths of sockets. Nobody need listen at the target: then connections end at once.
  StallProxy(const std::string& path, std::string target);
  ~StallProxy();
  StallProxy(const StallProxy&) = delete;
  StallProxy& operator=(const StallProxy&) = delete;

  void Stall(Direction direction, bool stalled);
  // Bytes that were held up.
  size_t held_bytes();

 private:
  void Accept();
  void Connect(int client);
  // Both directions of a connection, to its end.
  void Serve(int client, int server);
  void Pump(int from, int to, Direction direction);

  const std::string target_;
  int listener_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<bool, 2> stalled_{};
  bool stopping_ = false;
  size_t held_bytes_ = 0;
  std::set<int> open_;  // descriptors of connections, each of which has a thread that is detached
  std::thread acceptor_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_GRAY_STALL_PROXY_H_
