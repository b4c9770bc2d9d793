// SPDX-License-Identifier: Apache-2.0
#include "tests/core/scheduler/script_runner.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"

namespace concur::testing {
namespace {

// --- the words of an event
// ------------------------------------------------------------------------

// A text that cannot be understood is a failure at the traced line.
template <typename T>
T Malformed(const std::string& message, T otherwise) {
  ADD_FAILURE() << message;
  return otherwise;
}

class Words {
 public:
  explicit Words(const std::string& event) {
    for (absl::string_view word : absl::StrSplit(event, ' ', absl::SkipEmpty())) {
      words_.emplace_back(word);
    }
    verb_ = Next();
  }

  const std::string& verb() const { return verb_; }
  std::string Next() {
    if (words_.empty()) {
      return Malformed<std::string>(verb_ + ": expected another word", "");
    }
    std::string word = words_.front();
    words_.erase(words_.begin());
    return word;
  }
  bool Empty() const { return words_.empty(); }
  // Takes the word if it is there.
  bool Flag(const std::string& word) { return std::erase(words_, word) > 0; }
  // Takes "key=value"; `otherwise` when absent.
  std::string Value(const std::string& key, const std::string& otherwise) {
    for (auto it = words_.begin(); it != words_.end(); ++it) {
      if (absl::StartsWith(*it, key + "=")) {
        std::string value = it->substr(key.size() + 1);
        words_.erase(it);
        return value;
      }
    }
    return otherwise;
  }
  int64_t Number(const std::string& key, int64_t otherwise) {
    return ToNumber(Value(key, absl::StrCat(otherwise)));
  }
  std::vector<std::string> List(const std::string& key, const std::string& otherwise) {
    return absl::StrSplit(Value(key, otherwise), ',', absl::SkipEmpty());
  }
  void ExpectEnd() const {
    if (!words_.empty()) {
      ADD_FAILURE() << verb_ << ": unknown word \"" << words_.front() << "\"";
    }
  }
  static int64_t ToNumber(const std::string& text) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) {
      return Malformed(absl::StrCat("expected a number, got \"", text, "\""), number);
    }
    return number;
  }
  static absl::Duration ToDuration(const std::string& text) {
    absl::Duration duration;
    if (!absl::ParseDuration(text, &duration)) {
      return Malformed(absl::StrCat("expected a duration such as 31s, got \"", text, "\""),
                       duration);
    }
    return duration;
  }
  static SweepId ToSweep(const std::string& text) {
    const absl::StatusOr<SweepId> id = SweepId::Parse(text);
    if (!id.ok()) {
      return Malformed(std::string(id.status().message()), SweepId{});
    }
    return *id;
  }
  static JobId ToJob(const std::string& text) {
    const absl::StatusOr<JobId> id = JobId::Parse(text);
    if (!id.ok()) {
      return Malformed(std::string(id.status().message()), JobId{});
    }
    return *id;
  }

 private:
  std::string verb_;
  std::vector<std::string> words_;
};

// "cpus=2 memory=3 gpus=1": CPUs, GiB, GPUs.
Resources ResourcesOf(Words& words, const std::string& prefix) {
  return Resources{.cpu_millis = 1000 * words.Number(prefix + "cpus", 1),
                   .memory_bytes = (int64_t{1} << 30) * words.Number(prefix + "memory", 0),
                   .gpus = static_cast<int32_t>(words.Number(prefix + "gpus", 0))};
}

// labels=gpu:a100,site:b
Labels LabelsIn(Words& words, const std::string& key) {
  Labels labels;
  for (const std::string& label : words.List(key, "")) {
    labels.insert(absl::StrSplit(label, absl::MaxSplits(':', 1)));
  }
  return labels;
}

// uses=openai:2,db:1
Uses UsesIn(Words& words, const std::string& key) {
  Uses uses;
  for (const auto& [name, units] : LabelsIn(words, key)) {
    uses[name] = Words::ToNumber(units);
  }
  return uses;
}

