// SPDX-License-Identifier: Apache-2.0
// A request to import results, checked.
//
// Stateless; thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_IMPORT_REQUEST_H_
#define CONCUR_COORDINATOR_SERVICES_IMPORT_REQUEST_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/services/service_limits.h"
#include "core/sweep/expansion.h"
#include "core/sweep/imported_results.h"
#include "core/sweep/sweep.h"

namespace concur {

struct RequestedImport {
  std::shared_ptr<const Expansion> expansion;
  // Shared by the copies of the closure that takes it to the engine.
  std::shared_ptr<std::vector<ImportedResult>> results;
  std::vector<SweepFile> examples;  // each once, by digest
};

// InvalidArgument, naming the field, for what cannot be imported; ResourceExhausted beyond the
// limit on jobs.
absl::StatusOr<RequestedImport> ReadImport(const v1::ImportSweepRequest& request,
                                           const ServiceLimits& limits);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_IMPORT_REQUEST_H_
