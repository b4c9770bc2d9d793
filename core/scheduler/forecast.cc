// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/forecast.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "core/pools/autoscaler.h"
#include "core/scheduler/scheduler.h"
#include "core/sweep/expansion.h"
#include "core/sweep/needs.h"
#include "core/sweep/served_approach.h"

namespace concur {
namespace {

// A standard normal value (Box–Muller), and from it a log-normal one of the given mean and spread.
double DrawFactor(Random& random, double spread) {
  if (spread <= 0) {
    return 1;
  }
  const double sigma2 = std::log1p(spread * spread);
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  const double normal = radius * std::cos(2 * M_PI * random.Uniform());
  return std::exp(normal * std::sqrt(sigma2) - sigma2 / 2);
}

// Draws the duration of every job, in the order of their indices.
absl::StatusOr<std::vector<absl::Duration>> DrawDurations(const Expansion& expansion,
                                                          const DurationOf& duration_of,
                                                          uint64_t seed) {
  const SweepSpec& spec = expansion.spec();
  std::vector<absl::Duration> durations(expansion.job_count());
  for (const Block& block : expansion.blocks()) {
    const std::string& approach = spec.approaches[block.approach].name;
    std::vector<ExpectedDuration> expected;
    const auto ask = [&](const std::string& benchmark, bool is_train) -> absl::Status {
      expected.push_back(duration_of(approach, benchmark, is_train));
      if (!expected.back().is_known) {
        return absl::InvalidArgumentError(absl::StrCat("nothing tells how long ",
                                                       is_train ? "training " : "evaluating ",
                                                       approach, " on ", benchmark, " takes"));
      }
      return absl::OkStatus();
    };
    if (block.has_train) {
      CONCUR_RETURN_IF_ERROR(ask(spec.train_sets[block.train_set].name, true));
    }
    for (const uint32_t test : block.tests) {
      CONCUR_RETURN_IF_ERROR(ask(spec.benchmarks[test].name, false));
    }
    // A stream of its own for each block: another approach changes no draw of this one.
    Random random(seed, absl::StrCat("forecast ", approach, " ", block.first_job));
    for (uint32_t i = 0; i < block.JobCount(); ++i) {
      const ExpectedDuration& of = expected[i % block.JobsPerCell()];
      durations[block.first_job + i] =
          absl::Trunc(of.mean * DrawFactor(random, of.spread), absl::Microseconds(1));
    }
  }
  return durations;
}

// The approaches whose services the jobs ask.
std::vector<const ApproachSpec*> AskedBy(const SweepSpec& spec, uint32_t approach,
                                         uint32_t benchmark) {
  std::vector<const ApproachSpec*> asked;
  if (spec.approaches[approach].service) {
    asked.push_back(&spec.approaches[approach]);
  }
  for (const uint32_t need : NeedsOf(spec, approach, benchmark)) {
    asked.push_back(&spec.approaches[need]);
  }
  return asked;
}

// Zero when it is not known.
absl::Duration LoadOf(const ApproachSpec& approach, const ForecastOptions& options) {
  const auto it = options.loads.find(approach.name);
  return it == options.loads.end() ? absl::ZeroDuration() : it->second;
}

// The longest chain of jobs that wait for each other. A service may load while a system is trained.
absl::Duration CriticalPath(const Expansion& expansion,
                            const std::vector<absl::Duration>& durations,
                            const ForecastOptions& options) {
  absl::Duration longest;
  for (const Block& block : expansion.blocks()) {
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t first = block.first_job + cell * stride;
      absl::Duration train = block.has_train ? durations[first] : absl::ZeroDuration();
      for (auto source = block.source ? expansion.SourceOf(first) : std::nullopt; source;
           source = expansion.SourceOf(*source)) {
        train += durations[*source];
      }
      longest = std::max(longest, train);
      for (uint32_t i = 0; i < block.tests.size(); ++i) {
        absl::Duration ready = train;
        for (const ApproachSpec* asked :
             AskedBy(expansion.spec(), block.approach, block.tests[i])) {
          ready = std::max(ready, LoadOf(*asked, options));
        }
        longest = std::max(longest, ready + durations[first + (block.has_train ? 1 : 0) + i]);
      }
    }
  }
  return longest;
}

Resources RequestOf(const Expansion& expansion, const Block& block, bool is_train) {
  const ApproachSpec& approach = expansion.spec().approaches[block.approach];
  return is_train ? approach.train_resources : approach.predict_resources;
}

// The workers, the clock and the scheduler between them.
class World {
 public:
  World(std::shared_ptr<const Expansion> expansion, std::vector<absl::Duration> durations,
        const DurationOf& duration_of, const ForecastOptions& options)
      : expansion_(std::move(expansion)),
        durations_(std::move(durations)),
        options_(options),
        ran_(durations_.size()),
        scheduler_(WithoutLeases(options.policy)) {
    for (size_t i = 0; i < options.workers.size(); ++i) {
      Worker worker;
      // Names in numeric order.
      worker.info.name = absl::StrCat("w", absl::Dec(i, absl::kZeroPad8));
      worker.info.incarnation = absl::StrCat(worker.info.name, "-1");
      worker.info.capacity = options.workers[i];
      if (!options.labels.empty()) {
        worker.info.labels = options.labels[i];
      }
      worker.info.queue_max = options.queue_max;
      worker.info.slots = options.slots.empty() ? 0 : options.slots[i];
      worker.info.takes_services = true;
      workers_.push_back(std::move(worker));
    }
    Scheduler::Submission submission;
    submission.owner = "forecast";
    submission.expansion = expansion_;
    scheduler_.AdvanceTo(now_ - absl::Minutes(1));  // rates have rested
    for (const auto& [name, resource] : options.resources) {
      CONCUR_CHECK_OK(scheduler_.SetResource(name, resource.amount, resource.per_minute));
    }
    scheduler_.AdvanceTo(now_);
    sweep_ = *scheduler_.Submit(std::move(submission));
    if (options.knows_means) {
      scheduler_.SetExpectedDurations(
          [&](absl::string_view approach, absl::string_view benchmark, bool is_train) {
            return duration_of(approach, benchmark, is_train).mean;
          });
      scheduler_.SetExpectedLoads(options.loads);
    }
  }

