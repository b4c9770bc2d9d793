// SPDX-License-Identifier: Apache-2.0
// A scheduler, its workers and its users under random events: messages lost, repeated, delayed and
// reordered; workers and the coordinator killed; leases that run out; users who cancel, retry and
// delete. Every step checks the promises that can be seen from outside.
//
// Thread-compatible; the same seed gives the same events.
#ifndef CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_RANDOM_WORLD_H_
#define CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_RANDOM_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"

namespace concur::testing {

inline constexpr int kRandomWorkers = 4;
inline constexpr size_t kRandomSweepsMax = 7;

struct Answer {
  std::string worker;
  std::string incarnation;
  uint64_t sequence = 0;
  WorkerOrders orders;
};

// State that was seen of a job after the last step.
struct Seen {
  JobState state = JobState::kReady;
  uint32_t attempt = 0;
  std::vector<Metric> metrics;
  std::vector<ArtifactRef> artifacts;
};

// Every third seed has quotas.
inline SchedulerPolicy PolicyOf(uint64_t seed) {
  SchedulerPolicy policy;
  policy.lease = absl::Seconds(30);
  policy.seed = seed;
  policy.quarantine_min = absl::Minutes(1);
  policy.slice_jobs = seed % 4 == 0 ? 10'000 : 25;  // else two rows a turn
  policy.overdue_grace = seed % 2 == 0 ? absl::Seconds(45) : absl::Hours(1);
  if (seed % 3 == 0) {
    policy.quotas.otherwise = Quota{.running_jobs_max = 2, .stored_bytes_max = 1'000'000};
  }
  return policy;
}

class RandomWorld {
 public:
  explicit RandomWorld(uint64_t seed)
      : random_(seed, "scheduler_random_test"),
        labels_(seed, "labels"),
        early_stop_(seed, "early_stop"),
        stages_(seed, "stages"),
        search_(seed, "search"),
        harness_(PolicyOf(seed)),
        trace_(std::getenv("CONCUR_RANDOM_TRACE") != nullptr) {
    for (int i = 0; i < kRandomWorkers; ++i) {
      workers_.emplace_back(absl::StrCat("w", i),
                            Resources{.cpu_millis = 1000 * random_.Between(1, 4),
                                      .memory_bytes = 0,
                                      .gpus = static_cast<int32_t>(random_.Between(0, 3))});
      workers_.back().info().queue_max = static_cast<uint32_t>(i % 3) * 2;  // some take jobs ahead
      if (labels_.Chance(0.5)) {
        workers_.back().info().labels = {{"disk", "fast"}};
      }
    }
  }

  void Step() {
    ++step_;
    ForgetRetried();
    harness_.Advance(absl::ZeroDuration());
    switch (random_.Below(40)) {
      case 0:
        Submit();
        break;
      case 1:
        OnSweep();
        break;
      case 2:
        Retry();
        break;
      case 3:
        Drain();
        break;
      case 4:
        RestartWorker();
        break;
      case 5:
        if (random_.Chance(0.3)) {
          RestartCoordinator();
        }
        break;
      case 6:
        Collect();
        break;
      case 7:
      case 8:
        Advance();
        break;
      case 9:
      case 10:
        LoseMessage();
        break;
      default:
        switch (random_.Below(4)) {
          case 0:
            SendRequest(workers_[random_.Below(kRandomWorkers)]);
            break;
          case 1:
            DeliverRequest();
            break;
          case 2:
            DeliverAnswer();
            break;
          default:
            EndSomeAttempt();
        }
    }
    EndTurn();
    Observe();
  }

