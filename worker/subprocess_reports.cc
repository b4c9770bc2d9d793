// SPDX-License-Identifier: Apache-2.0
// What the executor reports: steps of attempts, and their ends, whose artifacts are made durable
// together.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "worker/finish.h"
#include "worker/subprocess_executor.h"

namespace concur::worker {

void SubprocessExecutor::Report(ExecutorReport report, bool is_synced) {
  bool is_first = false;
  {
    MutexLock lock(mu_);
    is_first = reports_.empty();
    reports_.push_back({std::move(report), is_synced});
  }
  if (is_first) {
    on_report_();  // later ones come with it
  }
}

void SubprocessExecutor::ReportStep(AttemptStep step) {
  bool is_first = false;
  {
    MutexLock lock(mu_);
    is_first = steps_.empty();
    steps_.push_back(std::move(step));
  }
  if (is_first) {
    on_report_();
  }
}

std::vector<AttemptStep> SubprocessExecutor::PollSteps() {
  MutexLock lock(mu_);
  return std::exchange(steps_, {});
}

std::vector<ExecutorReport> SubprocessExecutor::Poll() {
  std::vector<Pending> pending;
  {
    MutexLock lock(mu_);
    pending.swap(reports_);
  }
  const bool all_synced =
      std::all_of(pending.begin(), pending.end(), [](const Pending& one) { return one.is_synced; });
  // One sync for all results that came since the last turn.
  const absl::Status synced = all_synced ? absl::OkStatus() : artifacts_->Sync();
  std::vector<ExecutorReport> reports;
  reports.reserve(pending.size());
  for (Pending& one : pending) {
    if (!one.is_synced && !synced.ok()) {
      JobResult& result = one.report.finished.result;
      result = WithoutArtifacts(result, "made durable", synced);
      one.report.published = true;
    }
    reports.push_back(std::move(one.report));
  }
  return reports;
}

}  // namespace concur::worker
