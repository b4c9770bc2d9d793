// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/engine.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "core/scheduler/reason_text.h"
#include "core/sync/job_order.h"

namespace concur {
namespace {

// Between attempts to commit to a full disk.
constexpr absl::Duration kStallWaitMin = absl::Milliseconds(250);
constexpr absl::Duration kStallWaitMax = absl::Seconds(5);

SweepUpdate UpdateOf(const Scheduler& scheduler, const SweepBoard& board, SweepId id,
                     std::vector<JobEvent> events) {
  SweepUpdate update;
  update.id = id;
  const std::optional<SweepView> view = scheduler.views().FindSweep(id);
  if (!view) {
    if (const std::shared_ptr<const SweepFacts> deleted = board.FactsOf(id)) {
      update.owner_use = scheduler.views().owners().UseOf(deleted->row.owner);
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
  facts->row.priority = view->row->priority;
  facts->row.budget_usd_micros = view->row->budget_usd_micros;
  facts->row.over_budget = view->row->over_budget;
  facts->expansion = scheduler.views().SharedExpansion(id);
  facts->state = view->state;
  facts->counts = view->counts;
  facts->reused = view->reused;
  facts->queued = view->queued;
  facts->running_done = view->running_done;
  facts->owner_use = view->owner_use;
  facts->spent = view->spent;
  update.facts = std::move(facts);
  update.events = std::move(events);
  return update;
}

std::vector<SweepUpdate> UpdatesOf(const Scheduler& scheduler, const SweepBoard& board,
                                   Effects effects) {
  absl::btree_map<SweepId, std::vector<JobEvent>> events;
  for (const SweepId& id : effects.changed_sweeps) {
    events[id];
  }
  for (JobEvent& event : effects.events) {
    events[event.id.sweep].push_back(std::move(event));
  }
  std::vector<SweepUpdate> updates;
  for (auto& [id, of_sweep] : events) {
    updates.push_back(UpdateOf(scheduler, board, id, std::move(of_sweep)));
  }
  return updates;
}

struct LoadedState {
  Snapshot snapshot;
  std::vector<std::shared_ptr<const Expansion>> expansions;  // one for each of its sweeps
  SweepBook::LeftOuts left_out;
};

// Loads the store's sweeps, as far as there is memory for them.
absl::StatusOr<LoadedState> LoadState(Store& store, const Engine::SpecDecoder& decode,
                                      int64_t job_memory_max) {
  LoadedState loaded;
  absl::Status status;
  const auto choose = [&](const std::vector<SweepRow>& rows) {
    std::vector<std::shared_ptr<const Expansion>> expansions;
    for (const SweepRow& row : rows) {
      absl::StatusOr<SweepSpec> spec = decode(row.spec);
      absl::StatusOr<Expansion> expansion =
          spec.ok() ? Expansion::Make(*std::move(spec)) : spec.status();
      if (!expansion.ok()) {
        status = absl::DataLossError(absl::StrCat("the stored spec of sweep ", row.id.ToString(),
                                                  " is damaged: ", expansion.status().message()));
        absl::btree_set<SweepId> all;  // none is loaded for nothing
        for (const SweepRow& each : rows) {
          all.insert(each.id);
        }
        return all;
      }
      expansions.push_back(std::make_shared<const Expansion>(*std::move(expansion)));
    }
    absl::btree_set<SweepId> ids = SweepBook::ChooseLeftOut(job_memory_max, rows, expansions);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (ids.contains(rows[i].id)) {
        SweepBook::LeftOut& left = loaded.left_out[rows[i].id];
        left = {rows[i], std::move(expansions[i])};
        left.row.spec.clear();
      } else {
        loaded.expansions.push_back(std::move(expansions[i]));
      }
    }
    return ids;
  };
  CONCUR_ASSIGN_OR_RETURN(loaded.snapshot, store.LoadPart(choose));
  CONCUR_RETURN_IF_ERROR(status);
  return loaded;
}

// The pools' part in why a job waits for a worker.
std::string ExplainPools(const Scheduler& scheduler, const Pools& pools, JobId job) {
  if (scheduler.views().ViewJob(job).state != JobState::kReady) {
    return "";
  }
  const Expansion& expansion = *scheduler.views().FindSweep(job.sweep)->expansion;
  const JobCoordinates at = expansion.Locate(job.index);
  const Block& block = expansion.blocks()[at.block];
  const ApproachSpec& approach = expansion.spec().approaches[block.approach];
  const std::string text = ReasonText(pools.ReasonFor(
      at.is_train ? approach.train_resources : approach.predict_resources,
      expansion.LabelsOf(block, at.is_train ? std::nullopt : std::optional(at.test_benchmark))));
  return text.empty() ? "" : absl::StrCat("; ", text);
}

}  // namespace

Engine::Engine(Clock& clock, Store& store, EngineOptions options)
    : clock_(clock),
      store_(store),
      options_(std::move(options)),
      pools_(options_.pools_policy),
      now_(clock.Now()),
      last_turn_{now_, now_},
      logs_(store_, options_.log_window_bytes) {
  // A new epoch with every start, because the changes that cursors number are not stored.
  board_ = std::make_unique<SweepBoard>(clock_, options_.board,
                                        absl::StrCat(absl::Hex(absl::ToUnixMicros(now_))));
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(Clock& clock, Store& store,
                                                       const SpecDecoder& decode,
                                                       EngineOptions options) {
  CONCUR_ASSIGN_OR_RETURN(auto loaded, LoadState(store, decode, options.policy.job_memory_max));
  auto& [snapshot, expansions, left_out] = loaded;
  CONCUR_RETURN_IF_ERROR(AddReports(store, expansions, snapshot));
  auto engine = std::unique_ptr<Engine>(new Engine(clock, store, std::move(options)));
  for (const PoolSpec& pool : engine->options_.pools) {
    CONCUR_RETURN_IF_ERROR(engine->pools_.AddFromOptions(pool));
  }
  CONCUR_RETURN_IF_ERROR(
      engine->pools_.Restore(snapshot, engine->options_.decode_pool, engine->now_));
  CONCUR_ASSIGN_OR_RETURN(
      engine->scheduler_,
      Scheduler::Restore(engine->options_.policy, std::move(snapshot), std::move(expansions),
                         engine->now_, std::move(left_out)));
  std::vector<SweepUpdate> updates;
  for (const SweepId& id : engine->scheduler_->views().ListSweeps()) {
    updates.push_back(UpdateOf(*engine->scheduler_, *engine->board_, id, {}));
  }
  for (const auto& [id, left] : engine->scheduler_->views().left_out()) {
    auto facts = std::make_shared<SweepFacts>();
    facts->row = left.row;
    facts->expansion = left.expansion;
    facts->load_status = engine->scheduler_->views().CheckLoaded(id);
    facts->owner_use = engine->scheduler_->views().owners().UseOf(left.row.owner);
    SweepUpdate& update = updates.emplace_back();
    update.id = id;
    update.owner_use = facts->owner_use;
    update.facts = std::move(facts);
  }
  if (const SweepBook::LeftOuts& left = engine->scheduler_->views().left_out(); !left.empty()) {
    LogWarning(
        "some sweeps were not loaded",
        {{"sweeps", absl::StrCat(left.size())},
         {"oldest",
          std::string(engine->scheduler_->views().CheckLoaded(left.begin()->first).message())}});
  }
  engine->board_->Publish(std::move(updates), engine->now_);
  return engine;
}

Engine::~Engine() { Stop(); }

void Engine::Start() {
  CONCUR_CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Loop(); });
}

void Engine::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) {
    thread_.join();
  }
  board_->Stop();
  // Requests that the thread, if there was one, has not taken.
  std::vector<Request> rest;
  std::vector<ReadRequest> reads;
  {
    MutexLock lock(mutex_);
    rest.swap(inbox_);
    reads.swap(reads_);
  }
  if (dead_) {
    return;
  }
  const absl::Status status = absl::UnavailableError("the coordinator is shutting down");
  for (Request& request : rest) {
    request.refuse(status);
  }
  for (ReadRequest& read : reads) {
    read.refuse(status);
  }
  for (auto& [worker, parked] : std::exchange(parked_, {})) {
    parked.done(status);
  }
  logs_.RefuseAll(status);
}

