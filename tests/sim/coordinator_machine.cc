// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/coordinator_machine.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "coordinator/engine/collector.h"
#include "core/spent.h"

namespace concur::sim {
namespace {

// Short, so that workers are lost and return within a world.
constexpr absl::Duration kQuarantineMin = absl::Seconds(20);
constexpr absl::Duration kQuarantineMax = absl::Minutes(1);
// Few, so that messages are split and late watchers get snapshots.
constexpr size_t kBoardEventsMax = 30;
constexpr size_t kEventsPerMessageMax = 4;
// Few, so that cancels and retries of whole sweeps take several turns.
constexpr uint32_t kSliceJobs = 12;
constexpr size_t kDeleteCommits = 20;  // that a delete takes with an injected bug
constexpr absl::Duration kTurnDelayMax = absl::Milliseconds(5);
constexpr absl::Duration kSlowTurnDelayMax = absl::Seconds(2);
constexpr absl::Duration kRestartDelayMax = absl::Seconds(20);
constexpr absl::Duration kCollectDelayMax = absl::Seconds(2);
constexpr absl::Duration kBootJumpMax = absl::Hours(2);
// As LeadershipOptions (store/postgres_leadership.h).
constexpr absl::Duration kLeadFor = absl::Milliseconds(5'500);
constexpr absl::Duration kRenewInterval = absl::Seconds(2);
constexpr absl::Duration kRenewAgain = absl::Milliseconds(200);
constexpr absl::Duration kStandByPoll = absl::Milliseconds(250);

}  // namespace

// Reports commits and their results to the checker.
class CoordinatorMachine::CheckedStore : public Store {
 public:
  explicit CheckedStore(CoordinatorMachine& machine)
      : machine_(machine),
        store_(*machine.disk_store_),
        checker_(machine.checker_),
        clock_(machine.clock_) {}

