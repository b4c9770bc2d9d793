// SPDX-License-Identifier: Apache-2.0
#include "cli/study/study.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "proto/rpc/convert_score.h"

namespace concur::cli {

std::string Study::Name() const { return absl::StrCat(sweep.id(), " ", sweep.name()); }

absl::StatusOr<analysis::ScoreTable> ScoreTableOf(const Study& study, const std::string& metric,
                                                  const SweepTableOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(std::vector<EvalJob> jobs, EvalJobsOf(study, metric));
  std::vector<JobScore> scores;
  scores.reserve(jobs.size());
  for (EvalJob& job : jobs) {
    scores.push_back(std::move(job.score));
  }
  return SweepTable(study.spec, scores, options);
}

absl::StatusOr<std::vector<EvalJob>> EvalJobsOf(const Study& study, const std::string& metric) {
  std::map<std::string, std::string> metrics;  // by benchmark
  for (const BenchmarkSpec& benchmark : study.spec.benchmarks) {
    metrics[benchmark.name] = metric.empty() ? benchmark.metric : metric;
  }
  std::vector<EvalJob> jobs;
  for (const v1::Job& job : study.jobs) {
    if (job.kind() != v1::Job::KIND_EVAL) {
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(
        JobScore score, rpc::ScoreFromJob(job, metrics[job.test_benchmark()], FieldPath(job.id())));
    jobs.push_back({std::move(score), ExamplesOf(job)});
  }
  return jobs;
}

std::optional<Digest> ExamplesOf(const v1::Job& job) {
  for (const v1::Artifact& artifact : job.result().artifacts()) {
    if (artifact.kind() == v1::Artifact::KIND_EXAMPLES) {
      const absl::StatusOr<Digest> digest = Digest::FromBytes(artifact.digest());
      return digest.ok() ? std::optional(*digest) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace concur::cli