  // InfiniteDuration when the sweep never ends.
  absl::Duration Run() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      syncs_.insert({now_, i});
    }
    while (scheduler_.views().FindSweep(sweep_)->state == SweepState::kActive) {
      const absl::Time next =
          std::min({ends_.empty() ? absl::InfiniteFuture() : ends_.begin()->first,
                    syncs_.empty() ? absl::InfiniteFuture() : syncs_.begin()->first,
                    scheduler_.NextDeadline()});
      if (next >= kStart + kLease) {
        return absl::InfiniteDuration();
      }
      now_ = std::max(now_, next);
      EndAttempts();
      Turn();
    }
    return now_ - kStart;
  }
  // True if a job ran; those that did not took the result of an equal one.
  bool HasRun(uint32_t job) const { return ran_[job]; }

 private:
  static constexpr absl::Time kStart = absl::UnixEpoch();
  static constexpr absl::Duration kLease = absl::Hours(24 * 365 * 1000);

  // No worker is lost here: calls are made only when there is something to report.
  static SchedulerPolicy WithoutLeases(SchedulerPolicy policy) {
    policy.lease = kLease;
    policy.workers_max = SIZE_MAX;
    return policy;
  }

  struct Worker {
    WorkerInfo info;
    uint64_t sequence = 0;
    bool sync_planned = true;
    std::map<AttemptId, Resources> known;  // until the scheduler says to forget them
    std::map<AttemptId, bool> services;    // ready
    std::deque<AttemptId> waiting;
    std::vector<FinishedAttempt> finished;
    Resources used{.cpu_millis = 0};
    uint32_t running = 0;
  };
  struct End {
    size_t worker;
    AttemptId id;
    friend auto operator<=>(const End&, const End&) = default;
  };

  // An attempt's results reach the scheduler, and its orders the worker, one turnaround later.
  void PlanSync(size_t index) {
    if (!workers_[index].sync_planned) {
      workers_[index].sync_planned = true;
      syncs_.insert({now_ + options_.turnaround, index});
    }
  }

  void StartWaiting(size_t index) {
    Worker& worker = workers_[index];
    while (!worker.waiting.empty()) {
      const AttemptId id = worker.waiting.front();
      const Resources& need = worker.known.at(id);
      const Resources& capacity = worker.info.capacity;
      if (worker.info.slots > 0 && worker.running >= worker.info.slots) {
        return;
      }
      if (!need.FitsIn({.cpu_millis = capacity.cpu_millis - worker.used.cpu_millis,
                        .memory_bytes = capacity.memory_bytes - worker.used.memory_bytes,
                        .gpus = capacity.gpus - worker.used.gpus})) {
        return;
      }
      worker.waiting.pop_front();
      Use(worker, need, 1);
      ++worker.running;
      ran_[id.job.index] = true;
      ends_.insert({now_ + durations_[id.job.index], End{index, id}});
    }
  }

  // The scheduler has made room.
  void StartService(size_t index, AttemptId id) {
    const ApproachSpec& approach = ServedApproach(*expansion_, id.job);
    workers_[index].services[id] = false;
    Use(workers_[index], approach.service->resources, 1);
    ends_.insert({now_ + LoadOf(approach, options_), End{index, id}});
  }

  void StopService(size_t index, AttemptId id) {
    Worker& worker = workers_[index];
    if (worker.services.erase(id) > 0) {
      Use(worker, ServedApproach(*expansion_, id.job).service->resources, -1);
      JobResult result;
      result.failure = FailureClass::kPreempted;
      worker.finished.push_back({id, std::move(result)});
      StartWaiting(index);
    }
  }

  static void Use(Worker& worker, const Resources& need, int sign) {
    worker.used.cpu_millis += sign * need.cpu_millis;
    worker.used.memory_bytes += sign * need.memory_bytes;
    worker.used.gpus += sign * need.gpus;
  }

  void EndAttempts() {
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      const End end = ends_.begin()->second;
      ends_.erase(ends_.begin());
      Worker& worker = workers_[end.worker];
      if (end.id.job.IsService()) {
        if (const auto it = worker.services.find(end.id); it != worker.services.end()) {
          it->second = true;
          PlanSync(end.worker);
        }
        continue;
      }
      Use(worker, worker.known.at(end.id), -1);
      --worker.running;
      worker.known.erase(end.id);
      JobResult result;
      result.succeeded = true;
      result.run_time = durations_[end.id.job.index];
      if (const JobCoordinates at = expansion_->Locate(end.id.job.index); at.is_train) {
        result.artifacts = {{ArtifactKind::kSystem, Digest(), 0}};
      } else {
        result.metrics = {{expansion_->spec().benchmarks[at.test_benchmark].metric, 0, 0}};
      }
      worker.finished.push_back({end.id, std::move(result)});
      StartWaiting(end.worker);
      PlanSync(end.worker);
    }
  }

  // The syncs that are due, and one turn of the scheduler. Every call is parked until there are
  // orders, so that a worker with nothing to report gets new work too.
  void Turn() {
    scheduler_.AdvanceTo(now_);
    while (!syncs_.empty() && syncs_.begin()->first <= now_) {
      Worker& worker = workers_[syncs_.begin()->second];
      syncs_.erase(syncs_.begin());
      worker.sync_planned = false;
      SyncRequest request;
      request.worker = worker.info;
      request.sequence = ++worker.sequence;
      request.finished = std::move(worker.finished);
      worker.finished.clear();
      for (const auto& [id, need] : worker.known) {
        request.running.push_back(id);
      }
      for (const auto& [id, ready] : worker.services) {
        request.services.push_back({id, ready});
      }
      CONCUR_CHECK_OK(scheduler_.Sync(request));
    }
    scheduler_.Dispatch();
    const Effects effects = scheduler_.TakeEffects();
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (!scheduler_.HasOrders(workers_[i].info.name)) {
        continue;
      }
      const WorkerOrders orders = scheduler_.TakeOrders(workers_[i].info.name);
      for (const StopOrder& stop : orders.stop) {
        StopService(i, stop.id);
      }
      for (const WorkerOrders::Start& start : orders.start) {
        if (start.id.job.IsService()) {
          StartService(i, start.id);
          continue;
        }
        const JobCoordinates at = expansion_->Locate(start.id.job.index);
        workers_[i].known[start.id] =
            RequestOf(*expansion_, expansion_->blocks()[at.block], at.is_train);
        workers_[i].waiting.push_back(start.id);
      }
      StartWaiting(i);
      PlanSync(i);  // shows that it has them, and listens again
    }
  }

  const std::shared_ptr<const Expansion> expansion_;  // shared with the scheduler
  const std::vector<absl::Duration> durations_;
  const ForecastOptions& options_;
  std::vector<bool> ran_;  // by job
  absl::Time now_ = kStart;
  Scheduler scheduler_;
  SweepId sweep_;
  std::vector<Worker> workers_;
  std::set<std::pair<absl::Time, End>> ends_;  // jobs' and loads'
  std::set<std::pair<absl::Time, size_t>> syncs_;
};

