// SPDX-License-Identifier: Apache-2.0
// Checks of every request that adds a sweep, before it reaches the engine, and by the engine's
// count of sweeps.
//
// Functions are thread-safe; CheckSweepCount belongs to the engine's thread.
#ifndef CONCUR_COORDINATOR_SERVICES_SUBMISSION_CHECKS_H_
#define CONCUR_COORDINATOR_SERVICES_SUBMISSION_CHECKS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/engine/partial_uploads.h"
#include "coordinator/services/service_limits.h"
#include "core/scheduler/scheduler.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

// Checks the fields of the request, and expands its sweep. Shared, because the scheduler keeps it
// for as long as it has the sweep. InvalidArgument naming the field; ResourceExhausted beyond the
// limit on jobs.
absl::StatusOr<std::shared_ptr<const Expansion>> ExpandRequested(const std::string& request_id,
                                                                 absl::StatusOr<SweepSpec> spec,
                                                                 const ServiceLimits& limits);

// ResourceExhausted when the disk has too little room for a new sweep. Interrupted uploads make
// room, unless they go to object storage.
absl::Status CheckRoomOnDisk(const ServiceLimits& limits, ArtifactStore& artifacts,
                             PartialUploads& partial);

// ResourceExhausted when the coordinator holds as many sweeps as it may.
absl::Status CheckSweepCount(const Scheduler& scheduler, int64_t sweeps_max);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_SUBMISSION_CHECKS_H_
