// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/followed_logs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/sync/sync.h"

namespace concur {
namespace {

// A log that nobody waits for is kept for a while: a follower asks again right after each answer.
constexpr absl::Duration kFollowedLogKept = absl::Seconds(30);

std::optional<std::string> WorkerOf(const Scheduler& scheduler, AttemptId id) {
  if (!scheduler.views().HasJob(id.job)) {
    return std::nullopt;
  }
  const JobView job = scheduler.views().ViewJob(id.job);
  if (job.state != JobState::kRunning || job.attempt != id.attempt) {
    return std::nullopt;
  }
  return job.worker;
}

}  // namespace

void FollowedLogs::Answer(const Scheduler& scheduler, absl::Time now, uint64_t ticket,
                          LogWait wait) {
  if (!scheduler.views().HasJob(wait.job)) {
    wait.done(absl::NotFoundError(absl::StrCat("no job ", wait.job.ToString())));
    return;
  }
  const JobView view = scheduler.views().ViewJob(wait.job);
  // Once it is followed, an attempt is read to its own end, whatever runs by then.
  const AttemptId id{wait.job, wait.attempt.number > 0 ? wait.attempt : view.attempt};
  if (view.state == JobState::kRunning && view.attempt == id.attempt) {
    FollowedLog& log = logs_[id];
    const bool is_unused = log.data.empty() && log.waiters.empty();
    // Before the window that is kept: fetch the log again.
    if (wait.offset < log.begin || (is_unused && wait.offset != log.begin)) {
      log.data.clear();
      log.begin = wait.offset;
      log.asked = -1;
      log.at_end = false;
    }
    const int64_t end = log.begin + static_cast<int64_t>(log.data.size());
    if (wait.offset < end || (log.at_end && !wait.follow)) {
      LogBatch batch;
      batch.id = id;
      batch.offset = wait.offset;
      if (wait.offset < end) {
        batch.data =
            log.data.substr(static_cast<size_t>(wait.offset - log.begin), kLogChunkBytesMax);
      }
      if (log.waiters.empty()) {
        log.unused_since = now;
      }
      wait.done(std::move(batch));
      return;
    }
    log.unused_since = absl::InfiniteFuture();
    wait.attempt = id.attempt;
    log.waiters[ticket] = std::move(wait);
    tickets_[ticket] = id;
    return;
  }
  LogBatch batch;
  batch.id = id;
  batch.ended = true;
  const auto log_of = [](const JobResult& result) {
    const ArtifactRef* artifact = FindArtifact(result, ArtifactKind::kLog);
    return artifact == nullptr ? Digest() : artifact->digest;
  };
  if (view.result != nullptr && view.attempt == id.attempt) {
    batch.artifact = log_of(*view.result);
  } else if (view.attempt.number > 0) {
    // One that ended: between attempts the last one, unless one is asked for.
    const absl::StatusOr<std::vector<AttemptRow>> attempts = store_.ListAttempts(wait.job);
    if (attempts.ok()) {
      const auto row = std::find_if(attempts->rbegin(), attempts->rend(), [&](const auto& ended) {
        return wait.attempt.number == 0 || ended.attempt == wait.attempt;
      });
      if (row != attempts->rend()) {
        batch.id.attempt = row->attempt;
        batch.artifact = log_of(row->result);
      }
    }
  } else {
    wait.done(absl::FailedPreconditionError(absl::StrCat(
        "job ", wait.job.ToString(), " has not run: it is ", JobStateName(view.state))));
    return;
  }
  wait.done(std::move(batch));
}

void FollowedLogs::TakeChunks(const SyncRequest& request) {
  for (const LogChunk& chunk : request.log_chunks) {
    const auto it = logs_.find(chunk.id);
    if (it == logs_.end()) {
      continue;
    }
    FollowedLog& log = it->second;
    const int64_t end = log.begin + static_cast<int64_t>(log.data.size());
    if (chunk.offset > end) {
      continue;  // a gap: the missing part is requested again
    }
    const int64_t known = end - chunk.offset;
    if (known <= static_cast<int64_t>(chunk.data.size())) {
      log.at_end = chunk.data.size() < kLogChunkBytesMax;
    }
    if (known >= static_cast<int64_t>(chunk.data.size())) {
      continue;
    }
    log.data.append(chunk.data, static_cast<size_t>(known));
    if (log.data.size() > window_bytes_) {
      const size_t cut = log.data.size() - window_bytes_;
      log.data.erase(0, cut);
      log.begin += static_cast<int64_t>(cut);
    }
  }
}

bool FollowedLogs::AreDue(const Scheduler& scheduler, const std::string& worker) const {
  return std::any_of(logs_.begin(), logs_.end(), [&](const auto& entry) {
    const FollowedLog& log = entry.second;
    return log.asked != log.begin + static_cast<int64_t>(log.data.size()) &&
           WorkerOf(scheduler, entry.first) == worker;
  });
}

void FollowedLogs::AddOrders(const Scheduler& scheduler, const std::string& worker,
                             SyncResponse& response) {
  for (auto& [id, log] : logs_) {
    if (WorkerOf(scheduler, id) == worker) {
      log.asked = log.begin + static_cast<int64_t>(log.data.size());
      response.logs.push_back({id, log.asked});
    }
  }
}

void FollowedLogs::AnswerAll(const Scheduler& scheduler, absl::Time now) {
  std::vector<std::pair<uint64_t, LogWait>> answers;
  for (auto it = logs_.begin(); it != logs_.end();) {
    auto& [id, log] = *it;
    const bool running = WorkerOf(scheduler, id).has_value();
    const int64_t end = log.begin + static_cast<int64_t>(log.data.size());
    for (auto waiter = log.waiters.begin(); waiter != log.waiters.end();) {
      if (!running || waiter->second.offset < end || (log.at_end && !waiter->second.follow)) {
        answers.emplace_back(waiter->first, std::move(waiter->second));
        tickets_.erase(waiter->first);
        waiter = log.waiters.erase(waiter);
      } else {
        ++waiter;
      }
    }
    if (log.waiters.empty() && log.unused_since == absl::InfiniteFuture()) {
      log.unused_since = now;
    }
    if (!running || (log.waiters.empty() && now - log.unused_since > kFollowedLogKept)) {
      it = logs_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& [ticket, wait] : answers) {
    Answer(scheduler, now, ticket, std::move(wait));
  }
}

void FollowedLogs::Cancel(absl::Time now, uint64_t ticket) {
  const auto it = tickets_.find(ticket);
  if (it == tickets_.end()) {
    return;
  }
  FollowedLog& log = logs_[it->second];
  tickets_.erase(it);
  if (const auto waiter = log.waiters.find(ticket); waiter != log.waiters.end()) {
    LogDone done = std::move(waiter->second.done);
    log.waiters.erase(waiter);
    if (log.waiters.empty()) {
      log.unused_since = now;
    }
    done(absl::CancelledError("the caller went away"));
  }
}

void FollowedLogs::RefuseAll(const absl::Status& status) {
  for (auto& [id, log] : std::exchange(logs_, {})) {
    for (auto& [ticket, waiter] : log.waiters) {
      waiter.done(status);
    }
  }
}

}  // namespace concur
