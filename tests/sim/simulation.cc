// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/simulation.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "core/scheduler/reason_text.h"
#include "tests/sim/checker.h"
#include "tests/sim/coordinator_machine.h"
#include "tests/sim/disks/database.h"
#include "tests/sim/disks/sqlite_disk.h"
#include "tests/sim/disks/store_disk.h"
#include "tests/sim/history.h"
#include "tests/sim/network.h"
#include "tests/sim/read_clients.h"
#include "tests/sim/users.h"
#include "tests/sim/worker_machine.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace concur::sim {
namespace {

// Time limit after faults have stopped: for leases, back-offs, restarts and time-outs, and for all
// jobs one after another.
constexpr absl::Duration kSettleTime = absl::Minutes(10);
constexpr int kAttemptsWorth = 3;
constexpr absl::Duration kLookInterval = absl::Milliseconds(500);
constexpr absl::Duration kCollectInterval = absl::Seconds(45);
constexpr absl::Duration kCollectGrace = absl::Hours(24);
// One in so many worlds uses SQLite's store, and another one has two coordinators on a database.
constexpr uint64_t kSeedsPerSqlite = 8;
constexpr size_t kGuestsMax = 2;  // workers that claim another's name

class Simulation {
 public:
  Simulation(const SimulationOptions& options, const FaultRates& rates, const Outcomes* expected)
      : options_(options),
        expected_(expected),
        workload_(Workload::Draw(options.seed, options.bug, /*gives_up=*/expected != nullptr)),
        world_(options.seed, rates, options.bug, expected == nullptr ? nullptr : options.trace),
        network_(world_),
        checker_(world_, workload_, expected),
        disk_(MakeDisk()),
        coordinator_(world_, checker_, history_, workload_, *disk_, database_),
        users_(world_, network_, checker_, history_, coordinator_, workload_),
        clients_(world_, history_, coordinator_, options.seed) {
    for (const PlannedWorker& planned : workload_.workers) {
      AddWorker(planned);
    }
  }

  void Run() {
    coordinator_.Start();
    for (const auto& worker : workers_) {
      worker->Start();
    }
    users_.Start(/*meddle=*/expected_ != nullptr);
    if (expected_ == nullptr) {
      world_.StopFaults();
      Settle();
      return;
    }
    clients_.Start();
    ScheduleStrike();
    ScheduleCollection();
    RunUntil([this] { return world_.age() >= workload_.faults_end; });
    Heal();
    // Delayed messages still arrive.
    const absl::Time calm = world_.now() + Network::kDelayMax;
    RunUntil([&] { return world_.now() > calm; }) && Resume();
    // Jobs that failed because of faults, or were given up, are retried once.
    !world_.failed() && Settle() && Retry() && Settle();
    Check();
    Epilogue();
    clients_.Check();
  }

  Outcomes TakeOutcomes() {
    Outcomes outcomes;
    for (size_t planned = 0; planned < workload_.sweeps.size() && !world_.failed(); ++planned) {
      std::vector<JobOutcome>& of_sweep = outcomes.emplace_back();
      for (const SweepId& id : coordinator_.scheduler().views().ListSweeps()) {
        const SweepView sweep = *coordinator_.scheduler().views().FindSweep(id);
        if (workload_.NumberOf(sweep.row->spec) != planned) {
          continue;
        }
        for (uint32_t job = 0; job < sweep.expansion->job_count(); ++job) {
          const JobView view = coordinator_.scheduler().views().ViewJob({id, job});
          of_sweep.push_back(
              {view.state, view.result == nullptr ? std::vector<Metric>() : view.result->metrics});
        }
      }
    }
    return outcomes;
  }

