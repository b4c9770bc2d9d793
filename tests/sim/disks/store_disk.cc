// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/disks/store_disk.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"

namespace concur::sim {
namespace {

constexpr absl::Duration kStoreFullMax = absl::Seconds(20);

// Applies the injected bug to a batch.
Batch Spoil(Batch batch, Bug bug) {
  if (bug == Bug::kCancelNotSaved) {
    for (SweepRow& row : batch.put_sweeps) {
      row.canceled = false;
    }
  } else if (bug == Bug::kJobCancelNotSaved) {
    for (JobRow& row : batch.put_jobs) {
      row.state = row.state == JobState::kCanceled ? JobState::kReady : row.state;
    }
  } else if (bug == Bug::kAmountNotSaved && batch.put_sweeps.empty()) {  // but the first ones
    batch.put_resources.clear();
  } else if (bug == Bug::kRequestIdNotSaved) {
    for (SweepRow& row : batch.put_sweeps) {
      row.request_id.clear();
    }
  } else if (bug == Bug::kImportNotWhole && !batch.put_results.empty()) {
    const JobId last = batch.put_results.back().id;
    for (JobRow& row : batch.put_jobs) {
      if (row.id == last && row.attempt.number == 0 && !row.reused_from) {  // never ran
        row.state = JobState::kCanceled;
        batch.put_results.pop_back();
      }
    }
  } else if (bug == Bug::kChoiceNotSaved) {
    for (SweepRow& row : batch.put_sweeps) {
      row.spec = row.spec.substr(0, row.spec.find(' '));
    }
  } else if (bug == Bug::kRungNotSaved) {
    for (JobRow& row : batch.put_jobs) {
      row.rung = 0;
    }
  } else if (bug == Bug::kCheckpointNotSaved) {
    for (JobRow& row : batch.put_jobs) {
      row.checkpoint.reset();
    }
  } else if (bug == Bug::kStopNotSaved) {
    for (JobRow& row : batch.put_jobs) {
      row.state = row.state == JobState::kStopped ? JobState::kBlocked : row.state;
    }
  } else if (bug == Bug::kStepNotSaved && !batch.put_steps.empty()) {
    batch.put_steps.pop_back();
  } else if (bug == Bug::kSpentNotSaved && !batch.put_spent.empty()) {
    batch.put_spent.pop_back();
  } else if (bug == Bug::kAttemptNotSaved) {
    for (JobRow& row : batch.put_jobs) {
      row.attempt.number -= row.attempt.number > 1 ? 1 : 0;
    }
  }
  return batch;
}

}  // namespace

class MemoryStoreDisk::Session : public Store {
 public:
  explicit Session(MemoryStoreDisk& disk) : disk_(disk) {}
  absl::StatusOr<Snapshot> Load() override { return disk_.Load(); }
  absl::Status Commit(const Batch& batch) override { return disk_.Commit(batch); }
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override {
    return disk_.written_.ListAttempts(job);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override {
    return disk_.written_.ListSweepAttempts(sweep);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override {
    return disk_.written_.ListServiceUse(sweep);
  }
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override {
    if (disk_.world_.bug() == Bug::kScoresForgotten) {
      return std::vector<StepRow>();
    }
    return disk_.written_.ListSteps(job);
  }

 private:
  MemoryStoreDisk& disk_;
};

absl::StatusOr<std::unique_ptr<Store>> MemoryStoreDisk::Open() {
  return std::unique_ptr<Store>(new Session(*this));
}

absl::Status MemoryStoreDisk::Fault(absl::Status status) {
  took_fault_ = true;
  return status;
}

absl::StatusOr<Snapshot> MemoryStoreDisk::Load() {
  if (world_.Strikes(Fault::kReadError)) {
    return Fault(absl::DataLossError("concur.db: read: input/output error"));
  }
  CONCUR_ASSIGN_OR_RETURN(Snapshot snapshot, written_.Load());
  if (world_.bug() == Bug::kQuarantineForgotten) {
    for (WorkerRow& row : snapshot.workers) {
      row.quarantine_end = absl::InfinitePast();
      row.quarantine_reason.clear();
    }
  } else if (world_.bug() == Bug::kBlameForgotten) {
    snapshot.blames.clear();
  } else if (world_.bug() == Bug::kStepsForgotten) {
    snapshot.steps.clear();
  } else if (world_.bug() == Bug::kBudgetForgotten) {
    for (SweepRow& row : snapshot.sweeps) {
      row.budget_usd_micros = kSpentMax;
      row.over_budget = false;
    }
  } else if (world_.bug() == Bug::kRetryHalfDone) {
    for (SweepRow& row : snapshot.sweeps) {
      row.retry.reset();
    }
  }
  for (JobRow& row : snapshot.jobs) {
    if (world_.bug() == Bug::kDeathsForgotten) {
      row.deaths = 0;
      row.death_shared = false;
    }
    const bool counted = row.state == JobState::kReady && row.failure != FailureClass::kNone &&
                         row.failure != FailureClass::kLost;
    if (world_.bug() == Bug::kRunningNotRequeued && row.state == JobState::kRunning) {
      row.state = JobState::kSkipped;
    } else if (world_.bug() == Bug::kCountedAgain && (counted || row.state == JobState::kBackoff)) {
      CONCUR_ASSIGN_OR_RETURN(const auto attempts, written_.ListAttempts(row.id));
      row.state = JobState::kReady;
      row.failure = FailureClass::kNone;
      row.worker = attempts.empty() ? "" : attempts.back().worker;
      row.incarnation = row.worker.empty() ? "" : "unknown";
    }
  }
  return snapshot;
}

absl::Status MemoryStoreDisk::Commit(const Batch& batch) {
  if (world_.now() < full_until_ || world_.Strikes(Fault::kDiskFull)) {
    if (full_until_ <= world_.now()) {
      full_until_ = world_.now() + world_.Between(absl::ZeroDuration(), kStoreFullMax);
    }
    return Fault(absl::ResourceExhaustedError("concur.db: no space left on device"));
  }
  if (world_.Strikes(Fault::kCommitLost)) {
    return Fault(absl::UnknownError("killed before the commit"));
  }
  Batch saved = Spoil(batch, world_.bug());
  if (world_.Strikes(Fault::kCommitTorn)) {
    power_is_cut_ = true;
    if (world_.bug() == Bug::kCommitNotAtomic) {
      saved.put_results.clear();
      CONCUR_CHECK_OK(synced_.Commit(saved));
    } else if (world_.random().Chance(0.5)) {  // the log's last frame was complete
      CONCUR_CHECK_OK(synced_.Commit(saved));
    }
    return Fault(absl::UnavailableError("the power is cut"));
  }
  CONCUR_CHECK_OK(written_.Commit(saved));
  if (world_.bug() != Bug::kCommitNotSynced) {
    CONCUR_CHECK_OK(synced_.Commit(saved));
  } else if (world_.random().Chance(0.3)) {
    synced_ = written_;
  }
  if (world_.Strikes(Fault::kCommitUnanswered)) {
    return Fault(absl::UnknownError("killed after the commit"));
  }
  return absl::OkStatus();
}

void MemoryStoreDisk::Restart(bool power_cut) {
  if (power_cut || power_is_cut_) {
    written_ = synced_;
  }
  power_is_cut_ = false;
}

}  // namespace concur::sim
