// SPDX-License-Identifier: Apache-2.0
// Why Slurm lets a job wait: its reason codes as sentences with a remedy.
//
// Pure functions.
#ifndef CONCUR_COORDINATOR_PROVISION_SLURM_REASONS_H_
#define CONCUR_COORDINATOR_PROVISION_SLURM_REASONS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace concur::provision {

struct SlurmReason {
  std::string words;        // "no room yet (Resources)"
  bool impossible = false;  // the job never starts unless somebody changes something
  bool known = false;       // else the words are the reason itself
};

// Explains what squeue prints as reason: "Resources", "ReqNodeNotAvail, UnavailableNodes:n[1-4]".
SlurmReason ExplainSlurmReason(absl::string_view reason);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_SLURM_REASONS_H_
