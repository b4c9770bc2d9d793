// SPDX-License-Identifier: Apache-2.0
// Checkpoints: what an attempt left is saved with its end, given to the next attempt of the same
// job and to no other, and goes when the job ends. That a restart keeps it is checked with all
// rows.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/sim/checker.h"

namespace concur::sim {

void Checker::CheckCheckpoint(const JobRow& row) {
  if (!row.checkpoint) {
    return;
  }
  if (IsTerminal(row.state)) {
    world_.Fail(absl::StrCat("job ", row.id.ToString(), " has ended as ", JobStateName(row.state),
                             " and keeps a checkpoint"));
  }
  const auto left = checkpoints_.find(row.checkpoint->digest);
  if (left == checkpoints_.end() || left->second.job != row.id ||
      left->second.attempt.number != row.checkpoint->attempt) {
    world_.Fail(absl::StrCat("the checkpoint saved for job ", row.id.ToString(),
                             " is not one that its attempt ", row.checkpoint->attempt, " left"));
  }
  const auto before = rows_.find(row.id);
  const bool is_new = before == rows_.end() || before->second.checkpoint != row.checkpoint;
  if (is_new && !has_artifact_(row.checkpoint->digest)) {
    world_.Fail(absl::StrCat("the checkpoint of job ", row.id.ToString(),
                             " was saved before it was stored"));
  }
}

// REQUIRES: the rows of the commit are known.
void Checker::CheckCheckpointTaken(const AttemptRow& row) {
  const auto job = rows_.find(row.id);
  const auto reports = reports_.find({row.id, row.attempt});
  // Nothing of an attempt goes to one that has begun before its end.
  if (job == rows_.end() || reports == reports_.end() || job->second.attempt != row.attempt ||
      IsTerminal(job->second.state) || IsBeingRetried(row.id.sweep) ||
      row.result.failure != FailureClass::kPreempted) {
    return;
  }
  // The end of an attempt may be reported again when its artifacts have been handed in.
  const auto report = std::find_if(
      reports->second.begin(), reports->second.end(),
      [&](const FinishedAttempt& one) { return one.checkpoint && one.result == row.result; });
  if (report != reports->second.end() &&
      (!job->second.checkpoint || job->second.checkpoint->digest != report->checkpoint->digest)) {
    world_.Fail(absl::StrCat("the end of ", AttemptId{row.id, row.attempt}.ToString(),
                             " was saved without the checkpoint that it left"));
  }
}

void Checker::CheckCheckpointOrdered(const JobOrder& order) {
  const auto row = rows_.find(order.id.job);
  if (row == rows_.end()) {
    return;  // its sweep was deleted in this turn
  }
  resumed_ += order.checkpoint ? 1 : 0;
  if (order.checkpoint != row->second.checkpoint) {
    world_.Fail(
        absl::StrCat(order.id.ToString(), " is to go on from a checkpoint that is not the job's"));
  }
  if (order.checkpoint && !has_artifact_(order.checkpoint->digest)) {
    // A worker that cannot read it begins the job anew, and nobody would notice.
    world_.Fail(
        absl::StrCat(order.id.ToString(), " is to go on from a checkpoint that is not stored"));
  }
}

// The refused result of an attempt that early_stop paused has left its checkpoint.
void Checker::CheckPauseTaken(const AttemptId& id) {
  const auto row = rows_.find(id.job);
  const auto reports = reports_.find(id);
  const auto planned = planned_.find(id.job.sweep);
  if (row == rows_.end() || reports == reports_.end() || planned == planned_.end() ||
      reports->second.size() != 1 || !reports->second[0].checkpoint ||
      row->second.attempt != id.attempt || row->second.state != JobState::kBlocked ||
      counted_.contains(id) ||  // it was taken before, and the job is retried
      MayBeCanceled(id.job) || once_canceled_.contains(id.job.sweep) ||
      !workload_.sweeps[planned->second].expansion->spec().early_stop) {
    return;
  }
  const Digest& left = reports->second[0].checkpoint->digest;
  if (!row->second.checkpoint || row->second.checkpoint->digest != left) {
    world_.Fail(absl::StrCat("the checkpoint of ", id.ToString(), " was dropped with its result"));
  }
}

}  // namespace concur::sim
