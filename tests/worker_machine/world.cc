// SPDX-License-Identifier: Apache-2.0
#include "tests/worker_machine/world.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/process/waker.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/execution/fake_transfer.h"
#include "tests/worker_machine/jobs.h"
#include "worker/agent/agent.h"
#include "worker/agent/spool.h"
#include "worker/execution/subprocess_executor.h"

namespace concur::testing {
namespace {

constexpr int kSlots = 3;
constexpr size_t kOutstandingMax = 6;
constexpr int kOpeningsUnderFaultsMax = 50;
constexpr absl::Duration kLoopWait = absl::Milliseconds(2);
constexpr absl::Duration kFaultyTime = absl::Milliseconds(400);  // at most

// Passes calls on to the real executor, but for a planted bug.
class BuggyExecutor : public worker::Executor {
 public:
  BuggyExecutor(worker::Executor& real, MachineBug bug) : real_(real), bug_(bug) {}

  void SetCoordinatorStore(const worker::CoordinatorStore& store) override {
    real_.SetCoordinatorStore(store);
  }
  void SetLeaseEnd(absl::Time end) override { real_.SetLeaseEnd(end); }
  void Start(const JobOrder& order) override {
    JobOrder changed = order;
    if (bug_ == MachineBug::kTimeoutForgotten) {
      changed.timeout = absl::InfiniteDuration();
    }
    real_.Start(changed);
  }
  void Stop(const AttemptId& id, worker::StopCause cause, bool at_once) override {
    if (bug_ != MachineBug::kStopForgotten) {
      real_.Stop(id, cause, at_once);
    }
  }
  void Publish(const FinishedAttempt& finished) override { real_.Publish(finished); }
  void Forget(const AttemptId& id) override {
    if (bug_ != MachineBug::kForgetForgotten) {
      real_.Forget(id);
    }
  }
  std::vector<worker::ExecutorReport> Poll() override {
    std::vector<worker::ExecutorReport> reports = real_.Poll();
    for (worker::ExecutorReport& report : reports) {
      report.published = report.published || bug_ == MachineBug::kUploadSkipped;
    }
    return reports;
  }
  std::vector<AttemptStep> PollSteps() override { return real_.PollSteps(); }
  size_t waiting() const override { return real_.waiting(); }
  std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) override {
    return real_.ReadLog(id, offset, bytes_max);
  }

 private:
  worker::Executor& real_;
  const MachineBug bug_;
};

// The coordinator, as the worker's calls see it. The worker's loop calls every function.
class SmallCoordinator : public worker::Gateway {
 public:
  SmallCoordinator(uint64_t seed, Jobs& jobs, Jobs::Broken broken)
      : jobs_(jobs), broken_(std::move(broken)), random_(seed, "coordinator"), all_(jobs.count()) {}

  void StartSync(const SyncRequest& request, absl::Duration /*timeout*/) override {
    sequence_ = request.sequence;
    const bool lost = faulty_ && random_.Chance(0.05);
    SyncResponse response;
    if (!lost) {
      response = Apply(request);
    }
    const bool answer_lost = lost || (faulty_ && random_.Chance(0.05));
    const bool idle = response.start.empty() && response.stop.empty() && response.forget.empty();
    answers_.push_back(
        {clock_.Now() + absl::Milliseconds(idle ? 3 : random_.Between(0, 2)),
         {request.sequence,
          answer_lost ? absl::StatusOr<SyncResponse>(absl::UnavailableError("the network lost it"))
                      : std::move(response)}});
  }
  void CancelSync(uint64_t sequence) override {
    std::erase_if(answers_, [&](const auto& each) { return each.second.sequence == sequence; });
  }
  std::vector<worker::SyncAnswer> Poll() override {
    std::vector<worker::SyncAnswer> due;
    std::erase_if(answers_, [&](auto& each) {
      const bool comes = each.first <= clock_.Now();
      if (comes) {
        due.push_back(std::move(each.second));
      }
      return comes;
    });
    return due;
  }

  void StopFaults() { faulty_ = false; }
  void WorkerIsGone() { answers_.clear(); }
  bool done() const {
    return std::all_of(all_.begin(), all_.end(), [](const Job& job) { return job.done; });
  }
  size_t left() const {
    return static_cast<size_t>(
        std::count_if(all_.begin(), all_.end(), [](const Job& job) { return !job.done; }));
  }
  int results() const { return results_; }

