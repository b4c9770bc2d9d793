// SPDX-License-Identifier: Apache-2.0
#include "cli/app/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include "base/check.h"
#include "cli/app/context.h"

namespace concur::cli {
namespace {

// Data that a signal handler may touch: plain numbers. -1 when no scope is open.
std::atomic<int> g_pipe_write = -1;
std::atomic<int> g_signals = 0;
std::atomic<bool> g_second_ends = true;
int g_pipe_read = -1;
struct sigaction g_old_int;
struct sigaction g_old_term;

void OnSignal(int) {
  const int error = errno;
  if (g_signals.fetch_add(1) >= 1 && g_second_ends) {
    static const char kRestore[] = "\r\x1b[2K\x1b[?25h";
    if (isatty(STDERR_FILENO) != 0) {
      (void)!write(STDERR_FILENO, kRestore, sizeof kRestore - 1);
    }
    _exit(kExitInterrupted);
  }
  const char byte = 1;
  (void)!write(g_pipe_write, &byte, 1);
  errno = error;
}

}  // namespace

InterruptScope::InterruptScope(std::function<void()> on_interrupt, bool second_ends)
    : on_interrupt_(std::move(on_interrupt)) {
  CONCUR_CHECK(g_pipe_write == -1);
  int ends[2];
  CONCUR_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  g_pipe_read = ends[0];
  g_pipe_write = ends[1];
  g_signals = 0;
  g_second_ends = second_ends;
  thread_ = std::thread([this] { Loop(); });
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &g_old_int);
  sigaction(SIGTERM, &action, &g_old_term);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &g_old_int, nullptr);
  sigaction(SIGTERM, &g_old_term, nullptr);
  const char byte = 0;
  (void)!write(g_pipe_write, &byte, 1);
  thread_.join();
  close(g_pipe_write.exchange(-1));
  close(g_pipe_read);
}

void InterruptScope::Loop() {
  char byte = 0;
  while (true) {
    const ssize_t count = read(g_pipe_read, &byte, 1);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count != 1 || byte == 0) {
      return;
    }
    ++count_;
    on_interrupt_();
  }
}

}  // namespace concur::cli
