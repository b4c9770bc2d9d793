// SPDX-License-Identifier: Apache-2.0
// Compares what workers report with the artifact store: a worker's token is no proof.
//
// Thread-safe (stateless). Blocks for as long as the store takes to answer.
#ifndef CONCUR_COORDINATOR_ENGINE_FINISHED_CHECK_H_
#define CONCUR_COORDINATOR_ENGINE_FINISHED_CHECK_H_

#include "core/sync/sync.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

// Gives every artifact of the finished attempts, and every checkpoint that they left, its real
// size, and drops those that are not stored. A success that named one, other than a log, becomes a
// failure of class `worker`. An attempt whose artifacts cannot be looked up now is listed as
// running: its worker reports it again.
void CheckFinished(const ArtifactStore& artifacts, SyncRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_FINISHED_CHECK_H_