 private:
  struct Job {
    uint32_t attempt = 0;
    bool ordered = false;   // the attempt was given to the worker, and has not ended
    bool listed = false;    // the worker has said so
    bool reported = false;  // the worker has reported its result, and was not told to forget it
    bool stopped = false;
    bool faultless = false;  // ordered after the faults
    bool done = false;
  };

  static AttemptId IdOf(size_t job, uint32_t attempt) {
    return {{{1}, static_cast<uint32_t>(job)}, {attempt}};
  }

  SyncResponse Apply(const SyncRequest& request) {
    SyncResponse response;
    response.lease = absl::Seconds(30);
    std::set<AttemptId> known(request.running.begin(), request.running.end());
    for (const FinishedAttempt& finished : request.finished) {
      known.insert(finished.id);
    }
    if (request.worker.incarnation != incarnation_) {
      incarnation_ = request.worker.incarnation;
      LoseWhatIsNotIn(known);
    }
    for (const FinishedAttempt& finished : request.finished) {
      Take(finished);
      response.forget.push_back({finished.id, true, ""});
    }
    size_t outstanding = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      Job& job = all_[i];
      const bool may_order = !request.draining && !request.shutting_down;
      if (!job.ordered && !job.done && may_order && outstanding < kOutstandingMax) {
        job = {.attempt = job.attempt + 1, .ordered = true, .faultless = !faulty_};
      }
      if (job.ordered) {
        ++outstanding;
        Follow(i, known.contains(IdOf(i, job.attempt)), may_order, response);
      }
    }
    return response;
  }

  // Attempts that a restarted worker does not know are lost, unless their result was reported.
  void LoseWhatIsNotIn(const std::set<AttemptId>& known) {
    for (size_t i = 0; i < all_.size(); ++i) {
      Job& job = all_[i];
      if (job.ordered && !known.contains(IdOf(i, job.attempt))) {
        job.ordered = false;
      }
    }
    for (const AttemptId& id : unforgotten_) {
      if (!known.contains(id)) {
        broken_(absl::StrCat("the result of ", worker::RunName(id),
                             " was reported, and is not reported by the next worker"));
      }
    }
  }

  void Take(const FinishedAttempt& finished) {
    jobs_.Reported(finished.id);
    Job& job = all_[finished.id.job.index];
    unforgotten_.insert(finished.id);
    const std::string problem = jobs_.Problem(finished.id, finished.result);
    if (!problem.empty()) {
      broken_(problem);
    }
    if (job.done || !job.ordered || finished.id.attempt.number != job.attempt) {
      return;  // result of an earlier attempt, or a repeat
    }
    ++results_;
    job.ordered = false;
    job.done = jobs_.IsFinal(finished.id.job.index, finished.result);
    if (job.faultless && finished.result.failure == FailureClass::kWorker) {
      broken_(absl::StrCat(worker::RunName(finished.id),
                           " fails after the faults: ", finished.result.message));
    }
  }

  void Follow(size_t index, bool is_known, bool may_order, SyncResponse& response) {
    Job& job = all_[index];
    const AttemptId id = IdOf(index, job.attempt);
    if (!is_known) {
      if (job.listed) {
        broken_(worker::RunName(id) + " was listed, and is neither running nor finished");
      } else if (may_order) {
        response.start.push_back(jobs_.Order(id));
      }
      return;
    }
    job.listed = true;
    const bool until_stopped = jobs_.plan(index).kind == JobPlan::Kind::kUntilStopped;
    job.stopped = job.stopped || random_.Chance(until_stopped ? 0.3 : faulty_ ? 0.01 : 0);
    if (job.stopped) {
      response.stop.push_back({id, StopReason::kCanceled});
    }
  }

 public:
  // The worker has taken in that these are forgotten.
  void Forgotten(const std::set<AttemptId>& kept) {
    std::erase_if(unforgotten_, [&](const AttemptId& id) { return !kept.contains(id); });
  }

