// SPDX-License-Identifier: Apache-2.0
// Containment of jobs on this machine, as far as the machine allows it.
#ifndef CONCUR_BASE_PROCESS_CONTAINMENT_H_
#define CONCUR_BASE_PROCESS_CONTAINMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/process/cgroup.h"

namespace concur::process {

struct ContainmentWish {
  bool groups = true;        // a control group for each job, if there are any
  bool must_group = false;   // an error if there are none
  bool private_tmp = false;  // an error if that cannot be
  std::string work_directory = {};
  std::string run_directory = {};  // "": in the work directory
};

struct Containment {
  std::unique_ptr<Cgroups> cgroups;  // null: none
  std::vector<std::string> names;    // as WorkerInfo::containment
  std::string without;               // why there are no control groups; "": there are
};

// FailedPrecondition with the reason and a remedy when a wish cannot be met. REQUIRES: the work
// directory's lock is held.
absl::StatusOr<Containment> SetUpContainment(const ContainmentWish& wish);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_CONTAINMENT_H_
