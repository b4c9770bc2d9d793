// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/slurm_provider.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kQueryTimeout = absl::Seconds(30);
constexpr absl::Duration kCancelTimeout = absl::Seconds(30);
constexpr absl::Duration kTryTimeout = absl::Seconds(15);

}  // namespace

SlurmProvider::SlurmProvider(PilotSetup setup, Runner runner)
    : setup_(std::move(setup)), runner_(std::move(runner)) {}

void SlurmProvider::Start(const PoolSpec& pool, const std::vector<std::string>& pilots,
                          StartDone done) {
  thread_.Submit([this, pool, pilots, done = std::move(done)] { done(StartNow(pool, pilots)); });
}

void SlurmProvider::Try(const PoolSpec& pool, TryDone done) {
  thread_.Submit([this, pool, done = std::move(done)] { done(TryNow(pool)); });
}

void SlurmProvider::Stop(const std::vector<std::string>& pilots, StopDone done) {
  thread_.Submit([this, pilots, done = std::move(done)] { done(StopNow(pilots)); });
}

void SlurmProvider::Observe(ObserveDone done) {
  thread_.Submit([this, done = std::move(done)] {
    absl::StatusOr<std::vector<SlurmPilot>> pilots = Query();
    if (!pilots.ok()) {
      done(std::move(pilots).status());
      return;
    }
    std::vector<PilotReport> reports;
    reports.reserve(pilots->size());
    for (SlurmPilot& pilot : *pilots) {
      reports.push_back(std::move(pilot.report));
    }
    reports = OnePerPilot(std::move(reports));
    AddReasons(&reports);
    done(std::move(reports));
  });
}

absl::StatusOr<std::vector<std::string>> SlurmProvider::StartNow(
    const PoolSpec& pool, const std::vector<std::string>& pilots) {
  CONCUR_ASSIGN_OR_RETURN(const std::string token, setup_.token());
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result,
                          runner_(SbatchRequest(pool, setup_, token, pilots)));
  if (result.exit_code != 0) {
    return SlurmError("sbatch", result);
  }
  const absl::StatusOr<std::string> id = ParseSbatch(result.out);
  if (!id.ok()) {
    return absl::AbortedError(id.status().message());  // it may have been submitted all the same
  }
  LogInfo("Slurm job submitted", {{"job", *id},
                                  {"pool", pool.name},
                                  {"first", pilots[0]},
                                  {"workers", absl::StrCat(pilots.size())}});
  std::vector<std::string> ids;
  for (size_t i = 0; i < pilots.size(); ++i) {
    ids.push_back(pilots.size() == 1 ? *id : absl::StrCat(*id, "_", i));
  }
  return ids;
}

// As many as one sbatch would ever start, so that a limit on arrays shows as well.
absl::StatusOr<std::string> SlurmProvider::TryNow(const PoolSpec& pool) {
  std::vector<std::string> pilots;
  for (int32_t i = 0; i < std::min(pool.workers_max, pool.slurm.array_max); ++i) {
    pilots.push_back(absl::StrCat(pool.name, "-", i));
  }
  CommandRequest request = SbatchRequest(pool, setup_, "", pilots);
  request.argv.insert(request.argv.begin() + 1, "--test-only");
  request.timeout = kTryTimeout;
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result, runner_(request));
  if (result.exit_code != 0) {
    return SlurmError("sbatch", result);
  }
  return ParseSbatchTest(result.err);
}

// A pilot whose setup failed left the line that did in its job's comment. Asked once for each.
void SlurmProvider::AddReasons(std::vector<PilotReport>* reports) {
  std::map<std::string, std::string> comments;
  for (PilotReport& report : *reports) {
    if (!MayHaveFailedSetup(report)) {
      continue;
    }
    const auto known = comments_.find(report.external_id);
    if (known != comments_.end()) {
      comments.insert(*known);
    } else {
      CommandRequest request;
      request.argv = SqueueCommentArguments(report.external_id);
      request.timeout = kQueryTimeout;
      const absl::StatusOr<CommandResult> result = runner_(request);
      if (!result.ok() || result->exit_code != 0) {
        continue;  // asked again
      }
      comments[report.external_id] = SetupFailureOf(result->out);
    }
    if (const std::string& comment = comments[report.external_id]; !comment.empty()) {
      report.message = absl::StrCat(comment, "; ", report.message);
    }
  }
  comments_ = std::move(comments);
}

absl::StatusOr<std::vector<SlurmPilot>> SlurmProvider::Query() {
  CommandRequest request;
  request.argv = SqueueArguments();
  request.timeout = kQueryTimeout;
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result, runner_(request));
  if (result.exit_code != 0) {
    return SlurmError("squeue", result);
  }
  return ParseSqueue(result.out, setup_);
}

// Ids are asked for anew, and scancel is given the name beside them: it stops only a job that has
// both.
absl::Status SlurmProvider::StopNow(const std::vector<std::string>& pilots) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<SlurmPilot> known, Query());
  const std::set<std::string> wanted(pilots.begin(), pilots.end());
  std::map<std::string, std::vector<std::string>> ids_by_name;
  for (const SlurmPilot& pilot : known) {
    if (wanted.contains(pilot.report.name) && pilot.report.state != PilotReport::State::kEnded) {
      ids_by_name[pilot.job_name].push_back(pilot.report.external_id);
    }
  }
  for (const auto& [job_name, ids] : ids_by_name) {
    CommandRequest request;
    request.argv = {"scancel", absl::StrCat("--jobname=", job_name)};
    request.argv.insert(request.argv.end(), ids.begin(), ids.end());
    request.timeout = kCancelTimeout;
    CONCUR_ASSIGN_OR_RETURN(const CommandResult result, runner_(request));
    if (result.exit_code != 0) {
      CONCUR_RETURN_IF_ERROR(SlurmError("scancel", result));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur::provision
