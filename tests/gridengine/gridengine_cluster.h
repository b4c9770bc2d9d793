// SPDX-License-Identifier: Apache-2.0
// A whole Grid Engine on this machine, on free ports: sge_qmaster and one host, in a directory of
// its own. Needs root, whose jobs it runs.
//
// Thread-compatible. Everything ends with the object.
#ifndef CONCUR_TESTS_GRIDENGINE_GRIDENGINE_CLUSTER_H_
#define CONCUR_TESTS_GRIDENGINE_GRIDENGINE_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

class GridEngineCluster {
 public:
  // Describes what is missing for a Grid Engine here; "" when nothing is.
  static std::string Missing();

  explicit GridEngineCluster(int slots);
  ~GridEngineCluster();

  // Up, with its host ready. Unavailable, with what the daemons said, when that does not happen.
  absl::Status Start();

  // For the environment of whoever uses this cluster.
  std::map<std::string, std::string> Environment() const;
  Output Run(const std::vector<std::string>& argv) const;
  // Text that it gives everybody about all jobs, and what lies where everybody may read.
  std::string WhatEverybodySees() const;
  // Jobs that have not ended; -1 while it does not answer.
  int JobCount() const;

  void KillMaster();
  void StartMaster();

 private:
  absl::Status MakeCell(const std::vector<std::string>& step) const;
  absl::Status Await(const std::vector<std::string>& argv, const std::string& sign) const;
  std::string File(const std::string& name) const { return dir_.File(name); }

  const int slots_;
  TempDir dir_;
  int master_port_ = 0;
  int host_port_ = 0;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> host_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_GRIDENGINE_GRIDENGINE_CLUSTER_H_