 private:
  Jobs& jobs_;
  const Jobs::Broken broken_;
  SystemClock clock_;
  Random random_;
  std::vector<Job> all_;
  std::deque<std::pair<absl::Time, worker::SyncAnswer>> answers_;
  std::string incarnation_;
  // Results that a worker reported and may not have dropped yet.
  std::set<AttemptId> unforgotten_;
  uint64_t sequence_ = 0;
  bool faulty_ = true;
  int results_ = 0;
};

// A spool that remembers which results it must still have.
class WatchedSpool : public worker::Spool {
 public:
  WatchedSpool(worker::Spool& real, std::set<AttemptId>& kept) : real_(real), kept_(kept) {}

  absl::Status Put(const std::vector<worker::SpooledResult>& results) override {
    const absl::Status status = real_.Put(results);
    if (status.ok()) {
      for (const worker::SpooledResult& result : results) {
        kept_.insert(result.finished.id);
      }
    }
    return status;
  }
  void Remove(const std::vector<AttemptId>& ids) override {
    for (const AttemptId& id : ids) {
      kept_.erase(id);
    }
    real_.Remove(ids);
  }

 private:
  worker::Spool& real_;
  std::set<AttemptId>& kept_;
};

class World {
 public:
  World(uint64_t seed, MachineBug bug, absl::Duration patience)
      : bug_(bug),
        patience_(patience),
        random_(seed, "world"),
        rates_(DrawRates()),
        work_(temp_.File("work")),
        jobs_(seed, static_cast<size_t>(random_.Between(4, 12)), kSlots, transfer_,
              [this](const std::string& text) { Broken(text); }),
        coordinator_(seed, jobs_, [this](const std::string& text) { Broken(text); }),
        machine_(seed, work_, rates_, bug,
                 [this](const Execution& execution) { return jobs_.Start(machine_, execution); }) {}

  WorldReport Run() {
    stop_time_ = clock_.Now() + kFaultyTime;
    int ends = static_cast<int>(random_.Between(0, 3));  // workers' ends before their work is done
    while (Open() && !coordinator_.done() && report_.broken.empty()) {
      const bool by_kill = random_.Chance(0.7);
      const int64_t steps = ends-- > 0 ? random_.Between(1, 60) : -1;
      if (!Work(steps) || IsIdle()) {
        break;
      }
      Close(steps >= 0 && by_kill);
    }
    Finish();
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.starts = jobs_.starts();
    report_.results = coordinator_.results();
    report_.faults = machine_.counts();
    return report_;
  }

 private:
  FaultRates DrawRates() {
    const auto rate = [this] { return random_.Chance(0.4) ? random_.Uniform() * 0.04 : 0; };
    FaultRates rates;
    rates.full = rate();
    rates.unreadable = rate();
    rates.sync_lost = 3 * rate();
    rates.sync_slow = 3 * rate();
    rates.stuck = rate();
    rates.spawn = 3 * rate();
    rates.partial = 3 * rate();
    // A bug that hides a fault shows where there are such faults.
    const auto frequent = [this](MachineBug bug, double drawn) {
      return bug_ == bug ? 0.05 : drawn;
    };
    rates.full = frequent(MachineBug::kFullDiskHidden, rates.full);
    rates.unreadable = frequent(MachineBug::kReadErrorHidden, rates.unreadable);
    rates.sync_lost = frequent(MachineBug::kSyncErrorHidden, rates.sync_lost);
    return rates;
  }