  SimulationReport Report() const {
    SimulationReport report;
    report.violation = world_.violation();
    report.steps = world_.steps();
    report.age = world_.age();
    for (const PlannedSweep& sweep : workload_.sweeps) {
      report.jobs += sweep.expansion->job_count();
    }
    report.counted = checker_.counted();
    report.acknowledged = checker_.acknowledged();
    report.given_up = checker_.given_up();
    report.quarantines = checker_.quarantines();
    report.reads = history_.reads();
    report.imports = checker_.imports();
    report.reported_steps = checker_.steps();
    report.stopped = checker_.stopped();
    report.resumed = checker_.resumed();
    report.staged = checker_.staged();
    report.chosen = checker_.chosen();
    report.used_up = checker_.used_up();
    report.over_budget = checker_.over_budget();
    report.faults = world_.counts();
    return report;
  }

 private:
  void AddWorker(const PlannedWorker& planned) {
    const Node node = kUsersNode + 1 + static_cast<Node>(workers_.size());
    workers_.push_back(
        std::make_unique<WorkerMachine>(world_, network_, checker_, coordinator_, planned, node));
  }

  // SQLite takes most of a world's time; bugs of rows are injected by the other disk only.
  std::unique_ptr<StoreDisk> MakeDisk() {
    const bool two = options_.bug == Bug::kNone || options_.bug == Bug::kAnswerBeforeCommit
                         ? options_.seed % kSeedsPerSqlite == kSeedsPerSqlite / 2
                         : IsOfTwoCoordinators(options_.bug);
    if (expected_ != nullptr && two) {
      auto database = std::make_unique<DatabaseDisk>(world_);
      database_ = database.get();
      return database;
    }
    const bool sqlite = expected_ != nullptr && options_.seed % kSeedsPerSqlite == 0 &&
                        (options_.bug == Bug::kNone || options_.bug == Bug::kCommitNotSynced);
    if (sqlite) {
      return std::make_unique<SqliteStoreDisk>(world_);
    }
    return std::make_unique<MemoryStoreDisk>(world_);
  }

  bool Do(const std::function<void()>& work) {
    work();
    return true;
  }

  bool Retry() {
    return Do([this] { users_.RetryFailed(); }) && Resume();
  }

  // A retried sweep stays paused if it was paused when it ended.
  bool Resume() {
    return RunUntil([this] { return users_.idle(); }) && Do([this] { users_.ResumeAll(); });
  }

  // Runs events until `done`, which is checked periodically. False after a violation.
  bool RunUntil(const std::function<bool()>& done) {
    bool ended = false;
    std::function<void()> look = [&] {
      ended = done();
      if (!ended) {
        world_.After(kLookInterval, look);
      }
    };
    look();
    while (!ended && !world_.failed()) {
      if (world_.steps() >= options_.steps_max) {
        world_.Fail(absl::StrCat("no rest after ", options_.steps_max, " events"));
      }
      world_.RunNext();
    }
    return !world_.failed();
  }

  // --- faults of machines -----------------------------------------------------------------------

  void ScheduleStrike() {
    const double rate = world_.rates().strikes_per_minute;
    if (rate <= 0) {
      return;
    }
    world_.After(world_.Between(absl::ZeroDuration(), 2 * absl::Minutes(1) / rate), [this] {
      if (world_.faults()) {
        Strike();
        ScheduleStrike();
      }
    });
  }

  // Draws a machine fault by weight.
  void Strike() {
    constexpr Fault kMachineFaults[] = {Fault::kPartition,
                                        Fault::kCoordinatorKill,
                                        Fault::kCoordinatorPowerCut,
                                        Fault::kWorkerKill,
                                        Fault::kWorkerPowerCut,
                                        Fault::kWorkerTerminated,
                                        Fault::kWorkerDrain,
                                        Fault::kNameClaimed,
                                        Fault::kPause,
                                        Fault::kClockJump,
                                        Fault::kSlow};
    double total = 0;
    for (const Fault fault : kMachineFaults) {
      total += world_.rates()[fault];
    }
    double at = world_.random().Uniform() * total;
    for (const Fault fault : kMachineFaults) {
      at -= world_.rates()[fault];
      if (at < 0) {
        world_.Count(fault);
        Strike(fault);
        return;
      }
    }
  }

