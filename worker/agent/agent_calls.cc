// SPDX-License-Identifier: Apache-2.0
// The agent's calls: when they are made and what they say.
#include <algorithm>
#include <string>
#include <utility>

#include "worker/agent/agent.h"

namespace concur::worker {
namespace {

constexpr size_t kLogBytesPerSyncMax = 1 << 20;

}  // namespace

void Agent::SyncIfNeeded() {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone || clock_.Now() < next_call_) {
    return;
  }
  LookForLogNews();
  dirty_ = dirty_ || clock_.Now() >= steps_.due();
  if (!call_.has_value()) {
    StartCall();
  } else if ((dirty_ || send_logs_) && !call_->immediate) {
    // Only a parked call is superseded. One that is answered at once is waited for, or a busy
    // worker would never take an answer.
    gateway_.CancelSync(call_->sequence);
    StartCall();
  }
}

void Agent::FillAttempts(SyncRequest& request, Call& call) const {
  size_t part_metrics = 0;
  for (const auto& [id, attempt] : attempts_) {
    // A finished one that finds no room, or whose reports do not, is said to be running; its turn
    // comes in a later Sync.
    if (attempt.state == State::kFinished && request.finished.size() < kSyncFinishedMax &&
        part_metrics < kSyncPartMetricsMax &&
        (steps_.HasAll(id, call.steps) || request.shutting_down)) {
      request.finished.push_back({id, attempt.result, attempt.checkpoint});
      part_metrics += PartMetricsOf(attempt.result);
      call.finished.push_back(id);
      call.immediate = call.immediate || !attempt.answered;
    } else if (id.job.IsService()) {
      request.services.push_back(
          {id, attempt.ready && attempt.state == State::kRunning && !attempt.stopped,
           attempt.gpu_mask});
    } else {
      request.running.push_back(id);
      if (attempt.of > 0) {
        request.progress.push_back({id, attempt.done, attempt.of});
      }
    }
  }
}

// A Sync with reports is answered at once: were they sent with every Sync, a job that reports all
// the time would make the worker call all the time.
bool Agent::StepsAreWanted() const {
  return clock_.Now() >= steps_.due() ||
         std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
           return entry.second.state == State::kFinished && !steps_.HasAll(entry.first, {});
         });
}

void Agent::LookForLogNews() {
  if (log_orders_.empty() || clock_.Now() < next_log_) {
    return;
  }
  next_log_ = clock_.Now() + options_.log_interval;
  for (const auto& [id, from] : log_orders_) {
    const auto it = attempts_.find(id);
    if (it != attempts_.end() && it->second.state == State::kRunning &&
        (!from.told || !executor_.ReadLog(id, from.offset, 1).empty())) {
      send_logs_ = true;
      return;
    }
  }
}

void Agent::FillLogs(SyncRequest& request, Call& call) {
  if (!send_logs_) {
    return;
  }
  send_logs_ = false;
  size_t bytes = 0;
  for (const auto& [id, from] : log_orders_) {
    const auto it = attempts_.find(id);
    if (it == attempts_.end() || it->second.state != State::kRunning ||
        bytes >= kLogBytesPerSyncMax || request.log_chunks.size() >= kSyncLogsMax) {
      continue;
    }
    std::string data = executor_.ReadLog(id, from.offset, kLogChunkBytesMax);
    if (!data.empty() || !from.told) {
      bytes += data.size();
      if (data.size() < kLogChunkBytesMax) {
        call.log_ends[id] = from.offset + static_cast<int64_t>(data.size());
      }
      request.log_chunks.push_back({id, from.offset, std::move(data)});
    }
  }
}

void Agent::StartCall() {
  Call call;
  call.sequence = ++sequence_;
  call.shutting_down = phase_ == Phase::kShuttingDown;
  call.send_time = clock_.Now();
  SyncRequest request;
  request.worker = options_.info;
  request.sequence = call.sequence;
  request.draining = draining();
  request.shutting_down = call.shutting_down;
  if (call.shutting_down || StepsAreWanted()) {
    call.steps = steps_.Fill(request.steps);
  }
  FillAttempts(request, call);
  FillLogs(request, call);
  call.immediate = call.immediate || call.shutting_down || !request.log_chunks.empty() ||
                   !request.steps.empty() || !connected_;
  // A parked call renews the lease when it arrives, not when it is answered.
  request.time_left = HandBackTime() - clock_.Now();
  request.wait = call.immediate ? absl::ZeroDuration() : std::min(options_.wait, lease_ / 3);
  call.deadline = clock_.Now() + request.wait + options_.call_timeout;
  gateway_.StartSync(request, request.wait + options_.call_timeout);
  call_ = std::move(call);
  dirty_ = false;
  gather_end_ = clock_.Now() + options_.gather;
}

}  // namespace concur::worker