// Every data file has contents of its own.
void TellFilesApart(SweepSpec& spec) {
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    if (benchmark.train) {
      benchmark.train->digest = Sha256Of(absl::StrCat("train ", benchmark.name));
    }
    if (benchmark.test) {
      benchmark.test->digest = Sha256Of(absl::StrCat("test ", benchmark.name));
    }
  }
}

void DropLabels(SweepSpec& spec) {
  for (ApproachSpec& approach : spec.approaches) {
    approach.train_labels.clear();
    approach.predict_labels.clear();
    approach.environment.reset();
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    benchmark.labels.clear();
  }
}

// Drops uses of resources that are not limited.
void DropUses(SweepSpec& spec, const ForecastOptions& options) {
  const auto drop = [&](Uses& uses) {
    std::erase_if(uses, [&](const auto& use) { return !options.resources.contains(use.first); });
  };
  for (ApproachSpec& approach : spec.approaches) {
    drop(approach.train_uses);
    drop(approach.predict_uses);
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    drop(benchmark.uses);
  }
}

// InvalidArgument when a job uses more of a resource than there is.
absl::Status CheckUnits(const Uses& uses, const std::string& whose,
                        const ForecastOptions& options) {
  for (const auto& [name, units] : uses) {
    if (const int64_t amount = options.resources.at(name).amount; units > amount) {
      return absl::InvalidArgumentError(absl::StrCat(whose, " use ", units, " of the resource \"",
                                                     name, "\", and there are ", amount));
    }
  }
  return absl::OkStatus();
}

