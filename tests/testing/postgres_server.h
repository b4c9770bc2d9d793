// SPDX-License-Identifier: Apache-2.0
// A real PostgreSQL server on a unix socket in a temporary directory, without a TCP port. Run as an
// ordinary user, since the server refuses to run as root. It does not sync its disk.
#ifndef CONCUR_TESTS_TESTING_POSTGRES_SERVER_H_
#define CONCUR_TESTS_TESTING_POSTGRES_SERVER_H_

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

class PostgresServer {
 public:
  // Where Debian has the server's programs; "" when it has none.
  static std::string Programs() {
    std::string latest;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string programs = entry.path().string() + "/bin";
      if (access((programs + "/initdb").c_str(), X_OK) == 0) {
        latest = std::max(latest, programs);
      }
    }
    return latest;
  }

  // The one of this process; null where there are no programs.
  static PostgresServer* Shared() {
    static const std::unique_ptr<PostgresServer> server =
        Programs().empty() ? nullptr : std::make_unique<PostgresServer>();
    return server.get();
  }

  // REQUIRES: there are programs.
  PostgresServer() {
    if (getuid() == 0) {
      for (const char* name : {"postgres", "nobody"}) {
        const passwd* entry = getpwnam(name);  // NOLINT(concurrency-mt-unsafe)
        if (entry != nullptr && !user_) {
          user_ = {entry->pw_uid, entry->pw_gid};
        }
      }
      CONCUR_CHECK(user_.has_value());
      CONCUR_CHECK(chown(dir_.path().c_str(), user_->first, user_->second) == 0);
    }
    const pid_t init = Spawn({"initdb", "-D", dir_.File("db"), "-A", "trust", "-U", "concur",
                              "--no-sync", "--no-locale", "-E", "UTF8"});
    CONCUR_CHECK(WaitFor(init) == 0);
    Start();
  }
  ~PostgresServer() { Stop(SIGQUIT); }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void Start() {
    pid_ = Spawn({"postgres", "-D", dir_.File("db"), "-k", dir_.path(), "-c", "listen_addresses=",
                  "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_wal_size=128MB"});
    // The eighth line tells that it takes connections.
    while (!absl::StrContains(ReadFile(dir_.File("db/postmaster.pid")).value_or(""), "ready")) {
      CONCUR_CHECK(waitpid(pid_, nullptr, WNOHANG) == 0);
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  // SIGINT: ends connections and shuts down; SIGQUIT: at once, as a crash.
  void Stop(int signal) {
    if (pid_ > 0) {
      kill(pid_, signal);
      WaitFor(std::exchange(pid_, -1));
    }
  }

  // A replica of `primary` from now on, which streams; what it held is gone. It goes on when
  // `primary` was restarted.
  void Follow(const PostgresServer& primary) {
    Stop(SIGQUIT);
    std::filesystem::remove_all(dir_.File("db"));
    const pid_t copy = Spawn({"pg_basebackup", "-h", primary.dir_.path(), "-U", "concur", "-D",
                              dir_.File("db"), "-R", "-c", "fast", "--no-sync"});
    CONCUR_CHECK(WaitFor(copy) == 0);
    Start();
  }
  // From a replica to a server that takes writes.
  void Promote() {
    CONCUR_CHECK(WaitFor(Spawn({"pg_ctl", "promote", "-D", dir_.File("db")})) == 0);
  }

  // The socket that it listens on, whose folder is the host of its URI.
  std::string socket() const { return dir_.File(kSocketName); }
  static constexpr char kSocketName[] = ".s.PGSQL.5432";
  std::string Uri(const std::string& database) const {
    return absl::StrCat("postgresql://concur@/", database, "?host=", dir_.path());
  }

 private:
  pid_t Spawn(const std::vector<std::string>& argv) const {
    const std::string program = absl::StrCat(Programs(), "/", argv[0]);
    const std::string log = dir_.File("log");
    std::vector<char*> arguments;
    for (const std::string& argument : argv) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    const pid_t pid = fork();
    CONCUR_CHECK(pid >= 0);
    if (pid != 0) {
      return pid;
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (user_ &&
        (setgroups(0, nullptr) != 0 || setgid(user_->second) != 0 || setuid(user_->first) != 0)) {
      _exit(126);
    }
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (chdir("/") == 0) {
      execv(program.c_str(), arguments.data());
    }
    _exit(127);
  }

  static int WaitFor(pid_t pid) {
    int status = 0;
    CONCUR_CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  TempDir dir_;
  std::optional<std::pair<uid_t, gid_t>> user_;
  pid_t pid_ = -1;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_POSTGRES_SERVER_H_