  // Faults stop: everything that was submitted must end.
  void Settle() {
    requests_.clear();
    answers_.clear();
    ForgetRetried();
    for (FakeWorker& worker : workers_) {
      (void)scheduler().DrainWorker(worker.name(), false);
      worker.info().capacity = Resources{.cpu_millis = 8000, .memory_bytes = 0, .gpus = 8};
      worker.info().labels = {{"disk", "fast"}};
    }
    for (const SweepId& id : scheduler().views().ListSweeps()) {
      (void)scheduler().ResumeSweep(id);
    }
    EndTurn();
    for (int round = 0; round < 2'000 && !AllEnded(); ++round) {
      for (FakeWorker& worker : workers_) {
        const std::set<AttemptId> running = worker.running();
        for (const AttemptId& id : running) {
          if (worker.stopping().contains(id)) {
            worker.Drop(id);
          } else {
            worker.Finish(id, Success(id));
          }
        }
        SendRequest(worker);
        while (!requests_.empty()) {
          DeliverRequest();
          EndTurn();
          Observe();
        }
        while (!answers_.empty()) {
          DeliverAnswer();
        }
      }
      harness_.Advance(absl::Seconds(1));
      EndTurn();
      Observe();
    }
    EXPECT_TRUE(AllEnded()) << Pending();
  }

  uint64_t starts() const { return starts_.size(); }
  uint64_t refused() { return scheduler().views().refused_results() + refused_before_; }
  uint64_t reused() const { return reused_; }

 private:
  Scheduler& scheduler() { return harness_.scheduler(); }
  void Trace(const std::string& text) {
    if (trace_) {
      std::cerr << step_ << ": " << text << "\n";
    }
  }

  JobResult Success(AttemptId id) {
    const std::optional<SweepView> sweep = scheduler().views().FindSweep(id.job.sweep);
    const bool is_train = !sweep || sweep->expansion->Locate(id.job.index).is_train;
    JobResult result = SuccessOf(id, is_train);
    result.metrics = {{"exact_match", static_cast<double>(id.attempt.number), 100}};
    return result;
  }

  // All but those that are still being retried.
  void ForgetRetried() {
    std::erase_if(retried_, [&](SweepId id) {
      const std::optional<SweepView> sweep = scheduler().views().FindSweep(id);
      return !sweep || !sweep->row->retry;
    });
  }

  // --- users

