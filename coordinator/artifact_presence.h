// Which artifacts are there already, for those who are about to need them.
//
// Functions are thread-safe; they block for as long as the store takes to say.
#ifndef CONCUR_COORDINATOR_ARTIFACT_PRESENCE_H_
#define CONCUR_COORDINATOR_ARTIFACT_PRESENCE_H_

#include "absl/status/status.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep.h"
#include "store/artifact_store.h"

namespace concur {

// FailedPrecondition names the data files of a sweep that are not there. Keeps the others from
// collection until the sweep stands.
absl::Status CheckDataIsThere(const SweepSpec& spec, ArtifactStore& artifacts);

// Adds the digests that are not there to `response`, and keeps the others from collection for a
// while. InvalidArgument for what is no digest.
absl::Status FindMissing(const v1::FindMissingArtifactsRequest& request, ArtifactStore& artifacts,
                         v1::FindMissingArtifactsResponse* response);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ARTIFACT_PRESENCE_H_
