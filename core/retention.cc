#include "core/retention.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace concur {
namespace {

bool NeedsSystem(const RetainedSweep& sweep, const RetainedJob& job) {
  return sweep.keep.systems || !job.cell_ended || (!job.cell_succeeded && !sweep.ended);
}

bool NeedsArtifact(const RetainedSweep& sweep, const RetainedJob& job, ArtifactKind kind) {
  // A result counts only once its job has ended; until then nobody knows what it is needed for.
  if (!IsTerminal(job.state)) {
    return true;
  }
  switch (kind) {
    case ArtifactKind::kSystem:
      return NeedsSystem(sweep, job);
    case ArtifactKind::kPredictions:
    case ArtifactKind::kExamples:
      return sweep.keep.predictions;
    case ArtifactKind::kLog:
      return sweep.keep.logs || job.state != JobState::kSucceeded;
    case ArtifactKind::kMetrics:
      return true;  // scores are always kept
  }
  return true;
}

}  // namespace

std::vector<Digest> DataDigestsOf(const SweepSpec& spec) {
  std::vector<Digest> digests;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    if (benchmark.train) {
      digests.push_back(benchmark.train->digest);
    }
    if (benchmark.test) {
      digests.push_back(benchmark.test->digest);
    }
  }
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  return digests;
}

void RetentionPlanner::AddData(const RetainedSweep& sweep, const Digest& digest) {
  if (!sweep.ended) {
    plan_.live.insert(digest);
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
