// SPDX-License-Identifier: Apache-2.0
// Pilots as processes of this machine. They outlive the coordinator, which finds them again by
// their directories: DIR/NAME/pid says which process it is, and the start time of the
// process tells whether the pid was reused. DIR/NAME/log is the worker's log.
//
// Thread-safe. Processes are started and looked at on a thread of its own.
#ifndef CONCUR_COORDINATOR_PROVISION_LOCAL_PROVIDER_H_
#define CONCUR_COORDINATOR_PROVISION_LOCAL_PROVIDER_H_

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "coordinator/provision/provider.h"

namespace concur::provision {

class LocalProvider final : public Provider {
 public:
  // Pilots' directories are made in setup.directory.
  explicit LocalProvider(PilotSetup setup) : setup_(std::move(setup)) {}
  ~LocalProvider() override { thread_.Close(); }

  void Start(const PoolSpec& pool, const std::vector<std::string>& pilots, StartDone done) override;
  // SIGTERM, and SIGKILL when it is called again for a pilot.
  void Try(const PoolSpec& pool, TryDone done) override;
  void Stop(const std::vector<std::string>& pilots, StopDone done) override;
  void Observe(ObserveDone done) override;

 private:
  absl::StatusOr<std::vector<std::string>> StartNow(const PoolSpec& pool,
                                                    const std::vector<std::string>& pilots);
  absl::StatusOr<std::vector<std::string>> EnvironmentOf(const PoolSpec& pool,
                                                         const std::string& pilot);
  absl::StatusOr<pid_t> StartOne(const PoolSpec& pool, const std::string& pilot);
  absl::StatusOr<std::vector<PilotReport>> ObserveNow();
  PilotReport ReportOf(const std::string& pilot);
  std::string PathOf(const std::string& pilot, const char* file = "") const;

  const PilotSetup setup_;
  // Used by the thread alone.
  std::set<std::string> told_to_end_;
  std::map<std::string, std::string> ended_;  // by pilot: how
  ThreadPool thread_{1};
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_LOCAL_PROVIDER_H_
