// SPDX-License-Identifier: Apache-2.0
// Reports of the executor: steps of attempts, and their ends, whose artifacts are made durable
// together.
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "store/artifacts/directory_store.h"
#include "worker/execution/finish.h"
#include "worker/execution/subprocess_executor.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {

void SubprocessExecutor::Report(ExecutorReport report, Artifacts::PutStart start) {
  bool is_first = false;
  {
    MutexLock lock(mu_);
    is_first = reports_.empty();
    reports_.push_back({std::move(report), std::move(start)});
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
  std::shared_ptr<DirectoryStore> store;
  absl::Status synced;
  std::vector<ExecutorReport> reports;
  reports.reserve(pending.size());
  for (Pending& one : pending) {
    if (one.start.store != nullptr && one.start.store != store) {
      store = one.start.store;
      synced = store->Sync();  // one for all results that came since the last turn
    }
    if (one.start.store != nullptr && store->failed_syncs() != one.start.failed_syncs) {
      JobResult& result = one.report.finished.result;
      result = AfterFailedSync(std::move(result), synced);
      one.report.published = one.report.published || DigestsOf(one.report.finished).empty();
    }
    reports.push_back(std::move(one.report));
  }
  return reports;
}

}  // namespace concur::worker