// name=s approaches=a,b (trained) untrained=r train=x,y (benchmarks to train on) tests=z
// (benchmarks to evaluate all systems on; default: the train set's own; "none": train only)
// settings=1 seeds=1,2 priority=0 cpus= memory= gpus= labels= (of train jobs; eval_cpus= … of eval
// jobs) x_labels= (of the benchmark x) uses= eval_uses= x_uses= (named resources, likewise)
// code=a.py:1,b.py:2 (files and their contents) rerun=0
// text=t (what an approach p is trained on, from which the trained ones start) chain=0 (the second
// one from the first) rerun_source=0 (of p)
// budget=0 (dollars) version=1 failures_max=3 lost_max=10 backoff_min=1s backoff_max=5m
// block_failures_max=0
SweepSpec SpecOf(Words& words) {
  SweepSpec spec;
  spec.name = words.Value("name", "s");
  const std::string version = words.Value("version", "1");
  std::vector<CodeFile> code;
  for (const auto& [path, contents] : LabelsIn(words, "code")) {
    code.push_back({path, Sha256Of(contents), 1, false});
  }
  const bool rerun = words.Number("rerun", 0) != 0;
  const Resources train_resources = ResourcesOf(words, "");
  const Resources eval_resources = ResourcesOf(words, "eval_");
  const Labels train_labels = LabelsIn(words, "labels");
  const Labels eval_labels = LabelsIn(words, "eval_labels");
  const Uses train_uses = UsesIn(words, "uses");
  const Uses eval_uses = UsesIn(words, "eval_uses");
  for (const std::string& name : words.List("approaches", "a")) {
    spec.approaches.push_back(TrainedApproach(name));
  }
  const std::string text = words.Value("text", "");
  const bool chain = words.Number("chain", 0) != 0;
  const bool rerun_source = words.Number("rerun_source", 0) != 0;
  for (const std::string& name : words.List("untrained", "")) {
    spec.approaches.push_back(UntrainedApproach(name));
  }
  for (ApproachSpec& approach : spec.approaches) {
    approach.version = version;
    approach.rerun = rerun;
    if (!code.empty()) {
      approach.code = MakeCode(Digest(), 1, code);
    }
    approach.train_resources = train_resources;
    approach.predict_resources = eval_resources;
    approach.train_labels = train_labels;
    approach.predict_labels = eval_labels;
    approach.train_uses = train_uses;
    approach.predict_uses = eval_uses;
  }
  const std::vector<std::string> tests = words.List("tests", "");
  const std::vector<std::string> train = words.List("train", "x");
  for (uint32_t i = 0; i < train.size(); ++i) {
    spec.benchmarks.push_back(Benchmark(train[i], true, tests != std::vector<std::string>{"none"}));
    spec.benchmarks.back().labels = LabelsIn(words, train[i] + "_labels");
    spec.benchmarks.back().uses = UsesIn(words, train[i] + "_uses");
    spec.train_sets.push_back(PlainTrainSet(spec, i));
  }
  if (!tests.empty() && tests[0] != "none") {
    spec.evaluate_on = EvaluateOn::kListed;
    for (const std::string& name : tests) {
      const auto known = std::find(train.begin(), train.end(), name);
      if (known == train.end()) {
        spec.evaluate_benchmarks.push_back(static_cast<uint32_t>(spec.benchmarks.size()));
        spec.benchmarks.push_back(Benchmark(name, false));
      } else {
        spec.evaluate_benchmarks.push_back(static_cast<uint32_t>(known - train.begin()));
      }
    }
  }
  spec.random_settings = static_cast<uint32_t>(words.Number("settings", 1)) - 1;
  spec.seeds.clear();
  for (const std::string& seed : words.List("seeds", "1")) {
    spec.seeds.push_back(Words::ToNumber(seed));
  }
  spec.priority = static_cast<int32_t>(words.Number("priority", 0));
  spec.retry.failures_max = static_cast<uint32_t>(words.Number("failures_max", 3));
  spec.retry.lost_max = static_cast<uint32_t>(words.Number("lost_max", 10));
  spec.retry.backoff_min = Words::ToDuration(words.Value("backoff_min", "1s"));
  spec.retry.backoff_max = Words::ToDuration(words.Value("backoff_max", "5m"));
  spec.budget_usd_micros = words.Number("budget", 0) * kUsdMicros;
  spec.failures_max_per_block = static_cast<uint32_t>(words.Number("block_failures_max", 0));
  if (!text.empty()) {
    AddStages(&spec, text, chain);
    spec.approaches.back().rerun = rerun_source;
  }
  return spec;
}

// --- running a case
// -------------------------------------------------------------------------------

