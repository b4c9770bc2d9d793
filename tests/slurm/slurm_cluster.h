// SPDX-License-Identifier: Apache-2.0
// A whole Slurm on this machine, on free ports of the loopback device: munged, slurmctld and as
// many nodes as are wished for, in a directory of its own. Without cgroups and accounting, so that
// it works in a container.
//
// Thread-compatible. Everything ends with the object.
#ifndef CONCUR_TESTS_SLURM_SLURM_CLUSTER_H_
#define CONCUR_TESTS_SLURM_SLURM_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

class SlurmCluster {
 public:
  // Describes what is missing for a Slurm here; "" when nothing is.
  static std::string Missing();

  SlurmCluster(int nodes, int cpus_each);
  ~SlurmCluster();

  // Up, with every node idle. Unavailable, with what the daemons said, when that does not happen.
  absl::Status Start();

  // For the environment of whoever uses this cluster.
  std::map<std::string, std::string> Environment() const;
  Output Run(const std::vector<std::string>& argv) const;
  // Jobs of any user that have not ended.
  int JobCount() const;

  void KillController();
  void StartController();
  // The node loses its power: its slurmd and all that runs on it.
  void KillNode(int node);
  void StartNode(int node);

 private:
  absl::Status StartMunge();
  void WriteConfiguration();
  std::string File(const std::string& name) const { return dir_.File(name); }

  const int cpus_each_;
  TempDir dir_;
  int controller_port_ = 0;
  std::vector<int> ports_;  // the nodes'
  std::unique_ptr<Process> munge_;
  std::unique_ptr<Process> controller_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_SLURM_SLURM_CLUSTER_H_
