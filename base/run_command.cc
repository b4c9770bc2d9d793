// SPDX-License-Identifier: Apache-2.0
#include "base/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/argv.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur {
namespace {

constexpr size_t kErrBytesMax = size_t{64} * 1024;
constexpr size_t kSaidBytesMax = 600;

absl::Status TookTooLong(const CommandRequest& request) {
  return absl::DeadlineExceededError(
      absl::StrCat(request.argv[0], ": no answer within ", absl::FormatDuration(request.timeout)));
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "pipe", "make");
  }
  return Pipe{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::vector<std::string> Environment(const CommandRequest& request) {
  std::vector<std::string> environment;
  for (char** entry = environ; request.inherits_env && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    if (!request.env.contains(std::string(text.substr(0, text.find('='))))) {
      environment.emplace_back(text);
    }
  }
  for (const auto& [name, value] : request.env) {
    environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

// A child in its own process group, so that what it started can be killed with it.
class Child {
 public:
  ~Child() {
    if (pid_ > 0) {
      kill(-pid_, SIGKILL);
      Wait();
    }
  }

  absl::Status Start(const CommandRequest& request, const Pipe& in, const Pipe& out,
                     const Pipe& err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
    absl::StatusOr<pid_t> pid =
        Spawn(request.argv, Environment(request), actions, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_destroy(&actions);
    CONCUR_ASSIGN_OR_RETURN(pid_, std::move(pid));
    return absl::OkStatus();
  }

  // Like Wait, but nothing when it still runs at the deadline.
  std::optional<int> WaitUntil(absl::Time deadline, Clock& clock) {
    constexpr absl::Duration kLookEvery = absl::Milliseconds(5);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (clock.Now() >= deadline) {
        return std::nullopt;
      }
      absl::SleepFor(kLookEvery);
    }
    pid_ = -1;
    return ExitCodeOf(status);
  }

  int Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return ExitCodeOf(status);
  }

 private:
  static int ExitCodeOf(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t pid_ = -1;
};

// Reads what is there; false at the end.
bool Drain(int fd, size_t bytes_max, std::string* text, bool* overflow) {
  char buffer[16 * 1024];
  const ssize_t count = read(fd, buffer, sizeof buffer);
  if (count < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  const auto size = static_cast<size_t>(count);
  const size_t room = bytes_max - std::min(bytes_max, text->size());
  *overflow = *overflow || size > room;
  text->append(buffer, std::min(size, room));
  return count > 0;
}

// Feeds the program and reads what it says, until both ends are closed.
absl::Status Exchange(const CommandRequest& request, absl::Time deadline, Clock& clock, Pipe& in,
                      Pipe& out, Pipe& err, CommandResult* result) {
  absl::string_view input = request.input;
  if (input.empty()) {
    in.write.Reset();
  }
  bool overflow = false;
  while (out.read.valid() || err.read.valid()) {
    pollfd fds[3] = {
        {out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}, {in.write.get(), POLLOUT, 0}};
    const absl::Duration left = deadline - clock.Now();
    if (left <= absl::ZeroDuration()) {
      return TookTooLong(request);
    }
    if (poll(fds, 3, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, request.argv[0], "wait");
    }
    if ((fds[2].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
      const ssize_t count = write(in.write.get(), input.data(), input.size());
      if (count > 0) {
        input.remove_prefix(static_cast<size_t>(count));
      }
      if (input.empty() || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        in.write.Reset();
      }
    }
    if (fds[0].revents != 0 &&
        !Drain(out.read.get(), request.output_bytes_max, &result->out, &overflow)) {
      out.read.Reset();
    }
    if (overflow) {
      return absl::ResourceExhaustedError(absl::StrCat(request.argv[0], ": printed more than ",
                                                       request.output_bytes_max, " bytes"));
    }
    bool rest_dropped = false;
    if (fds[1].revents != 0 && !Drain(err.read.get(), kErrBytesMax, &result->err, &rest_dropped)) {
      err.read.Reset();
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv,
                            const std::vector<std::string>& environment,
                            const posix_spawn_file_actions_t& actions, short apart) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t standard;
  sigemptyset(&standard);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) {
    sigaddset(&standard, number);
  }
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | apart));
  const std::vector<char*> argv_pointers = ArgvOf(argv);
  const std::vector<char*> env_pointers = ArgvOf(environment);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, argv_pointers.data(),
                                 env_pointers.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return ErrnoStatus(error, argv[0], "run");
  }
  return pid;
}

absl::StatusOr<CommandResult> RunCommand(const CommandRequest& request) {
  SystemClock clock;
  const absl::Time deadline = clock.Now() + request.timeout;
  CONCUR_ASSIGN_OR_RETURN(Pipe in, MakePipe());
  CONCUR_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  CONCUR_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  Child child;
  CONCUR_RETURN_IF_ERROR(child.Start(request, in, out, err));
  in.read.Reset();
  out.write.Reset();
  err.write.Reset();
  for (const FileDescriptor* fd : {&in.write, &out.read, &err.read}) {
    fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  CommandResult result;
  CONCUR_RETURN_IF_ERROR(Exchange(request, deadline, clock, in, out, err, &result));
  // It may go on after it has closed its output.
  const std::optional<int> exit_code = child.WaitUntil(deadline, clock);
  if (!exit_code) {
    return TookTooLong(request);
  }
  result.exit_code = *exit_code;
  return result;
}

std::string WhatItSaid(absl::string_view program, const CommandResult& result) {
  std::string text;
  for (absl::string_view line : absl::StrSplit(result.err, '\n', absl::SkipEmpty())) {
    absl::ConsumePrefix(&line, absl::StrCat(program, ": "));
    absl::ConsumePrefix(&line, "error: ");
    absl::StrAppend(&text, text.empty() ? "" : "; ", OneLine(line));
  }
  if (text.size() > kSaidBytesMax) {
    text = absl::StrCat(CleanUtf8(text, kSaidBytesMax), "…");
  }
  if (text.empty()) {
    text = absl::StrCat("exit code ", result.exit_code, " without a word");
  }
  return absl::StrCat(program, ": ", text);
}

}  // namespace concur