  void Submit() {
    if (scheduler().views().ListSweeps().size() >= kRandomSweepsMax) {
      return;
    }
    SweepSpec spec;
    spec.name = absl::StrCat("sweep", random_.Below(3));
    if (random_.Chance(0.8)) {
      spec.approaches.push_back(TrainedApproach("a"));
    }
    if (spec.approaches.empty() || random_.Chance(0.3)) {
      spec.approaches.push_back(UntrainedApproach("r"));
    } else if (stages_.Chance(0.5)) {
      spec.approaches.push_back(TrainedApproach("b"));
    }
    for (ApproachSpec& approach : spec.approaches) {
      approach.version = absl::StrCat(random_.Below(2));
      approach.train_resources.cpu_millis = 1000 * random_.Between(0, 2);
      approach.train_resources.gpus = static_cast<int32_t>(random_.Below(3));
      approach.predict_resources.gpus = static_cast<int32_t>(random_.Below(2));
      for (Labels* labels : {&approach.train_labels, &approach.predict_labels}) {
        if (labels_.Chance(0.15)) {
          *labels = {{"disk", "fast"}};
        }
      }
    }
    spec.benchmarks = {Benchmark("x"), Benchmark("y"), Benchmark("z", false)};
    spec.train_sets = {PlainTrainSet(spec, 0)};
    if (random_.Chance(0.3)) {
      spec.train_sets.push_back(PlainTrainSet(spec, 1));
    }
    spec.evaluate_on = random_.Chance(0.5) ? EvaluateOn::kSame : EvaluateOn::kAll;
    spec.random_settings = static_cast<uint32_t>(random_.Below(2));
    if (early_stop_.Chance(0.5)) {
      spec.random_settings = static_cast<uint32_t>(early_stop_.Between(1, 4));
      spec.early_stop.emplace();
      spec.early_stop->metric = "f1";
      spec.early_stop->rule = {
          .method = early_stop_.Chance(0.7) ? EarlyStopMethod::kAsha : EarlyStopMethod::kMedian,
          .minimize = early_stop_.Chance(0.3),
          .min = early_stop_.Between(1, 3),
          .max = early_stop_.Between(3, 25),
          .eta = early_stop_.Between(2, 3)};
      if (Halves(spec.early_stop->rule.method) && early_stop_.Chance(0.3)) {
        spec.early_stop->rule.method = EarlyStopMethod::kHyperband;
      }
    }
    const bool is_searched = search_.Chance(0.4) && !spec.early_stop;
    const auto trials = static_cast<uint32_t>(search_.Between(2, 6));
    if (is_searched) {
      spec.random_settings = trials - 1;
      spec.search =
          SearchSpec{.on_test = true, .parallel = static_cast<uint32_t>(search_.Between(1, 3))};
      if (!Expansion::Make(spec).ok()) {  // nothing has a space
        spec.search.reset();
      }
    }
    spec.seeds = {random_.Between(1, 3)};
    if (random_.Chance(0.4)) {
      spec.seeds.push_back(spec.seeds[0] + 1);
    }
    spec.priority = static_cast<int32_t>(random_.Between(-1, 1));
    for (ApproachSpec& approach : spec.approaches) {
      approach.train_timeout = absl::Minutes(1);
    }
    spec.retry.failures_max = static_cast<uint32_t>(random_.Between(1, 3));
    spec.retry.lost_max = static_cast<uint32_t>(random_.Between(0, 6));
    spec.retry.backoff_max = absl::Seconds(8);
    spec.failures_max_per_block = static_cast<uint32_t>(random_.Below(3));
    if (stages_.Chance(0.5)) {
      AddStages(&spec, absl::StrCat("text", stages_.Below(2)), stages_.Chance(0.7));
    }
    const std::string text = absl::StrCat("spec ", ++specs_);
    const std::string request = random_.Chance(0.3) ? absl::StrCat("r", random_.Below(4)) : "";
    const absl::StatusOr<SweepId> id = harness_.Submit(std::move(spec), text, "me", request);
    if (id.ok()) {
      Trace(absl::StrCat("submit ", id->ToString()));
    } else {
      EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument) << id.status();
    }
  }

  std::optional<SweepId> SomeSweep() {
    const std::vector<SweepId> ids = scheduler().views().ListSweeps();
    if (ids.empty()) {
      return std::nullopt;
    }
    return ids[random_.Below(ids.size())];
  }

  void OnSweep() {
    const std::optional<SweepId> id = SomeSweep();
    if (!id) {
      return;
    }
    const uint64_t what = random_.Below(10);
    Trace(absl::StrCat("on sweep ", id->ToString(), " ", what));
    if (what == 0) {
      (void)scheduler().CancelSweep(*id);
    } else if (what == 1) {
      (void)scheduler().PauseSweep(*id);
    } else if (what <= 3) {
      (void)scheduler().ResumeSweep(*id);
    } else if (what == 4) {
      (void)scheduler().SetPriority(*id, static_cast<int32_t>(random_.Below(3)));
    } else if (what >= 8) {
      const uint32_t jobs = scheduler().views().FindSweep(*id)->expansion->job_count();
      const auto job = static_cast<uint32_t>(random_.Below(jobs + 1));
      const absl::Status status = scheduler().CancelJob({*id, job});
      const bool is_retried = scheduler().views().FindSweep(*id)->row->retry.has_value();
      CONCUR_CHECK(status.ok() == (job < jobs && !is_retried));
      CONCUR_CHECK(!status.ok() || IsTerminal(scheduler().views().ViewJob({*id, job}).state));
    } else {
      (void)scheduler().DeleteSweep(*id);
    }
  }

