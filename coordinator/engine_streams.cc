// SPDX-License-Identifier: Apache-2.0
// What a turn publishes on the board, and the logs that clients follow.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/engine.h"

namespace concur {
namespace {

// A log that nobody waits for is kept for a while: a follower asks again right after each answer.
constexpr absl::Duration kFollowedLogKept = absl::Seconds(30);

std::optional<std::string> WorkerOf(const Scheduler& scheduler, AttemptId id) {
  if (!scheduler.HasJob(id.job)) {
    return std::nullopt;
  }
  const JobView job = scheduler.ViewJob(id.job);
  if (job.state != JobState::kRunning || job.attempt != id.attempt) {
    return std::nullopt;
  }
  return job.worker;
}

}  // namespace

// --- sweeps
// ---------------------------------------------------------------------------------------

SweepUpdate Engine::UpdateOf(SweepId id, std::vector<JobEvent> events) const {
  SweepUpdate update;
  update.id = id;
  const std::optional<SweepView> view = scheduler_->FindSweep(id);
  if (!view) {
    if (const std::shared_ptr<const SweepFacts> deleted = board_->FactsOf(id)) {
      update.owner_use = scheduler_->UseOf(deleted->row.owner);
    }
    return update;
  }
  auto facts = std::make_shared<SweepFacts>();
  // Everything except the spec's bytes, which may be megabytes.
  facts->row.id = id;
  facts->row.owner = view->row->owner;
  facts->row.name = view->row->name;
  facts->row.create_time = view->row->create_time;
  facts->row.paused = view->row->paused;
  facts->row.canceled = view->row->canceled;
  facts->row.end_time = view->row->end_time;
  facts->row.forecast = view->row->forecast;
  facts->expansion = scheduler_->SharedExpansion(id);
  facts->state = view->state;
  facts->counts = view->counts;
  facts->reused = view->reused;
  facts->queued = view->queued;
  facts->owner_use = view->owner_use;
  update.facts = std::move(facts);
  update.events = std::move(events);
  return update;
}

void Engine::Publish(Effects effects) {
  absl::btree_map<SweepId, std::vector<JobEvent>> events;
  for (const SweepId& id : effects.changed_sweeps) {
    events[id];
  }
  for (JobEvent& event : effects.events) {
    events[event.id.sweep].push_back(std::move(event));
  }
  if (events.empty()) {
    return;
  }
  std::vector<SweepUpdate> updates;
  for (auto& [id, of_sweep] : events) {
    updates.push_back(UpdateOf(id, std::move(of_sweep)));
  }
  board_->Publish(std::move(updates), now_);
}

void Engine::CancelWait(uint64_t ticket) {
  // In the same part of a turn as waits are parked, which come before it in the inbox.
  Post({[](Scheduler&) {},
        [this, ticket] {
          const absl::Status status = absl::CancelledError("the caller went away");
          if (const auto it = log_tickets_.find(ticket); it != log_tickets_.end()) {
            FollowedLog& log = followed_logs_[it->second];
            log_tickets_.erase(it);
            if (const auto waiter = log.waiters.find(ticket); waiter != log.waiters.end()) {
              LogDone done = std::move(waiter->second.done);
              log.waiters.erase(waiter);
              if (log.waiters.empty()) {
                log.unused_since = now_;
              }
              done(status);
            }
          }
        },
        [](const absl::Status&) {}, /*always=*/true});
}

// --- logs
// -----------------------------------------------------------------------------------------

uint64_t Engine::WaitForLog(JobId job, Attempt attempt, int64_t offset, bool follow, LogDone done) {
  uint64_t ticket;
  {
    MutexLock lock(mutex_);
    ticket = next_ticket_++;
  }
  auto shared_done = std::make_shared<LogDone>(std::move(done));  // of the answer and the refusal
  // After the commit: an answer about an ended attempt must be durable.
  Post({[](Scheduler&) {},
        [this, ticket, job, attempt, offset, follow, shared_done] {
          AnswerLog(ticket, {job, attempt, offset, follow, std::move(*shared_done)});
        },
        [shared_done](absl::Status status) { (*shared_done)(std::move(status)); }});
  return ticket;
}

void Engine::AnswerLog(uint64_t ticket, LogWait wait) {
  if (!scheduler_->HasJob(wait.job)) {
    wait.done(absl::NotFoundError(absl::StrCat("no job ", wait.job.ToString())));
    return;
  }
  const JobView view = scheduler_->ViewJob(wait.job);
  // Once it is followed, an attempt is read to its own end, whatever runs by then.
  const AttemptId id{wait.job, wait.attempt.number > 0 ? wait.attempt : view.attempt};
  if (view.state == JobState::kRunning && view.attempt == id.attempt) {
    FollowedLog& log = followed_logs_[id];
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
        log.unused_since = now_;
      }
      wait.done(std::move(batch));
      return;
    }
    log.unused_since = absl::InfiniteFuture();
    wait.attempt = id.attempt;
    log.waiters[ticket] = std::move(wait);
    log_tickets_[ticket] = id;
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

void Engine::TakeLogChunks(const SyncRequest& request) {
  for (const LogChunk& chunk : request.log_chunks) {
    const auto it = followed_logs_.find(chunk.id);
    if (it == followed_logs_.end()) {
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
    if (log.data.size() > options_.log_window_bytes) {
      const size_t cut = log.data.size() - options_.log_window_bytes;
      log.data.erase(0, cut);
      log.begin += static_cast<int64_t>(cut);
    }
  }
}

bool Engine::LogsAreDue(const std::string& worker) const {
  return std::any_of(followed_logs_.begin(), followed_logs_.end(), [&](const auto& entry) {
    const FollowedLog& log = entry.second;
    return log.asked != log.begin + static_cast<int64_t>(log.data.size()) &&
           WorkerOf(*scheduler_, entry.first) == worker;
  });
}

void Engine::AddLogOrders(const std::string& worker, SyncResponse& response) {
  for (auto& [id, log] : followed_logs_) {
    if (WorkerOf(*scheduler_, id) == worker) {
      log.asked = log.begin + static_cast<int64_t>(log.data.size());
      response.logs.push_back({id, log.asked});
    }
  }
}

// Answers the waits for which there are new bytes, and drops the logs of attempts that have ended
// or that nobody follows.
void Engine::AnswerFollowers() {
  std::vector<std::pair<uint64_t, LogWait>> answers;
  for (auto it = followed_logs_.begin(); it != followed_logs_.end();) {
    auto& [id, log] = *it;
    const bool running = WorkerOf(*scheduler_, id).has_value();
    const int64_t end = log.begin + static_cast<int64_t>(log.data.size());
    for (auto waiter = log.waiters.begin(); waiter != log.waiters.end();) {
      if (!running || waiter->second.offset < end || (log.at_end && !waiter->second.follow)) {
        answers.emplace_back(waiter->first, std::move(waiter->second));
        log_tickets_.erase(waiter->first);
        waiter = log.waiters.erase(waiter);
      } else {
        ++waiter;
      }
    }
    if (log.waiters.empty() && log.unused_since == absl::InfiniteFuture()) {
      log.unused_since = now_;
    }
    if (!running || (log.waiters.empty() && now_ - log.unused_since > kFollowedLogKept)) {
      it = followed_logs_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& [ticket, wait] : answers) {
    AnswerLog(ticket, std::move(wait));
  }
}

}  // namespace concur