// OK while there is room for one more request.
absl::Status Engine::RefusalLocked() const {
  if (stopping_) {
    return absl::UnavailableError("the coordinator is shutting down");
  }
  const size_t waiting = inbox_.size() + reads_.size();
  if (waiting >= options_.inbox_max) {
    return absl::ResourceExhaustedError(absl::StrCat("the coordinator is busy: ", waiting,
                                                     " requests are waiting; try again later"));
  }
  return absl::OkStatus();
}

void Engine::Post(Request request) {
  absl::Status refusal;
  {
    MutexLock lock(mutex_);
    refusal = RefusalLocked();
    if (refusal.ok()) {
      inbox_.push_back(std::move(request));
      wake_.NotifyOne();
      return;
    }
  }
  request.refuse(std::move(refusal));
}

void Engine::PostRead(ReadRequest request) {
  absl::Status refusal;
  {
    MutexLock lock(mutex_);
    refusal = RefusalLocked();
    if (refusal.ok()) {
      reads_.push_back(std::move(request));
      wake_.NotifyOne();
      return;
    }
  }
  request.refuse(std::move(refusal));
}

void Engine::Loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (inbox_.empty() && reads_.empty() && !stopping_) {
        const absl::Duration wait = NextDeadline() - clock_.Now();
        if (wait <= absl::ZeroDuration() || wake_.WaitWithTimeout(mutex_, wait)) {
          break;
        }
      }
      if (stopping_) {
        return;
      }
    }
    Turn();
  }
}