  void Retry() {
    const std::optional<SweepId> id = SomeSweep();
    if (!id) {
      return;
    }
    const uint32_t count = scheduler().views().FindSweep(*id)->expansion->job_count();
    std::vector<uint32_t> jobs;
    for (uint64_t i = random_.Below(4); i > 0; --i) {
      jobs.push_back(static_cast<uint32_t>(random_.Below(count)));
    }
    const bool rerun = random_.Chance(0.3);
    const absl::StatusOr<uint32_t> retried = scheduler().RetryJobs(*id, jobs, rerun);
    Trace(absl::StrCat("retry ", id->ToString(), " of ", jobs.size(), rerun ? " rerun" : "", ": ",
                       retried.ok() ? absl::StrCat(*retried) : retried.status().ToString()));
    if (retried.ok()) {
      retried_.insert(*id);
    }
  }

  void Drain() {
    const std::string& name = workers_[random_.Below(kRandomWorkers)].name();
    (void)scheduler().DrainWorker(name, random_.Chance(0.3));
  }

  // Retention removes a system with all its copies, once nothing needs it.
  void Collect() {
    const std::optional<SweepId> id = SomeSweep();
    if (!id) {
      return;
    }
    const uint32_t count = scheduler().views().FindSweep(*id)->expansion->job_count();
    const JobId chosen{*id, static_cast<uint32_t>(random_.Below(count))};
    const JobView view = scheduler().views().ViewJob(chosen);
    if (view.state != JobState::kSucceeded || view.result->artifacts.empty()) {
      return;
    }
    const Digest digest = view.result->artifacts[0].digest;
    std::vector<JobId> sharing;
    for (const SweepId& other : scheduler().views().ListSweeps()) {
      const Expansion& expansion = *scheduler().views().FindSweep(other)->expansion;
      for (uint32_t job = 0; job < expansion.job_count(); ++job) {
        const JobView copy = scheduler().views().ViewJob({other, job});
        if (copy.state != JobState::kSucceeded || copy.result->artifacts.empty() ||
            copy.result->artifacts[0].digest != digest) {
          continue;
        }
        bool is_needed = false;
        expansion.ForEachDependent(job, [&](uint32_t reader) {
          is_needed = is_needed || !IsTerminal(scheduler().views().JobStateOf({other, reader}));
        });
        if (is_needed) {
          return;
        }
        sharing.push_back({other, job});
      }
    }
    Trace(absl::StrCat("collect ", chosen.ToString()));
    scheduler().MarkSystemsCollected(sharing);
  }

  // --- time and machines

