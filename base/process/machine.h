// SPDX-License-Identifier: Apache-2.0
// The resources of this machine, or of the container that the program runs in.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_PROCESS_MACHINE_H_
#define CONCUR_BASE_PROCESS_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::process {

struct Machine {
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
};

// The smallest of what the hardware, the CPU affinity and the control groups (versions 1 and 2)
// allow. `root` stands for "/" in tests.
Machine DetectMachine(const std::string& root = "");

// The GPUs that CUDA_VISIBLE_DEVICES names. As for CUDA, the list ends before the first name that
// is none, such as -1.
std::vector<std::string> VisibleGpus(absl::string_view variable);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_MACHINE_H_