  void Broken(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.broken.push_back(text);
  }
  bool IsBroken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !report_.broken.empty();
  }

  void StopFaults() {
    machine_.StopFaults();
    coordinator_.StopFaults();
    transfer_.Break(0);
    faulty_ = false;
  }

  // Starts a worker, as a supervisor does until it comes up.
  bool Open() {
    for (int tries = 0; tries < 2 * kOpeningsUnderFaultsMax; ++tries) {
      if (tries == kOpeningsUnderFaultsMax) {
        StopFaults();
      }
      const absl::Status status = TryOpen();
      if (status.ok()) {
        return true;
      }
      last_error_ = std::string(status.message());
      ++report_.failed_openings;
      if (!faulty_) {
        break;
      }
    }
    Broken("a worker cannot start without a fault: " + last_error_);
    return false;
  }

  absl::Status TryOpen() {
    machine_.SetStarting(true);
    auto spool = worker::FileSpool::Open(work_ + "/spool");
    CONCUR_RETURN_IF_ERROR(spool.status());
    std::vector<Digest> live;  // as concur-worker has it
    for (const worker::SpooledResult& spooled : (*spool)->recovered()) {
      for (const ArtifactRef& artifact : spooled.finished.result.artifacts) {
        if (!spooled.published) {
          live.push_back(artifact.digest);
        }
      }
    }
    worker::SubprocessOptions options;
    options.work_directory = work_;
    options.grace = absl::Milliseconds(10);
    options.slots = bug_ == MachineBug::kTooManyAtOnce ? kSlots + 2 : kSlots;
    options.memory_interval = absl::Milliseconds(5);
    options.transfer_backoff_max = absl::Milliseconds(5);
    constexpr int64_t kLimits[] = {0, 200'000, 1};
    options.cache_bytes_max = kLimits[random_.Below(std::size(kLimits))];
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    auto executor =
        worker::SubprocessExecutor::Open(options, transfer_, live, [this] { waker_.Wake(); });
    CONCUR_RETURN_IF_ERROR(executor.status());
    if (machine_.Living(work_) > 0) {
      Broken("a worker has started beside what an earlier one left running");
    }
    machine_.SetStarting(false);
    notices_ = (*executor)->notices();
    spool_ = *std::move(spool);
    executor_ = *std::move(executor);
    buggy_executor_ = std::make_unique<BuggyExecutor>(*executor_, bug_);
    watched_spool_ = std::make_unique<WatchedSpool>(*spool_, kept_);
    worker::AgentOptions agent_options;
    agent_options.info.name = "w";
    agent_options.info.incarnation = absl::StrCat(++incarnations_);
    agent_options.wait = absl::Seconds(1);
    agent_options.backoff_min = absl::Milliseconds(1);
    agent_options.backoff_max = absl::Milliseconds(5);
    agent_options.gather = absl::Milliseconds(1);
    agent_options.terminated_hold = absl::Milliseconds(5);
    agent_options.drain_grace = absl::Milliseconds(20);
    agent_options.recovery_wait = patience_;
    agent_ = std::make_unique<worker::Agent>(clock_, coordinator_, *buggy_executor_,
                                             *watched_spool_, agent_options, spool_->recovered());
    return absl::OkStatus();
  }

  // Lets the worker work for so many steps, or until all is done. False: it is stuck.
  bool Work(int64_t steps) {
    const absl::Time deadline = clock_.Now() + kFaultyTime + patience_;
    for (int64_t step = 0; step != steps && !agent_->done(); ++step) {
      if (faulty_ && clock_.Now() > stop_time_) {
        StopFaults();
      }
      if (faulty_ && random_.Chance(0.02)) {
        transfer_.Break(static_cast<int>(random_.Between(1, 4)), random_.Below(5'000));
      }
      agent_->Step();
      agent_->CheckInvariants();
      coordinator_.Forgotten(kept_);
      if (IsBroken() || IsIdle()) {
        return !IsBroken();
      }
      if (clock_.Now() > deadline) {
        Broken(absl::StrCat(coordinator_.left(), " jobs do not end"));
        return false;
      }
      waker_.Wait(kLoopWait);
    }
    return true;
  }

  // True if every job has ended, and the worker has forgotten all results.
  bool IsIdle() const {
    return coordinator_.done() && agent_->running() == 0 && agent_->finished() == 0;
  }

  void Close(bool by_kill) {
    if (by_kill) {
      machine_.KillWorker();
      ++report_.kills;
    } else {
      agent_->RequestDrain();
      const absl::Time deadline = clock_.Now() + patience_;
      while (!agent_->done() && clock_.Now() < deadline && !IsBroken()) {
        agent_->Step();
        coordinator_.Forgotten(kept_);
        waker_.Wait(kLoopWait);
      }
      if (!agent_->done() && !IsBroken()) {
        Broken("a draining worker does not leave");
      }
    }
    agent_.reset();
    buggy_executor_.reset();
    executor_.reset();
    watched_spool_.reset();
    spool_.reset();
    coordinator_.WorkerIsGone();
    if (by_kill) {
      machine_.Restart();
    }
  }

  // True if `holds` comes true in time.
  template <typename Condition>
  bool Eventually(Condition holds) {
    const absl::Time deadline = clock_.Now() + patience_;
    while (!holds()) {
      if (clock_.Now() > deadline) {
        return false;
      }
      waker_.Wait(kLoopWait);
    }
    return true;
  }

  void Finish() {
    if (executor_ != nullptr && !IsBroken()) {
      CheckThatNothingRuns();
      CheckThatForgottenIsGone();
    }
    StopFaults();
    if (executor_ != nullptr) {
      Close(false);
    }
    if (!IsBroken() && Open()) {
      CheckAfterTheLastStart();
    }
    // Before the machine, whose calls they make.
    agent_.reset();
    buggy_executor_.reset();
    executor_.reset();
    watched_spool_.reset();
    spool_.reset();
  }

  void CheckThatNothingRuns() {
    if (!Eventually([&] { return machine_.Living() == 0; })) {
      Broken(absl::StrCat(machine_.Living(), " processes outlive their jobs"));
    }
  }

  // Files that could not be removed may stay until the next start.
  void CheckThatForgottenIsGone() {
    if (rates_.stuck > 0 || rates_.unreadable > 0 || HasUndeletable()) {
      return;
    }
    const Machine::Unharmed look;
    if (!Eventually([&] { return FilesBelow(work_ + "/runs") == 0; })) {
      Broken("files of forgotten attempts stay in their run directories");
    }
    if (!Eventually([&] { return FilesBelow(work_ + "/logs") == 0; })) {
      Broken("logs of forgotten attempts stay");
    }
  }

  bool HasUndeletable() const {
    for (size_t job = 0; job < jobs_.count(); ++job) {
      if (jobs_.plan(job).undeletable) {
        return true;
      }
    }
    return false;
  }

  void CheckAfterTheLastStart() {
    const Machine::Unharmed look;
    for (const char* folder : {"/runs", "/logs"}) {
      if (!std::filesystem::is_empty(work_ + folder)) {
        Broken(absl::StrCat("the last start leaves entries in ", folder));
      }
    }
    size_t aside = 0;
    for (const auto& entry : std::filesystem::directory_iterator(work_)) {
      aside += absl::StrContains(entry.path().string(), ".kept-") ? 1 : 0;
    }
    if (aside > 0 && !HasUndeletable()) {
      Broken("what could be removed was set aside");
    }
    if ((aside > 0) != !notices_.empty()) {
      Broken(absl::StrCat(aside, " directories are set aside, with ", notices_.size(), " notices"));
    }
    // One that could not be removed is found again; to deliver it twice changes nothing.
    if (!spool_->recovered().empty() && rates_.stuck == 0) {
      Broken(absl::StrCat(spool_->recovered().size(), " results stay in the spool"));
    }
  }

  static size_t FilesBelow(const std::string& directory) {
    size_t files = 0;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator it(directory, error), end;
         !error && it != end; it.increment(error)) {
      files += it->is_directory(error) ? 0 : 1;
    }
    return files;
  }

  const MachineBug bug_;
  const absl::Duration patience_;
  Random random_;
  const FaultRates rates_;
  TempDir temp_;
  const std::string work_;
  worker::FakeTransfer transfer_;
  SystemClock clock_;
  process::Waker waker_;
  Jobs jobs_;
  SmallCoordinator coordinator_;
  Machine machine_;

  std::unique_ptr<worker::FileSpool> spool_;
  std::unique_ptr<WatchedSpool> watched_spool_;
  std::unique_ptr<worker::SubprocessExecutor> executor_;
  std::unique_ptr<BuggyExecutor> buggy_executor_;
  std::unique_ptr<worker::Agent> agent_;
  std::set<AttemptId> kept_;  // in the spool
  std::vector<std::string> notices_;
  int incarnations_ = 0;
  absl::Time stop_time_;
  bool faulty_ = true;
  std::string last_error_;

  std::mutex mutex_;
  WorldReport report_;
};

}  // namespace

WorldReport RunWorkerWorld(uint64_t seed, MachineBug bug, absl::Duration patience) {
  return World(seed, bug, patience).Run();
}

}  // namespace concur::testing