  void Advance() {
    harness_.Advance(random_.Chance(0.1)
                         ? absl::Seconds(20)
                         : absl::Milliseconds(static_cast<int64_t>(random_.Below(4'000))));
  }

  void RestartWorker() {
    FakeWorker& worker = workers_[random_.Below(kRandomWorkers)];
    Trace(absl::StrCat("restart ", worker.name()));
    worker.Restart(random_.Chance(0.6), random_.Chance(0.7));
    harness_.parked().erase(worker.name());
    scheduler().DropParkedCall(worker.name());
  }

  void RestartCoordinator() {
    Trace("restart the coordinator");
    EndTurn();
    refused_before_ += scheduler().views().refused_results();
    harness_.RestartCoordinator();
    requests_.clear();  // with their connections
  }

  void EndSomeAttempt() {
    FakeWorker& worker = workers_[random_.Below(kRandomWorkers)];
    if (worker.running().empty()) {
      return;
    }
    auto it = worker.running().begin();
    std::advance(it, random_.Below(worker.running().size()));
    const AttemptId id = *it;
    if (worker.stopping().contains(id) && random_.Chance(0.8)) {
      worker.Drop(id);
    } else if (random_.Chance(0.75)) {
      worker.Finish(id, Success(id));
    } else {
      worker.Finish(id, FailureOf(static_cast<FailureClass>(
                            1 + random_.Below(static_cast<uint64_t>(kFailureClasses) - 1))));
    }
    Trace(absl::StrCat(worker.name(), " ends ", ShortText(id)));
  }

  // --- messages

  void SendRequest(FakeWorker& worker) {
    SyncRequest request = worker.MakeRequest();
    request.shutting_down = worker.running().empty() && random_.Chance(0.02);
    for (const AttemptId& id : request.running) {
      if (random_.Chance(0.3)) {  // a step of an attempt that may be another one's by now
        request.steps.push_back({id, {random_.Between(0, 20), "f1", random_.Uniform()}});
      }
    }
    requests_.push_back(request);
    if (random_.Chance(0.1)) {
      requests_.push_back(std::move(request));
    }
  }

  void DeliverRequest() {
    if (requests_.empty()) {
      return;
    }
    const size_t chosen = random_.Below(requests_.size());
    const SyncRequest request = requests_[chosen];
    requests_.erase(requests_.begin() + static_cast<ptrdiff_t>(chosen));
    const absl::Status status = scheduler().Sync(request);
    Trace(absl::StrCat("sync ", request.worker.incarnation, " ", request.sequence, " running ",
                       request.running.size(), " finished ", request.finished.size(), ": ",
                       status.ToString()));
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsAborted(status) || absl::IsAlreadyExists(status)) << status;
      return;
    }
    harness_.parked().insert(request.worker.name);
    parked_as_[request.worker.name] = {request.worker.incarnation, request.sequence};
  }

  void DeliverAnswer() {
    if (answers_.empty()) {
      return;
    }
    const size_t chosen = random_.Below(answers_.size());
    const Answer answer = answers_[chosen];
    answers_.erase(answers_.begin() + static_cast<ptrdiff_t>(chosen));
    for (FakeWorker& worker : workers_) {
      if (worker.info().incarnation != answer.incarnation) {
        continue;
      }
      const std::set<AttemptId> before = worker.running();
      worker.TakeAnswer(answer.sequence, answer.orders);
      for (const AttemptId& id : worker.running()) {
        if (!before.contains(id)) {
          EXPECT_TRUE(starts_.insert(id).second) << ShortText(id) << " started twice";
        }
      }
      CheckRoom(worker);
    }
  }

  void LoseMessage() {
    if (!requests_.empty() && random_.Chance(0.5)) {
      requests_.erase(requests_.begin() + static_cast<ptrdiff_t>(random_.Below(requests_.size())));
    } else if (!answers_.empty()) {
      answers_.erase(answers_.begin() + static_cast<ptrdiff_t>(random_.Below(answers_.size())));
    }
  }

  // --- checks

  // No process gets a GPU that another one on the machine uses.
  void CheckRoom(const FakeWorker& worker) {
    uint64_t used = 0;
    for (const AttemptId& id : worker.running()) {
      EXPECT_EQ(used & worker.GpusOf(id), 0u) << ShortText(id) << " shares a GPU";
      used |= worker.GpusOf(id);
    }
  }

  void EndTurn() {
    SchedulerHarness::Turn turn = harness_.EndTurn();
    for (const JobEvent& event : turn.events) {
      Trace(absl::StrCat("  ", event.id.ToString(), "#", event.attempt.number, " ",
                         JobStateName(event.state), event.reused ? " reused" : ""));
      reused_ += event.reused ? 1 : 0;
    }
    for (auto& [name, orders] : turn.answers) {
      const auto& [incarnation, sequence] = parked_as_.at(name);
      for (const ForgetOrder& forget : orders.forget) {
        CheckForget(name, forget);
      }
      answers_.push_back({name, incarnation, sequence, std::move(orders)});
    }
  }

  // A worker drops its result only when that was counted, or cannot count any more.
  void CheckForget(const std::string& name, const ForgetOrder& forget) {
    if (!scheduler().views().HasJob(forget.id.job)) {
      EXPECT_FALSE(forget.accepted);
      return;
    }
    const JobView view = scheduler().views().ViewJob(forget.id.job);
    if (forget.accepted) {
      EXPECT_GE(view.attempt, forget.id.attempt);
      for (const FakeWorker& worker : workers_) {
        const auto result = worker.finished().find(forget.id);
        if (worker.name() == name && result != worker.finished().end() &&
            result->second.succeeded) {
          const bool counts = view.state == JobState::kSucceeded && !view.reused_from &&
                              view.attempt == forget.id.attempt;
          EXPECT_TRUE(counts || counted_.contains(forget.id)) << ShortText(forget.id);
        }
      }
    } else {
      EXPECT_TRUE(view.attempt != forget.id.attempt || IsTerminal(view.state) ||
                  view.worker.empty())
          << ShortText(forget.id) << " " << JobStateName(view.state) << ": " << forget.reason;
    }
  }

  void Observe() {
    std::map<JobId, Seen> now;
    for (const SweepId& id : scheduler().views().ListSweeps()) {
      const uint32_t count = scheduler().views().FindSweep(id)->expansion->job_count();
      for (uint32_t job = 0; job < count; ++job) {
        const JobView view = scheduler().views().ViewJob({id, job});
        Seen& seen = now[view.id];
        seen.state = view.state;
        seen.attempt = view.attempt.number;
        if (view.result != nullptr) {
          seen.metrics = view.result->metrics;
          seen.artifacts = view.result->artifacts;
        }
        CheckJob(view, seen);
      }
    }
    seen_ = std::move(now);
  }

  void CheckJob(const JobView& view, const Seen& seen) {
    if (view.state == JobState::kSucceeded && !view.reused_from) {
      // The result that counts is the one of the attempt that counts.
      EXPECT_EQ(view.result->metrics[0].value, view.attempt.number) << view.id.ToString();
      counted_.insert({view.id, view.attempt});
    }
    const auto it = seen_.find(view.id);
    if (it == seen_.end()) {
      return;
    }
    const Seen& before = it->second;
    EXPECT_GE(seen.attempt, before.attempt) << view.id.ToString();
    if (!IsTerminal(before.state) || retried_.contains(view.id.sweep)) {
      return;
    }
    // A job that has ended stays as it is unless somebody asks.
    EXPECT_EQ(seen.state, before.state) << view.id.ToString();
    EXPECT_EQ(seen.attempt, before.attempt) << view.id.ToString();
    EXPECT_EQ(seen.metrics, before.metrics) << view.id.ToString();
    EXPECT_EQ(seen.artifacts, before.artifacts) << view.id.ToString();
  }

  bool AllEnded() {
    const std::vector<SweepId> ids = scheduler().views().ListSweeps();
    return std::all_of(ids.begin(), ids.end(), [this](SweepId id) {
      return IsTerminal(scheduler().views().FindSweep(id)->state);
    });
  }

  std::string Pending() {
    std::string text;
    for (const auto& [id, seen] : seen_) {
      if (!IsTerminal(seen.state)) {
        absl::StrAppend(&text, id.ToString(), ": ", ReasonText(scheduler().views().ReasonOf(id)),
                        "\n");
      }
    }
    return text;
  }

  int step_ = 0;
  Random random_;
  Random labels_;  // who has them, and who asks for them
  Random early_stop_;
  Random stages_;
  Random search_;
  SchedulerHarness harness_;
  const bool trace_;  // CONCUR_RANDOM_TRACE is set
  std::vector<FakeWorker> workers_;
  std::vector<SyncRequest> requests_;
  std::vector<Answer> answers_;
  std::map<std::string, std::pair<std::string, uint64_t>> parked_as_;  // incarnation, sequence
  std::map<JobId, Seen> seen_;
  std::set<SweepId> retried_;             // in this step, or still being retried
  std::set<AttemptId> starts_, counted_;  // those whose success counted at some time
  uint64_t specs_ = 0;
  uint64_t refused_before_ = 0;
  uint64_t reused_ = 0;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_SCHEDULER_SCHEDULER_RANDOM_WORLD_H_