  absl::StatusOr<Snapshot> Load() override {
    absl::StatusOr<Snapshot> snapshot = store_.Load();
    if (snapshot.ok()) {
      checker_.OnLoad(*snapshot);
    }
    if (snapshot.ok() && machine_.world_.bug() == Bug::kUnitsForgotten) {
      const auto running =
          std::count_if(snapshot->jobs.begin(), snapshot->jobs.end(),
                        [](const JobRow& row) { return row.state == JobState::kRunning; });
      for (ResourceRow& row : snapshot->resources) {
        row.amount += running;
      }
    }
    if (snapshot.ok() && machine_.world_.bug() == Bug::kHalfImportKept) {
      EndImports(*snapshot);
    }
    return snapshot;
  }
  // The checker sees what is left on disk, too.
  absl::StatusOr<Snapshot> LoadPart(ChooseLeftOut choose) override {
    if (machine_.memory_jobs_ == 0) {
      return Store::LoadPart(choose);
    }
    CONCUR_RETURN_IF_ERROR(Load().status());
    return store_.LoadPart([&](const std::vector<SweepRow>& sweeps) {
      const absl::btree_set<SweepId> left_out = choose(sweeps);
      if (machine_.world_.bug() == Bug::kLeftOutDeleted) {
        deleted_.assign(left_out.begin(), left_out.end());
      }
      return left_out;
    });
  }
  // It is the store of a former leader.
  void Mute() { muted_ = true; }
  absl::Status Commit(const Batch& batch) override {
    if (muted_) {
      return store_.Commit(batch);
    }
    for (const auto& read : std::exchange(machine_.before_commit_, {})) {
      read();
    }
    Batch made = batch;
    if (machine_.world_.bug() == Bug::kServiceNotCharged) {
      std::erase_if(made.put_attempts, [](const AttemptRow& row) {
        return row.id.IsService() && row.result.failure == FailureClass::kLost;
      });
    }
    Batch saved = made;
    for (const SweepId& id : std::exchange(deleted_, {})) {
      saved.delete_sweeps.push_back(id);
    }
    if (machine_.world_.bug() == Bug::kDeleteHalfDone) {
      half_deleted_.push_back(std::exchange(saved.delete_sweeps, {}));
      if (half_deleted_.size() > kDeleteCommits) {
        saved.delete_sweeps = half_deleted_.front();
        half_deleted_.pop_front();
      }
    }
    absl::Status status = store_.Commit(saved);
    if (!absl::IsResourceExhausted(status)) {  // nothing was saved; the engine retries
      checker_.OnCommit(made, status.ok(), clock_.Now());
    }
    return status;
  }
  bool IsDeleting() const override { return store_.IsDeleting(); }
  absl::Status CheckLeads() override { return store_.CheckLeads(); }
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override {
    return store_.ListAttempts(job);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override {
    return store_.ListSweepAttempts(sweep);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override {
    return store_.ListServiceUse(sweep);
  }
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override {
    return store_.ListSteps(job);
  }

 private:
  // Cancels the jobs of imports that have no row.
  void EndImports(Snapshot& snapshot) const {
    for (const SweepRow& sweep : snapshot.sweeps) {
      const absl::StatusOr<SweepSpec> spec = machine_.workload_.Decode(sweep.spec);
      const uint32_t jobs = spec.ok() && spec->imported ? Expansion::Make(*spec)->job_count() : 0;
      for (uint32_t job = 0; job < jobs; ++job) {
        const JobId id{sweep.id, job};
        const auto place =
            std::lower_bound(snapshot.jobs.begin(), snapshot.jobs.end(), id,
                             [](const JobRow& row, const JobId& other) { return row.id < other; });
        if (place == snapshot.jobs.end() || place->id != id) {
          JobRow& row = *snapshot.jobs.insert(place, JobRow());
          row.id = id;
          row.state = JobState::kCanceled;
        }
      }
    }
  }

  CoordinatorMachine& machine_;
  Store& store_;
  Checker& checker_;
  Clock& clock_;
  bool muted_ = false;
  std::vector<SweepId> deleted_;                   // by the next commit, with a bug
  std::deque<std::vector<SweepId>> half_deleted_;  // by the latest commits, with another
};

CoordinatorMachine::CoordinatorMachine(World& world, Checker& checker, History& history,
                                       const Workload& workload, StoreDisk& disk,
                                       DatabaseDisk* database)
    : world_(world),
      checker_(checker),
      history_(history),
      workload_(workload),
      disk_(disk),
      database_(database),
      clock_(world) {
  checker_.SetHasArtifact([this](const Digest& digest) { return HasArtifact(digest); });
}

CoordinatorMachine::~CoordinatorMachine() { ++process_; }

// --- processes -----------------------------------------------------------------------------------

void CoordinatorMachine::Start() {
  if (up()) {
    return;
  }
  if (database_ != nullptr && !database_->MayTake()) {
    world_.After(kStandByPoll, [this] { Start(); });
    return;
  }
  if (process_ > 0 && world_.Strikes(Fault::kClockJump)) {
    // Time is monotonic within a process; the next process may start at an earlier time.
    clock_.Jump(world_.Between(-kBootJumpMax, kBootJumpMax));
  }
  ++process_;
  told_to_stop_.clear();
  ended_ = false;
  EngineOptions options;
  options.policy.lease =
      world_.bug() == Bug::kLeaseNeverEnds ? absl::Hours(100'000) : workload_.lease;
  options.policy.pause_min =
      world_.bug() == Bug::kPauseNotCounted ? absl::InfiniteDuration() : kPauseMin;
  options.policy.overdue_grace =
      world_.bug() == Bug::kOverdueKept ? absl::Hours(100'000) : kOverdueGrace;
  options.policy.quotas.otherwise.running_jobs_max = workload_.running_jobs_max;
  options.policy.slice_jobs = kSliceJobs;
  options.policy.job_memory_max = memory_jobs_ * SweepBook::kJobMemoryBytes;
  options.policy.quarantine_failures = kQuarantineFailures;
  options.policy.quarantine_min = kQuarantineMin;
  options.policy.quarantine_max = kQuarantineMax;
  options.policy.encode_spec = [this](const SweepSpec& spec) {
    const std::string text = TextOf(spec);
    chosen_.emplace(text, spec);
    checker_.OnChosen(text, spec);
    return text;
  };
  options.board.events_max = kBoardEventsMax;
  options.board.events_per_message_max = kEventsPerMessageMax;
  absl::StatusOr<std::unique_ptr<Store>> opened = disk_.Open();
  absl::Status status = opened.status();
  if (opened.ok()) {
    disk_store_ = *std::move(opened);
    store_ = std::make_unique<CheckedStore>(*this);
    const auto decode = [this](absl::string_view text) {
      const auto chosen = chosen_.find(text);
      absl::StatusOr<SweepSpec> spec = chosen != chosen_.end()
                                           ? absl::StatusOr<SweepSpec>(chosen->second)
                                           : workload_.Decode(text);
      if (spec.ok() && spec->early_stop && world_.bug() == Bug::kBracketsForgotten &&
          spec->early_stop->rule.method == EarlyStopMethod::kHyperband) {
        spec->early_stop->rule.method = EarlyStopMethod::kAsha;
      }
      return spec;
    };
    absl::StatusOr<std::unique_ptr<Engine>> made = Engine::Create(clock_, *store_, decode, options);
    status = made.status();
    if (made.ok()) {
      engine_ = *std::move(made);
    }
  }
  if (!status.ok()) {
    store_.reset();
    disk_store_.reset();
    if (!disk_.TookFault()) {
      world_.Fail(absl::StrCat("the coordinator does not start: ", status.ToString()));
      return;
    }
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("the coordinator does not start: ", status.ToString()));
    }
    disk_.Restart(disk_.power_is_cut());
    world_.After(world_.Between(absl::Seconds(1), kRestartDelayMax), [this] { Start(); });
    return;
  }
  if (world_.tracing()) {
    world_.Trace(absl::StrCat("the coordinator starts, process ", process_));
  }
  engine_->SetFatalForTest([this, process = process_](const absl::Status& failed) {
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("a commit of process ", process, " fails: ", failed.ToString()));
    }
    ended_ = ended_ || process == process_;
  });
  if (database_ != nullptr) {
    lead_until_ = BootTime() + kLeadFor;
    KeepLeading(process_);
    StandBy(process_);
  }
  checker_.OnRestored(scheduler(), clock_.Now());
  due_ = std::max(engine_->NextDeadline(), clock_.Now());
  history_.OnProcess();
  engine_->AddObserver(history_);
  ScheduleTurn(world_.now());
}

void CoordinatorMachine::Forget() {
  ++process_;  // responses of this process are dropped from now on
  turn_at_ = absl::InfiniteFuture();
  ++turn_number_;
  if (database_ != nullptr) {  // the next one is another machine's
    paused_until_ = absl::InfinitePast();
    stood_still_ = absl::ZeroDuration();
  }
}

void CoordinatorMachine::End(bool power_cut) {
  Forget();
  disk_.TookFault();
  disk_.Restart(power_cut);
  engine_.reset();
  store_.reset();
  disk_store_.reset();
  world_.After(world_.Between(absl::Milliseconds(100), kRestartDelayMax), [this] { Start(); });
}

void CoordinatorMachine::Kill(bool power_cut) {
  if (!up()) {
    return;
  }
  if (world_.tracing()) {
    world_.Trace(power_cut ? "the coordinator's power is cut" : "the coordinator is killed");
  }
  if (database_ != nullptr && !power_cut && world_.random().Chance(0.5)) {
    database_->Release();  // it got SIGTERM
  }
  End(power_cut);
}

void CoordinatorMachine::Pause(absl::Duration duration) {
  paused_until_ = std::max(paused_until_, world_.now() + duration);
  if (database_ != nullptr && world_.random().Chance(0.7)) {
    stood_still_ += duration;
  }
}

void CoordinatorMachine::JumpClock(absl::Duration by) {
  clock_.Jump(by);
  ScheduleTurn(world_.now());
}

void CoordinatorMachine::Recover() {
  paused_until_ = absl::InfinitePast();
  slow_until_ = absl::InfinitePast();
  ScheduleTurn(world_.now());
}

// --- two coordinators ----------------------------------------------------------------------------

void CoordinatorMachine::KeepLeading(uint64_t process) {
  if (process != process_) {
    return;
  }
  absl::Duration wait = kRenewAgain;
  if (world_.now() >= paused_until_) {
    if (LeadsNoMore()) {
      if (world_.tracing()) {
        world_.Trace("the coordinator ends: it leads no more");
      }
      End(/*power_cut=*/false);
      return;
    }
    if (database_->Renew()) {
      lead_until_ = BootTime() + kLeadFor;
      wait = kRenewInterval;
    }
  }
  world_.After(wait, [this, process] { KeepLeading(process); });
}

void CoordinatorMachine::StandBy(uint64_t process) {
  world_.After(kStandByPoll, [this, process] {
    if (process != process_) {
      return;
    }
    if (database_->MayTake()) {
      TakeOver();
    } else {
      StandBy(process);
    }
  });
}

void CoordinatorMachine::TakeOver() {
  const bool knows = stood_still_ == absl::ZeroDuration();
  if (knows && !LeadsNoMore()) {
    world_.Fail("two coordinators lead, and both answer");
  }
  if (world_.tracing()) {
    world_.Trace(absl::StrCat("the stand-by takes over from process ", process_));
  }
  world_.Count(Fault::kLeadTaken);
  auto former = std::make_unique<Former>();
  static_cast<CheckedStore&>(*store_).Mute();
  engine_->board().Stop();
  former->disk_store = std::move(disk_store_);
  former->store = std::move(store_);
  former->engine = std::move(engine_);
  const absl::Time wakes = paused_until_;
  Forget();
  if (!knows) {  // else it ends when it looks at its clock
    former_ = std::move(former);
    world_.At(wakes, [this, waking = former_.get()] {
      if (waking == former_.get()) {
        WakeFormer();
      }
    });
  }
  Start();
}

void CoordinatorMachine::WakeFormer() {
  if (world_.tracing()) {
    world_.Trace("a former leader wakes up");
  }
  world_.Count(Fault::kFormerWakes);
  former_->engine->RunTurn();
  former_.reset();
}

// --- turns ---------------------------------------------------------------------------------------

absl::Duration CoordinatorMachine::TurnDelay() {
  return world_.Between(absl::ZeroDuration(),
                        world_.now() < slow_until_ ? kSlowTurnDelayMax : kTurnDelayMax);
}

void CoordinatorMachine::ScheduleTurn(absl::Time at) {
  at = std::max({at, paused_until_, world_.now()});
  if (!up() || turn_at_ <= at) {
    return;
  }
  turn_at_ = at;
  world_.At(at, [this, number = ++turn_number_] {
    if (number != turn_number_) {
      return;
    }
    turn_at_ = absl::InfiniteFuture();
    if (world_.now() < paused_until_) {
      ScheduleTurn(paused_until_);
    } else {
      RunTurn();
    }
  });
}

void CoordinatorMachine::RunTurn() {
  if (LeadsNoMore()) {
    End(/*power_cut=*/false);
    return;
  }
  if (database_ != nullptr && world_.now() < database_->leader_paused_until()) {
    ScheduleTurn(database_->leader_paused_until());  // the commit waits for an answer
    return;
  }
  const bool was_stalled = engine_->is_stalled();
  if (!was_stalled && clock_.Now() >= due_ + kPauseMin) {
    checker_.OnPaused(clock_.Now() - due_, clock_.Now());
  }
  engine_->RunTurn();
  if (was_stalled && !engine_->is_stalled()) {
    checker_.OnLeasesGranted(clock_.Now());
  }
  if (ended_) {
    checker_.OnTurnInDoubt(scheduler());
    End(disk_.power_is_cut());
    return;
  }
  if (!engine_->is_stalled()) {
    checker_.AfterTurn(scheduler(), clock_.Now());
  }
  const absl::Time next = engine_->NextDeadline();
  due_ = std::max(next, clock_.Now());
  if (next != absl::InfiniteFuture()) {
    ScheduleTurn(std::max(clock_.ToWorld(next), world_.now() + absl::Milliseconds(1)));
  }
}

// --- calls ---------------------------------------------------------------------------------------

// The injected bugs of the worker service.
void CoordinatorMachine::Mutate(SyncRequest& request) {
  std::optional<WorkerView> known;
  for (WorkerView& worker : scheduler().views().ListWorkers()) {
    if (worker.info.name == request.worker.name) {
      known = std::move(worker);
    }
  }
  if (world_.bug() == Bug::kNameTakenOver && known) {
    request.worker.previous_incarnation = known->info.incarnation;
  } else if (world_.bug() == Bug::kHostsForgotten) {
    request.worker.host.clear();
  } else if (world_.bug() == Bug::kUnitsAtStop) {
    std::erase_if(request.running, [&](AttemptId id) { return told_to_stop_.contains(id); });
  } else if (world_.bug() == Bug::kSpentTwice) {
    const std::vector<AttemptStep> reported = request.steps;
    for (AttemptStep step : reported) {
      if (step.step.name == kUsdName && scheduler().views().HasJob(step.id.job)) {
        step.id.attempt = scheduler().views().ViewJob(step.id.job).attempt;
        request.steps.push_back(step);
      }
    }
  } else if (world_.bug() == Bug::kServiceChargedTwice) {
    const std::vector<FinishedAttempt> finished = request.finished;
    for (FinishedAttempt again : finished) {
      if (again.id.job.IsService()) {
        again.id.attempt = again.id.attempt.Next();
        request.finished.push_back(again);
      }
    }
  } else if (world_.bug() == Bug::kStaleAttemptAccepted) {
    for (FinishedAttempt& finished : request.finished) {
      if (scheduler().views().HasJob(finished.id.job)) {
        finished.id.attempt = scheduler().views().ViewJob(finished.id.job).attempt;
      }
    }
  }
}

void CoordinatorMachine::Mutate(SyncResponse& response) {
  if (world_.bug() == Bug::kServiceKept) {
    std::erase_if(response.stop, [](const StopOrder& stop) { return stop.id.job.IsService(); });
  }
  for (const StopOrder& stop : response.stop) {
    told_to_stop_.insert(stop.id);
  }
  for (JobOrder& order : response.start) {
    for (auto& [name, service] : order.services) {
      if (world_.bug() == Bug::kNeedNotAwaited && !name.empty()) {
        service.attempt = service.attempt.Next();
      } else if (world_.bug() == Bug::kNeedStopped && !name.empty()) {
        response.stop.push_back({service, StopReason::kCanceled});
      }
    }
    if (world_.bug() == Bug::kCheckpointMixedUp && order.checkpoint) {
      const Checkpoint own = *order.checkpoint;
      order.checkpoint = last_checkpoint_.value_or(own);
      last_checkpoint_ = own;
    }
    if (world_.bug() == Bug::kStartedFromNothing && order.is_train) {
      order.system = Digest();
    }
    if (world_.bug() == Bug::kGpuOverfilled && order.resources.gpu_share > 0) {
      order.gpu_mask = 1;
    }
    if (world_.bug() == Bug::kServiceGpuTaken && order.id.job.IsService()) {
      order.gpu_mask = (uint64_t{1} << order.resources.gpus) - 1;
    }
  }
}

void CoordinatorMachine::Sync(SyncRequest request,
                              std::function<void(absl::StatusOr<SyncResponse>)> done) {
  if (!up()) {
    done(absl::UnavailableError("connection refused"));
    return;
  }
  if (ReachesFormer()) {
    former_->engine->Sync(std::move(request), [done](absl::StatusOr<SyncResponse> answer) {
      if (answer.ok()) {
        done(std::move(answer));
      }
    });
    return;
  }
  Mutate(request);
  SyncRequest listed;
  listed.worker = request.worker;
  listed.services = request.services;
  listed.running = request.running;
  engine_->Sync(std::move(request), [this, process = process_, listed, called = clock_.Now(),
                                     done = std::move(done)](absl::StatusOr<SyncResponse> answer) {
    if (process != process_) {
      return;
    }
    if (answer.ok()) {
      Mutate(*answer);
      checker_.OnSyncAnswered(listed, called, *answer);
    }
    done(std::move(answer));
  });
  ScheduleTurn(world_.now() + TurnDelay());
}

void CoordinatorMachine::CancelSync(const std::string& worker, const std::string& incarnation,
                                    uint64_t sequence) {
  if (up()) {
    engine_->CancelSync(worker, incarnation, sequence);
    ScheduleTurn(world_.now() + TurnDelay());
  }
}

void CoordinatorMachine::ReadSweep(SweepId id, std::function<void(Seen)> done) {
  if (!up()) {
    return;
  }
  if (world_.bug() == Bug::kStaleRead && read_.contains(id)) {
    done(read_.extract(id).mapped());
    return;
  }
  if (world_.bug() == Bug::kReadBeforeCommit) {
    before_commit_.push_back([this, id, done] { done(SeenIn(scheduler(), id)); });
    return;
  }
  engine_->Read<std::optional<SeenSweep>>(
      [this, id](const Scheduler& scheduler) -> Seen {
        CONCUR_RETURN_IF_ERROR(scheduler.views().CheckLoaded(id));
        return read_[id] = SeenIn(scheduler, id);
      },
      std::move(done));
}

CoordinatorMachine::Seen CoordinatorMachine::ReadBoard(SweepId id) {
  if (!AnswersAtOnce()) {
    return absl::UnavailableError("connection refused");
  }
  const bool by_former = former_ != nullptr && world_.bug() == Bug::kFormerAnswers;
  SweepBoard& asked = by_former ? former_->engine->board() : board();
  const absl::StatusOr<SweepFacts> facts = asked.Find(id.ToString(), "");
  if (absl::IsFailedPrecondition(facts.status())) {
    return facts.status();  // it was not loaded
  }
  return facts.ok() ? std::optional(SeenOf(facts->View())) : std::nullopt;
}

// With the injected bugs of cursors, "EPOCH-NUMBER".
absl::Status CoordinatorMachine::Watch(SweepId id, std::string cursor,
                                       SweepBoard::Watcher& watcher) {
  if (!AnswersAtOnce()) {
    return absl::UnavailableError("connection refused");
  }
  CONCUR_RETURN_IF_ERROR(board().Find(id.ToString(), "").status());
  uint64_t number = 0;
  const std::pair<std::string, std::string> parts = absl::StrSplit(cursor, '-');
  if (absl::SimpleAtoi(parts.second, &number) && number > 1) {
    if (world_.bug() == Bug::kEventSkipped) {
      cursor = absl::StrCat(parts.first, "-", number + 1);
    } else if (world_.bug() == Bug::kEventRepeated) {
      cursor = absl::StrCat(parts.first, "-", number - 1);
    }
  }
  return board().Watch(id, cursor, WatchDetail::kAll, watcher);
}

absl::Status CoordinatorMachine::Upload(const Digest& digest) {
  if (!AnswersAtOnce()) {
    return absl::UnavailableError("connection refused");
  }
  PutArtifact(digest);
  return absl::OkStatus();
}

absl::Status CoordinatorMachine::Download(const Digest& digest) const {
  if (!AnswersAtOnce()) {
    return absl::UnavailableError("connection refused");
  }
  return HasArtifact(digest) ? absl::OkStatus()
                             : absl::NotFoundError("the coordinator does not have it");
}

// For an injected bug of the collector.
std::set<Digest> CoordinatorMachine::Checkpoints() const {
  std::set<Digest> checkpoints;
  for (const SweepId& id : scheduler().views().ListSweeps()) {
    for (uint32_t job = 0; job < scheduler().views().FindSweep(id)->expansion->job_count(); ++job) {
      if (const std::optional<Checkpoint> checkpoint =
              scheduler().views().ViewJob({id, job}).checkpoint) {
        checkpoints.insert(checkpoint->digest);
      }
    }
  }
  return checkpoints;
}

void CoordinatorMachine::Collect(absl::Duration grace) {
  if (!up()) {
    return;
  }
  PlanCollection(
      *engine_, *store_, [this, process = process_, grace](absl::StatusOr<RetentionPlan> plan) {
        if (process == process_ && !plan.ok() && world_.bug() == Bug::kLeftOutCollected) {
          plan = RetentionPlan();
        }
        if (process != process_ || !plan.ok()) {
          return;
        }
        const absl::Time before = clock_.Now() - grace;
        const bool takes_live = world_.bug() == Bug::kCollectorTakesLive;
        const std::set<Digest> unprotected =
            world_.bug() == Bug::kCheckpointCollected ? Checkpoints() : std::set<Digest>();
        // Files are removed some time after the commit, even if the process has ended since.
        world_.After(world_.Between(absl::ZeroDuration(), kCollectDelayMax),
                     [this, live = std::move(plan->live), unprotected, before, takes_live] {
                       std::erase_if(artifacts_, [&](const auto& artifact) {
                         return takes_live || unprotected.contains(artifact.first) ||
                                (!live.contains(artifact.first) && artifact.second < before);
                       });
                     });
      });
  ScheduleTurn(world_.now() + TurnDelay());
}

}  // namespace concur::sim
