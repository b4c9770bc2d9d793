// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/worker_machine.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/agent/spool.h"

namespace concur::sim {
namespace {

using worker::SpooledResult;
using worker::SyncAnswer;

constexpr absl::Duration kStepDelayMax = absl::Milliseconds(2);
constexpr absl::Duration kSlowStepDelayMax = absl::Seconds(2);
constexpr absl::Duration kWorkerRestartMax = absl::Seconds(20);
constexpr absl::Duration kTransferTimeout = absl::Seconds(10);

}  // namespace

// The agent's calls, over the network.
class WorkerMachine::SyncCalls : public worker::Gateway {
 public:
  explicit SyncCalls(WorkerMachine& machine) : machine_(machine), process_(machine.processes_) {}

  void StartSync(const SyncRequest& request, absl::Duration timeout) override {
    machine_.CheckListed(request);
    SyncRequest outgoing = request;
    if (machine_.world_.bug() == Bug::kStepsNotSentAgain) {
      std::erase_if(outgoing.steps, [this](const AttemptStep& step) {
        return !ever_sent_.insert({step.id, step.step.step}).second;
      });
    }
    if (machine_.world_.bug() == Bug::kServiceReadyEarly) {
      for (RunningService& service : outgoing.services) {
        service.ready = true;
      }
    } else if (machine_.world_.bug() == Bug::kServiceNotListed) {
      outgoing.services.clear();
    }
    sent_steps_[request.sequence] = request.steps;
    latest_ = request.sequence;
    open_.insert(request.sequence);
    if (request.shutting_down) {
      machine_.checker_.OnProcess(request.worker.incarnation, false);
    }
    WorkerMachine* machine = &machine_;
    const uint64_t sequence = request.sequence;
    const auto answer = [machine, process = process_,
                         sequence](const absl::StatusOr<SyncResponse>& response) {
      if (machine->processes_ == process && machine->process_ != nullptr) {
        machine->TakeAnswer(sequence, response);
      }
    };
    const auto lost = [answer] { answer(absl::UnavailableError("the connection was lost")); };
    machine_.network_.Send(
        machine_.node_, kCoordinatorNode,
        [machine, outgoing = std::move(outgoing), answer, lost] {
          machine->coordinator_.Sync(outgoing, [machine, answer, lost](
                                                   const absl::StatusOr<SyncResponse>& response) {
            machine->network_.Send(
                kCoordinatorNode, machine->node_, [answer, response] { answer(response); }, lost);
          });
        },
        lost);
    machine_.world_.After(timeout, [answer] { answer(absl::DeadlineExceededError("no answer")); });
  }

  void CancelSync(uint64_t sequence) override {
    WorkerMachine* machine = &machine_;
    machine_.network_.Send(machine_.node_, kCoordinatorNode,
                           [machine, sequence, name = machine_.planned_.name,
                            incarnation = machine_.last_incarnation_] {
                             machine->coordinator_.CancelSync(name, incarnation, sequence);
                           });
  }

  std::vector<SyncAnswer> Poll() override { return std::exchange(answers_, {}); }

  // Only the first response to a call counts.
  void Take(uint64_t sequence, absl::StatusOr<SyncResponse> response) {
    if (open_.erase(sequence) == 0) {
      return;
    }
    if (response.ok()) {
      machine_.checker_.OnStepsConfirmed(sent_steps_[sequence]);
      sent_steps_.erase(sent_steps_.begin(), sent_steps_.upper_bound(sequence));
      for (const ForgetOrder& order : response->forget) {
        machine_.forgotten_.insert(order.id);
      }
    }
    const Bug bug = machine_.world_.bug();
    if (bug == Bug::kOldAnswerTaken && response.ok()) {
      sequence = latest_;
    } else if (bug == Bug::kForgottenUnasked && response.ok()) {
      for (const AttemptId& id : machine_.spooled_) {
        response->forget.push_back({id, true, ""});
      }
    }
    answers_.push_back({sequence, std::move(response)});
    machine_.Wake();
  }

 private:
  WorkerMachine& machine_;
  const uint64_t process_;
  uint64_t latest_ = 0;
  std::map<uint64_t, std::vector<AttemptStep>> sent_steps_;  // by sequence
  std::set<std::pair<AttemptId, int64_t>> ever_sent_;        // used by Bug::kStepsNotSentAgain
  std::set<uint64_t> open_;
  std::vector<SyncAnswer> answers_;
};

// The real spool; records the results that it must keep.
class WorkerMachine::CheckedSpool : public worker::Spool {
 public:
  CheckedSpool(WorkerMachine& machine, worker::Spool& spool) : machine_(machine), spool_(spool) {}

  absl::Status Put(const std::vector<SpooledResult>& results) override {
    absl::Status status = spool_.Put(results);
    if (status.ok()) {
      for (const SpooledResult& result : results) {
        machine_.spooled_.insert(result.finished.id);
      }
    }
    return status;
  }
  void Remove(const std::vector<AttemptId>& ids) override {
    for (const AttemptId& id : ids) {
      if (!machine_.forgotten_.contains(id)) {
        machine_.world_.Fail(absl::StrCat("worker ", machine_.planned_.name,
                                          " drops the result of ", id.ToString(),
                                          " though nobody said to"));
      }
      machine_.spooled_.erase(id);
    }
    spool_.Remove(ids);
  }