bool Engine::RunTurn() {
  CONCUR_CHECK(!thread_.joinable());
  return Turn();
}

void Engine::RunUntilIdle() {
  while (RunTurn()) {
  }
}

absl::Time Engine::NextDeadline() const {
  if (stalled_) {
    return stall_retry_;
  }
  if (store_.IsDeleting()) {
    return now_;
  }
  absl::Time next = scheduler_->NextDeadline();
  if (carry_) {
    next = std::min(next, pools_.NextDeadline());
  }
  for (const auto& [worker, parked] : parked_) {
    next = std::min(next, parked.deadline);
  }
  return next;
}

// The time before this turn in which no call could arrive: that of the last turn, and that which
// passed beyond the time for which the thread slept, as when the process was stopped.
absl::Duration Engine::PauseBefore() const {
  const absl::Duration pause_min = options_.policy.pause_min;
  if (now_ - last_turn_.begin < pause_min) {
    return absl::ZeroDuration();
  }
  // Nothing has changed since the last turn.
  const absl::Time due = std::max(last_turn_.end, NextDeadline());
  const absl::Duration pause =
      last_turn_.end - last_turn_.begin + std::max(now_ - due, absl::ZeroDuration());
  return pause < pause_min ? absl::ZeroDuration() : pause;
}

