// SPDX-License-Identifier: Apache-2.0
#include "cli/study/open_study.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/bundle.h"
#include "cli/study/bundle_files.h"
#include "cli/study/imported_study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_sweep.h"

namespace concur::cli {

absl::StatusOr<v1::Sweep> FindSweep(CommandContext& context, Client& client,
                                    const std::string& name) {
  absl::StatusOr<v1::Sweep> found = client.GetSweep(name, Client::Include::kSpec);
  if (absl::IsNotFound(found.status()) && IsBundle(name)) {
    return absl::NotFoundError(
        absl::StrCat(found.status().message(), "; ./", name, " is a bundle: write ./", name));
  }
  CONCUR_ASSIGN_OR_RETURN(v1::Sweep sweep, std::move(found));
  // Else the newest is what everybody expects.
  const bool surprises = sweep.state() != v1::Sweep::STATE_SUCCEEDED;
  if (context.output == OutputMode::kTable && name != sweep.id() && surprises) {
    constexpr size_t kLookedAt = 100;
    CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Sweep> newest,
                            client.ListSweeps(sweep.owner(), kLookedAt));
    if (std::any_of(newest.begin(), newest.end(), [&](const v1::Sweep& other) {
          return other.name() == name && other.id() != sweep.id();
        })) {
      PrintNote(context, absl::StrCat(name, ": ", sweep.id(), ", the newest of that name, is ",
                                      StateText(sweep.state())));
    }
  }
  return sweep;
}

absl::Status CheckMetric(Client& client, const v1::Sweep& sweep, const std::string& metric) {
  // While it runs, the first job to report it may be to come.
  if (metric.empty() || !sweep.has_end_time()) {
    return absl::OkStatus();
  }
  v1::ListJobsRequest request;
  request.set_sweep(sweep.id());
  request.add_states(v1::Job::STATE_SUCCEEDED);
  std::set<std::string> metrics;
  CONCUR_RETURN_IF_ERROR(client.ListJobs(request, 0, [&](const v1::Job& job) {
    for (const v1::Metric& reported : job.result().metrics()) {
      metrics.insert(reported.name());
    }
    for (const v1::Part& part : job.result().parts()) {
      for (const v1::Metric& reported : part.metrics()) {
        metrics.insert(reported.name());
      }
    }
    return metrics.count(metric) == 0;
  }));
  if (metrics.empty() || metrics.count(metric) > 0) {
    return absl::OkStatus();
  }
  const std::vector<std::string> names(metrics.begin(), metrics.end());
  return absl::InvalidArgumentError(absl::StrCat("metric: no job reported \"", metric, "\"",
                                                 DidYouMean(metric, names), "; the metrics are ",
                                                 FirstNames(names)));
}

absl::StatusOr<Study> FetchStudy(Client& client, v1::Sweep sweep) {
  Study study;
  study.sweep = std::move(sweep);
  CONCUR_ASSIGN_OR_RETURN(study.spec, rpc::FromProto(study.sweep.spec()));
  v1::ListJobsRequest request;
  // By id from here on: a newer sweep may take the name meanwhile.
  request.set_sweep(study.sweep.id());
  CONCUR_RETURN_IF_ERROR(client.ListJobs(request, 0, [&study](v1::Job job) {
    study.jobs.push_back(std::move(job));
    return true;
  }));
  if (study.spec.imported) {
    TakeSources(study);
  }
  study.read_artifact = [&client](const Digest& digest) {
    constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
    return DownloadArtifact(client, digest, kExamplesBytesMax);
  };
  return study;
}

absl::Status ReadSteps(Client& client, v1::Job& job) {
  absl::StatusOr<v1::Job> whole = client.GetJob(job.id(), /*include_steps=*/true);
  if (absl::IsNotFound(whole.status())) {
    whole = v1::Job();
  }
  CONCUR_RETURN_IF_ERROR(whole.status());
  job.mutable_steps()->Swap(whole->mutable_steps());
  job.set_step_count(static_cast<uint32_t>(job.steps_size()));
  return absl::OkStatus();
}

bool HasReported(const v1::Job& job) {
  return job.kind() == v1::Job::KIND_TRAIN && job.step_count() > 0;
}

absl::StatusOr<StepsRead> ReadAllSteps(Client& client, Study& study, int64_t bytes_max) {
  StepsRead read;
  if (std::none_of(study.jobs.begin(), study.jobs.end(), HasReported)) {
    return read;
  }
  int64_t bytes = 0;
  for (const v1::Job& job : study.jobs) {
    bytes += JobLineBytes(job);
  }
  for (v1::Job& job : study.jobs) {
    if (!HasReported(job)) {
      continue;
    }
    if (read.jobs_left_out > 0) {
      ++read.jobs_left_out;
      continue;
    }
    const uint32_t step_count = job.step_count();
    const int64_t without = JobLineBytes(job);
    CONCUR_RETURN_IF_ERROR(ReadSteps(client, job));
    const int64_t added = JobLineBytes(job) - without;
    if (bytes + added > bytes_max) {
      job.clear_steps();
      job.set_step_count(step_count);
      ++read.jobs_left_out;
      continue;
    }
    bytes += added;
    read.steps += job.steps_size();
  }
  return read;
}

absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const v1::Sweep& sweep,
                                                     const std::string& metric,
                                                     const SweepTableOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const SweepSpec spec, rpc::FromProto(sweep.spec()));
  // By id from here on: a newer sweep may take the name meanwhile.
  std::vector<JobScore> scores;
  CONCUR_RETURN_IF_ERROR(client.ListScores(
      sweep.id(), metric, [&scores](JobScore score) { scores.push_back(std::move(score)); }));
  return SweepTable(spec, scores, options);
}

absl::StatusOr<analysis::ScoreTable> OpenScoreTable(CommandContext& context,
                                                    const std::string& name,
                                                    const std::string& metric,
                                                    const SweepTableOptions& options) {
  if (IsBundlePath(name)) {
    CONCUR_ASSIGN_OR_RETURN(const Study study, LoadBundle(name));
    return ScoreTableOf(study, metric, options);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(context, *client, name));
  return FetchScoreTable(*client, sweep, metric, options);
}

absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name) {
  OpenedStudy opened;
  if (IsBundlePath(name)) {
    CONCUR_ASSIGN_OR_RETURN(opened.study, LoadBundle(name));
    return opened;
  }
  CONCUR_ASSIGN_OR_RETURN(opened.client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(v1::Sweep sweep, FindSweep(context, *opened.client, name));
  CONCUR_ASSIGN_OR_RETURN(opened.study, FetchStudy(*opened.client, std::move(sweep)));
  return opened;
}

}  // namespace concur::cli