 private:
  WorkerMachine& machine_;
  worker::Spool& spool_;
};

struct WorkerMachine::Process {
  std::string incarnation;
  std::unique_ptr<SyncCalls> calls;
  std::unique_ptr<Processes> processes;
  std::unique_ptr<worker::FileSpool> files;
  std::unique_ptr<CheckedSpool> spool;
  std::unique_ptr<worker::Agent> agent;
};

WorkerMachine::WorkerMachine(World& world, Network& network, Checker& checker,
                             CoordinatorMachine& coordinator, PlannedWorker planned, Node node)
    : world_(world),
      network_(network),
      checker_(checker),
      coordinator_(coordinator),
      planned_(std::move(planned)),
      node_(node),
      clock_(world),
      disk_(world) {}

WorkerMachine::~WorkerMachine() = default;

void WorkerMachine::TakeAnswer(uint64_t sequence, const absl::StatusOr<SyncResponse>& response) {
  process_->calls->Take(sequence, response);
}

bool WorkerMachine::idle() const {
  return retired_ || (up() && process_->agent->running() == 0 && process_->agent->finished() == 0);
}

// --- processes -----------------------------------------------------------------------------------

void WorkerMachine::Start() {
  if (up() || retired_) {
    return;
  }
  const int read_errors = disk_.read_errors();
  absl::StatusOr<std::unique_ptr<worker::FileSpool>> files =
      worker::FileSpool::Open("/disk/spool", disk_);
  if (!files.ok()) {
    world_.Fail(
        absl::StrCat("worker ", planned_.name, " does not start: ", files.status().ToString()));
    return;
  }
  ++processes_;
  auto process = std::make_unique<Process>();
  process->files = *std::move(files);
  CheckRecovered(process->files->recovered(), disk_.read_errors() > read_errors);
  process->incarnation = absl::StrCat(planned_.name, ".", node_, ".", processes_);
  worker::AgentOptions options;
  options.info.name = planned_.name;
  options.info.incarnation = process->incarnation;
  options.info.host = planned_.host;
  if (!last_incarnation_.empty() && !world_.Strikes(Fault::kIdentityLost)) {
    options.info.previous_incarnation = last_incarnation_;
  }
  options.info.capacity = planned_.capacity;
  options.info.slots = planned_.slots;
  options.info.takes_services = planned_.takes_services;
  options.info.queue_max = planned_.capacity.cpu_millis % 2000 == 0 ? 8 : 0;
  options.seed = static_cast<uint64_t>(node_) << 32 | processes_;
  options.drain_grace = absl::Seconds(30);
  if (world_.bug() == Bug::kTerminatedBlamed) {
    options.terminated_hold = absl::ZeroDuration();
  }
  last_incarnation_ = process->incarnation;
  process->calls = std::make_unique<SyncCalls>(*this);
  process->processes = std::make_unique<Processes>(
      world_, checker_, clock_, *this, kept_, [this] { Wake(); },
      [this] { Kill(/*power_cut=*/false); });
  process->processes->SetBroken(planned_.broken);
  process->spool = std::make_unique<CheckedSpool>(*this, *process->files);
  checker_.OnProcess(process->incarnation, true);
  if (world_.tracing()) {
    world_.Trace(absl::StrCat("worker ", process->incarnation, " starts with ",
                              process->files->recovered().size(), " results"));
  }
  process_ = std::move(process);
  process_->agent = std::make_unique<worker::Agent>(
      clock_, *process_->calls, *process_->processes, *process_->spool, options,
      world_.bug() == Bug::kSpoolNotRead ? std::vector<SpooledResult>()
                                         : process_->files->recovered());
  ScheduleStep(world_.now());
}

void WorkerMachine::End(bool power_cut) {
  checker_.OnProcess(process_->incarnation, false);
  process_.reset();
  step_at_ = absl::InfiniteFuture();
  ++step_number_;
  disk_.Restart(power_cut);
  world_.After(world_.Between(absl::Milliseconds(100), kWorkerRestartMax), [this] { Start(); });
}

void WorkerMachine::Kill(bool power_cut) {
  if (!up()) {
    return;
  }
  if (world_.tracing()) {
    world_.Trace(
        absl::StrCat("worker ", process_->incarnation, power_cut ? " loses power" : " is killed"));
  }
  End(power_cut);
}

void WorkerMachine::Drain(bool at_once) {
  if (!up()) {
    return;
  }
  if (world_.tracing()) {
    world_.Trace(absl::StrCat("worker ", process_->incarnation, " is told to leave"));
  }
  process_->agent->RequestDrain();
  if (at_once) {
    process_->agent->RequestDrain();
  }
  Wake();
}

void WorkerMachine::Terminate() {
  if (!up()) {
    return;
  }
  process_->processes->Terminate();
  world_.After(world_.Between(absl::ZeroDuration(), kTerminationMax),
               [this, incarnation = process_->incarnation] {
                 if (up() && process_->incarnation == incarnation) {
                   Drain(false);
                 }
               });
}

void WorkerMachine::Pause(absl::Duration duration) {
  paused_until_ = std::max(paused_until_, world_.now() + duration);
}

void WorkerMachine::JumpClock(absl::Duration by) {
  clock_.Jump(by);
  Wake();
}

void WorkerMachine::SlowDown(absl::Duration duration, double factor) {
  slow_until_ = world_.now() + duration;
  if (up()) {
    process_->processes->SetSlowness(factor);
  }
}

void WorkerMachine::Recover() {
  paused_until_ = absl::InfinitePast();
  slow_until_ = absl::InfinitePast();
  if (up()) {
    process_->processes->SetSlowness(1);
    step_at_ = absl::InfiniteFuture();  // one may be scheduled at the end of the pause
    Wake();
  }
}

void WorkerMachine::Retire() {
  retired_ = true;
  if (up()) {
    Kill(/*power_cut=*/true);
  }
}

void WorkerMachine::CheckRecovered(const std::vector<SpooledResult>& recovered, bool damaged) {
  std::set<AttemptId> found;
  for (const SpooledResult& result : recovered) {
    found.insert(result.finished.id);
  }
  for (const AttemptId& id : spooled_) {
    if (!damaged && !found.contains(id)) {
      world_.Fail(absl::StrCat("the result of ", id.ToString(), " was in the spool of worker ",
                               planned_.name, " and is gone"));
    }
  }
  spooled_ = std::move(found);
}

void WorkerMachine::CheckListed(const SyncRequest& request) {
  std::set<AttemptId> listed(request.running.begin(), request.running.end());
  for (const RunningService& service : request.services) {
    listed.insert(service.id);
  }
  for (const FinishedAttempt& finished : request.finished) {
    listed.insert(finished.id);
  }
  for (const AttemptId& id : spooled_) {
    if (!listed.contains(id)) {
      world_.Fail(absl::StrCat("worker ", planned_.name, " does not tell of ", id.ToString(),
                               ", whose result is in its spool"));
    }
  }
}

// --- steps ---------------------------------------------------------------------------------------

void WorkerMachine::ScheduleStep(absl::Time at) {
  at = std::max({at, paused_until_, world_.now()});
  if (!up() || step_at_ <= at) {
    return;
  }
  step_at_ = at;
  world_.At(at, [this, number = ++step_number_] {
    if (number != step_number_) {
      return;
    }
    step_at_ = absl::InfiniteFuture();
    if (world_.now() < paused_until_) {
      ScheduleStep(paused_until_);
    } else {
      RunStep();
    }
  });
}

void WorkerMachine::Wake() {
  const bool slow = world_.now() < slow_until_;
  ScheduleStep(world_.now() +
               world_.Between(absl::ZeroDuration(), slow ? kSlowStepDelayMax : kStepDelayMax));
}

void WorkerMachine::RunStep() {
  const absl::Time next = process_->agent->Step();
  process_->agent->CheckInvariants();
  if (disk_.power_is_cut() || process_->agent->done()) {
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("worker ", process_->incarnation,
                                disk_.power_is_cut() ? " loses power in a write" : " has left"));
    }
    End(disk_.power_is_cut());
    return;
  }
  if (next != absl::InfiniteFuture()) {
    ScheduleStep(std::max(clock_.ToWorld(next), world_.now() + absl::Milliseconds(1)));
  }
}