class Runner {
 public:
  // The effects of one event.
  std::string Run(const std::string& event) {
    effects_.clear();
    Words words(event);
    static const std::map<std::string, void (Runner::*)(Words&)> kVerbs = {
        {"policy", &Runner::Policy},
        {"worker", &Runner::Worker},
        {"submit", &Runner::Submit},
        {"sync", &Runner::Sync},
        {"restart", &Runner::Restart},
        {"advance", &Runner::Advance},
        {"pause", &Runner::OnSweep},
        {"resume", &Runner::OnSweep},
        {"cancel", &Runner::OnSweep},
        {"cancel-job", &Runner::OnSweep},
        {"delete", &Runner::OnSweep},
        {"retry", &Runner::Retry},
        {"priority", &Runner::OnSweep},
        {"budget", &Runner::OnSweep},
        {"drain", &Runner::Drain},
        {"undrain", &Runner::Drain},
        {"collect", &Runner::Collect},
        {"coordinator-restart", &Runner::CoordinatorRestart},
        {"check", &Runner::Check},
        {"counts", &Runner::Counts},
        {"explain", &Runner::Explain},
        {"workers", &Runner::Workers},
        {"demand", &Runner::Demand},
        {"resource", &Runner::SetResource},
        {"delete-resource", &Runner::DeleteResource},
        {"resources", &Runner::ListResources},
        {"spent", &Runner::SayCosts},
        {"orders", &Runner::Orders},
        {"wait-over", &Runner::WaitOver},
    };
    const auto verb = kVerbs.find(words.verb());
    if (verb == kVerbs.end()) {
      return Malformed<std::string>("unknown event \"" + words.verb() + "\"", "");
    }
    (this->*verb->second)(words);
    words.ExpectEnd();
    EndTurn();
    return effects_.empty() ? "nothing" : absl::StrJoin(effects_, "; ");
  }

