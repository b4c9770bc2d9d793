// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/retention.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace concur {
namespace {

// True if an artifact stays once its job has ended. Systems have rules of their own.
bool PolicyKeeps(const KeepPolicy& keep, ArtifactKind kind, bool succeeded) {
  switch (kind) {
    case ArtifactKind::kPredictions:
    case ArtifactKind::kExamples:
      return keep.predictions;
    case ArtifactKind::kLog:
      return keep.logs || !succeeded;
    case ArtifactKind::kOutputs:
      return keep.outputs;
    case ArtifactKind::kSystem:
    case ArtifactKind::kMetrics:
      return true;  // scores are always kept
  }
  return true;
}

bool NeedsSystem(const RetainedSweep& sweep, const RetainedJob& job) {
  return sweep.keep.systems || !job.dependents_ended || (!job.dependents_succeeded && !sweep.ended);
}

bool NeedsArtifact(const RetainedSweep& sweep, const RetainedJob& job, ArtifactKind kind) {
  // A result counts only once its job has ended; until then nobody knows what it is needed for.
  if (!IsTerminal(job.state)) {
    return true;
  }
  // A failed job's is what a worker could keep of a finished training.
  return kind == ArtifactKind::kSystem && job.state != JobState::kFailed
             ? NeedsSystem(sweep, job)
             : PolicyKeeps(sweep.keep, kind, job.state == JobState::kSucceeded);
}

}  // namespace

int64_t KeptBytesOf(const KeepPolicy& keep, const JobResult& result, bool system_collected) {
  int64_t bytes = 0;
  for (const ArtifactRef& artifact : result.artifacts) {
    const bool kept = artifact.kind == ArtifactKind::kSystem
                          ? !system_collected
                          : PolicyKeeps(keep, artifact.kind, result.succeeded);
    bytes += kept ? artifact.bytes : 0;
  }
  return bytes;
}

void RetentionPlanner::AddFile(const RetainedSweep& sweep, const SweepFile& file) {
  if (file.is_code || !sweep.ended) {
    plan_.live.insert(file.digest);
  }
}

void RetentionPlanner::AddJob(const RetainedSweep& sweep, const RetainedJob& job,
                              const JobResult& result) {
  for (const ArtifactRef& artifact : result.artifacts) {
    if (artifact.kind == ArtifactKind::kSystem && job.system_collected) {
      continue;  // gone; another cell's equal system does not bring it back
    }
    if (NeedsArtifact(sweep, job, artifact.kind)) {
      plan_.live.insert(artifact.digest);
    } else if (artifact.kind == ArtifactKind::kSystem && job.state == JobState::kSucceeded) {
      unneeded_systems_.emplace_back(job.id, artifact.digest);
    }
  }
}

void RetentionPlanner::AddAttempt(const JobResult& result) {
  for (const ArtifactRef& artifact : result.artifacts) {
    if (artifact.kind == ArtifactKind::kLog) {
      plan_.live.insert(artifact.digest);
    }
  }
}

RetentionPlan RetentionPlanner::Finish() {
  for (const auto& [job, digest] : unneeded_systems_) {
    if (!plan_.live.contains(digest)) {
      plan_.lost_systems.push_back(job);
    }
  }
  std::sort(plan_.lost_systems.begin(), plan_.lost_systems.end());
  unneeded_systems_.clear();
  return std::exchange(plan_, RetentionPlan());
}

}  // namespace concur