// Returns whether there was a request.
bool Engine::Turn() {
  if (dead_) {
    return false;
  }
  const absl::Cleanup note_end = [this] { last_turn_ = {now_, std::max(now_, clock_.Now())}; };
  std::vector<Request> requests;
  std::vector<ReadRequest> reads;
  {
    MutexLock lock(mutex_);
    requests.swap(inbox_);
    reads.swap(reads_);
  }
  const bool had_reads = !reads.empty();
  if (!AnswerReads(reads)) {
    return false;
  }
  const absl::Time begin = clock_.Now();
  now_ = std::max(now_, begin);
  if (stalled_) {
    return RunTurnWhileStalled(requests) || had_reads;
  }
  scheduler_->ResumeAt(now_, PauseBefore());
  // Leases are renewed before any ends.
  for (Request& request : requests) {
    if (request.is_sync) {
      request.work(*scheduler_);
    }
  }
  scheduler_->AdvanceTo(now_);
  for (Request& request : requests) {
    if (!request.is_sync) {
      request.work(*scheduler_);
    }
  }
  scheduler_->Dispatch();
  PoolActions pool_actions = AdvancePools();
  AppliedTurn turn{scheduler_->TakeEffects(), std::move(requests), std::move(pool_actions), {}};
  pools_.TakeRows(&turn.effects.batch);
  const bool had_requests = !turn.requests.empty() || had_reads;
  turn.figures.requests = turn.requests.size();
  turn.figures.committed = !turn.effects.batch.empty() || store_.IsDeleting();
  const absl::Time worked = observers_.empty() ? begin : clock_.Now();
  // Also "nothing to do" and "forget that result" are answers. Reads of this turn have asked.
  const absl::Status status = turn.figures.committed ? store_.Commit(turn.effects.batch)
                              : had_reads            ? absl::OkStatus()
                                                     : store_.CheckLeads();
  if (absl::IsResourceExhausted(status)) {
    StallTurn(std::move(turn), status);
    return had_requests;
  }
  if (!status.ok()) {
    EndProcess(status);
    return false;
  }
  if (!observers_.empty()) {
    turn.figures.work = worked - begin;
    turn.figures.commit = turn.figures.committed ? clock_.Now() - worked : absl::ZeroDuration();
  }
  FinishTurn(std::move(turn));
  return had_requests;
}

// Between turns, memory and disk hold the same state, unless the disk is full.
bool Engine::AnswerReads(std::vector<ReadRequest>& reads) {
  if (!reads.empty() && !stalled_) {
    if (const absl::Status leads = store_.CheckLeads(); !leads.ok()) {
      EndProcess(leads);
      return false;
    }
  }
  for (ReadRequest& read : reads) {
    if (stalled_) {
      read.refuse(stall_reason_);
    } else {
      read.work(*scheduler_);
    }
  }
  return true;
}

void Engine::FinishTurn(AppliedTurn turn) {
  for (EngineObserver* observer : observers_) {
    observer->OnTurn(turn.figures, turn.effects);
  }
  if (std::vector<SweepUpdate> updates = UpdatesOf(*scheduler_, *board_, std::move(turn.effects));
      !updates.empty()) {
    board_->Publish(std::move(updates), now_);
  }
  if (!turn.pool_actions.empty()) {
    carry_(std::move(turn.pool_actions));
  }
  for (Request& request : turn.requests) {
    request.done();
  }
  AnswerSyncs();
  logs_.AnswerAll(*scheduler_, now_);
}

void Engine::EndProcess(const absl::Status& status) {
  dead_ = true;
  if (fatal_) {
    fatal_(status);
    return;
  }
  LogError("cannot save; ending the process, since memory is ahead of disk",
           {{"error", status.ToString()}});
  std::_Exit(EXIT_FAILURE);
}

void Engine::CheckStore() {
  Post({[](Scheduler&) {},
        [this] {
          if (const absl::Status status = store_.CheckPlace(); !status.ok()) {
            EndProcess(status);
          }
        },
        [](const absl::Status&) {}});
}

// --- a full disk
// ------------------------------------------------------------------------------------