 private:
  SchedulerHarness& harness() {
    if (harness_ == nullptr) {
      harness_ = std::make_unique<SchedulerHarness>(policy_);
    }
    return *harness_;
  }
  Scheduler& scheduler() { return harness().scheduler(); }
  void Say(const std::string& effect) { effects_.push_back(effect); }
  void Say(const absl::Status& status) {
    if (!status.ok()) {
      Say(absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message()));
    }
  }

  FakeWorker& WorkerNamed(const std::string& name) {
    const auto it = workers_.find(name);
    if (it != workers_.end()) {
      return it->second;
    }
    return workers_.emplace(name, FakeWorker(name, Resources{})).first->second;
  }

  void Policy(Words& words) {
    if (harness_ != nullptr) {
      ADD_FAILURE() << "policy: expected before anything else";
    }
    policy_.lease = Words::ToDuration(words.Value("lease", "30s"));
    policy_.lost_worker_kept = Words::ToDuration(words.Value("lost_worker_kept", "1h"));
  }

  void Worker(Words& words) {
    FakeWorker& worker = WorkerNamed(words.Next());
    worker.info().capacity = ResourcesOf(words, "");
    worker.info().labels = LabelsIn(words, "labels");
    worker.info().slots = static_cast<uint32_t>(words.Number("slots", 0));
    worker.info().queue_max = static_cast<uint32_t>(words.Number("queue_max", 0));
  }

  void Submit(Words& words) {
    const std::string owner = words.Value("owner", "me");
    const std::string request = words.Value("request", "");
    Words copy = words;
    const SweepSpec spec = SpecOf(words);
    std::string text;
    while (!copy.Empty()) {
      absl::StrAppend(&text, copy.Next(), " ");
    }
    const absl::StatusOr<SweepId> id = harness().Submit(spec, text, owner, request);
    if (!id.ok()) {
      Say(id.status());
      return;
    }
    Say(absl::StrCat(id->ToString(), " of ",
                     scheduler().views().FindSweep(*id)->expansion->job_count(), " jobs"));
  }

  bool IsTrain(JobId id) {
    const std::optional<SweepView> sweep = scheduler().views().FindSweep(id.sweep);
    return sweep && id.index < sweep->expansion->job_count() &&
           sweep->expansion->Locate(id.index).is_train;
  }

  JobResult ResultNamed(AttemptId id, const std::string& name) {
    if (name == "ok") {
      JobResult result = SuccessOf(id, IsTrain(id.job));
      result.start_time = harness_->now();
      result.run_time = took_;
      return result;
    }
    if (name == "no-system") {
      return SuccessOf(id, false);
    }
    for (int i = 0; i < kFailureClasses; ++i) {
      const auto failure = static_cast<FailureClass>(i);
      if (FailureClassName(failure) == name) {
        return FailureOf(failure);
      }
    }
    return Malformed(absl::StrCat("expected a failure class, got ", name), JobResult{});
  }

  // "s1/0=ok": ends the attempt of this job that the worker runs.
  void EndAttempt(FakeWorker& worker, const std::string& word) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    const JobId job = Words::ToJob(parts.first);
    for (const AttemptId& id : worker.running()) {
      if (id.job == job) {
        if (parts.second == "dropped") {
          worker.Drop(AttemptId(id));
        } else {
          worker.Finish(AttemptId(id), ResultNamed(id, parts.second));
        }
        return;
      }
    }
    ADD_FAILURE() << worker.name() << " does not run " << parts.first;
  }

  static AttemptId ToAttempt(const std::string& text) {
    const std::vector<std::string> parts = absl::StrSplit(text, '#');
    if (parts.size() != 2) {
      return Malformed(absl::StrCat("expected an attempt such as s1/0#1, got \"", text, "\""),
                       AttemptId{});
    }
    return {Words::ToJob(parts[0]), {static_cast<uint32_t>(Words::ToNumber(parts[1]))}};
  }

  void Sync(Words& words) {
    FakeWorker& worker = WorkerNamed(words.Next());
    const bool lost_answer = words.Flag("lost-answer");
    const bool shutting_down = words.Flag("shutting_down");
    const bool draining = words.Flag("draining");
    const std::string sequence = words.Value("seq", "");
    const std::string left = words.Value("left", "");
    took_ = Words::ToDuration(words.Value("took", "0s"));
    const std::string forged = words.Value("forged", "");
    const std::vector<std::string> spent = words.List("spent", "");
    while (!words.Empty()) {
      EndAttempt(worker, words.Next());
    }
    SyncRequest request = worker.MakeRequest();
    request.shutting_down = shutting_down;
    request.draining = draining;
    if (!left.empty()) {
      request.time_left = Words::ToDuration(left);
    }
    if (!sequence.empty()) {
      request.sequence = static_cast<uint64_t>(Words::ToNumber(sequence));
    }
    if (!forged.empty()) {
      const std::vector<std::string> parts = absl::StrSplit(forged, ':');
      const AttemptId id = ToAttempt(parts.at(0));
      request.finished.push_back({id, ResultNamed(id, parts.at(1))});
    }
    for (const std::string& report : spent) {  // "s1/0#1:usd:0.5"
      const std::vector<std::string> parts = absl::StrSplit(report, ':');
      double value = 0;
      if (parts.size() != 3 || !absl::SimpleAtod(parts[2], &value)) {
        ADD_FAILURE() << "spent: expected s1/0#1:usd:0.5, got " << report;
        return;
      }
      request.steps.push_back({ToAttempt(parts[0]), {0, parts[1], value}});
    }
    harness().parked().erase(worker.name());
    const absl::Status status = scheduler().Sync(request);
    Say(status);
    if (!status.ok()) {
      return;
    }
    if (lost_answer) {
      deaf_.insert(worker.name());
    }
    harness().parked().insert(worker.name());
    at_once_ = shutting_down ? worker.name() : "";
  }

  void Restart(Words& words) {
    FakeWorker& worker = WorkerNamed(words.Next());
    const bool spooled = words.Flag("spooled");
    const bool unknown = words.Flag("unknown");
    while (!words.Empty()) {  // ended just before
      EndAttempt(worker, words.Next());
    }
    worker.Restart(spooled, !unknown);
    harness().parked().erase(worker.name());
    scheduler().DropParkedCall(worker.name());
  }

  void Advance(Words& words) { harness().Advance(Words::ToDuration(words.Next())); }

  void OnSweep(Words& words) {
    const SweepId id = Words::ToSweep(words.Next());
    const std::string& verb = words.verb();
    if (verb == "pause") {
      Say(scheduler().PauseSweep(id));
    } else if (verb == "resume") {
      Say(scheduler().ResumeSweep(id));
    } else if (verb == "priority") {
      Say(scheduler().SetPriority(id, static_cast<int32_t>(Words::ToNumber(words.Next()))));
    } else if (verb == "budget") {
      Say(scheduler().SetBudget(id, Words::ToNumber(words.Next()) * kUsdMicros));
    } else if (verb == "cancel") {
      Say(scheduler().CancelSweep(id));
    } else if (verb == "cancel-job") {
      Say(scheduler().CancelJob({id, static_cast<uint32_t>(Words::ToNumber(words.Next()))}));
    } else {
      Say(scheduler().DeleteSweep(id));
    }
  }

  void Retry(Words& words) {
    const SweepId id = Words::ToSweep(words.Next());
    const bool rerun = words.Flag("rerun");
    std::vector<uint32_t> jobs;
    if (!words.Empty()) {
      const std::string list = words.Next();
      for (absl::string_view job : absl::StrSplit(list, ',')) {
        jobs.push_back(static_cast<uint32_t>(Words::ToNumber(std::string(job))));
      }
    }
    const absl::StatusOr<uint32_t> retried = scheduler().RetryJobs(id, jobs, rerun);
    if (retried.ok()) {
      Say(absl::StrCat(*retried, " retried"));
    } else {
      Say(retried.status());
    }
  }

  void Drain(Words& words) { Say(scheduler().DrainWorker(words.Next(), words.verb() == "drain")); }

  void Demand(Words&) {
    for (const DemandClass& demand : scheduler().views().Demand()) {
      Say(absl::StrCat(ResourcesText(demand.resources), " ready=", demand.ready,
                       " running=", demand.running));
    }
  }

  void SetResource(Words& words) {
    const std::string name = words.Next();
    Say(scheduler().SetResource(name, Words::ToNumber(words.Next())));
  }

  void DeleteResource(Words& words) { Say(scheduler().DeleteResource(words.Next())); }

  void ListResources(Words&) {
    for (const ResourceView& view : scheduler().views().ListResources()) {
      Say(absl::StrCat(view.name, " ", view.in_use, "/",
                       view.amount ? absl::StrCat(*view.amount) : "-", " waiting=", view.waiting));
    }
  }

  void Collect(Words& words) {
    std::vector<JobId> jobs;
    while (!words.Empty()) {
      jobs.push_back(Words::ToJob(words.Next()));
    }
    scheduler().MarkSystemsCollected(jobs);
  }

  void CoordinatorRestart(Words&) { harness().RestartCoordinator(); }

  void Check(Words& words) {
    const JobId id = Words::ToJob(words.Next());
    if (!scheduler().views().HasJob(id)) {
      Say("no such job");
      return;
    }
    const JobView view = scheduler().views().ViewJob(id);
    std::string text = absl::StrCat(JobStateName(view.state), " attempt=", view.attempt.number);
    if (!view.worker.empty()) {
      absl::StrAppend(&text, " worker=", view.worker);
    }
    if (view.failures > 0 || view.lost > 0) {
      absl::StrAppend(&text, " failures=", view.failures, " lost=", view.lost);
    }
    if (view.failure != FailureClass::kNone) {
      absl::StrAppend(&text, " failure=", FailureClassName(view.failure));
    }
    if (view.reused_from) {
      absl::StrAppend(&text, " reused_from=", view.reused_from->ToString());
    }
    Say(text);
  }

  void Counts(Words& words) {
    const std::optional<SweepView> sweep =
        scheduler().views().FindSweep(Words::ToSweep(words.Next()));
    if (!sweep) {
      Say("no such sweep");
      return;
    }
    std::string text(SweepStateName(sweep->state));
    for (int state = 0; state < kJobStates; ++state) {
      if (const uint32_t count = sweep->counts[static_cast<size_t>(state)]; count > 0) {
        absl::StrAppend(&text, " ", JobStateName(static_cast<JobState>(state)), "=", count);
      }
    }
    if (sweep->reused > 0) {
      absl::StrAppend(&text, " reused=", sweep->reused);
    }
    Say(text);
  }

  void Explain(Words& words) {
    const JobId id = Words::ToJob(words.Next());
    Say(scheduler().views().HasJob(id) ? ReasonText(scheduler().views().ReasonOf(id))
                                       : "no such job");
  }

  void Workers(Words&) {
    for (const WorkerView& view : scheduler().views().ListWorkers()) {
      std::string text = absl::StrCat(view.info.name,
                                      view.left   ? " left"
                                      : view.lost ? " lost"
                                                  : "",
                                      view.draining ? " draining" : "");
      if (view.running > 0) {
        absl::StrAppend(&text, " running=", view.running, " used=", ResourcesText(view.used));
      }
      Say(text);
    }
  }

  void SayEntry(absl::string_view whose, const Spent& spent) {
    Say(absl::StrCat(whose, " in=", spent.tokens_in, " out=", spent.tokens_out, " ",
                     UsdText(spent.usd())));
  }

  void SayCosts(Words& words) {
    const SweepView sweep = *scheduler().views().FindSweep(Words::ToSweep(words.Next()));
    for (uint32_t job = 0; job < sweep.expansion->job_count(); ++job) {
      const JobView view = scheduler().views().ViewJob({sweep.row->id, job});
      for (const auto& [attempt, entry] : view.spent) {
        SayEntry(ShortText(AttemptId{view.id, {attempt}}), entry.spent);
      }
    }
    SayEntry("total", sweep.spent);
  }

  void Orders(Words& words) { Say(scheduler().HasOrders(words.Next()) ? "yes" : "no"); }

  void WaitOver(Words& words) { at_once_ = words.Next(); }

  static std::string Gpus(uint64_t mask) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < 64; ++gpu) {
      if ((mask >> gpu & 1) != 0) {
        gpus.push_back(gpu);
      }
    }
    return absl::StrJoin(gpus, ",");
  }

  void SayEvent(const JobEvent& event) {
    const AttemptId id{event.id, event.attempt};
    if (event.state == JobState::kRunning) {
      if (!started_.insert(id).second) {  // a first start shows in the worker's orders
        Say(absl::StrCat(ShortText(id), " goes on"));
      }
      return;
    }
    std::string text = absl::StrCat(event.id.ToString(), " ", JobStateName(event.state));
    if (event.failure != FailureClass::kNone && event.state != JobState::kSucceeded) {
      absl::StrAppend(&text, " ", FailureClassName(event.failure));
    }
    if (event.reused) {
      absl::StrAppend(&text, " reused");
    }
    Say(text);
  }

  void SayAnswer(const std::string& worker, const WorkerOrders& orders) {
    for (const WorkerOrders::Start& start : orders.start) {
      std::string text = absl::StrCat(worker, ": start ", ShortText(start.id));
      if (start.gpu_mask != 0) {
        absl::StrAppend(&text, " gpus=", Gpus(start.gpu_mask));
      }
      Say(text);
    }
    for (const StopOrder& stop : orders.stop) {
      Say(absl::StrCat(worker, ": stop ", ShortText(stop.id),
                       stop.reason == StopReason::kCanceled    ? " canceled"
                       : stop.reason == StopReason::kEarlyStop ? " early-stop"
                                                               : " fenced"));
    }
    for (const ForgetOrder& forget : orders.forget) {
      Say(absl::StrCat(worker, ": forget ", ShortText(forget.id),
                       forget.accepted ? "" : absl::StrCat(", refused: ", forget.reason)));
    }
    if (orders.drain) {
      Say(absl::StrCat(worker, ": drain"));
    }
  }

  void EndTurn() {
    SchedulerHarness::Turn turn = harness().EndTurn();
    for (const JobEvent& event : turn.events) {
      SayEvent(event);
    }
    for (const auto& [id, state] : turn.changed_sweeps) {
      Say(absl::StrCat(id.ToString(), " is ", SweepStateName(state)));
    }
    if (!at_once_.empty() && harness().parked().erase(at_once_) > 0) {
      turn.answers[at_once_] = scheduler().TakeOrders(at_once_);
    }
    at_once_.clear();
    for (const auto& [name, orders] : turn.answers) {
      SayAnswer(name, orders);
      if (deaf_.erase(name) == 0) {
        FakeWorker& worker = WorkerNamed(name);
        worker.TakeAnswer(worker.sequence(), orders);
      }
    }
  }

  SchedulerPolicy policy_;
  std::unique_ptr<SchedulerHarness> harness_;
  std::map<std::string, FakeWorker> workers_;
  std::set<std::string> deaf_;  // will not hear their next answer
  absl::Duration took_;         // by attempts that end with this Sync
  std::string at_once_;         // is answered in this turn, orders or not
  std::set<AttemptId> started_;
  std::vector<std::string> effects_;
};

}  // namespace

class ScriptRunner::Impl : public Runner {};

ScriptRunner::ScriptRunner() : impl_(std::make_unique<Impl>()) {}
ScriptRunner::~ScriptRunner() = default;
std::string ScriptRunner::Run(const std::string& event) { return impl_->Run(event); }

}  // namespace concur::testing
