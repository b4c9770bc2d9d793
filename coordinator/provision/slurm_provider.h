// SPDX-License-Identifier: Apache-2.0
// Pilots as Slurm jobs: sbatch starts them (as job arrays), one squeue for all says what became of
// them, scancel stops them. Their command lines and output are in
// coordinator/provision/slurm_text.h.
//
// Thread-safe. Slurm's programs run one at a time on a thread of its own, each for a limited time,
// so that a controller that does not answer holds up nobody.
#ifndef CONCUR_COORDINATOR_PROVISION_SLURM_PROVIDER_H_
#define CONCUR_COORDINATOR_PROVISION_SLURM_PROVIDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/run_command.h"
#include "base/thread_pool.h"
#include "coordinator/provision/provider.h"
#include "coordinator/provision/slurm_text.h"

namespace concur::provision {

class SlurmProvider final : public Provider {
 public:
  using Runner = std::function<absl::StatusOr<CommandResult>(const CommandRequest&)>;

  // REQUIRES: SIGPIPE is ignored.
  explicit SlurmProvider(PilotSetup setup, Runner runner = RunCommand);
  ~SlurmProvider() override { thread_.Close(); }

  void Start(const PoolSpec& pool, const std::vector<std::string>& pilots, StartDone done) override;
  void Try(const PoolSpec& pool, TryDone done) override;
  void Stop(const std::vector<std::string>& pilots, StopDone done) override;
  void Observe(ObserveDone done) override;

 private:
  absl::StatusOr<std::vector<std::string>> StartNow(const PoolSpec& pool,
                                                    const std::vector<std::string>& pilots);
  absl::StatusOr<std::string> TryNow(const PoolSpec& pool);
  absl::Status StopNow(const std::vector<std::string>& pilots);
  absl::StatusOr<std::vector<SlurmPilot>> Query();
  void AddReasons(std::vector<PilotReport>* reports);

  const PilotSetup setup_;
  const Runner runner_;
  std::map<std::string, std::string> comments_;  // keyed by ids of failed jobs that Slurm remembers
  ThreadPool thread_{1};
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_SLURM_PROVIDER_H_
