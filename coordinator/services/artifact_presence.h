// SPDX-License-Identifier: Apache-2.0
// Which artifacts are stored already.
//
// Functions are thread-safe, and block for as long as the store takes to answer.
#ifndef CONCUR_COORDINATOR_SERVICES_ARTIFACT_PRESENCE_H_
#define CONCUR_COORDINATOR_SERVICES_ARTIFACT_PRESENCE_H_

#include <vector>

#include "absl/status/status.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/sweep.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

// FailedPrecondition names the files of a sweep that are not stored; InvalidArgument one whose
// stated size is not that of the stored file, by which quotas count. Keeps the others from
// garbage collection until the sweep is saved.
absl::Status CheckFilesAreThere(const std::vector<SweepFile>& files, ArtifactStore& artifacts);

// Adds the digests that are not stored to `response`, and keeps the others from garbage collection
// for a while. InvalidArgument for an invalid digest.
absl::Status FindMissing(const v1::FindMissingArtifactsRequest& request, ArtifactStore& artifacts,
                         v1::FindMissingArtifactsResponse* response);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_ARTIFACT_PRESENCE_H_
