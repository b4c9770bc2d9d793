// SPDX-License-Identifier: Apache-2.0
// A coordinator and workers on this machine, as real processes, for end-to-end tests.
#ifndef CONCUR_TESTS_E2E_CLUSTER_H_
#define CONCUR_TESTS_E2E_CLUSTER_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/temp_dir.h"

namespace concur::testing {

// Exit code and output of a finished program.
struct Output {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// A child process whose output goes to a file. Killed when dropped.
class Process {
 public:
  Process(const std::vector<std::string>& argv, const std::string& log,
          const std::map<std::string, std::string>& env = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for its end; returns the exit code, or 128 + signal.
  int Wait();
  bool running() const { return pid_ > 0; }
  // It has ended; Wait() returns at once.
  bool Ended() const;

 private:
  pid_t pid_ = -1;
};

// Waits until `condition` holds; fails the test after a minute. Polls: the things waited for are
// in other processes.
bool Eventually(const std::function<bool()>& condition);

class Cluster {
 public:
  Cluster();
  ~Cluster();

  const TempDir& dir() const { return dir_; }
  std::string File(const std::string& name) const { return dir_.File(name); }
  void Write(const std::string& name, const std::string& contents) const;

  // Listens on a unix socket in the directory, so that a restart has the same address.
  void StartCoordinator(const std::vector<std::string>& more = {});
  // As above, but does not wait until it listens.
  void LaunchCoordinator(const std::vector<std::string>& more = {});
  void StartWorker(const std::string& name, int cpus = 2,
                   const std::vector<std::string>& more = {});
  // Added to the environment of what is started from now on.
  void SetCoordinatorEnvironment(std::map<std::string, std::string> env) {
    coordinator_env_ = std::move(env);
  }
  void SetWorkerEnvironment(std::map<std::string, std::string> env) {
    worker_env_ = std::move(env);
  }
  // Workers that are started from now on call there.
  void SetServerOfWorkers(std::string address) { server_of_workers_ = std::move(address); }
  // Concur() calls there from now on, with the token in the data directory.
  void SetServerOfUsers(std::string address) { server_of_users_ = std::move(address); }
  void SignalCoordinator(int signal) { coordinator_->Signal(signal); }
  void SignalWorker(const std::string& name, int signal) { workers_.at(name)->Signal(signal); }
  void KillCoordinator(int signal);
  void KillWorker(const std::string& name, int signal);
  std::string server() const;

  // `concur` with the address of the coordinator.
  std::vector<std::string> Command(const std::vector<std::string>& arguments) const;
  // Runs it and waits for it.
  Output Concur(const std::vector<std::string>& arguments) const;
  // Submits a sweep file and waits for its end.
  Output RunSweep(const std::string& file) const;

  static std::string Binary(const std::string& name);
  // Runs any program to its end.
  static Output Run(const std::vector<std::string>& argv, const std::string& scratch,
                    const std::map<std::string, std::string>& env = {});

 private:
  TempDir dir_;
  std::map<std::string, std::string> coordinator_env_;
  std::map<std::string, std::string> worker_env_;
  std::string server_of_workers_;  // "": server()
  std::string server_of_users_;    // the same
  std::unique_ptr<Process> coordinator_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CLUSTER_H_
