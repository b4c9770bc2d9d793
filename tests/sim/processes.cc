// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/processes.h"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/spent.h"
#include "worker/execution/finish.h"

namespace concur::sim {
namespace {

using process::KillCause;
using process::ProcessEnd;
using worker::ExecutorReport;
using worker::FailedResult;
using worker::StopCause;

constexpr absl::Duration kStopGrace = absl::Seconds(5);
// A stuck attempt ends so long after its time-out, or after it was told to stop, at most.
constexpr absl::Duration kStuckMax = absl::Minutes(3);
constexpr double kStuckEnds = 0.5;  // by itself; the others only when they are told to stop
constexpr absl::Duration kRetryMin = absl::Milliseconds(200);
constexpr absl::Duration kRetryMax = absl::Seconds(10);

constexpr absl::Duration kLoadMin = absl::Milliseconds(200);  // a service's
constexpr absl::Duration kLoadMax = absl::Seconds(20);
constexpr absl::Duration kServiceLifeMax = absl::Seconds(60);  // that one lives which dies

constexpr int kExitTemporary = 75;
constexpr int kExitBroken = 1;  // exit code of a broken worker's commands, which fail fast
constexpr absl::Duration kBrokenTime = absl::Milliseconds(200);
constexpr int ExitStatus(int code) { return code << 8; }  // as from waitpid

absl::Duration RetryDelay(int tries) {
  return std::min(kRetryMax, kRetryMin * (1 << std::min(tries, 10)));
}

bool Asks(const JobOrder& order, const AttemptId& service) {
  return std::any_of(order.services.begin(), order.services.end(),
                     [&](const auto& asked) { return asked.second == service; });
}

bool MayWorkLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

Processes::Processes(World& world, Checker& checker, Clock& clock, ArtifactCalls& calls,
                     std::set<Digest>& kept, std::function<void()> wake, std::function<void()> die)
    : world_(world),
      checker_(checker),
      clock_(clock),
      calls_(calls),
      kept_(kept),
      wake_(std::move(wake)),
      die_(std::move(die)) {}

Processes::~Processes() {
  *alive_ = false;
  for (const auto& [id, run] : runs_) {
    // Its processes continue without a worker; the next worker kills the rest of them. How they
    // ended is not reported in either case.
    if (run.started && world_.Strikes(Fault::kJobOrphaned) && world_.tracing()) {
      world_.Trace(absl::StrCat(id.ToString(), " goes on without its worker"));
    }
  }
}

void Processes::Later(absl::Duration delay, std::function<void()> work) {
  world_.After(delay, [alive = alive_, work = std::move(work)] {
    if (*alive) {
      work();
    }
  });
}

std::function<void(absl::Status)> Processes::IfAlive(std::function<void(absl::Status)> work) {
  return [alive = alive_, work = std::move(work)](absl::Status status) {
    if (*alive) {
      work(std::move(status));
    }
  };
}

void Processes::SetCoordinatorStore(const worker::CoordinatorStore& /*store*/) {}

void Processes::SetLeaseEnd(absl::Time end) {
  lease_end_ = end;
  for (const AttemptId& id : std::exchange(held_, {})) {
    Launch(id);
  }
}

// --- running -------------------------------------------------------------------------------------

void Processes::Start(const JobOrder& order) {
  std::vector<const JobOrder*> others;
  for (const auto& [id, run] : runs_) {
    others.push_back(&run.order);
  }
  checker_.OnStart(order, others);
  Run& run = runs_[order.id];
  run.order = order;
  run.start_time = clock_.Now();
  Fetch(order.id, 0);
}

// Fetches the checkpoint and the system of a job; data files are assumed to be present.
void Processes::Fetch(const AttemptId& id, int tries) {
  const auto it = runs_.find(id);
  if (it == runs_.end() || it->second.stopped) {
    return;  // ended meanwhile
  }
  const JobOrder& order = it->second.order;
  const bool lacks_checkpoint = order.checkpoint && !kept_.contains(order.checkpoint->digest);
  const Digest needed = lacks_checkpoint ? order.checkpoint->digest : order.system;
  if (needed.IsZero() || kept_.contains(needed)) {
    it->second.resumed_from = order.checkpoint ? order.checkpoint->attempt : 0;
    Later(world_.Between(absl::Milliseconds(5), absl::Milliseconds(50)),
          [this, id] { Launch(id); });
    return;
  }
  calls_.Download(
      needed, IfAlive([this, id, needed, lacks_checkpoint, tries](const absl::Status& status) {
        const auto run = runs_.find(id);
        if (run == runs_.end()) {
          return;
        }
        if (status.ok()) {
          kept_.insert(needed);
          Fetch(id, tries);
        } else if (MayWorkLater(status)) {
          Later(RetryDelay(tries), [this, id, tries] { Fetch(id, tries + 1); });
        } else if (lacks_checkpoint) {
          run->second.order.checkpoint.reset();  // it begins anew
          Fetch(id, tries);
        } else {
          runs_.erase(run);
          Report({id, FailedResult(worker::ClassOfWorkerError(status), status.message())}, true);
        }
      }));
}

void Processes::Launch(const AttemptId& id) {
  const auto it = runs_.find(id);
  if (it == runs_.end() || it->second.started) {
    return;
  }
  Run& run = it->second;
  if (clock_.Now() >= lease_end_) {
    held_.insert(id);
    return;
  }
  if (!HasServices(run.order)) {
    runs_.erase(it);
    Report({id, FailedResult(FailureClass::kService, "its service has ended")}, true);
    return;
  }
  for (const auto& [name, service] : run.order.services) {
    size_t users = 1;
    for (const auto& [other, asking] : runs_) {
      users += asking.started && Asks(asking.order, service) ? 1 : 0;
    }
    checker_.OnAsk(run.order, name, runs_.at(service).ready, users);
  }
  if (world_.Strikes(Fault::kJobSpawnFails)) {
    runs_.erase(it);
    Report({id, FailedResult(FailureClass::kSpawn, "the program could not be started")}, true);
    return;
  }
  run.started = true;
  run.start_time = clock_.Now();
  if (id.job.IsService()) {
    LaunchService(id);
    return;
  }
  const JobBehavior behavior = BehaviorOf(run.order);
  if (behavior.kills_worker) {
    Later(behavior.run_time, [this, id] {
      if (runs_.contains(id)) {
        const std::function<void()> die = die_;  // this is gone before it returns
        die();
      }
    });
    return;
  }
  ProcessEnd end;
  end.run_time = absl::Trunc(behavior.run_time * slowness_, absl::Microseconds(1));
  end.wait_status = ExitStatus(behavior.exit_code);
  if (broken_ && world_.faults()) {
    end.run_time = kBrokenTime;
    end.wait_status = ExitStatus(kExitBroken);
  } else if (world_.Strikes(Fault::kJobStuck)) {
    run.stuck = true;
    if (world_.random().Chance(kStuckEnds)) {
      EndAfter(id, run.order.timeout + world_.Between(absl::ZeroDuration(), kStuckMax), end);
    }
    return;
  } else if (world_.Strikes(Fault::kJobHangs) || end.run_time > run.order.timeout) {
    end.run_time = run.order.timeout;
    end.killed_for = KillCause::kTimeout;
    end.wait_status = SIGKILL;
  } else if (world_.Strikes(Fault::kJobOutOfMemory)) {
    end.killed_for = KillCause::kMemory;
    end.wait_status = SIGKILL;
    end.memory_bytes_peak = int64_t{1} << 33;
  } else if (world_.Strikes(Fault::kJobTemporary)) {
    end.wait_status = ExitStatus(kExitTemporary);
  } else if (world_.Strikes(Fault::kJobFails)) {
    end.wait_status = SIGSEGV;
  }
  ReportSteps(id, end.run_time);
  EndAfter(id, end.run_time, end);
}

bool Processes::HasServices(const JobOrder& order) const {
  return std::all_of(order.services.begin(), order.services.end(), [this](const auto& service) {
    const auto it = runs_.find(service.second);
    return it != runs_.end() && it->second.started && !it->second.stopped;
  });
}

void Processes::LaunchService(const AttemptId& id) {
  ProcessEnd end;
  end.run_time = world_.Between(kLoadMin, kLoadMax);
  end.wait_status = ExitStatus(kExitBroken);
  if (world_.Strikes(Fault::kServiceFails) || (broken_ && world_.faults())) {
    EndAfter(id, end.run_time, end);
    return;
  }
  Later(end.run_time, [this, id] {
    const auto it = runs_.find(id);
    if (it != runs_.end() && !it->second.stopped) {
      it->second.ready = true;
      ready_.push_back(id);
      wake_();
    }
  });
  if (world_.Strikes(Fault::kServiceDies)) {
    end.run_time += world_.Between(absl::ZeroDuration(), kServiceLifeMax);
    end.wait_status = SIGKILL;
    EndAfter(id, end.run_time, end);
  }
}

void Processes::ReportSteps(const AttemptId& id, absl::Duration run_time) {
  for (const double part : {0.5, 1.0}) {
    if (checker_.spends()) {
      Later(run_time * part, [this, id, part] {
        if (runs_.contains(id)) {
          const double usd = BehaviorOf(runs_.at(id).order).usd * part;
          steps_.push_back({id, {0, kUsdName, usd}});
          checker_.OnSpent(steps_.back());
          wake_();
        }
      });
    }
  }
  if (!runs_.at(id).order.is_train) {
    return;
  }
  for (int64_t step = 1; step <= kTrainSteps; ++step) {
    Later(run_time * (static_cast<double>(step) / kTrainSteps), [this, id, step] {
      if (runs_.contains(id)) {
        ReportStep(id, step);
      }
    });
  }
}

void Processes::ReportStep(const AttemptId& id, int64_t step) {
  const double value = BehaviorOf(runs_.at(id).order).score + static_cast<double>(step);
  steps_.push_back({id, {step, kStepName, value}});
  checker_.OnStep(steps_.back());
  wake_();
}

std::vector<AttemptStep> Processes::PollSteps() { return std::exchange(steps_, {}); }

void Processes::EndAfter(const AttemptId& id, absl::Duration delay, const ProcessEnd& end) {
  const uint64_t number = next_end_++;
  runs_.at(id).end_number = number;
  Later(delay, [this, id, number, end] {
    const auto it = runs_.find(id);
    if (it != runs_.end() && it->second.end_number == number) {
      End(id, end);
    }
  });
}

void Processes::End(const AttemptId& id, const ProcessEnd& end) {
  const Run run = runs_.at(id);
  runs_.erase(id);
  const bool is_service = id.job.IsService();
  JobResult result = is_service ? ClassifyServiceEnd(run.order, end, run.stopped)
                                : ClassifyEnd(run.order, end, run.stopped);
  result.start_time = run.start_time;
  if (!result.succeeded &&
      (run.stopped == StopCause::kService || (!run.stopped && !HasServices(run.order)))) {
    result.failure = FailureClass::kService;
  }
  if (result.succeeded && world_.Strikes(Fault::kJobBadOutput)) {
    JobResult bad = FailedResult(FailureClass::kInvalidOutput, "the output is malformed");
    bad.start_time = result.start_time;
    bad.run_time = result.run_time;
    result = std::move(bad);
  }
  result = Collect(run.order, std::move(result));
  result.resumed_from = run.resumed_from;
  FinishedAttempt finished{id, std::move(result)};
  if (is_service) {
    std::vector<AttemptId> users;
    for (const auto& [user, asking] : runs_) {
      if (Asks(asking.order, id)) {
        users.push_back(user);
      }
    }
    for (const AttemptId& user : users) {
      Stop(user, StopCause::kService, /*at_once=*/false);
    }
  } else {
    finished.checkpoint = LeaveCheckpoint(run, finished.result);
  }
  const std::vector<Digest> digests = worker::DigestsOf(finished);
  const bool shared = std::all_of(digests.begin(), digests.end(), [this](const Digest& digest) {
    return calls_.PutShared(digest);
  });
  const bool skipped = world_.bug() == Bug::kPublishSkipped;
  Report(std::move(finished), shared || skipped);
}

// Like worker::CollectCheckpoint. Some attempts get no further than the checkpoint that they had.
std::optional<Checkpoint> Processes::LeaveCheckpoint(const Run& run, const JobResult& result) {
  if (result.succeeded || run.stopped == StopCause::kCanceled ||
      run.stopped == StopCause::kFenced) {
    return std::nullopt;
  }
  const AttemptId& id = run.order.id;
  if (run.resumed_from > 0 && id.attempt.number % 3 == 0) {
    return run.order.checkpoint;
  }
  const std::string bytes = absl::StrCat("checkpoint of ", id.ToString());
  const Digest digest = Sha256Of(bytes);
  kept_.insert(digest);
  return Checkpoint{digest, static_cast<int64_t>(bytes.size()), id.attempt.number};
}

// The result of worker::CollectOutputs, computed from the job's behavior.
JobResult Processes::Collect(const JobOrder& order, JobResult result) {
  const auto keep = [&](ArtifactKind kind, const std::string& bytes) {
    const Digest digest = Sha256Of(bytes);
    kept_.insert(digest);
    result.artifacts.push_back({kind, digest, static_cast<int64_t>(bytes.size())});
  };
  const JobBehavior behavior = BehaviorOf(order);
  if (result.succeeded && order.is_train) {
    keep(ArtifactKind::kSystem, behavior.system);
  } else if (result.succeeded) {
    keep(ArtifactKind::kPredictions, behavior.predictions);
    result.metrics = {{"exact_match", behavior.score, 100}};
  }
  keep(ArtifactKind::kLog, absl::StrCat("log of ", order.id.ToString()));
  return result;
}

void Processes::Stop(const AttemptId& id, StopCause cause, bool at_once) {
  const auto it = runs_.find(id);
  if (it == runs_.end()) {
    return;
  }
  Run& run = it->second;
  const bool again = run.stopped.has_value();
  if (!again) {
    run.stopped = cause;
  }
  if (!run.started) {
    JobResult result = FailedResult(
        cause == StopCause::kService ? FailureClass::kService : FailureClass::kPreempted,
        worker::StopCauseText(*run.stopped));
    result.start_time = run.start_time;
    runs_.erase(it);
    Report({id, std::move(result)}, true);
    return;
  }
  if (again && !at_once) {
    return;
  }
  // The process ends at once, some time later, or only when it is killed.
  ProcessEnd end;
  end.killed_for = KillCause::kStop;
  end.wait_status = SIGKILL;
  const absl::Duration delay = run.stuck ? world_.Between(absl::ZeroDuration(), kStuckMax)
                               : at_once ? absl::ZeroDuration()
                                         : world_.Between(absl::ZeroDuration(), kStopGrace);
  end.run_time = absl::Trunc(clock_.Now() - run.start_time, absl::Microseconds(1));
  EndAfter(id, delay, end);
}

void Processes::Terminate() {
  for (const auto& [id, run] : runs_) {
    if (run.started && !run.stuck && !run.stopped.has_value()) {
      ProcessEnd end;
      end.wait_status = SIGTERM;
      end.run_time = absl::Trunc(clock_.Now() - run.start_time, absl::Microseconds(1));
      EndAfter(id, world_.Between(absl::ZeroDuration(), kTerminationMax), end);
    }
  }
}

void Processes::Report(FinishedAttempt finished, bool published) {
  ExecutorReport report{std::move(finished), published};
  checker_.OnReport(report.finished);
  if (world_.tracing()) {
    world_.Trace(absl::StrCat(report.finished.id.ToString(), " ended: ",
                              report.finished.result.succeeded
                                  ? "success"
                                  : FailureClassName(report.finished.result.failure),
                              published ? ", published" : ""));
  }
  reports_.push_back(std::move(report));
  wake_();
}

std::vector<ExecutorReport> Processes::Poll() { return std::exchange(reports_, {}); }

std::string Processes::ReadLog(const AttemptId& /*id*/, int64_t /*offset*/, size_t /*bytes_max*/) {
  return "";
}

// --- artifacts -----------------------------------------------------------------------------------

void Processes::Publish(const FinishedAttempt& finished) {
  publishing_.insert(finished.id);
  TryPublish(finished, 0, 0);
}

void Processes::TryPublish(const FinishedAttempt& finished, size_t next, int tries) {
  if (!publishing_.contains(finished.id)) {
    return;  // forgotten meanwhile
  }
  const std::vector<Digest> digests = worker::DigestsOf(finished);
  if (next == digests.size()) {
    publishing_.erase(finished.id);
    reports_.push_back({finished, true});
    wake_();
    return;
  }
  const Digest digest = digests[next];
  if (!kept_.contains(digest)) {
    publishing_.erase(finished.id);
    JobResult failed = FailedResult(FailureClass::kWorker, "an artifact is not on this disk");
    failed.start_time = finished.result.start_time;
    Report({finished.id, std::move(failed)}, true);
    return;
  }
  calls_.Upload(digest, IfAlive([this, finished, next, tries](const absl::Status& status) {
                  if (status.ok()) {
                    TryPublish(finished, next + 1, tries);
                  } else {
                    Later(RetryDelay(tries),
                          [this, finished, next, tries] { TryPublish(finished, next, tries + 1); });
                  }
                }));
}

void Processes::Forget(const AttemptId& id) { publishing_.erase(id); }

}  // namespace concur::sim
