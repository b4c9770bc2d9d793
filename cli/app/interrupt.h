// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that wait: the first one ends the waiting in an orderly way, the second one
// the program at once (exit 130, the cursor given back).
//
// One at a time; the callback runs on a thread of its own.
#ifndef CONCUR_CLI_APP_INTERRUPT_H_
#define CONCUR_CLI_APP_INTERRUPT_H_

#include <atomic>
#include <functional>
#include <thread>

namespace concur::cli {

class InterruptScope {
 public:
  // From now on SIGINT and SIGTERM call `on_interrupt` once each time, until the scope ends. With
  // `second_ends`, a second signal ends the program at once.
  explicit InterruptScope(std::function<void()> on_interrupt, bool second_ends = true);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  bool interrupted() const { return count_ > 0; }
  int count() const { return count_; }

 private:
  void Loop();

  const std::function<void()> on_interrupt_;
  std::atomic<int> count_ = 0;
  std::thread thread_;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_APP_INTERRUPT_H_