// The turn's effects are kept, and saved when there is space. Its callers get an error that says
// that the outcome is unknown, as if the connection had broken: it may still be carried out.
void Engine::StallTurn(AppliedTurn turn, const absl::Status& full) {
  LogError("the disk is full: nothing new is taken until there is space again",
           {{"error", std::string(full.message())}});
  stall_reason_ = absl::ResourceExhaustedError(
      absl::StrCat("the coordinator's disk is full, and nothing new is taken until there is space "
                   "again: ",
                   full.message()));
  stall_wait_ = kStallWaitMin;
  stall_retry_ = now_ + stall_wait_;
  const absl::Status unknown = absl::UnavailableError(
      absl::StrCat("this may or may not be carried out: ", stall_reason_.message()));
  for (Request& request : std::exchange(turn.requests, {})) {
    if (request.always) {
      request.done();
    } else {
      request.refuse(unknown);
    }
  }
  for (auto& [worker, parked] : std::exchange(parked_, {})) {
    scheduler_->DropParkedCall(worker);
    parked.done(unknown);
  }
  stalled_ = std::move(turn);
}

bool Engine::RunTurnWhileStalled(std::vector<Request>& requests) {
  for (Request& request : requests) {
    if (request.always) {
      request.work(*scheduler_);
      request.done();
    } else {
      request.refuse(stall_reason_);
    }
  }
  if (now_ < stall_retry_) {
    return !requests.empty();
  }
  const absl::Status status = store_.Commit(stalled_->effects.batch);
  if (absl::IsResourceExhausted(status)) {
    stall_wait_ = std::min(stall_wait_ * 2, kStallWaitMax);
    stall_retry_ = now_ + stall_wait_;
    return !requests.empty();
  }
  if (!status.ok()) {
    EndProcess(status);
    return false;
  }
  LogInfo("the disk has space again");
  AppliedTurn turn = *std::move(stalled_);
  stalled_.reset();
  // No worker could renew its lease meanwhile, as after a restart.
  scheduler_->ResumeAt(now_, absl::InfiniteDuration());
  FinishTurn(std::move(turn));
  return !requests.empty();
}

// --- workers
// --------------------------------------------------------------------------------------

void Engine::Explain(std::function<absl::StatusOr<JobId>(Scheduler&)> find, bool include_steps,
                     std::function<void(absl::StatusOr<Explanation>)> done) {
  // After the commit, so that what is explained is durable.
  Call<JobId>(std::move(find),
              [this, include_steps, done = std::move(done)](absl::StatusOr<JobId> job) {
                if (!job.ok()) {
                  done(job.status());
                  return;
                }
                if (!scheduler_->views().HasJob(*job)) {  // deleted later in the same turn
                  done(absl::NotFoundError(absl::StrCat("no job ", job->ToString())));
                  return;
                }
                absl::StatusOr<std::vector<AttemptRow>> attempts = store_.ListAttempts(*job);
                if (!attempts.ok()) {
                  done(attempts.status());
                  return;
                }
                absl::StatusOr<std::vector<StepRow>> steps = std::vector<StepRow>();
                if (const std::optional<JobId> reporter = scheduler_->views().ReporterOf(*job);
                    include_steps && reporter) {
                  steps = store_.ListSteps(*reporter);
                }
                if (!steps.ok()) {
                  done(steps.status());
                  return;
                }
                done(Explanation{scheduler_.get(), *job,
                                 absl::StrCat(ReasonText(scheduler_->views().ReasonOf(*job)),
                                              ExplainPools(*scheduler_, pools_, *job)),
                                 *std::move(attempts), *std::move(steps)});
              });
}

void Engine::ListServiceUse(SweepId sweep,
                            std::function<void(absl::StatusOr<std::vector<AttemptRow>>)> done) {
  Call<SweepId>([sweep](Scheduler&) { return sweep; },
                [this, done = std::move(done)](absl::StatusOr<SweepId> id) {
                  done(id.ok() ? store_.ListServiceUse(*id) : id.status());
                });
}