// InvalidArgument when no worker can run jobs that ask for this.
absl::Status CheckFitsSomewhere(const Resources& need, const Labels& labels,
                                const std::string& whose, const ForecastOptions& options) {
  bool large_enough = false;
  for (size_t i = 0; i < options.workers.size(); ++i) {
    if (need.FitsIn(options.workers[i])) {
      large_enough = true;
      if (options.labels.empty() ? labels.empty() : TakesRequest(options.labels[i], need, labels)) {
        return absl::OkStatus();
      }
    }
  }
  return absl::InvalidArgumentError(
      large_enough && labels.empty()
          ? absl::StrCat(whose, " need ", ResourcesText(need),
                         ", and the workers that are large enough take only jobs that ask for GPUs")
      : large_enough
          ? absl::StrCat(whose, " need workers labeled ", LabelsText(labels),
                         ", and none that is large enough is")
          : absl::StrCat(whose, " need ", ResourcesText(need), ": more than any worker has"));
}

// The requests of all kinds of jobs, of which each must fit somewhere.
absl::StatusOr<Resources> SmallestRequest(const Expansion& expansion,
                                          const ForecastOptions& options) {
  Resources smallest{.cpu_millis = INT64_MAX, .memory_bytes = INT64_MAX, .gpus = kGpusMax};
  for (const Block& block : expansion.blocks()) {
    const std::string& approach = expansion.spec().approaches[block.approach].name;
    const auto add = [&](std::optional<uint32_t> test) {
      const Resources need = RequestOf(expansion, block, !test);
      smallest.cpu_millis = std::min(smallest.cpu_millis, need.cpu_millis);
      smallest.memory_bytes = std::min(smallest.memory_bytes, need.memory_bytes);
      if (need.GpuAmount() < smallest.GpuAmount()) {
        smallest.gpus = need.gpus;
        smallest.gpu_share = need.gpu_share;
      }
      Resources all = need;
      for (const ApproachSpec* asked : test ? AskedBy(expansion.spec(), block.approach, *test)
                                            : std::vector<const ApproachSpec*>()) {
        all = Together(all, asked->service->resources);
      }
      const std::string whose = absl::StrCat(test ? "predict" : "train", " jobs of ", approach,
                                             all == need ? "" : " with their services");
      CONCUR_RETURN_IF_ERROR(CheckUnits(expansion.UsesOf(block, test), whose, options));
      return CheckFitsSomewhere(
          all, expansion.has_labels() ? expansion.LabelsOf(block, test) : Labels(), whose, options);
    };
    if (block.has_train) {
      CONCUR_RETURN_IF_ERROR(add(std::nullopt));
    }
    for (const uint32_t test : block.tests) {
      CONCUR_RETURN_IF_ERROR(add(test));
    }
  }
  return smallest;
}

