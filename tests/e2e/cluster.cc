// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"

extern char** environ;

namespace concur::testing {
namespace {

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream contents;
  contents << in.rdbuf();
  return contents.str();
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const std::string& log,
                 const std::map<std::string, std::string>& env) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (log + ".out").c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, (log + ".err").c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (env.count(text.substr(0, text.find('='))) == 0) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : env) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  std::vector<char*> pointers;
  for (std::string& variable : variables) {
    pointers.push_back(variable.data());
  }
  pointers.push_back(nullptr);
  CONCUR_CHECK(posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr, arguments.data(),
                           pointers.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
}

void Process::Signal(int signal) const {
  // kill(-1) would reach every process of the machine.
  CONCUR_CHECK(pid_ > 0);
  kill(pid_, signal);
}

int Process::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Process::Ended() const {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == pid_;
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "waited a minute in vain";
  return false;
}

Cluster::Cluster() {
  // Where coordinators record their tokens for the user's other programs.
  setenv("XDG_STATE_HOME", dir_.File("state").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  for (const char* sub : {"data", "logs"}) {
    std::filesystem::create_directory(dir_.File(sub));
  }
}

Cluster::~Cluster() {
  if (::testing::Test::HasFailure()) {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File("logs"))) {
      const std::string contents = Slurp(entry.path());
      if (!contents.empty()) {
        std::cerr << "--- " << entry.path().filename().string() << "\n"
                  << contents.substr(contents.size() > 8000 ? contents.size() - 8000 : 0);
      }
    }
  }
}

void Cluster::Write(const std::string& name, const std::string& contents) const {
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(name), contents));
}

std::string Cluster::Binary(const std::string& name) {
  const char* directory = std::getenv("CONCUR_BIN_DIR");  // NOLINT(concurrency-mt-unsafe)
  CONCUR_CHECK(directory != nullptr);
  return absl::StrCat(directory, "/", name);
}

std::string Cluster::server() const { return "unix:" + dir_.File("socket"); }

void Cluster::LaunchCoordinator(const std::vector<std::string>& more) {
  std::vector<std::string> argv = {Binary("concur-coordinator"), "--data-dir", dir_.File("data"),
                                   "--listen", server()};
  argv.insert(argv.end(), more.begin(), more.end());
  // It writes its address when it is ready; one that a killed coordinator left does not count.
  std::filesystem::remove(dir_.File("data/address"));
  coordinator_ = std::make_unique<Process>(argv, dir_.File("logs/coordinator"), coordinator_env_);
}

void Cluster::StartCoordinator(const std::vector<std::string>& more) {
  LaunchCoordinator(more);
  Eventually([&] { return std::filesystem::exists(dir_.File("data/address")); });
}

void Cluster::StartWorker(const std::string& name, int cpus, const std::vector<std::string>& more) {
  std::vector<std::string> argv = {Binary("concur-worker"),
                                   "--coordinator",
                                   server_of_workers_.empty() ? server() : server_of_workers_,
                                   "--name",
                                   name,
                                   "--work-dir",
                                   dir_.File("work-" + name),
                                   "--cpus",
                                   absl::StrCat(cpus)};
  argv.insert(argv.end(), more.begin(), more.end());
  // Jobs find concur-qa where this build put it.
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::map<std::string, std::string> env = worker_env_;
  env["PATH"] = absl::StrCat(std::getenv("CONCUR_BIN_DIR"),  // NOLINT(concurrency-mt-unsafe)
                             ":", path == nullptr ? "" : path);
  workers_[name] = std::make_unique<Process>(argv, dir_.File("logs/worker-" + name), env);
}

void Cluster::KillCoordinator(int signal) {
  coordinator_->Signal(signal);
  coordinator_->Wait();
  coordinator_.reset();
}

void Cluster::KillWorker(const std::string& name, int signal) {
  workers_.at(name)->Signal(signal);
  workers_.at(name)->Wait();
  workers_.erase(name);
}

Output Cluster::Run(const std::vector<std::string>& argv, const std::string& scratch,
                    const std::map<std::string, std::string>& env) {
  std::filesystem::remove(scratch + ".out");
  std::filesystem::remove(scratch + ".err");
  Process process(argv, scratch, env);
  Output output;
  output.exit_code = process.Wait();
  output.out = Slurp(scratch + ".out");
  output.err = Slurp(scratch + ".err");
  return output;
}

std::vector<std::string> Cluster::Command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv = {Binary("concur"), "--server",
                                   server_of_users_.empty() ? server() : server_of_users_};
  if (!server_of_users_.empty()) {
    argv.insert(argv.end(), {"--token-file", dir_.File("data/token")});
  }
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Output Cluster::Concur(const std::vector<std::string>& arguments) const {
  return Run(Command(arguments), dir_.File("concur"));
}

Output Cluster::RunSweep(const std::string& file) const {
  return Concur({"sweep", "submit", dir_.File(file), "--wait"});
}

}  // namespace concur::testing
