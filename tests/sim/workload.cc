// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/workload.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/random.h"
#include "core/spent.h"

namespace concur::sim {
namespace {

constexpr uint32_t kJobsMax = 36;  // a sweep's
constexpr int kExitFailed = 1;
constexpr int kExitConfig = 78;
constexpr char kBroken[] = "broken";  // prefix of benchmarks whose jobs all fail
constexpr char kJudge[] = "judge";    // an approach that is nothing but a service
constexpr char kPoison[] = "poison";  // prefix of those where some eval jobs kill their workers

DataFile FileOf(const std::string& contents, Bug bug) {
  DataFile file;
  file.digest = Sha256Of(bug == Bug::kKeyForgetsData ? "data" : contents);
  file.bytes = static_cast<int64_t>(contents.size());
  file.path = contents;
  file.suffix = ".jsonl";
  return file;
}

// Some of those that would ask for one GPU ask for a share.
Resources DrawResources(Random& random, Random& shares) {
  Resources drawn{.cpu_millis = 1000 * random.Between(0, 2),
                  .memory_bytes = 0,
                  .gpus = static_cast<int32_t>(random.Chance(0.3) ? random.Between(1, 2) : 0)};
  if (drawn.gpus == 1 && shares.Chance(0.7)) {
    drawn.gpus = 0;
    drawn.gpu_share = static_cast<int32_t>(shares.Between(1, kGpuShares - 1));
  }
  return drawn;
}

constexpr int64_t kUnitsOfJobMax = 2;  // units of each resource

// In some worlds most jobs use a named resource, of which there is little.
void DrawUses(Random& random, bool any, SweepSpec& spec) {
  for (ApproachSpec& approach : spec.approaches) {
    const int64_t units = random.Between(1, kUnitsOfJobMax);
    const bool trains = random.Chance(0.5);
    const bool predicts = random.Chance(0.8);
    approach.train_uses = any && trains ? Uses{{"api", 1}} : Uses();
    approach.predict_uses = any && predicts ? Uses{{"api", units}} : Uses();
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    benchmark.uses = any && random.Chance(0.3) ? Uses{{"licence", 1}} : Uses();
  }
}

// In some worlds with services eval jobs of several approaches need a service besides.
void DrawNeeds(Random& random, bool any, SweepSpec& spec) {
  const auto judge = static_cast<uint32_t>(spec.approaches.size());
  bool is_needed = false;
  const auto draw = [&](bool may, double chance, std::vector<uint32_t>& needs) {
    needs.clear();
    if (random.Chance(chance) && any && may) {
      needs.push_back(judge);
      is_needed = true;
    }
  };
  for (ApproachSpec& approach : spec.approaches) {
    draw(!approach.predict_command.empty(), 0.6, approach.needs);
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    draw(!benchmark.validation_of, 0.3, benchmark.needs);
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    if (benchmark.validation_of) {
      benchmark.needs = spec.benchmarks[*benchmark.validation_of].needs;
    }
  }
  ApproachSpec service;
  service.name = kJudge;
  service.version = "1";
  service.service.emplace();
  service.service->command = {"judge", "{port}"};
  service.service->resources = {
      .cpu_millis = 0, .memory_bytes = 0, .gpus = static_cast<int32_t>(random.Between(0, 2))};
  service.service->ready_within = kJobTimeout;
  service.service->serves = static_cast<uint32_t>(random.Between(1, 3));
  service.service->idle = absl::Seconds(random.Between(0, 30));
  if (is_needed) {
    spec.approaches.push_back(std::move(service));
  }
}

// In some worlds most eval jobs ask a service. One worker has room for it beside any job.
void DrawServices(Random& random, bool any, SweepSpec& spec) {
  for (ApproachSpec& approach : spec.approaches) {
    ServiceSpec service;
    service.command = {"service", "{port}"};
    const bool asks = random.Chance(0.8);
    if (random.Chance(0.5) && !approach.train_command.empty()) {
      service.command.emplace_back("{model}");
    } else if (random.Chance(0.5)) {
      service.command.emplace_back("{seed}");
    }
    service.resources = {
        .cpu_millis = 0, .memory_bytes = 0, .gpus = static_cast<int32_t>(random.Between(0, 2))};
    service.ready_within = kJobTimeout;
    service.serves = static_cast<uint32_t>(random.Between(1, 3));
    service.idle = absl::Seconds(random.Between(0, 30));
    std::erase(approach.predict_command, "{service.url}");
    approach.service.reset();
    if (any && asks && !approach.predict_command.empty()) {
      approach.predict_command.emplace_back("{service.url}");
      approach.service = std::move(service);
    }
  }
}

void DrawResources(Random& random, Random& rates, bool any, Workload& workload) {
  if (!any) {
    return;
  }
  for (const char* name : {"api", "licence"}) {
    workload.resources[name] = random.Between(kUnitsOfJobMax, 4);
    if (rates.Chance(0.3)) {
      workload.rates[name] = rates.Between(10, 40);
    }
    for (uint64_t changes = random.Below(4); changes > 0; --changes) {
      const absl::Duration after = absl::Milliseconds(random.Between(1'000, 120'000));
      workload.amounts.push_back({after, name, random.Between(0, 4)});
    }
    workload.amounts.push_back(
        {absl::Seconds(random.Between(130, 180)), name, random.Between(kUnitsOfJobMax, 4)});
  }
}

// They hold the exit codes of failing commands.
std::string DrawProgram(Random& random) {
  return random.Chance(0.9) ? "works" : random.Chance(0.5) ? "fails" : "misconfigured";
}

// `give_up`, `poison` and `shares` are separate random streams.
SweepSpec DrawSpec(Random& random, Random& give_up, Random& poison, Random& shares, Bug bug) {
  SweepSpec spec;
  spec.name = absl::StrCat("sweep", random.Below(3));
  const int approaches = static_cast<int>(random.Between(1, 2));
  for (int i = 0; i < approaches; ++i) {
    ApproachSpec approach;
    approach.name = absl::StrCat("approach", i);
    approach.version = absl::StrCat(random.Below(2));
    if (random.Chance(0.75)) {
      approach.train_command = {DrawProgram(random), approach.version, "{train}", "{model}",
                                "{seed}"};
      approach.predict_command = {DrawProgram(random), "{model}", "{test}", "{predictions}"};
      approach.hyperparameters.defaults = {{"lr", 0.1}};
      approach.hyperparameters.space = {{"lr", LogUniformRange{0.001, 1.0}}};
    } else {
      approach.predict_command = {DrawProgram(random), approach.version, "{test}", "{predictions}",
                                  "{seed}"};
    }
    approach.train_resources = DrawResources(random, shares);
    approach.predict_resources = DrawResources(random, shares);
    approach.train_timeout = kJobTimeout;
    approach.predict_timeout = kJobTimeout;
    spec.approaches.push_back(std::move(approach));
  }
  const uint32_t benchmarks = static_cast<uint32_t>(random.Between(1, 3));
  const uint64_t broken = give_up.Below(12);  // usually none
  spec.failures_max_per_block = static_cast<uint32_t>(give_up.Below(4));
  const uint64_t poisoned = poison.Below(16);  // usually none
  for (uint32_t i = 0; i < benchmarks; ++i) {
    BenchmarkSpec benchmark;
    benchmark.name = absl::StrCat(i == broken     ? kBroken
                                  : i == poisoned ? kPoison
                                                  : "",
                                  "benchmark", i);
    benchmark.train = FileOf(benchmark.name + "-train", bug);
    benchmark.test = FileOf(benchmark.name + "-test", bug);
    spec.benchmarks.push_back(std::move(benchmark));
    if (i < 2) {
      TrainSet train_set;
      train_set.name = spec.benchmarks[i].name;
      train_set.parts = {{i, 0}};
      spec.train_sets.push_back(std::move(train_set));
    }
  }
  spec.evaluate_on = random.Chance(0.5) ? EvaluateOn::kSame : EvaluateOn::kAll;
  spec.random_settings = static_cast<uint32_t>(random.Below(2));
  spec.seeds = {random.Between(1, 2)};
  spec.priority = static_cast<int32_t>(random.Between(-1, 1));
  spec.keep.systems = random.Chance(0.5);
  spec.keep.predictions = random.Chance(0.5);
  spec.keep.logs = random.Chance(0.5);
  spec.retry.failures_max = static_cast<uint32_t>(random.Between(1, 3));
  spec.retry.lost_max = static_cast<uint32_t>(random.Between(0, 6));
  spec.retry.backoff_max = absl::Seconds(10);
  return spec;
}

// The text that the sweep's source is trained on.
void SetText(const std::string& text, Bug bug, SweepSpec& spec) {
  spec.benchmarks.back().name = text;
  spec.benchmarks.back().train = FileOf(bug == Bug::kKeyForgetsSource ? "text" : text, bug);
  spec.train_sets.back().name = text;
}

// Some approaches start from the system of one that is there for that alone, and trained on a text;
// of two the second may start from the first one's. What overlaps an earlier sweep may have another
// text.
void DrawStages(Random& random, Bug bug, SweepSpec& spec) {
  const bool any = random.Chance(0.4);
  const bool is_chain = random.Chance(0.5);
  const bool on_same = random.Chance(0.5);
  const std::string text = absl::StrCat("text", random.Below(2));
  if (spec.approaches.back().predict_command.empty()) {
    SetText(text, bug, spec);
    return;
  }
  std::vector<uint32_t> trained;
  for (uint32_t i = 0; i < spec.approaches.size(); ++i) {
    if (!spec.approaches[i].train_command.empty()) {
      trained.push_back(i);
    }
  }
  if (!any || trained.empty()) {
    return;
  }
  const auto source = static_cast<uint32_t>(spec.approaches.size());
  const auto train_set = static_cast<uint32_t>(spec.train_sets.size());
  const auto benchmark = static_cast<uint32_t>(spec.benchmarks.size());
  spec.benchmarks.emplace_back();
  spec.train_sets.emplace_back().parts = {{benchmark, 0}};
  spec.train_sets.back().source_only = true;
  SetText(text, bug, spec);
  ApproachSpec pretrained = spec.approaches[trained[0]];
  pretrained.name = "source";
  pretrained.predict_command.clear();
  spec.approaches.push_back(std::move(pretrained));
  for (size_t i = 0; i < trained.size() && (i == 0 || is_chain); ++i) {
    ApproachSpec& stage = spec.approaches[trained[i]];
    stage.train_command.emplace_back("{start}");
    stage.train_from = i == 0 ? TrainFrom{source, train_set} : TrainFrom{trained[0], {}};
    if (i > 0 && !on_same) {
      stage.train_from->train_set = 0;
    }
  }
}

std::optional<absl::Duration> Sometimes(Random& random, double chance) {
  const double seconds = 1 + 90 * random.Uniform();
  return random.Chance(chance) ? std::optional(absl::Milliseconds(1000 * seconds)) : std::nullopt;
}

// Some of those that halve do so in brackets.
void DrawBrackets(Random& random, SweepSpec& spec) {
  const bool has_brackets = random.Chance(0.4);
  if (has_brackets && spec.early_stop && spec.early_stop->rule.method == EarlyStopMethod::kAsha) {
    spec.early_stop->rule.method = EarlyStopMethod::kHyperband;
  }
}

// The world without faults trains every setting to its end, so that it has all outcomes. Returns
// whether the other worlds stop some.
bool DrawEarlyStop(Random& random, bool gives_up, SweepSpec& spec) {
  spec.early_stop.reset();
  const bool trains =
      std::any_of(spec.approaches.begin(), spec.approaches.end(),
                  [](const ApproachSpec& approach) { return !approach.train_command.empty(); });
  if (!random.Chance(0.3) || !trains) {
    return false;
  }
  spec.random_settings = static_cast<uint32_t>(random.Between(1, 4));
  EarlyStopSpec early_stop;
  early_stop.metric = kStepName;
  early_stop.rule.method = random.Chance(0.7) ? EarlyStopMethod::kAsha : EarlyStopMethod::kMedian;
  early_stop.rule.minimize = random.Chance(0.3);
  early_stop.rule.max = random.Between(2, kTrainSteps + 1);
  early_stop.rule.eta = random.Between(2, 3);
  if (gives_up) {
    spec.early_stop = std::move(early_stop);
  }
  return true;
}

// Some sweeps without early_stop are searched; what overlaps one that is, is searched as well.
void DrawSearch(Random& random, bool stops, SweepSpec& spec) {
  const bool overlaps = spec.search.has_value();
  const bool is_searched = random.Chance(0.25) || overlaps;
  const auto trials = static_cast<uint32_t>(random.Between(3, 6));
  const auto parallel = static_cast<uint32_t>(random.Between(1, 2));
  spec.search.reset();
  if (!is_searched || stops) {
    return;
  }
  spec.random_settings = overlaps ? spec.random_settings : trials - 1;
  spec.search = SearchSpec{.on_test = true, .parallel = parallel, .proposals = {}};
  if (!Expansion::Make(spec).ok()) {  // nothing has a space
    spec.search.reset();
  }
}

PlannedSweep Plan(Random& random, size_t number, SweepSpec spec, Bug bug, bool gives_up) {
  PlannedSweep planned;
  planned.failures_max = gives_up ? spec.failures_max_per_block : 0;
  spec.path = absl::StrCat(number);
  spec.failures_max_per_block = bug == Bug::kGivenUpAtOnce && gives_up ? 1 : planned.failures_max;
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  CONCUR_CHECK(expansion.ok());
  planned.expansion = std::make_shared<const Expansion>(*std::move(expansion));
  planned.text = planned.expansion->spec().path;
  planned.request_id = absl::StrCat("request", number);
  planned.submit_after = absl::Milliseconds(static_cast<int64_t>(random.Below(120'000)));
  if (number == 0) {
    planned.submit_after = absl::Seconds(1);
  }
  planned.pause_after = Sometimes(random, 0.15);
  planned.cancel_after = Sometimes(random, 0.15);
  planned.retry_after = Sometimes(random, 0.3);
  planned.rerun_after = Sometimes(random, 0.15);
  planned.delete_after = Sometimes(random, 0.1);
  planned.rerun_job = static_cast<uint32_t>(random.Below(planned.expansion->job_count()));
  return planned;
}

// Results of some of the models on some of the tasks.
PlannedSweep PlanImport(Random& random, size_t number) {
  SweepSpec spec;
  spec.name = absl::StrCat("sweep", random.Below(3));
  const uint64_t approaches = 1 + random.Below(3);
  for (uint64_t i = 0; i < approaches; ++i) {
    spec.approaches.emplace_back().name = absl::StrCat("approach", i);
  }
  const uint64_t benchmarks = 1 + random.Below(3);
  for (uint64_t i = 0; i < benchmarks; ++i) {
    BenchmarkSpec& benchmark = spec.benchmarks.emplace_back();
    benchmark.name = absl::StrCat("benchmark", i);
    benchmark.format = DataFormat::kFile;
    benchmark.metric = "score";
  }
  spec.evaluate_on = EvaluateOn::kAll;
  PlannedSweep planned;
  for (uint32_t job = 0; job < approaches * benchmarks; ++job) {
    if (job > 0 && random.Chance(0.3)) {
      continue;  // a gap
    }
    ImportedResult& imported = planned.imported.emplace_back();
    imported.job = job;
    imported.result.succeeded = true;
    imported.result.message = "{}";
    imported.result.metrics = {{"score", static_cast<double>(random.Below(4)), 0}};
  }
  spec.imported = DigestOfResults(planned.imported);
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the macro also takes temporaries
  CONCUR_CHECK_OK(expansion.status());
  planned.text = absl::StrCat(number);
  planned.request_id = absl::StrCat("request", number);
  planned.expansion = std::make_shared<const Expansion>(*std::move(expansion));
  planned.submit_after = absl::Milliseconds(static_cast<int64_t>(random.Below(120'000)));
  planned.retry_after = Sometimes(random, 0.3);  // is refused
  planned.delete_after = Sometimes(random, 0.2);
  return planned;
}

}  // namespace

Workload Workload::Draw(uint64_t seed, Bug bug, bool gives_up) {
  Random random(seed, "sim.workload");
  Random give_up(seed, "sim.give_up");
  Random rerun(seed, "sim.rerun");
  Random poison(seed, "sim.poison");
  Random shares(seed, "sim.gpu_shares");
  Random early_stop(seed, "sim.early_stop");
  Random brackets(seed, "sim.brackets");
  Random stages(seed, "sim.stages");
  Random search(seed, "sim.search");
  Random uses(seed, "sim.uses");
  const bool uses_any = uses.Chance(0.35);
  Random services(seed, "sim.services");
  const bool serves_any = services.Chance(0.35);
  Random needs(seed, "sim.needs");
  const bool needs_any = serves_any && needs.Chance(0.7);
  Random budget(seed, "sim.budget");
  const bool spends = budget.Chance(0.4);
  Workload workload;
  workload.spends = spends;
  workload.lease = absl::Seconds(random.Between(6, 30));
  workload.faults_end = absl::Seconds(random.Between(60, 240));
  const uint64_t sweeps = 1 + random.Below(4);
  while (workload.sweeps.size() < sweeps) {
    SweepSpec spec = DrawSpec(random, give_up, poison, shares, bug);
    if (!workload.sweeps.empty() && random.Chance(0.6)) {
      // Overlaps an earlier one, or equals it.
      const uint32_t failures_max = spec.failures_max_per_block;
      spec = workload.sweeps[random.Below(workload.sweeps.size())].expansion->spec();
      spec.failures_max_per_block = failures_max;
      spec.seeds.assign(1, random.Between(1, 2));
      spec.priority = static_cast<int32_t>(random.Between(-1, 1));
      spec.keep.systems = random.Chance(0.5);
      std::erase_if(spec.approaches,  // DrawNeeds makes it anew
                    [](const ApproachSpec& approach) { return approach.name == kJudge; });
    }
    DrawStages(stages, bug, spec);
    const bool stops = DrawEarlyStop(early_stop, gives_up, spec);
    DrawBrackets(brackets, spec);
    DrawSearch(search, stops, spec);
    for (ApproachSpec& approach : spec.approaches) {
      approach.rerun = rerun.Chance(0.1);
    }
    DrawUses(uses, uses_any, spec);
    DrawServices(services, serves_any, spec);
    DrawNeeds(needs, needs_any, spec);
    const int64_t usd = budget.Between(2, 40);
    spec.budget_usd_micros = spends && gives_up && budget.Chance(0.7) ? usd * kUsdMicros : 0;
    const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
    if (expansion.ok() && expansion->job_count() <= kJobsMax) {
      workload.sweeps.push_back(
          Plan(random, workload.sweeps.size(), std::move(spec), bug, gives_up));
    }
  }
  const int workers = static_cast<int>(random.Between(2, 4));
  for (int i = 0; i < workers; ++i) {
    PlannedWorker worker;
    worker.name = absl::StrCat("w", i);
    worker.capacity = Resources{.cpu_millis = 1000 * random.Between(2, 6),
                                .memory_bytes = 0,
                                .gpus = static_cast<int32_t>(random.Between(0, 4))};
    worker.shares_disk = random.Chance(0.3);
    worker.slots = uses.Chance(0.2) ? static_cast<uint32_t>(uses.Between(1, 4)) : 0;
    workload.workers.push_back(std::move(worker));
  }
  for (PlannedWorker& worker : workload.workers) {
    worker.takes_services = services.Chance(0.8);
  }
  workload.workers[0].capacity.gpus = needs_any ? 6 : 4;  // one worker can run every job
  workload.workers[0].takes_services = true;
  Random broken(seed, "sim.broken");
  workload.workers.back().broken = broken.Chance(0.25);
  Random host(seed, "sim.host");
  for (PlannedWorker& worker : workload.workers) {
    worker.host = host.Chance(0.7) ? worker.name : "shared";
  }
  Random cancel_job(seed, "sim.cancel_job");
  for (PlannedSweep& sweep : workload.sweeps) {
    sweep.cancel_job_after = Sometimes(cancel_job, 0.2);
    sweep.cancel_job = static_cast<uint32_t>(cancel_job.Below(sweep.expansion->job_count()));
  }
  Random import(seed, "sim.import");
  for (uint64_t imports = import.Chance(0.3) ? 1 + import.Below(2) : 0; imports > 0; --imports) {
    PlannedSweep planned = PlanImport(import, workload.sweeps.size());
    if (!workload.sweeps.back().imported.empty() && import.Chance(0.5)) {
      planned.imported = workload.sweeps.back().imported;  // the same, as another request
      planned.expansion = workload.sweeps.back().expansion;
    }
    workload.sweeps.push_back(std::move(planned));
  }
  for (PlannedSweep& sweep : workload.sweeps) {
    const int64_t usd = budget.Between(1, 60);
    const absl::Duration after = absl::Seconds(budget.Between(20, 120));
    if (sweep.expansion->spec().budget_usd_micros > 0) {
      sweep.budget_change = BudgetChange{after, usd * kUsdMicros};
    }
  }
  Random rates(seed, "sim.rates");
  DrawResources(uses, rates, uses_any, workload);
  Random quota(seed, "sim.quota");
  if (quota.Chance(0.3)) {
    workload.running_jobs_max = quota.Between(1, 4);
  }
  return workload;
}

absl::StatusOr<SweepSpec> Workload::Decode(absl::string_view text) const {
  const std::optional<size_t> number = NumberOf(text);
  if (!number || text != sweeps[*number].text) {
    return absl::DataLossError(absl::StrCat("no spec is called \"", text, "\""));
  }
  return sweeps[*number].expansion->spec();
}

std::optional<size_t> Workload::NumberOf(absl::string_view text) const {
  size_t number = 0;
  const bool is_known = absl::SimpleAtoi(text.substr(0, text.find(' ')), &number);
  return is_known && number < sweeps.size() ? std::optional(number) : std::nullopt;
}

std::string TextOf(const SweepSpec& spec) {
  std::string text = spec.path;
  for (const Proposal& proposal : spec.search->proposals) {
    absl::StrAppend(&text, " ", proposal.block, "/", proposal.setting, "=",
                    SettingText(proposal.values));
  }
  return text;
}

absl::Duration Workload::SerialTime() const {
  uint32_t jobs = 0;
  for (const PlannedSweep& sweep : sweeps) {
    jobs += sweep.expansion->job_count();
  }
  return jobs * kJobTimeMax;
}

JobBehavior BehaviorOf(const JobOrder& order) {
  std::string input = absl::StrCat(absl::StrJoin(order.command, " "), "|", order.seed);
  for (const auto& [name, value] : order.setting) {
    absl::StrAppend(&input, "|", name, "=", ParamText(value));
  }
  if (order.is_train) {
    for (const JobOrder::Input& part : order.train) {
      absl::StrAppend(&input, "|", part.name);  // the data of this name
    }
    if (!order.system.IsZero()) {
      absl::StrAppend(&input, "|", order.system.ToHex());
    }
  } else {
    absl::StrAppend(&input, "|", order.system.ToHex(), "|", order.test.name);
  }
  const Digest digest = Sha256Of(input);
  const auto word = [&](size_t at) {
    return static_cast<uint64_t>(digest.bytes[at]) << 8 | digest.bytes[at + 1];
  };
  JobBehavior behavior;
  behavior.run_time = absl::Milliseconds(200) + (kJobTimeMax - absl::Milliseconds(200)) *
                                                    (static_cast<double>(word(0)) / 65536) *
                                                    (static_cast<double>(word(2)) / 65536);
  behavior.run_time = absl::Trunc(behavior.run_time, absl::Microseconds(1));
  behavior.exit_code = absl::StartsWith(order.benchmark, kBroken) ? kExitFailed
                       : order.command[0] == "fails"              ? kExitFailed
                       : order.command[0] == "misconfigured"      ? kExitConfig
                                                                  : 0;
  behavior.kills_worker =
      !order.is_train && absl::StartsWith(order.benchmark, kPoison) && word(6) % 3 == 0;
  behavior.system = absl::StrCat("system ", digest.ToHex());
  behavior.predictions = absl::StrCat("predictions ", digest.ToHex());
  behavior.score = static_cast<double>(word(4) % 10'001) / 100;
  behavior.usd = static_cast<double>(word(8) % 5);
  return behavior;
}

}  // namespace concur::sim
