// SPDX-License-Identifier: Apache-2.0
// Pilots through programs of the user's: submit, list and cancel in a directory that the pool
// names (docs/clusters.md). Those for Grid Engine and PBS are in configs/providers.
//
// Engines show the variables of a job to everyone, and some its script: a pilot's script reads the
// token from a file of the coordinator's user, in a directory that the nodes have as well.
//
// Directories whose list answered are kept in SETUP.directory/commands: a coordinator that starts
// again asks them for its pilots. While one does not answer that did before, its pilots are
// reported as it knew them last, so that the pools of others go on.
//
// Thread-safe. Programs run one at a time on a thread of its own, each for a limited time.
#ifndef CONCUR_COORDINATOR_PROVISION_COMMAND_PROVIDER_H_
#define CONCUR_COORDINATOR_PROVISION_COMMAND_PROVIDER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/run_command.h"
#include "base/thread_pool.h"
#include "coordinator/provision/provider.h"

namespace concur::provision {

class CommandProvider final : public Provider {
 public:
  // `tokens`: the directory for pools that name none; "": they are refused. REQUIRES: SIGPIPE is
  // ignored.
  CommandProvider(PilotSetup setup, std::string tokens);
  ~CommandProvider() override { thread_.Close(); }

  void Start(const PoolSpec& pool, const std::vector<std::string>& pilots, StartDone done) override;
  void Try(const PoolSpec& pool, TryDone done) override;
  void Stop(const std::vector<std::string>& pilots, StopDone done) override;
  void Observe(ObserveDone done) override;

 private:
  // A directory of programs.
  struct Place {
    std::set<std::string> tokens;      // directories of pools that use it
    bool failing = false;              // its list, the last time
    bool answered = false;             // since this coordinator started
    std::vector<PilotReport> reports;  // the latest that it gave, and what was started since
  };

  absl::StatusOr<std::string> TokensOf(const PoolSpec& pool) const;
  absl::StatusOr<std::vector<std::string>> StartNow(const PoolSpec& pool,
                                                    const std::vector<std::string>& pilots);
  absl::StatusOr<std::string> StartOne(const CommandRequest& request);
  absl::StatusOr<std::string> TryNow(const PoolSpec& pool);
  absl::Status StopNow(const std::vector<std::string>& pilots);
  absl::StatusOr<std::vector<PilotReport>> ObserveNow();
  absl::Status Load();
  absl::Status Save();
  absl::Status Remember(const PoolSpec& pool, const std::string& tokens);
  absl::StatusOr<std::vector<PilotReport>> List(const std::string& directory) const;
  void AddFailures(const Place& place, std::vector<PilotReport>* reports) const;

  const PilotSetup setup_;
  const std::string tokens_;
  // Owned by thread_.
  bool loaded_ = false;
  std::map<std::string, Place> places_;  // by directory
  ThreadPool thread_{1};
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_COMMAND_PROVIDER_H_
