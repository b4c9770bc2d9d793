// SPDX-License-Identifier: Apache-2.0
// One sweep whose approaches need systems that exclude one another: Python 3.11 with a package in a
// virtual environment, Debian 11 and a system of busybox alone, both as roots.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_E2E_ENVIRONMENTS_THREE_SYSTEMS_H_
#define CONCUR_TESTS_E2E_ENVIRONMENTS_THREE_SYSTEMS_H_

#include <string>
#include <vector>

#include "tests/e2e/cluster.h"

namespace concur::testing {

// True if a program of PATH ends well.
bool Works(const Cluster& cluster, std::vector<std::string> argv);

// Writes NAME.yaml into the cluster's directory: an approach with these lines below its version.
void WriteApproach(const Cluster& cluster, const std::string& name, const std::string& spec);
// Such lines: a script of sh in the root ROOT.tar.gz of the cluster's directory.
std::string InRoot(const std::string& root, const std::string& script);
// Writes sweep.yaml: the sweep "environments" of "a.yaml, b.yaml", whose jobs fail once.
void WriteSeeds(const Cluster& cluster, const std::string& approaches, int seeds);

struct ThreeSystems {
  std::vector<std::string> approaches;  // "busybox.yaml"
  std::vector<std::string> roots;       // those of them that are roots
  std::vector<std::string> numbers;     // their scores
  std::vector<std::string> missing;     // needs of the others that this machine lacks
};
// Writes what can be made here. `checks` are lines of sh that run first in each root.
ThreeSystems WriteThreeSystems(const Cluster& cluster, const std::string& checks);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_ENVIRONMENTS_THREE_SYSTEMS_H_
