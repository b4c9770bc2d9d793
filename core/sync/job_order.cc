// SPDX-License-Identifier: Apache-2.0
#include "core/sync/job_order.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/result.h"
#include "core/sweep/command_template.h"
#include "core/sweep/served_approach.h"

namespace concur {
namespace {

JobOrder::Input InputOf(const BenchmarkSpec& benchmark, const DataFile& file) {
  JobOrder::Input input;
  input.name = benchmark.name;
  input.digest = file.digest;
  input.bytes = file.bytes;
  input.suffix = file.suffix;
  return input;
}

void FillTrain(const Expansion& expansion, const Block& block, JobOrder& order) {
  const SweepSpec& spec = expansion.spec();
  const TrainSet& train_set = spec.train_sets[block.train_set];
  order.benchmark = train_set.name;
  order.is_mixture = train_set.IsMixture();
  order.mixture_seed = train_set.seed;
  order.train.reserve(train_set.parts.size());
  for (const TrainSet::Part& part : train_set.parts) {
    const BenchmarkSpec& benchmark = spec.benchmarks[part.benchmark];
    CONCUR_CHECK(benchmark.train.has_value());
    JobOrder::Input input = InputOf(benchmark, *benchmark.train);
    input.examples_max = part.examples_max;
    order.train.push_back(std::move(input));
  }
  for (const uint32_t validation : expansion.ValidationInputsOf(block)) {
    const BenchmarkSpec& benchmark = spec.benchmarks[validation];
    order.validation.push_back(InputOf(benchmark, *benchmark.test));
  }
  // All inputs of a train job have one format; a mixture of formats is refused at submission.
  order.format = spec.benchmarks[train_set.parts.front().benchmark].format;
}

absl::Status CheckInput(const FieldPath& path, const JobOrder::Input& input) {
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), input.name));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("size_bytes"), input.bytes, 0, kArtifactBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckSuffix(path.Field("suffix"), input.suffix));
  return CheckRange(path.Field("examples_max"), input.examples_max, 0, kExamplesMax);
}

absl::Status CheckInputs(const FieldPath& path, absl::string_view field,
                         const std::vector<JobOrder::Input>& inputs) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(field), inputs.size(), kBenchmarksMax));
  for (size_t i = 0; i < inputs.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckInput(path.Field(field, i), inputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateJobOrder(const JobOrder& order, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckAttemptId(path.Field("id"), order.id));
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("owner"), order.owner));
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("sweep_name"), order.sweep_name));
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("approach"), order.approach));
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("benchmark"), order.benchmark));
  if (order.command.empty()) {
    return FieldError(path.Field("command"), "expected a program, got an empty list");
  }
  CONCUR_RETURN_IF_ERROR(CheckCommand(path, "command", order.command));
  CONCUR_RETURN_IF_ERROR(CheckEnvironment(path.Field("env"), order.env));
  std::map<std::string, std::string> secrets;
  for (const auto& [variable, secret] : order.secrets) {
    secrets[variable] = secret.name;
    CONCUR_RETURN_IF_ERROR(
        CheckText(path.Field("secrets").Field(variable), secret.value, kTextBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(CheckSecrets(path.Field("secrets"), secrets, order.env));
  if (order.code) {
    CONCUR_RETURN_IF_ERROR(
        CheckRange(path.Field("code.size_bytes"), order.code->bytes, 0, kArtifactBytesMax));
  }
  if (order.environment) {
    CONCUR_RETURN_IF_ERROR(CheckEnvironmentSpec(path.Field("environment"), *order.environment));
  }
  CONCUR_RETURN_IF_ERROR(CheckSetting(path, "setting", order.setting));
  CONCUR_RETURN_IF_ERROR(CheckResources(path.Field("resources"), order.resources));
  CONCUR_RETURN_IF_ERROR(
      CheckTimeLimit(path.Field("timeout"), order.timeout, absl::ZeroDuration()));
  CONCUR_RETURN_IF_ERROR(CheckInputs(path, "train", order.train));
  CONCUR_RETURN_IF_ERROR(CheckInputs(path, "validation", order.validation));
  if (order.checkpoint) {
    CONCUR_RETURN_IF_ERROR(ValidateCheckpoint(*order.checkpoint, path.Field("checkpoint")));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("system_bytes"), order.system_bytes, 0, kArtifactBytesMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("services"), order.services.size(), kServicePlacesMax));
  for (const auto& [name, id] : order.services) {
    CONCUR_RETURN_IF_ERROR(CheckName(path.Field("services"), name.empty() ? "own" : name));
    CONCUR_RETURN_IF_ERROR(CheckAttemptId(path.Field("services").Field(name), id));
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("ready_http"), order.ready_http));
  CONCUR_RETURN_IF_ERROR(
      CheckTimeLimit(path.Field("ready_within"), order.ready_within, absl::ZeroDuration()));
  if (order.id.job.IsService()) {
    return absl::OkStatus();
  }
  if (order.is_train) {
    return order.train.empty() ? FieldError(path.Field("train"), "expected at least one")
                               : absl::OkStatus();
  }
  return CheckInput(path.Field("test"), order.test);
}