void Engine::Sync(SyncRequest request, SyncDone done) {
  struct State {
    SyncRequest request;
    SyncDone done;
    absl::Status status;
  };
  // Shared by the three closures of one request; either the second or the third ends it.
  auto state = std::make_shared<State>(State{std::move(request), std::move(done), {}});
  Post({[this, state](Scheduler& scheduler) {
          state->status = scheduler.Sync(state->request);
          if (!state->status.ok()) {
            return;
          }
          logs_.TakeChunks(state->request);
          const std::string& worker = state->request.worker.name;
          if (const auto it = parked_.find(worker); it != parked_.end()) {
            it->second.done(SyncResponse{});  // superseded: its answer does not count
            parked_.erase(it);
          }
          ParkedSync parked;
          parked.incarnation = state->request.worker.incarnation;
          parked.sequence = state->request.sequence;
          parked.deadline = now_ + std::min(state->request.wait, options_.park_max);
          parked.done = std::exchange(state->done, nullptr);
          parked.at_once = state->request.shutting_down;
          parked_.emplace(worker, std::move(parked));
        },
        [state] {
          if (!state->status.ok()) {
            state->done(state->status);
          }
        },
        [state](absl::Status status) {
          if (state->done != nullptr) {  // else it is parked
            state->done(std::move(status));
          }
        },
        /*always=*/false, /*is_sync=*/true});
}

void Engine::CancelSync(const std::string& worker, const std::string& incarnation,
                        uint64_t sequence) {
  Post({[this, worker, incarnation, sequence](Scheduler& scheduler) {
          const auto it = parked_.find(worker);
          if (it == parked_.end() || it->second.incarnation != incarnation ||
              it->second.sequence != sequence) {
            return;
          }
          it->second.done(absl::CancelledError("the worker went away"));
          parked_.erase(it);
          scheduler.DropParkedCall(worker);
        },
        [] {}, [](const absl::Status&) {}, /*always=*/true});
}

void Engine::AnswerSyncs() {
  for (auto it = parked_.begin(); it != parked_.end();) {
    auto& [worker, parked] = *it;
    if (parked.at_once || parked.deadline <= now_ || scheduler_->HasOrders(worker) ||
        logs_.AreDue(*scheduler_, worker)) {
      parked.done(MakeResponse(worker));
      it = parked_.erase(it);
    } else {
      ++it;
    }
  }
}

SyncResponse Engine::MakeResponse(const std::string& worker) {
  WorkerOrders orders = scheduler_->TakeOrders(worker);
  SyncResponse response;
  for (const WorkerOrders::Start& start : orders.start) {
    const std::optional<SweepView> sweep = scheduler_->views().FindSweep(start.id.job.sweep);
    CONCUR_CHECK(sweep.has_value());
    response.start.push_back(MakeJobOrder(*sweep->expansion, start.id, sweep->row->owner,
                                          start.gpu_mask, start.system, start.system_bytes));
    response.start.back().checkpoint = start.checkpoint;
    response.start.back().services = start.services;
  }
  response.stop = std::move(orders.stop);
  response.forget = std::move(orders.forget);
  response.drain = orders.drain;
  response.lease = options_.policy.lease;
  response.artifact_directory = options_.artifact_directory;
  response.artifact_store_id = options_.artifact_store_id;
  logs_.AddOrders(*scheduler_, worker, response);
  return response;
}

uint64_t Engine::WaitForLog(JobId job, Attempt attempt, int64_t offset, bool follow, LogDone done) {
  uint64_t ticket;
  {
    MutexLock lock(mutex_);
    ticket = next_ticket_++;
  }
  auto shared_done = std::make_shared<LogDone>(std::move(done));  // shared by answer and refusal
  // After the commit: an answer about an ended attempt must be durable.
  Post({[](Scheduler&) {},
        [this, ticket, job, attempt, offset, follow, shared_done] {
          logs_.Answer(*scheduler_, now_, ticket,
                       {job, attempt, offset, follow, std::move(*shared_done)});
        },
        [shared_done](absl::Status status) { (*shared_done)(std::move(status)); }});
  return ticket;
}

void Engine::CancelWait(uint64_t ticket) {
  // In the same part of a turn as waits are parked, which come before it in the inbox.
  Post({[](Scheduler&) {}, [this, ticket] { logs_.Cancel(now_, ticket); },
        [](const absl::Status&) {}, /*always=*/true});
}

}  // namespace concur
