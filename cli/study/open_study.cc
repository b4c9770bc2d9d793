// SPDX-License-Identifier: Apache-2.0
#include "cli/study/open_study.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/study/bundle.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job_score.h"
#include "core/sweep.h"
#include "rpc/convert_sweep.h"
#include "scores/sweep_table.h"

namespace concur::cli {

absl::StatusOr<Study> FetchStudy(Client& client, const std::string& sweep) {
  Study study;
  CONCUR_ASSIGN_OR_RETURN(study.sweep, client.GetSweep(sweep, /*include_spec=*/true));
  CONCUR_ASSIGN_OR_RETURN(study.spec, rpc::FromProto(study.sweep.spec()));
  v1::ListJobsRequest request;
  // By id from here on: a newer sweep may take the name meanwhile.
  request.set_sweep(study.sweep.id());
  CONCUR_RETURN_IF_ERROR(client.ListJobs(request, 0, [&study](v1::Job job) {
    study.jobs.push_back(std::move(job));
    return true;
  }));
  study.read_artifact = [&client](const Digest& digest) {
    constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
    return client.DownloadArtifact(digest, kExamplesBytesMax);
  };
  return study;
}

absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const std::string& sweep,
                                                     const std::string& metric,
                                                     const std::string& select) {
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep found, client.GetSweep(sweep, /*include_spec=*/true));
  CONCUR_ASSIGN_OR_RETURN(const SweepSpec spec, rpc::FromProto(found.spec()));
  // By id from here on: a newer sweep may take the name meanwhile.
  std::vector<JobScore> scores;
  CONCUR_RETURN_IF_ERROR(client.ListScores(
      found.id(), metric, [&scores](JobScore score) { scores.push_back(std::move(score)); }));
  return SweepTable(spec, scores, select);
}

absl::StatusOr<analysis::ScoreTable> OpenScoreTable(CommandContext& context,
                                                    const std::string& name,
                                                    const std::string& metric,
                                                    const std::string& select) {
  if (IsBundlePath(name)) {
    CONCUR_ASSIGN_OR_RETURN(const Study study, LoadBundle(name));
    return ScoreTableOf(study, metric, select);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  return FetchScoreTable(*client, name, metric, select);
}

absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name) {
  OpenedStudy opened;
  if (IsBundlePath(name)) {
    CONCUR_ASSIGN_OR_RETURN(opened.study, LoadBundle(name));
    return opened;
  }
  CONCUR_ASSIGN_OR_RETURN(opened.client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(opened.study, FetchStudy(*opened.client, name));
  return opened;
}

}  // namespace concur::cli
