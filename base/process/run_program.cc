// SPDX-License-Identifier: Apache-2.0
#include "base/process/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

constexpr size_t kOutputBytesKept = size_t{8} * 1024;
constexpr int64_t kLogBytesMax = int64_t{16} << 20;
constexpr absl::Duration kLookInterval = absl::Milliseconds(200);

// Takes what a program prints.
class OutputTail {
 public:
  explicit OutputTail(const std::string& log) : log_(log) {
    if (!log.empty()) {
      file_ = FileDescriptor(
          open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    }
  }

  // Reads what is there now; false at the end.
  bool Read(int fd) {
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got > 0) {
        Append(absl::string_view(buffer.data(), static_cast<size_t>(got)));
      } else if (got == 0 || errno != EINTR) {
        return got != 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      }
    }
  }
  std::string Take() { return std::move(tail_); }

 private:
  void Append(absl::string_view data) {
    if (file_.valid() && written_ < kLogBytesMax) {
      written_ += static_cast<int64_t>(data.size());
      WriteAll(file_.get(), data, log_).IgnoreError();  // the tail says what matters
    }
    tail_.append(data.data(), data.size());
    if (tail_.size() > 2 * kOutputBytesKept) {
      tail_.erase(0, tail_.size() - kOutputBytesKept);
    }
  }

  const std::string log_;
  FileDescriptor file_;
  int64_t written_ = 0;
  std::string tail_;
};

// Kills the program with all of its group, and reaps it.
int Reap(const Process& process) {
  kill(-process.pid, SIGKILL);
  int status = 0;
  while (waitpid(process.pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return 128 + SIGKILL;
    }
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

absl::StatusOr<ProgramEnd> RunProgram(const Command& command, const ProgramLimits& limits) {
  SystemClock clock;  // monotonic
  const absl::Time deadline = clock.Now() + limits.timeout;
  CONCUR_ASSIGN_OR_RETURN(const Process process, StartProcess(command));
  OutputTail output(limits.log);
  bool open = true;
  absl::Status stopped;
  for (;;) {
    std::array<pollfd, 2> polled = {pollfd{process.pidfd.get(), POLLIN, 0},
                                    pollfd{process.output.get(), POLLIN, 0}};
    poll(polled.data(), open ? 2 : 1, static_cast<int>(absl::ToInt64Milliseconds(kLookInterval)));
    if (open) {
      open = output.Read(process.output.get());
    }
    if ((polled[0].revents & POLLIN) != 0) {
      break;
    }
    if (clock.Now() > deadline) {
      stopped = absl::DeadlineExceededError(absl::StrCat(command.argv[0], " took longer than ",
                                                         absl::FormatDuration(limits.timeout)));
    } else if (limits.is_canceled && limits.is_canceled()) {
      stopped = absl::CancelledError("stopped");
    }
    if (!stopped.ok()) {
      break;
    }
  }
  ProgramEnd end;
  end.exit_code = Reap(process);
  if (open) {
    output.Read(process.output.get());
  }
  end.output = output.Take();
  return stopped.ok() ? absl::StatusOr<ProgramEnd>(std::move(end)) : stopped;
}

}  // namespace concur::process
