// SPDX-License-Identifier: Apache-2.0
#include "cli/study/live_scores.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/output/print.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"

namespace concur::cli {
namespace {

// With more changes at once than this, all jobs are listed instead of asking for each.
constexpr int kJobsOneByOneMax = 50;

class LiveStudy {
 public:
  LiveStudy(Client& client, const std::string& sweep) : client_(client), sweep_(sweep) {}

  // Applies an update. Returns whether a score or its state may have changed.
  absl::StatusOr<bool> Take(const v1::WatchSweepResponse& update) {
    int results = 0;
    for (const v1::JobEvent& event : update.events()) {
      results += HasResult(event.state()) ? 1 : 0;
    }
    if (!loaded_ || update.reset() || results > kJobsOneByOneMax) {
      return Load();
    }
    bool changed = false;
    for (const v1::JobEvent& event : update.events()) {
      const auto found = positions_.find(event.job());
      if (found == positions_.end()) {
        return Load();
      }
      v1::Job& job = study_.jobs[found->second];
      if (job.kind() != v1::Job::KIND_EVAL || job.state() == event.state()) {
        continue;
      }
      if (HasResult(event.state())) {
        CONCUR_ASSIGN_OR_RETURN(job, client_.GetJob(event.job(), /*include_steps=*/false));
      } else {
        job.set_state(event.state());
      }
      changed = true;
    }
    return changed;
  }

  const Study& study() const { return study_; }

 private:
  static bool HasResult(v1::Job::State state) { return state == v1::Job::STATE_SUCCEEDED; }

  absl::StatusOr<bool> Load() {
    CONCUR_ASSIGN_OR_RETURN(v1::Sweep sweep, client_.GetSweep(sweep_, Client::Include::kSpec));
    CONCUR_ASSIGN_OR_RETURN(study_, FetchStudy(client_, std::move(sweep)));
    sweep_ = study_.sweep.id();
    positions_.clear();
    for (size_t i = 0; i < study_.jobs.size(); ++i) {
      positions_[study_.jobs[i].id()] = i;
    }
    loaded_ = true;
    return true;
  }

  Client& client_;
  std::string sweep_;
  bool loaded_ = false;
  Study study_;
  absl::flat_hash_map<std::string, size_t> positions_;
};

}  // namespace

absl::Status FollowScores(
    CommandContext& context, Client& client, const std::string& sweep, const std::string& metric,
    const SweepTableOptions& options,
    const std::function<absl::Status(const analysis::ScoreTable&, const v1::Sweep&)>& on_change) {
  const InterruptScope interrupt([&client] { client.CancelStreams(); });
  LiveStudy study(client, sweep);
  absl::Status stopped;
  std::string id = sweep;
  absl::Status status = client.WatchSweep(
      sweep, /*cursor=*/"", v1::WatchSweepRequest::EVENTS_ALL, absl::Minutes(10),
      [&](const v1::WatchSweepResponse& update) {
        id = update.sweep().id();
        const absl::StatusOr<bool> changed = study.Take(update);
        stopped = changed.status();
        if (changed.ok() && *changed) {
          const absl::StatusOr<analysis::ScoreTable> table =
              ScoreTableOf(study.study(), metric, options);
          stopped = table.ok() ? on_change(*table, update.sweep()) : table.status();
        }
        return stopped.ok();
      },
      [&](const absl::Status&) {
        PrintNote(context, absl::StrCat("the coordinator at ", client.address(),
                                        " is away; waiting for it"));
      });
  CONCUR_RETURN_IF_ERROR(stopped);
  if (absl::IsCancelled(status)) {
    PrintNote(context,
              absl::StrCat("detached; the sweep goes on. To watch it again: concur matrix ", id,
                           " --watch"));
    return absl::CancelledError("interrupted");
  }
  return status;
}

}  // namespace concur::cli