  void Strike(Fault fault) {
    Random& random = world_.random();
    WorkerMachine& worker = *workers_[random.Below(workers_.size())];
    const bool coordinator = random.Chance(0.3);
    const absl::Duration duration = world_.Between(absl::Seconds(1), 2 * workload_.lease);
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("fault: ", FaultName(fault), " (",
                                coordinator ? "coordinator" : worker.planned().name, ", ",
                                absl::FormatDuration(duration), ")"));
    }
    switch (fault) {
      case Fault::kPartition: {
        if (database_ != nullptr && coordinator) {
          database_->Pause(duration, /*leader_only=*/random.Chance(0.5));
          break;
        }
        const uint64_t ways = random.Between(1, 3);
        const Node node = random.Chance(0.2) ? kUsersNode : worker.node();
        if ((ways & 1) != 0) {
          network_.Cut(node, kCoordinatorNode, duration);
        }
        if ((ways & 2) != 0) {
          network_.Cut(kCoordinatorNode, node, duration);
        }
        break;
      }
      case Fault::kCoordinatorKill:
      case Fault::kCoordinatorPowerCut:
        coordinator_.Kill(fault == Fault::kCoordinatorPowerCut);
        break;
      case Fault::kWorkerKill:
      case Fault::kWorkerPowerCut:
        worker.Kill(fault == Fault::kWorkerPowerCut);
        break;
      case Fault::kWorkerDrain:
        worker.Drain(random.Chance(0.3));
        break;
      case Fault::kWorkerTerminated:
        worker.Terminate();
        break;
      case Fault::kNameClaimed:
        InviteGuest(worker.planned(), duration);
        break;
      case Fault::kPause:
        coordinator ? coordinator_.Pause(duration) : worker.Pause(duration);
        break;
      case Fault::kClockJump:
        coordinator ? coordinator_.JumpClock(duration) : worker.JumpClock(duration);
        break;
      default:  // kSlow
        coordinator ? coordinator_.SlowDown(duration)
                    : worker.SlowDown(duration, 1 + 7 * random.Uniform());
    }
  }

  // Adds a machine whose worker claims another worker's name, for a while.
  void InviteGuest(const PlannedWorker& planned, absl::Duration duration) {
    if (workers_.size() >= workload_.workers.size() + kGuestsMax) {
      return;
    }
    AddWorker(planned);
    WorkerMachine* machine = workers_.back().get();
    machine->Start();
    world_.After(3 * duration, [machine] { machine->Retire(); });
  }

  void ScheduleCollection() {
    world_.After(kCollectInterval, [this] {
      coordinator_.Collect(kCollectGrace);
      if (world_.faults()) {
        ScheduleCollection();
      }
    });
  }

  void Heal() {
    if (world_.tracing()) {
      world_.Trace("faults end");
    }
    world_.StopFaults();
    network_.Heal();
    coordinator_.Recover();
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (i < workload_.workers.size()) {
        workers_[i]->Recover();
      } else {
        workers_[i]->Retire();
      }
    }
  }

  // --- the end ----------------------------------------------------------------------------------

  // Without further faults all work must end within a bounded time.
  bool Settle() {
    const absl::Time deadline =
        world_.now() + kSettleTime + kAttemptsWorth * workload_.SerialTime();
    return RunUntil([this, deadline] {
      const std::string unrest = Unrest();
      if (!unrest.empty() && world_.now() > deadline) {
        world_.Fail(absl::StrCat("no rest ", absl::FormatDuration(kSettleTime),
                                 " after the last fault: ", unrest));
      }
      return unrest.empty();
    });
  }

  // Describes unfinished work; "" if there is none.
  std::string Unrest() const {
    if (!coordinator_.up()) {
      return "the coordinator is down";
    }
    if (!users_.idle()) {
      return "a user waits for an answer";
    }
    const Scheduler& scheduler = coordinator_.scheduler();
    for (const SweepId& id : scheduler.views().ListSweeps()) {
      const SweepView sweep = *scheduler.views().FindSweep(id);
      if (IsTerminal(sweep.state)) {
        continue;
      }
      for (uint32_t job = 0; job < sweep.expansion->job_count(); ++job) {
        if (!IsTerminal(scheduler.views().ViewJob({id, job}).state)) {
          return absl::StrCat("job ", JobId{id, job}.ToString(), " ",
                              ReasonText(scheduler.views().ReasonOf({id, job})));
        }
      }
      return absl::StrCat("sweep ", id.ToString(), " is ", SweepStateName(sweep.state));
    }
    for (const auto& worker : workers_) {
      if (!worker->idle()) {
        return absl::StrCat("worker ", worker->planned().name, " has results that nobody takes");
      }
    }
    return "";
  }

  void Check() {
    if (!world_.failed()) {
      checker_.CheckAcknowledged(coordinator_.scheduler());
      checker_.CheckOutcomes(coordinator_.scheduler());
    }
  }

  // Much later: retention removes unneeded artifacts, users rerun some jobs, and the coordinator
  // loses power once more.
  void Epilogue() {
    if (world_.failed()) {
      return;
    }
    if (world_.tracing()) {
      world_.Trace("a day later");
    }
    coordinator_.JumpClock(2 * kCollectGrace);
    coordinator_.Collect(kCollectGrace);
    const absl::Time collected = world_.now() + absl::Seconds(10);
    RunUntil([&] { return world_.now() > collected; }) && Do([this] { users_.RerunSome(); }) &&
        Resume() && Settle() && Retry() && Settle();
    Check();
    coordinator_.Kill(/*power_cut=*/true);
    Settle();
    Check();
    RunWithLittleMemory();
  }

  // While some jobs run again, the coordinator has memory for half of them for a while, in which
  // artifacts are collected and a worker restarts.
  void RunWithLittleMemory() {
    if (world_.failed()) {
      return;
    }
    int64_t jobs = 0;
    for (const SweepId& id : coordinator_.scheduler().views().ListSweeps()) {
      jobs += coordinator_.scheduler().views().FindSweep(id)->expansion->job_count();
    }
    Do([this] { users_.RerunSome(); });
    RunUntil([this] { return users_.idle(); });
    coordinator_.LimitMemory(jobs / 2 + 1);
    coordinator_.Kill(/*power_cut=*/false);
    RunUntil([this] { return coordinator_.up(); });
    if (world_.failed()) {
      return;
    }
    coordinator_.JumpClock(2 * kCollectGrace);
    coordinator_.Collect(kCollectGrace);
    if (options_.seed % 2 == 0) {
      workers_[0]->Kill(/*power_cut=*/false);
    }
    const absl::Time end = world_.now() + 2 * workload_.lease;
    RunUntil([&] { return world_.now() > end && coordinator_.up(); });
    coordinator_.LimitMemory(0);
    coordinator_.Kill(/*power_cut=*/false);
    RunUntil([this] { return coordinator_.up(); }) && Resume() && Settle() && Retry() && Settle();
    Check();
  }

  const SimulationOptions options_;
  const Outcomes* const expected_;
  const Workload workload_;
  World world_;
  Network network_;
  Checker checker_;
  DatabaseDisk* database_ = nullptr;  // the disk, if it is one
  const std::unique_ptr<StoreDisk> disk_;
  History history_;
  CoordinatorMachine coordinator_;
  Users users_;
  ReadClients clients_;
  std::vector<std::unique_ptr<WorkerMachine>>
      workers_;  // those of the workload, then claimants of names
};

}  // namespace

SimulationReport Simulate(const SimulationOptions& options) {
  // First without faults, bugs and changes by users, to find the expected scores.
  SimulationOptions calm = options;
  calm.bug = Bug::kNone;
  Simulation reference(calm, FaultRates(), nullptr);
  reference.Run();
  const Outcomes expected = reference.TakeOutcomes();
  if (!reference.Report().violation.empty()) {
    SimulationReport report = reference.Report();
    report.violation = absl::StrCat("without faults: ", report.violation);
    return report;
  }
  Random random(options.seed, "sim.rates");
  Simulation simulation(options, FaultRates::Draw(random), &expected);
  simulation.Run();
  return simulation.Report();
}

}  // namespace concur::sim
