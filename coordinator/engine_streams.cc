// What turns leave on the board, and following logs: waits that a turn answers.
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

// A tap that nobody waits for is kept for a while: a follower asks again right after each answer.
constexpr absl::Duration kTapKept = absl::Seconds(30);

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

SweepNews Engine::NewsOf(SweepId id, std::vector<JobEvent> events) const {
  SweepNews news;
  news.id = id;
  const std::optional<SweepView> view = scheduler_->FindSweep(id);
  if (!view) {
    news.owner_use = scheduler_->UseOf(board_->OwnerOf(id));
    return news;
  }
  auto facts = std::make_shared<SweepFacts>();
  // All but the spec's bytes, which may be megabytes.
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
  facts->owner_use = view->owner_use;
  news.facts = std::move(facts);
  news.events = std::move(events);
  return news;
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
  std::vector<SweepNews> news;
  for (auto& [id, of_sweep] : events) {
    news.push_back(NewsOf(id, std::move(of_sweep)));
  }
  board_->Publish(std::move(news), now_);
}

void Engine::CancelWait(uint64_t ticket) {
  Post({[this, ticket](Scheduler&) {
          const absl::Status status = absl::CancelledError("the caller went away");
          if (const auto it = log_tickets_.find(ticket); it != log_tickets_.end()) {
            LogTap& tap = taps_[it->second];
            log_tickets_.erase(it);
            if (const auto waiter = tap.waiters.find(ticket); waiter != tap.waiters.end()) {
              LogDone done = std::move(waiter->second.second);
              tap.waiters.erase(waiter);
              if (tap.waiters.empty()) {
                tap.unused_since = now_;
              }
              done(status);
            }
          }
        },
        [] {}, [](const absl::Status&) {}, /*always=*/true});
}

// --- logs
// -----------------------------------------------------------------------------------------

uint64_t Engine::WaitForLog(JobId job, int64_t offset, LogDone done) {
  uint64_t ticket;
  {
    MutexLock lock(mutex_);
    ticket = next_ticket_++;
  }
  auto shared_done = std::make_shared<LogDone>(std::move(done));  // by work or by refusal
  // In the second step: an answer about an ended attempt must be durable.
  Post({[](Scheduler&) {},
        [this, ticket, job, offset, shared_done] {
          AnswerLog(ticket, job, offset, std::move(*shared_done));
        },
        [shared_done](absl::Status status) { (*shared_done)(std::move(status)); }});
  return ticket;
}

void Engine::AnswerLog(uint64_t ticket, JobId job, int64_t offset, LogDone done) {
  if (!scheduler_->HasJob(job)) {
    done(absl::NotFoundError(absl::StrCat("no job ", job.ToString())));
    return;
  }
  const JobView view = scheduler_->ViewJob(job);
  const AttemptId id{job, view.attempt};
  if (view.state == JobState::kRunning) {
    LogTap& tap = taps_[id];
    if (tap.data.empty() && tap.waiters.empty()) {
      tap.begin = offset;
      tap.asked = -1;
    }
    const int64_t end = tap.begin + static_cast<int64_t>(tap.data.size());
    if (offset < tap.begin) {  // an earlier piece than is kept: fetch the log anew
      tap.data.clear();
      tap.begin = offset;
      tap.asked = -1;
    } else if (offset < end) {
      LogBatch batch;
      batch.id = id;
      batch.offset = offset;
      batch.data = tap.data.substr(static_cast<size_t>(offset - tap.begin), kLogChunkBytesMax);
      done(std::move(batch));
      return;
    }
    tap.unused_since = absl::InfiniteFuture();
    tap.waiters[ticket] = {offset, std::move(done)};
    log_tickets_[ticket] = id;
    return;
  }
  LogBatch batch;
  batch.id = id;
  batch.ended = true;
  const auto log_of = [](const JobResult& result) {
    const ArtifactRef* log = FindArtifact(result, ArtifactKind::kLog);
    return log == nullptr ? Digest() : log->digest;
  };
  if (view.result != nullptr) {
    batch.artifact = log_of(*view.result);
  } else if (view.attempt.number > 0) {
    // Between attempts: the log of the last one that ended.
    const absl::StatusOr<std::vector<AttemptRow>> attempts = store_.ListAttempts(job);
    if (attempts.ok() && !attempts->empty()) {
      batch.id.attempt = attempts->back().attempt;
      batch.artifact = log_of(attempts->back().result);
    }
  } else {
    done(absl::FailedPreconditionError(
        absl::StrCat("job ", job.ToString(), " has not run: it is ", JobStateName(view.state))));
    return;
  }
  done(std::move(batch));
}

void Engine::TakeLogChunks(const SyncRequest& request) {
  for (const LogChunk& chunk : request.log_chunks) {
    const auto it = taps_.find(chunk.id);
    if (it == taps_.end()) {
      continue;
    }
    LogTap& tap = it->second;
    const int64_t end = tap.begin + static_cast<int64_t>(tap.data.size());
    if (chunk.offset > end) {
      continue;  // a gap: it is asked for again
    }
    const int64_t known = end - chunk.offset;
    if (known >= static_cast<int64_t>(chunk.data.size())) {
      continue;
    }
    tap.data.append(chunk.data, static_cast<size_t>(known));
    if (tap.data.size() > options_.log_window_bytes) {
      const size_t cut = tap.data.size() - options_.log_window_bytes;
      tap.data.erase(0, cut);
      tap.begin += static_cast<int64_t>(cut);
    }
  }
}

bool Engine::LogsAreDue(const std::string& worker) const {
  return std::any_of(taps_.begin(), taps_.end(), [&](const auto& entry) {
    const LogTap& tap = entry.second;
    return tap.asked != tap.begin + static_cast<int64_t>(tap.data.size()) &&
           WorkerOf(*scheduler_, entry.first) == worker;
  });
}

void Engine::AddLogOrders(const std::string& worker, SyncResponse& response) {
  for (auto& [id, tap] : taps_) {
    if (WorkerOf(*scheduler_, id) == worker) {
      tap.asked = tap.begin + static_cast<int64_t>(tap.data.size());
      response.logs.push_back({id, tap.asked});
    }
  }
}

// Answers followers that have news, and drops taps of attempts that ended or that nobody follows.
void Engine::ExpireTaps() {
  struct Answer {
    uint64_t ticket;
    JobId job;
    int64_t offset;
    LogDone done;
  };
  std::vector<Answer> answers;
  for (auto it = taps_.begin(); it != taps_.end();) {
    auto& [id, tap] = *it;
    const bool running = WorkerOf(*scheduler_, id).has_value();
    const int64_t end = tap.begin + static_cast<int64_t>(tap.data.size());
    for (auto waiter = tap.waiters.begin(); waiter != tap.waiters.end();) {
      if (!running || waiter->second.first < end) {
        answers.push_back(
            {waiter->first, id.job, waiter->second.first, std::move(waiter->second.second)});
        log_tickets_.erase(waiter->first);
        waiter = tap.waiters.erase(waiter);
      } else {
        ++waiter;
      }
    }
    if (tap.waiters.empty() && tap.unused_since == absl::InfiniteFuture()) {
      tap.unused_since = now_;
    }
    if (!running || (tap.waiters.empty() && now_ - tap.unused_since > kTapKept)) {
      it = taps_.erase(it);
    } else {
      ++it;
    }
  }
  for (Answer& answer : answers) {
    AnswerLog(answer.ticket, answer.job, answer.offset, std::move(answer.done));
  }
}

}  // namespace concur
