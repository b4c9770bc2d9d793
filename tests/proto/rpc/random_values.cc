// SPDX-License-Identifier: Apache-2.0
#include "tests/proto/rpc/random_values.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/spent.h"

namespace concur::testing {
namespace {

std::string RandomText(Random& random, int length_max) {
  static const char* const kPieces[] = {"a",  "Z", "0",         " ",  "é",  "ß",
                                        "漢", "😀", "{{train}}", "\\", "\"", "-"};
  std::string text;
  for (uint64_t i = random.Below(length_max) + 1; i > 0; --i) {
    text += kPieces[random.Below(std::size(kPieces))];
  }
  return text;
}
// As people choose one freely.
std::string RandomTitle(Random& random) {
  return absl::StrCat(RandomText(random, 5), random.Next() % 1'000'000'007);
}
// As ValidateName and ValidateHyperparameterName demand.
std::string RandomName(Random& random) {
  return absl::StrCat("n", random.Next() % 1'000'000'007, random.Chance(0.5) ? "-x" : "_y.z");
}
absl::Time RandomTime(Random& random) {
  return absl::FromUnixSeconds(random.Between(-1'000'000'000, 4'000'000'000)) +
         absl::Nanoseconds(random.Between(0, 999'999'999));
}
absl::Duration RandomSpan(Random& random) {
  return absl::Nanoseconds(random.Between(1, 10'000'000'000'000));
}
ParamValue RandomParam(Random& random) {
  switch (random.Below(5)) {
    case 0:
      return random.Chance(0.5);
    case 1:
      return static_cast<int64_t>(random.Next());
    case 2:
      return random.Normal() * 1e10;
    case 3:
      return WrittenNumber{"3.10"};
    default:
      return RandomText(random, 10);
  }
}
Distribution RandomDistribution(Random& random) {
  const double low = random.Uniform() + 1e-9;
  switch (random.Below(4)) {
    case 0: {
      Choice choice;
      for (uint64_t i = random.Below(4) + 1; i > 0; --i) {
        choice.values.push_back(RandomParam(random));
      }
      choice.is_grid = choice.values.size() == 1;
      return choice;
    }
    case 1:
      return UniformRange{low - 10, low};
    case 2:
      return LogUniformRange{low, low + 2};
    default: {
      const int64_t first = random.Between(-100, 100);
      return IntegerRange{first, first + random.Between(0, 50), random.Between(1, 9)};
    }
  }
}
std::map<std::string, std::string> RandomTags(Random& random) {
  std::map<std::string, std::string> tags;
  for (uint64_t i = random.Below(4); i > 0; --i) {
    tags[RandomName(random)] = random.Chance(0.2) ? "" : RandomText(random, 4);
  }
  return tags;
}
std::map<std::string, std::string> RandomEnv(Random& random) {
  std::map<std::string, std::string> env;
  for (uint64_t i = random.Below(3); i > 0; --i) {
    env[absl::StrCat("_V", random.Below(100))] = RandomText(random, 6);
  }
  return env;
}
std::vector<std::string> RandomCommand(Random& random) {
  std::vector<std::string> argv = {RandomName(random)};
  for (uint64_t i = random.Below(5); i > 0; --i) {
    argv.push_back(random.Chance(0.1) ? "" : absl::StrCat(RandomText(random, 8), "{seed}"));
  }
  return argv;
}
Resources RandomResources(Random& random) {
  Resources resources;
  resources.cpu_millis = random.Between(0, 1'000'000);
  resources.memory_bytes = random.Between(0, int64_t{1} << 45);
  resources.gpus = static_cast<int32_t>(random.Between(0, kGpusMax));
  resources.gpu_share =
      static_cast<int32_t>(resources.gpus > 0 ? 0 : random.Between(0, kGpuShares - 1));
  return resources;
}
Setting RandomSetting(Random& random) {
  Setting setting;
  for (uint64_t i = random.Below(5); i > 0; --i) {
    setting[RandomName(random)] = RandomParam(random);
  }
  return setting;
}
DataFile RandomFile(Random& random) {
  return {RandomDigest(random), random.Between(0, int64_t{1} << 40), "/" + RandomText(random, 9),
          random.Chance(0.3) ? "" : ".jsonl.gz"};
}
KeepPolicy RandomKeep(Random& random) {
  return {random.Chance(0.5), random.Chance(0.5), random.Chance(0.5), random.Chance(0.5)};
}
AttemptId RandomAttempt(Random& random) {
  return {
      JobId{SweepId{random.Below(1'000'000) + 1}, static_cast<uint32_t>(random.Below(kJobsMax))},
      Attempt{static_cast<uint32_t>(random.Between(1, 4'000'000'000))}};
}
JobOrder::Input RandomInput(Random& random) {
  return {RandomTitle(random), RandomDigest(random), random.Between(0, 1'000'000'000), ".json",
          random.Between(0, 1000)};
}

Environment RandomEnvironment(Random& random) {
  Environment environment;
  environment.kind = static_cast<EnvironmentKind>(random.Between(0, 3));
  if (environment.kind == EnvironmentKind::kImage && random.Chance(0.5)) {
    environment.reference =
        absl::StrCat("registry.example/a/b@sha256:", RandomDigest(random).ToHex());
  } else {
    environment.digest = RandomDigest(random);
    environment.path = "/data/environment.tar";
    environment.bytes = random.Between(0, 1'000'000);
  }
  if (environment.kind == EnvironmentKind::kVenv) {
    environment.python = random.Chance(0.5) ? "python3" : "python3.11";
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    environment.setup.push_back(absl::StrCat("echo ", i));
  }
  return environment;
}

Code RandomCode(Random& random) {
  std::vector<CodeFile> files;
  for (uint64_t i = random.Below(3); i > 0; --i) {
    files.push_back({absl::StrCat("lib/", 9 - i, ".py"), RandomDigest(random),
                     random.Between(0, 1000), random.Chance(0.5)});
  }
  Code code = MakeCode(RandomDigest(random), random.Between(0, 100'000), std::move(files));
  code.root = RandomText(random, 3);
  return code;
}

Uses RandomUses(Random& random) {
  Uses uses;
  for (uint64_t i = random.Below(4); i > 0; --i) {
    uses[RandomName(random)] = random.Between(1, kUnitsMax);
  }
  return uses;
}

ApproachSpec RandomApproach(Random& random) {
  ApproachSpec approach;
  approach.name = RandomName(random);
  approach.tags = RandomTags(random);
  approach.version = RandomText(random, 3);
  if (random.Chance(0.7)) {
    approach.train_command = RandomCommand(random);
  }
  approach.predict_command = RandomCommand(random);
  approach.hyperparameters.defaults = RandomSetting(random);
  for (const auto& [name, value] : approach.hyperparameters.defaults) {
    if (random.Chance(0.6)) {
      approach.hyperparameters.space[name] = RandomDistribution(random);
    }
  }
  approach.train_resources = RandomResources(random);
  approach.predict_resources = RandomResources(random);
  approach.train_labels = RandomTags(random);
  approach.predict_labels = RandomTags(random);
  approach.train_uses = RandomUses(random);
  approach.predict_uses = RandomUses(random);
  if (random.Chance(0.5)) {
    approach.train_timeout = kTimeoutMin + RandomSpan(random);
  }
  if (random.Chance(0.5)) {
    approach.predict_timeout = kTimeoutMin + RandomSpan(random);
  }
  approach.env = RandomEnv(random);
  for (uint64_t i = random.Below(3); i > 0; --i) {
    approach.secrets[absl::StrCat("_S", i)] = RandomName(random);
  }
  if (random.Chance(0.5)) {
    approach.code = RandomCode(random);
  }
  if (random.Chance(0.3)) {
    approach.predict_code = RandomCode(random);
  }
  for (std::optional<Digest>* program : {&approach.train_program, &approach.predict_program}) {
    if (random.Chance(0.3)) {
      *program = RandomDigest(random);
    }
  }
  if (random.Chance(0.5)) {
    approach.environment = RandomEnvironment(random);
  }
  if (random.Chance(0.4)) {
    ServiceSpec service;
    const bool has_socket = random.Chance(0.5);
    service.command = RandomCommand(random);
    service.command.emplace_back(has_socket ? "{socket}" : "{port}");
    if (random.Chance(0.5)) {
      service.program = RandomDigest(random);
      service.ready_http = "/health";
    }
    service.ready_within = kTimeoutMin + RandomSpan(random);
    service.resources = RandomResources(random);
    service.serves = static_cast<uint32_t>(random.Between(1, kServesMax));
    service.idle = RandomSpan(random);
    approach.service = std::move(service);
    approach.predict_command.emplace_back(has_socket ? "{service.socket}" : "{service.url}");
  }
  approach.rerun = random.Chance(0.5);
  return approach;
}

BenchmarkSpec RandomBenchmark(Random& random) {
  BenchmarkSpec benchmark;
  benchmark.name = RandomName(random);
  benchmark.tags = RandomTags(random);
  benchmark.format = static_cast<DataFormat>(random.Between(0, 2));
  if (random.Chance(0.7)) {
    benchmark.train = RandomFile(random);
  }
  if (!benchmark.train || random.Chance(0.7)) {
    benchmark.test = RandomFile(random);
  }
  benchmark.metric =
      IsQa(benchmark.format) ? (random.Chance(0.5) ? "f1" : "exact_match") : RandomName(random);
  if (!IsQa(benchmark.format)) {
    benchmark.meaning.goal = random.Chance(0.5) ? Goal::kMinimize : Goal::kMaximize;
    benchmark.meaning.scale.kind = static_cast<Scale::Kind>(random.Between(0, 4));
    if (benchmark.meaning.scale.kind == Scale::Kind::kRange) {
      benchmark.meaning.scale.low = random.Normal();
      benchmark.meaning.scale.high = benchmark.meaning.scale.low + 1 + random.Uniform();
    }
  }
  benchmark.labels = RandomTags(random);
  benchmark.uses = RandomUses(random);
  for (const auto& [name, value] : RandomSetting(random)) {
    benchmark.parameters[name] = RandomText(random, 3);
  }
  return benchmark;
}

void AddTrainSets(Random& random, SweepSpec* spec) {
  for (uint64_t i = random.Below(4); i > 0; --i) {
    TrainSet set;
    set.name = RandomName(random);
    for (uint32_t b = 0; b < spec->benchmarks.size(); ++b) {
      if (spec->benchmarks[b].train && IsQa(spec->benchmarks[b].format) && random.Chance(0.5)) {
        set.parts.push_back({b, random.Chance(0.5) ? 0 : random.Between(1, 100)});
      }
    }
    set.seed = random.Next();
    set.tags = RandomTags(random);
    set.source_only = random.Chance(0.2);
    if (!set.parts.empty()) {
      spec->train_sets.push_back(set);
    }
  }
}

// Approaches start from ones before them, of which some are there for that alone.
void AddStages(Random& random, SweepSpec* spec) {
  for (uint32_t a = 1; a < spec->approaches.size(); ++a) {
    ApproachSpec& source = spec->approaches[a - 1];
    ApproachSpec& approach = spec->approaches[a];
    if (source.train_command.empty() || approach.train_command.empty() || random.Chance(0.5)) {
      continue;
    }
    approach.train_command.emplace_back("{start}");
    approach.train_from.emplace().approach = a - 1;
    if (!spec->train_sets.empty() && random.Chance(0.5)) {
      approach.train_from->train_set = static_cast<uint32_t>(random.Below(spec->train_sets.size()));
    }
    if (random.Chance(0.5)) {
      source.predict_command.clear();
      source.service.reset();
    }
  }
}

// Some approaches and benchmarks need the service of another approach, which is nothing else.
void AddNeeds(Random& random, SweepSpec* spec) {
  const auto need = static_cast<uint32_t>(spec->approaches.size());
  bool is_needed = false;
  for (ApproachSpec& approach : spec->approaches) {
    if (random.Chance(0.3) && !approach.predict_command.empty()) {
      approach.needs.push_back(need);
      is_needed = true;
    }
  }
  if (is_needed) {
    for (BenchmarkSpec& benchmark : spec->benchmarks) {
      benchmark.needs.push_back(need);
    }
    ApproachSpec& judge = spec->approaches.emplace_back();
    judge.name = RandomName(random);
    judge.version = "1";
    judge.service.emplace().command = {"judge", "{port}"};
  }
}

void AddRules(Random& random, SweepSpec* spec) {
  spec->evaluate_on = static_cast<EvaluateOn>(random.Below(3));
  if (spec->evaluate_on == EvaluateOn::kListed) {
    for (uint32_t b = 0; b < spec->benchmarks.size(); ++b) {
      if (spec->benchmarks[b].test) {
        spec->evaluate_benchmarks.push_back(b);
      }
    }
    if (spec->evaluate_benchmarks.empty()) {
      spec->evaluate_on = EvaluateOn::kAll;
    }
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    ExcludeRule rule;
    rule.approach = random.Below(spec->approaches.size());
    if (!spec->train_sets.empty() && random.Chance(0.5)) {
      rule.train_set = random.Below(spec->train_sets.size());
    }
    if (random.Chance(0.5)) {
      rule.test_benchmark = random.Below(spec->benchmarks.size());
    }
    spec->exclude.push_back(rule);
  }
}

void AddValidationSets(Random& random, SweepSpec* spec) {
  const auto benchmarks = static_cast<uint32_t>(spec->benchmarks.size());
  for (uint32_t b = 0; b < benchmarks; ++b) {
    if (random.Chance(0.3)) {
      BenchmarkSpec validation = spec->benchmarks[b];
      validation.name = absl::StrCat("validation", b);
      validation.validation_of = b;
      validation.train.reset();
      validation.test = RandomFile(random);
      spec->benchmarks.push_back(std::move(validation));
    }
  }
}

}  // namespace

Digest RandomDigest(Random& random) { return Sha256Of(absl::StrCat(random.Next())); }

JobResult RandomResult(Random& random) {
  JobResult result;
  result.succeeded = random.Chance(0.5);
  if (!result.succeeded) {
    result.failure = static_cast<FailureClass>(random.Between(1, kFailureClasses - 1));
    result.message = RandomText(random, 30) + "\n";
  }
  result.exit_code = static_cast<int32_t>(random.Between(-1, 255));
  result.start_time = RandomTime(random);
  result.run_time = RandomSpan(random);
  result.memory_bytes_peak = random.Between(0, int64_t{1} << 40);
  std::set<std::string> names;
  for (uint64_t i = random.Below(4); i > 0; --i) {
    names.insert(RandomTitle(random));
  }
  for (const std::string& name : names) {
    result.metrics.push_back({name, random.Normal() * 100, random.Between(0, 100'000)});
  }
  for (const char* part : {"a", "b"}) {
    for (const std::string& name : names) {
      if (random.Chance(0.5)) {
        result.metrics.push_back({name, random.Normal(), random.Between(0, 9), std::nullopt, part});
      }
    }
  }
  for (int kind = 0; kind < kArtifactKinds; ++kind) {
    if (random.Chance(0.5)) {
      result.artifacts.push_back({static_cast<ArtifactKind>(kind), RandomDigest(random),
                                  random.Between(0, int64_t{1} << 40)});
    }
  }
  result.resumed_from = static_cast<uint32_t>(random.Below(3));
  return result;
}

std::optional<Checkpoint> RandomCheckpoint(Random& random) {
  if (random.Chance(0.5)) {
    return std::nullopt;
  }
  return Checkpoint{RandomDigest(random), random.Between(0, int64_t{1} << 40),
                    static_cast<uint32_t>(random.Below(9))};
}

SweepSpec RandomSpec(Random& random) {
  SweepSpec spec;
  spec.name = RandomName(random);
  spec.description = random.Chance(0.5) ? "" : RandomText(random, 30) + "\n\t";
  for (uint64_t i = random.Below(4) + 1; i > 0; --i) {
    spec.approaches.push_back(RandomApproach(random));
  }
  for (uint64_t i = random.Below(5) + 1; i > 0; --i) {
    spec.benchmarks.push_back(RandomBenchmark(random));
  }
  AddTrainSets(random, &spec);
  AddStages(random, &spec);
  AddNeeds(random, &spec);
  AddRules(random, &spec);
  AddValidationSets(random, &spec);
  spec.random_settings = static_cast<uint32_t>(random.Below(kSettingsMax));
  spec.settings_seed = random.Next();
  spec.seeds.clear();
  for (uint64_t i = random.Below(5) + 1; i > 0; --i) {
    spec.seeds.push_back(static_cast<int64_t>(random.Next()));
  }
  spec.select = static_cast<Selection>(random.Below(5));
  spec.path = RandomText(random, 3);
  spec.priority = static_cast<int32_t>(random.Between(-kPriorityMax, kPriorityMax));
  spec.budget_usd_micros = random.Between(0, kSpentMax);
  spec.keep = RandomKeep(random);
  spec.retry.failures_max = static_cast<uint32_t>(random.Between(1, kAttemptsMax));
  spec.retry.lost_max = static_cast<uint32_t>(random.Between(0, kAttemptsMax));
  spec.retry.backoff_min = random.Chance(0.2) ? absl::ZeroDuration() : RandomSpan(random);
  spec.retry.backoff_max = spec.retry.backoff_min + RandomSpan(random);
  spec.failures_max_per_block = static_cast<uint32_t>(random.Next());
  const bool trains =
      std::any_of(spec.approaches.begin(), spec.approaches.end(),
                  [](const ApproachSpec& approach) { return !approach.train_command.empty(); });
  if (trains && spec.random_settings > 0 && random.Chance(0.5)) {
    spec.early_stop.emplace();
    spec.early_stop->metric = "f1";
    spec.early_stop->rule = {.method = static_cast<EarlyStopMethod>(random.Below(3)),
                             .minimize = random.Chance(0.5),
                             .min = random.Between(1, 10),
                             .max = random.Between(10, kStepMax),
                             .eta = random.Between(2, kEarlyStopEtaMax)};
  } else if (random.Chance(0.5)) {
    spec.random_settings = static_cast<uint32_t>(random.Between(1, kTrialsMax - 1));
    spec.search = SearchSpec{.on_test = random.Chance(0.5),
                             .parallel = static_cast<uint32_t>(random.Between(1, kTrialsMax))};
    for (uint64_t i = random.Below(3); i > 0; --i) {
      spec.search->proposals.push_back({static_cast<uint32_t>(random.Below(9)),
                                        static_cast<uint32_t>(random.Below(9)),
                                        RandomSetting(random)});
    }
  }
  return spec;
}

JobOrder RandomOrder(Random& random) {
  JobOrder order;
  order.id = RandomAttempt(random);
  order.is_train = random.Chance(0.5);
  order.owner = RandomTitle(random);
  order.sweep_name = RandomName(random);
  order.approach = RandomName(random);
  order.benchmark = RandomName(random);
  order.command = RandomCommand(random);
  order.env = RandomEnv(random);
  for (uint64_t i = random.Below(3); i > 0; --i) {
    order.secrets[absl::StrCat("_S", i)] = {RandomName(random), RandomText(random, 6)};
  }
  if (random.Chance(0.3)) {
    order.program = RandomDigest(random);
  }
  order.setting = RandomSetting(random);
  order.setting_index = static_cast<uint32_t>(random.Next());
  order.seed = static_cast<int64_t>(random.Next());
  order.resources = RandomResources(random);
  order.gpu_mask = random.Next();
  order.holds_units = random.Chance(0.5);
  if (random.Chance(0.5)) {
    order.timeout = RandomSpan(random);
  }
  if (order.is_train) {
    order.is_mixture = random.Chance(0.5);
    for (uint64_t i = order.is_mixture ? random.Below(3) + 1 : 1; i > 0; --i) {
      order.train.push_back(RandomInput(random));
    }
    order.checkpoint = RandomCheckpoint(random);
    order.mixture_seed = random.Next();
    for (uint64_t i = random.Below(3); i > 0; --i) {
      order.validation.push_back(RandomInput(random));
    }
  } else {
    order.test = RandomInput(random);
    if (random.Chance(0.5)) {
      order.services[""] = {order.id.job.Service(), order.id.attempt};
      order.services[RandomName(random)] = {order.id.job.Service(1), order.id.attempt};
    }
  }
  if (random.Chance(0.7)) {
    order.system = RandomDigest(random);
    order.system_bytes = random.Between(0, 1'000'000);
  }
  if (random.Chance(0.5)) {
    order.code = {RandomDigest(random), random.Between(0, 1'000'000), RandomDigest(random)};
  }
  if (random.Chance(0.5)) {
    order.environment = RandomEnvironment(random);
  }
  order.format = static_cast<DataFormat>(random.Between(0, 2));
  order.keep = RandomKeep(random);
  return order;
}

SyncRequest RandomSyncRequest(Random& random) {
  SyncRequest request;
  request.worker.name = RandomTitle(random);
  request.worker.incarnation = RandomName(random);
  request.worker.previous_incarnation = random.Chance(0.5) ? "" : RandomName(random);
  request.worker.host = RandomTitle(random);
  request.worker.version = "1.2";
  request.worker.capacity = RandomResources(random);
  request.worker.capacity.gpu_share = 0;
  request.worker.slots = static_cast<uint32_t>(random.Below(kSyncAttemptsMax + 1));
  request.worker.queue_max = static_cast<uint32_t>(random.Below(kSyncAttemptsMax + 1));
  request.worker.labels = RandomTags(random);
  for (uint64_t i = random.Below(kNoticesMax + 1); i > 0; --i) {
    request.worker.notices.push_back(RandomName(random));
  }
  for (uint64_t i = random.Below(kContainmentMax + 1); i > 0; --i) {
    request.worker.containment.push_back(RandomName(random));
  }
  request.sequence = random.Next();
  request.draining = random.Chance(0.5);
  request.shutting_down = random.Chance(0.5);
  for (uint64_t i = random.Below(4); i > 0; --i) {
    request.running.push_back(RandomAttempt(random));
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    const AttemptId id = RandomAttempt(random);
    request.services.push_back({{id.job.Service(), id.attempt}, random.Chance(0.5), random.Next()});
  }
  request.worker.takes_services = random.Chance(0.5);
  for (const AttemptId& id : request.running) {
    const uint64_t of = 1 + random.Below(1'000);
    request.progress.push_back(
        {id, static_cast<int64_t>(random.Below(of + 1)), static_cast<int64_t>(of)});
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    request.finished.push_back(
        {RandomAttempt(random), RandomResult(random), RandomCheckpoint(random)});
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    request.log_chunks.push_back(
        {RandomAttempt(random), random.Between(0, 1'000'000), std::string("\xff\0\x01", 3)});
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    request.steps.push_back(
        {RandomAttempt(random), {random.Between(0, kStepMax), "f1", random.Uniform()}});
  }
  if (random.Chance(0.5)) {
    request.time_left = absl::Milliseconds(random.Between(0, 1'000'000'000));
  }
  request.wait = absl::Milliseconds(random.Between(0, 60'000));
  return request;
}

SyncResponse RandomSyncResponse(Random& random) {
  SyncResponse response;
  for (uint64_t i = random.Below(4); i > 0; --i) {
    response.start.push_back(RandomOrder(random));
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    response.stop.push_back({RandomAttempt(random), static_cast<StopReason>(random.Below(3))});
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    response.forget.push_back(
        {RandomAttempt(random), random.Chance(0.5), random.Chance(0.5) ? "" : "late"});
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    response.logs.push_back({RandomAttempt(random), random.Between(0, 1'000'000)});
  }
  response.drain = random.Chance(0.5);
  response.lease = RandomSpan(random);
  response.artifact_directory = "/" + RandomText(random, 10);
  response.artifact_store_id = RandomName(random);
  return response;
}

}  // namespace concur::testing
