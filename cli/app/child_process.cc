// SPDX-License-Identifier: Apache-2.0
#include "cli/app/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/argv.h"
#include "base/file.h"

namespace concur::cli {
namespace {

// The environment with a longer PATH, as exec takes it.
std::vector<std::string> EnvironmentWithPath(const std::string& prefix) {
  std::vector<std::string> result;
  std::string path = prefix;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (absl::StartsWith(*entry, "PATH=")) {
      path = absl::StrCat(prefix, ":", *entry + 5);
    } else {
      result.emplace_back(*entry);
    }
  }
  result.push_back("PATH=" + path);
  return result;
}

// Runs between fork and exec: only what is safe there. Never returns.
[[noreturn]] void Become(char* const* argv, char* const* envp, int input, int output, int report,
                         pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) {
    signal(number, SIG_DFL);
  }
  if (getppid() == parent && dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
    execve(argv[0], argv, envp);
  }
  const int error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& argv,
                                                 const std::string& log_path,
                                                 const std::string& path_prefix) {
  const FileDescriptor log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) {
    return ErrnoStatus(errno, log_path, "open");
  }
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!null.valid() || pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, argv[0], "start");
  }
  FileDescriptor report_read(ends[0]);
  FileDescriptor report_write(ends[1]);
  const std::vector<std::string> environment = EnvironmentWithPath(path_prefix);
  const std::vector<char*> argument_pointers = ArgvOf(argv);
  const std::vector<char*> environment_pointers = ArgvOf(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return ErrnoStatus(errno, argv[0], "start");
  }
  if (pid == 0) {
    Become(argument_pointers.data(), environment_pointers.data(), null.get(), log.get(),
           report_write.get(), parent);
  }
  report_write.Reset();
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(report_read.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count == sizeof error) {
    waitpid(pid, nullptr, 0);
    return ErrnoStatus(error, argv[0], "start");
  }
  return ChildProcess(pid);
}

std::optional<std::string> ChildProcess::Ended() {
  if (ended_) {
    return ended_;
  }
  int status = 0;
  const pid_t result = waitpid(pid_, &status, WNOHANG);
  if (result == pid_) {
    ended_ = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status), " (",
                                                sigdescr_np(WTERMSIG(status)) == nullptr
                                                    ? "unknown"
                                                    : sigdescr_np(WTERMSIG(status)),
                                                ")")
                                 : absl::StrCat("exit code ", WEXITSTATUS(status));
  } else if (result < 0 && errno == ECHILD) {
    ended_ = "gone";
  }
  return ended_;
}

void ChildProcess::Signal(int signal) {
  if (running()) {
    kill(pid_, signal);
  }
}

bool ChildProcess::WaitUntil(absl::Time deadline) {
  while (running()) {
    if (absl::Now() >= deadline) {
      return false;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace concur::cli
