// SPDX-License-Identifier: Apache-2.0
// Remedies for what Kubernetes says: its scheduler's reasons, refusals of pods, and containers
// that do not start.
//
// Pure functions.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBE_REASONS_H_
#define CONCUR_COORDINATOR_PROVISION_KUBE_REASONS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace concur::provision {

// The message with a remedy for each reason in it that is known:
// "0/2 nodes are available: 2 Insufficient cpu.; lower resources.cpus, or wait for nodes".
std::string WithKubeRemedies(absl::string_view message);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBE_REASONS_H_
