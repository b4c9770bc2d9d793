// SPDX-License-Identifier: Apache-2.0
// A sweep as the analyses see it: its specification, its jobs with their results, and its
// per-example scores. cli/study/open_study.h gets one.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_STUDY_H_
#define CONCUR_CLI_STUDY_STUDY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "base/digest.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"
#include "report/sweep_table.h"

namespace concur::cli {

// The bytes of an artifact; NotFound when it is not kept any more.
using ReadArtifact = std::function<absl::StatusOr<std::string>(const Digest& digest)>;

struct Study {
  // As the coordinator sent them: a bundle keeps every field, in JSON.
  v1::Sweep sweep;            // with its spec
  std::vector<v1::Job> jobs;  // in order of index
  SweepSpec spec;             // that of `sweep`
  ReadArtifact read_artifact;
  // Sources of imported results (cli/study/imported_study.h): one line of JSON for each job, which
  // says where its score came from. Empty for a sweep that was run.
  std::string sources;

  // Originals of imported results, by path within the bundle: files of Every Eval Ever as they
  // were, which say more than scores. Only when the bundle is made; others read them from there.
  std::map<std::string, std::string> originals;

  bool imported() const { return !sources.empty(); }
  // "s12 demo".
  std::string Name() const;
};

// `metric` empty: each benchmark's own. InvalidArgument as of SweepTable.
absl::StatusOr<analysis::ScoreTable> ScoreTableOf(const Study& study, const std::string& metric,
                                                  const SweepTableOptions& options = {});

// An eval job's score, and the digest of its per-example scores where it has any.
struct EvalJob {
  JobScore score;
  std::optional<Digest> examples;
  std::string part = {};  // the part of the test set that `score` is of; "": the whole
};
absl::StatusOr<std::vector<EvalJob>> EvalJobsOf(const Study& study, const std::string& metric);

// The digest of a job's per-example scores, if it has any.
std::optional<Digest> ExamplesOf(const v1::Job& job);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_STUDY_H_