// Sum of each job's need times its duration, over what all workers have or what there is of a named
// resource: for the scarcest.
absl::Duration ResourceBound(const Expansion& expansion,
                             const std::vector<absl::Duration>& durations,
                             const ForecastOptions& options) {
  std::map<std::string, double> units;
  std::map<std::string, double> starts;
  double need[3] = {};
  double have[3] = {};
  for (const Resources& worker : options.workers) {
    have[0] += static_cast<double>(worker.cpu_millis);
    have[1] += static_cast<double>(worker.memory_bytes);
    have[2] += worker.gpus;
  }
  for (const Block& block : expansion.blocks()) {
    for (uint32_t i = 0; i < block.JobCount(); ++i) {
      const bool is_train = block.has_train && i % block.JobsPerCell() == 0;
      const Resources request = RequestOf(expansion, block, is_train);
      const double seconds = absl::ToDoubleSeconds(durations[block.first_job + i]);
      need[0] += seconds * static_cast<double>(request.cpu_millis);
      need[1] += seconds * static_cast<double>(request.memory_bytes);
      need[2] += seconds * request.GpuAmount();
      const uint32_t kind = i % block.JobsPerCell() - (block.has_train && !is_train ? 1 : 0);
      for (const auto& [name, used] :
           expansion.UsesOf(block, is_train ? std::nullopt : std::optional(block.tests[kind]))) {
        units[name] += seconds * static_cast<double>(used);
        starts[name] += seconds > 0 ? 1 : 0;  // one that took an equal job's result has none
      }
    }
  }
  double bound = 0;
  for (size_t i = 0; i < 3; ++i) {
    bound = std::max(bound, need[i] > 0 ? need[i] / have[i] : 0);
  }
  for (const auto& [name, seconds] : units) {
    const ForecastOptions::Resource& resource = options.resources.at(name);
    bound = std::max(bound, seconds / static_cast<double>(resource.amount));
    if (resource.per_minute > 0) {  // those of a second may start at once
      const double rate = static_cast<double>(resource.per_minute) / 60;
      bound = std::max(bound, (starts[name] - std::max(1.0, rate)) / rate);
    }
  }
  return absl::Seconds(bound);
}

}  // namespace

absl::StatusOr<Forecast> ForecastSweep(SweepSpec spec, const DurationOf& duration_of,
                                       const ForecastOptions& options) {
  if (options.workers.empty()) {
    return absl::InvalidArgumentError("workers: expected at least one");
  }
  CONCUR_CHECK(options.labels.empty() || options.labels.size() == options.workers.size());
  if (options.labels.empty()) {
    DropLabels(spec);
  }
  CONCUR_CHECK(options.slots.empty() || options.slots.size() == options.workers.size());
  DropUses(spec, options);
  TellFilesApart(spec);
  spec.early_stop.reset();  // nobody reports a score here
  CONCUR_ASSIGN_OR_RETURN(Expansion made, Expansion::Make(std::move(spec)));
  // Shared with the scheduler and its views.
  const auto expansion = std::make_shared<const Expansion>(std::move(made));
  CONCUR_ASSIGN_OR_RETURN(const Resources smallest, SmallestRequest(*expansion, options));
  CONCUR_ASSIGN_OR_RETURN(std::vector<absl::Duration> durations,
                          DrawDurations(*expansion, duration_of, options.seed));
  Forecast forecast;
  forecast.jobs = expansion->job_count();
  forecast.workers = static_cast<uint32_t>(options.workers.size());
  uint64_t slots = 0;
  for (size_t i = 0; i < options.workers.size(); ++i) {
    const uint64_t fit = FitCount(smallest, options.workers[i]);
    const bool is_limited = !options.slots.empty() && options.slots[i] > 0;
    slots += is_limited ? std::min<uint64_t>(fit, options.slots[i]) : fit;
  }
  forecast.slots = static_cast<uint32_t>(std::min<uint64_t>(slots, forecast.jobs));
  World world(expansion, durations, duration_of, options);
  forecast.makespan = world.Run();
  if (forecast.makespan == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError("the sweep never ends on these workers");
  }
  for (const ApproachSpec& approach : expansion->spec().approaches) {
    if (approach.service && !options.loads.contains(approach.name)) {
      forecast.unknown_loads.push_back(approach.name);
    }
  }
  // Settings that were sampled twice make equal jobs, of which one runs.
  for (uint32_t job = 0; job < forecast.jobs; ++job) {
    if (!world.HasRun(job)) {
      durations[job] = absl::ZeroDuration();
      ++forecast.reused;
    }
    forecast.work += durations[job];
  }
  forecast.critical = CriticalPath(*expansion, durations, options);
  forecast.bound = std::max({forecast.work / std::max<int64_t>(forecast.slots, 1),
                             forecast.critical, ResourceBound(*expansion, durations, options)});
  forecast.machine_time = forecast.makespan * forecast.workers;
  forecast.utilization =
      forecast.makespan > absl::ZeroDuration()
          ? absl::FDivDuration(forecast.work, forecast.makespan * int64_t{forecast.slots})
          : 1;
  return forecast;
}

}  // namespace concur
