// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/local_provider.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/run_command.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr int64_t kSmallFileMax = 4096;
constexpr size_t kLogTailBytes = 400;

// The time of a process's start in the kernel's ticks, which tells it from a later one with its
// pid; nullopt when there is none, or it has ended and nobody has asked for its end.
std::optional<uint64_t> StartTicks(pid_t pid) {
  const absl::StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) {
    return std::nullopt;
  }
  // "123 (name with ) in it) S …": state is the first field after the last parenthesis.
  const size_t end = stat->rfind(')');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*stat).substr(end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStartTime = 19;  // field 22 of proc(5)
  uint64_t ticks = 0;
  if (fields.size() <= kStartTime || fields[0] == "Z" ||
      !absl::SimpleAtoi(fields[kStartTime], &ticks)) {
    return std::nullopt;
  }
  return ticks;
}

struct Identity {
  pid_t pid = -1;
  uint64_t ticks = 0;
};

std::optional<Identity> ReadIdentity(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kSmallFileMax);
  if (!text.ok()) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(*text), ' ');
  Identity identity;
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &identity.pid) ||
      !absl::SimpleAtoi(words[1], &identity.ticks) || identity.pid <= 1) {
    return std::nullopt;
  }
  return identity;
}

bool IsAlive(const Identity& identity) {
  const std::optional<uint64_t> ticks = StartTicks(identity.pid);
  return ticks.has_value() && *ticks == identity.ticks;
}

// Describes how a child of ours ended; "" when it is no child, or was asked for before.
std::string EndText(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) {
    return "";
  }
  return WIFSIGNALED(status) ? absl::StrCat("ended by signal ", WTERMSIG(status))
                             : absl::StrCat("ended with exit code ", WEXITSTATUS(status));
}

std::string LogTail(const std::string& path) {
  const absl::StatusOr<std::string> log = ReadFile(path, int64_t{64} << 20);
  if (!log.ok()) {
    return "";
  }
  const absl::string_view text = absl::StripAsciiWhitespace(*log);
  return OneLine(text.substr(text.size() > kLogTailBytes ? text.size() - kLogTailBytes : 0));
}

}  // namespace

std::string LocalProvider::PathOf(const std::string& pilot, const char* file) const {
  return absl::StrCat(setup_.directory, "/", pilot, *file == '\0' ? "" : "/", file);
}

void LocalProvider::Start(const PoolSpec& pool, const std::vector<std::string>& pilots,
                          StartDone done) {
  thread_.Submit([this, pool, pilots, done = std::move(done)] { done(StartNow(pool, pilots)); });
}

absl::StatusOr<std::vector<std::string>> LocalProvider::StartNow(
    const PoolSpec& pool, const std::vector<std::string>& pilots) {
  std::vector<std::string> ids;
  for (const std::string& pilot : pilots) {
    const absl::StatusOr<pid_t> pid = StartOne(pool, pilot);
    if (!pid.ok()) {
      // Those before it run: the next observation finds them, and lacks the others.
      return ids.empty()
                 ? pid.status()
                 : absl::AbortedError(absl::StrCat("only ", ids.size(), " of ", pilots.size(),
                                                   " workers started: ", pid.status().message()));
    }
    ids.push_back(absl::StrCat("pid ", *pid));
  }
  return ids;
}

// The environment of a pilot: the coordinator's without what is about Concur, the worker's own
// programs first in PATH.
absl::StatusOr<std::vector<std::string>> LocalProvider::EnvironmentOf(const PoolSpec& pool,
                                                                      const std::string& pilot) {
  std::vector<std::string> environment;
  CONCUR_ASSIGN_OR_RETURN(const std::string token, setup_.token());
  if (!token.empty()) {
    environment.push_back(absl::StrCat("CONCUR_TOKEN=", token));
  }
  if (!setup_.ca_pem.empty()) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(PathOf(pilot, "ca.pem"), setup_.ca_pem));
    environment.push_back(absl::StrCat("CONCUR_CA=", PathOf(pilot, "ca.pem")));
  }
  if (!setup_.key_pem.empty()) {
    CONCUR_RETURN_IF_ERROR(
        WriteFileAtomically(PathOf(pilot, "client.pem"), setup_.certificate_pem));
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(PathOf(pilot, "client.key"), setup_.key_pem, 0600));
    environment.push_back(absl::StrCat("CONCUR_CERTIFICATE=", PathOf(pilot, "client.pem")));
    environment.push_back(absl::StrCat("CONCUR_KEY=", PathOf(pilot, "client.key")));
  }
  const std::string program = WorkerProgram(pool, setup_);
  const std::string directory = program.substr(0, program.rfind('/') + 1);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    if (absl::StartsWith(text, "PATH=") && !directory.empty()) {
      environment.push_back(absl::StrCat("PATH=", directory, ":", text.substr(5)));
    } else if (!absl::StartsWith(text, "CONCUR_")) {
      environment.emplace_back(text);
    }
  }
  return environment;
}