namespace {

std::vector<std::string> CommandOf(const ApproachSpec& approach, const SweepSpec& spec,
                                   const JobCoordinates& at) {
  if (at.is_train) {
    return approach.train_command;
  }
  const auto& parameters = spec.benchmarks[at.test_benchmark].parameters;
  // The expansion has checked that each has its value.
  return parameters.empty() ? approach.predict_command
                            : *ExpandBenchmarkParameters(approach.predict_command, parameters);
}

// Makes the order of a job that of the service which the job asks.
void MakeService(const ServiceSpec& service, JobOrder& order) {
  order.program = service.program;
  order.resources = service.resources;
  order.timeout = absl::InfiniteDuration();
  order.holds_units = false;
  order.ready_http = service.ready_http;
  order.ready_within = service.ready_within;
}

}  // namespace

JobOrder MakeJobOrder(const Expansion& expansion, AttemptId id, const std::string& owner,
                      uint64_t gpu_mask, const Digest& system, int64_t system_bytes) {
  const SweepSpec& spec = expansion.spec();
  const JobCoordinates at = expansion.Locate(id.job.ServedJob().index);
  const Block& block = expansion.blocks()[at.block];
  const uint32_t place = id.job.ServicePlace();
  const ApproachSpec& approach = ServedApproach(expansion, id.job);

  JobOrder order;
  order.id = id;
  order.is_train = at.is_train;
  order.owner = owner;
  order.sweep_name = spec.name;
  order.approach = approach.name;
  order.command = id.job.IsService() ? approach.service->command : CommandOf(approach, spec, at);
  order.program = at.is_train ? approach.train_program : approach.predict_program;
  order.env = approach.env;
  for (const auto& [variable, name] : approach.secrets) {
    order.secrets[variable].name = name;
  }
  if (const auto& code = approach.CodeOf(at.is_train)) {
    order.code = {code->digest, code->bytes, code->key};
  }
  order.environment = approach.environment;
  order.setting =
      place == 0 ? expansion.SettingOf(at.block, at.setting) : approach.hyperparameters.defaults;
  order.setting_index = place == 0 ? at.setting : 0;
  order.seed = spec.seeds[at.seed_index];
  order.resources = at.is_train ? approach.train_resources : approach.predict_resources;
  order.gpu_mask = gpu_mask;
  order.holds_units =
      expansion.has_uses() &&
      !expansion.UsesOf(block, at.is_train ? std::nullopt : std::optional(at.test_benchmark))
           .empty();
  order.timeout = approach.TimeoutOf(at.is_train);
  order.keep = spec.keep;
  order.system = system;
  order.system_bytes = system_bytes;
  if (at.is_train) {
    FillTrain(expansion, block, order);
    return order;
  }
  const BenchmarkSpec& benchmark = spec.benchmarks[at.test_benchmark];
  order.benchmark = benchmark.name;
  if (id.job.IsService()) {
    MakeService(*approach.service, order);
    return order;
  }
  CONCUR_CHECK(benchmark.test.has_value());
  order.test = InputOf(benchmark, *benchmark.test);
  order.format = benchmark.format;
  return order;
}

}  // namespace concur