// --- artifacts -----------------------------------------------------------------------------------

void WorkerMachine::Transfer(bool upload, const Digest& digest, Done done) {
  // Shared by the response, the loss and the time-out; only the first of them counts.
  auto finish = [done = std::move(done), open = std::make_shared<bool>(true)](absl::Status status) {
    if (std::exchange(*open, false)) {
      done(std::move(status));
    }
  };
  const auto lost = [finish] { finish(absl::UnavailableError("the connection was lost")); };
  network_.Send(
      node_, kCoordinatorNode,
      [this, upload, digest, finish, lost] {
        absl::Status status = upload ? coordinator_.Upload(digest) : coordinator_.Download(digest);
        network_.Send(
            kCoordinatorNode, node_, [finish, status] { finish(status); }, lost);
      },
      lost);
  world_.After(kTransferTimeout, [finish] { finish(absl::DeadlineExceededError("no answer")); });
}

void WorkerMachine::Upload(const Digest& digest, Done done) {
  Transfer(/*upload=*/true, digest, std::move(done));
}

void WorkerMachine::Download(const Digest& digest, Done done) {
  Transfer(/*upload=*/false, digest, std::move(done));
}

bool WorkerMachine::PutShared(const Digest& digest) {
  if (planned_.shares_disk) {
    coordinator_.PutArtifact(digest);
  }
  return planned_.shares_disk;
}

}  // namespace concur::sim