absl::StatusOr<pid_t> LocalProvider::StartOne(const PoolSpec& pool, const std::string& pilot) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(PathOf(pilot), 0700));
  // The shell runs `setup` and becomes the worker.
  const std::string script = absl::StrCat(absl::StrJoin(pool.setup, "\n"), "\nexec \"$@\"");
  std::vector<std::string> argv = {"/bin/sh",
                                   "-ec",
                                   script,
                                   "concur-pilot",
                                   WorkerProgram(pool, setup_),
                                   "--name",
                                   pilot,
                                   "--work-dir",
                                   pool.work_directory.empty()
                                       ? PathOf(pilot, "work")
                                       : absl::StrCat(pool.work_directory, "/", pilot)};
  for (std::string& argument : WorkerArguments(pool, setup_)) {
    argv.push_back(std::move(argument));
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> environment, EnvironmentOf(pool, pilot));
  const std::string log = PathOf(pilot, "log");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // A session: what ends the coordinator's does not end it.
  const absl::StatusOr<pid_t> started = Spawn(argv, environment, actions, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_destroy(&actions);
  CONCUR_ASSIGN_OR_RETURN(const pid_t pid, started);
  const uint64_t ticks = StartTicks(pid).value_or(0);
  CONCUR_RETURN_IF_ERROR(
      WriteFileAtomically(PathOf(pilot, "pid"), absl::StrCat(pid, " ", ticks, "\n")));
  return pid;
}

void LocalProvider::Try(const PoolSpec& pool, TryDone done) {
  const std::string program = WorkerProgram(pool, setup_);
  if (access(program.c_str(), X_OK) != 0) {
    done(absl::FailedPreconditionError(
        absl::StrCat("worker_program: there is no program ", program, " that may be run")));
    return;
  }
  done(absl::StrCat("this machine has ", program));
}

void LocalProvider::Stop(const std::vector<std::string>& pilots, StopDone done) {
  thread_.Submit([this, pilots, done = std::move(done)] {
    for (const std::string& pilot : pilots) {
      const std::optional<Identity> identity = ReadIdentity(PathOf(pilot, "pid"));
      if (identity && IsAlive(*identity)) {
        const bool again = !told_to_end_.insert(pilot).second;
        // Its group: the shell's children may be there still.
        kill(again ? -identity->pid : identity->pid, again ? SIGKILL : SIGTERM);
      }
    }
    done(absl::OkStatus());
  });
}

void LocalProvider::Observe(ObserveDone done) {
  thread_.Submit([this, done = std::move(done)] { done(ObserveNow()); });
}

PilotReport LocalProvider::ReportOf(const std::string& pilot) {
  PilotReport report;
  report.name = pilot;
  const std::optional<Identity> identity = ReadIdentity(PathOf(pilot, "pid"));
  if (identity) {
    report.external_id = absl::StrCat("pid ", identity->pid);
    if (IsAlive(*identity)) {
      report.state = PilotReport::State::kRunning;
      return report;
    }
    // Asked after it was found dead: one that ends in between would have no exit code.
    if (std::string end = EndText(identity->pid); !end.empty()) {
      ended_[pilot] = std::move(end);
    }
  }
  report.state = PilotReport::State::kEnded;
  const auto known = ended_.find(pilot);
  report.message = known == ended_.end() ? "ended" : known->second;
  if (const std::string tail = LogTail(PathOf(pilot, "log")); !tail.empty()) {
    absl::StrAppend(&report.message, "; its log ends: ", tail);
  }
  return report;
}

absl::StatusOr<std::vector<PilotReport>> LocalProvider::ObserveNow() {
  std::vector<PilotReport> reports;
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator it(setup_.directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) {  // files there are other providers'
      names.push_back(it->path().filename().string());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::UnavailableError(absl::StrCat(setup_.directory, ": ", error.message()));
  }
  for (const std::string& name : names) {
    PilotReport report = ReportOf(name);
    if (report.state == PilotReport::State::kEnded) {
      // Only its log stays, and that for a day.
      std::filesystem::remove_all(PathOf(name, "work"), error);
      const auto age = std::filesystem::file_time_type::clock::now() -
                       std::filesystem::last_write_time(PathOf(name), error);
      if (!error && age > std::chrono::hours(24)) {
        std::filesystem::remove_all(PathOf(name), error);
        ended_.erase(name);
        told_to_end_.erase(name);
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace concur::provision
