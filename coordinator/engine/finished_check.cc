// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/finished_check.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace concur {
namespace {

// Not OK when the store cannot tell now.
absl::Status CheckArtifacts(const ArtifactStore& artifacts, JobResult& result) {
  std::vector<ArtifactRef> stored;
  std::string missing;
  for (ArtifactRef& artifact : result.artifacts) {
    const absl::StatusOr<int64_t> bytes = artifacts.Size(artifact.digest);
    if (bytes.ok()) {
      artifact.bytes = *bytes;
      stored.push_back(artifact);
    } else if (!absl::IsNotFound(bytes.status())) {
      return bytes.status();
    } else if (artifact.kind != ArtifactKind::kLog) {
      absl::StrAppend(&missing, missing.empty() ? "" : ", ", ArtifactKindName(artifact.kind), " ",
                      artifact.digest.ToHex().substr(0, 12), "…");
    }
  }
  result.artifacts = std::move(stored);
  if (result.succeeded && !missing.empty()) {
    result.succeeded = false;
    result.failure = FailureClass::kWorker;
    result.message = absl::StrCat("the worker named artifacts that are not stored: ", missing);
    result.metrics.clear();
  }
  return absl::OkStatus();
}

// A checkpoint that is not there only costs progress.
absl::Status CheckCheckpoint(const ArtifactStore& artifacts, FinishedAttempt& finished) {
  if (!finished.checkpoint) {
    return absl::OkStatus();
  }
  const absl::StatusOr<int64_t> bytes = artifacts.Size(finished.checkpoint->digest);
  if (bytes.ok()) {
    finished.checkpoint->bytes = *bytes;
  } else if (absl::IsNotFound(bytes.status())) {
    LogWarning(
        "a checkpoint that a worker named is not stored",
        {{"attempt", finished.id.ToString()}, {"checkpoint", finished.checkpoint->digest.ToHex()}});
    finished.checkpoint.reset();
  } else {
    return bytes.status();
  }
  return absl::OkStatus();
}

}  // namespace

void CheckFinished(const ArtifactStore& artifacts, SyncRequest& request) {
  std::vector<FinishedAttempt> checked;
  for (FinishedAttempt& finished : request.finished) {
    absl::Status status = CheckArtifacts(artifacts, finished.result);
    status.Update(CheckCheckpoint(artifacts, finished));
    if (!status.ok()) {
      LogWarning("a result is taken later: its artifacts cannot be looked up",
                 {{"attempt", finished.id.ToString()}, {"error", std::string(status.message())}});
      if (finished.id.job.IsService()) {
        request.services.push_back({.id = finished.id});
      } else {
        request.running.push_back(finished.id);
      }
    } else {
      checked.push_back(std::move(finished));
    }
  }
  request.finished = std::move(checked);
}

}  // namespace concur
