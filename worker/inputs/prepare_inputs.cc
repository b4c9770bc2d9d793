// SPDX-License-Identifier: Apache-2.0
// Prepares what one attempt finds in its run directory, in its command and in its environment.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/archive/directory_tar.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/process.h"
#include "base/process/process_tree.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {

bool IsFaultOfCheckpoint(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsAlreadyExists(status);
}

namespace {

void AddFile(const char* label, HeldFile file, PreparedInputs& prepared) {
  file.label = label;
  prepared.files.push_back(std::move(file));
}

// Lays out the checkpoint to go on from. One that is gone or damaged only costs progress.
absl::Status PrepareCheckpoint(const JobOrder& order, const RunPaths& paths, Artifacts& artifacts,
                               const Artifacts::IsCanceled& is_canceled, PreparedInputs& prepared) {
  if (!order.checkpoint) {
    return absl::OkStatus();
  }
  absl::StatusOr<HeldFile> tar = artifacts.FetchOnce(order.checkpoint->digest, is_canceled);
  if (!tar.ok() && !absl::IsNotFound(tar.status()) && !absl::IsDataLoss(tar.status())) {
    return tar.status();
  }
  CONCUR_RETURN_IF_ERROR(process::RemoveTree(paths.checkpoint));
  absl::Status laid_out =
      tar.ok() ? ExtractDirectoryTar(tar->path, paths.checkpoint) : tar.status();
  if (laid_out.ok()) {
    prepared.resumed_from = order.checkpoint->attempt;
    return absl::OkStatus();
  }
  if (!IsFaultOfCheckpoint(laid_out)) {
    return laid_out;
  }
  LogWarning("a job begins anew: its checkpoint cannot be read",
             {{"attempt", order.id.ToString()}, {"error", laid_out.ToString()}});
  CONCUR_RETURN_IF_ERROR(process::RemoveTree(paths.checkpoint));
  return MakeDirectories(paths.checkpoint, 0700);
}

absl::StatusOr<PreparedInputs> PrepareShared(const JobOrder& order, const RunPaths& paths,
                                             Artifacts& artifacts,
                                             const Artifacts::IsCanceled& is_canceled) {
  PreparedInputs prepared;
  if (order.code) {
    CONCUR_ASSIGN_OR_RETURN(HeldFile code, artifacts.Code(*order.code, is_canceled));
    CONCUR_RETURN_IF_ERROR(artifacts.Link(code.path, paths.code));
    AddFile("{code}", std::move(code), prepared);
  }
  if (!order.system.IsZero()) {
    const std::string& path = order.is_train ? paths.start : paths.model;
    CONCUR_ASSIGN_OR_RETURN(HeldFile system, artifacts.Fetch(order.system, is_canceled));
    CONCUR_ASSIGN_OR_RETURN(const bool is_directory, IsDirectoryTar(system.path));
    CONCUR_RETURN_IF_ERROR(is_directory ? ExtractDirectoryTar(system.path, path)
                                        : artifacts.Link(system.path, path));
    AddFile(order.is_train ? "{start}" : "{model}", std::move(system), prepared);
  }
  CONCUR_RETURN_IF_ERROR(PrepareCheckpoint(order, paths, artifacts, is_canceled, prepared));
  return prepared;
}

}  // namespace

absl::StatusOr<PreparedInputs> PrepareInputs(const JobOrder& order, const RunPaths& paths,
                                             Artifacts& artifacts,
                                             const Artifacts::IsCanceled& is_canceled) {
  CONCUR_ASSIGN_OR_RETURN(PreparedInputs prepared,
                          PrepareShared(order, paths, artifacts, is_canceled));
  if (order.id.job.IsService()) {
    return prepared;
  }
  if (order.is_train) {
    if (order.train.empty()) {
      return absl::InvalidArgumentError("the train job has no training data");
    }
    const auto link = [&](const char* label, const std::vector<JobOrder::Input>& inputs,
                          bool is_mixture, const std::string& path) -> absl::Status {
      CONCUR_ASSIGN_OR_RETURN(
          HeldFile source, is_mixture ? artifacts.Mixture(inputs, order.mixture_seed, is_canceled)
                                      : artifacts.Fetch(inputs[0].digest, is_canceled));
      CONCUR_RETURN_IF_ERROR(artifacts.Link(source.path, path));
      AddFile(label, std::move(source), prepared);
      return absl::OkStatus();
    };
    CONCUR_RETURN_IF_ERROR(link("{train}", order.train, order.is_mixture, paths.train));
    if (!order.validation.empty()) {
      CONCUR_RETURN_IF_ERROR(
          link("{validation}", order.validation, order.validation.size() > 1, paths.validation));
    }
    return prepared;
  }
  CONCUR_ASSIGN_OR_RETURN(HeldFile test, artifacts.Fetch(order.test.digest, is_canceled));
  CONCUR_RETURN_IF_ERROR(artifacts.Link(test.path, paths.test));
  AddFile("{test}", std::move(test), prepared);
  return prepared;
}

absl::StatusOr<std::vector<std::string>> ExpandOrder(const JobOrder& order, const RunPaths& paths) {
  std::map<std::string, std::string> values = {
      {"model", paths.model},
      {"output", paths.output},
      {"seed", absl::StrCat(order.seed)},
  };
  if (order.is_train) {
    values["train"] = paths.train;
    if (!paths.validation.empty()) {
      values["validation"] = paths.validation;
    }
    if (!paths.start.empty()) {
      values["start"] = paths.start;
    }
  } else if (order.id.job.IsService()) {
    values["port"] = paths.port;
    values["socket"] = paths.socket;
  } else {
    values["test"] = paths.test;
    values["predictions"] = paths.predictions;
    values["metrics"] = paths.metrics;
    values["examples"] = paths.examples;
  }
  for (const auto& [name, address] : paths.services) {
    const std::string service = name.empty() ? "service" : absl::StrCat("service.", name);
    values[absl::StrCat(service, ".url")] = address;  // the sweep was checked for the right one
    values[absl::StrCat(service, ".socket")] = address;
  }
  if (order.code) {
    values["code"] = paths.code;
  }
  for (const auto& [name, value] : order.setting) {
    values[absl::StrCat("hp.", name)] = ParamText(value);
  }
  if (order.command.empty()) {
    return absl::InvalidArgumentError("the command is empty");
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> command, ExpandCommand(order.command, values));
  if (order.code && command[0][0] != '/' && absl::StrContains(command[0], '/')) {
    command[0] = absl::StrCat(paths.code, "/", command[0]);
  }
  return command;
}

std::vector<std::string> BuildEnvironment(const JobOrder& order, const RunPaths& paths,
                                          const std::map<std::string, std::string>& base,
                                          const std::vector<std::string>& gpu_names) {
  std::map<std::string, std::string> all = base;
  for (const auto& [name, value] : order.env) {
    all[name] = value;
  }
  for (const auto& [name, secret] : order.secrets) {
    all[name] = secret.value;
  }
  all["TMPDIR"] = paths.temporary;
  all["CONCUR_SWEEP"] = order.id.job.sweep.ToString();
  all["CONCUR_SWEEP_NAME"] = order.sweep_name;
  all["CONCUR_JOB"] = order.id.job.ToString();
  all["CONCUR_ATTEMPT"] = absl::StrCat(order.id.attempt.number);
  all["CONCUR_SEED"] = absl::StrCat(order.seed);
  all["CONCUR_APPROACH"] = order.approach;
  all["CONCUR_BENCHMARK"] = order.benchmark;
  all["CONCUR_SETTING"] = absl::StrCat(order.setting_index);
  all["CONCUR_OUTPUT"] = paths.output;
  all["CONCUR_METRICS_LINES"] = paths.reports;
  // A pipe makes Python keep what it prints until its buffer is full, also when it is killed.
  all.try_emplace("PYTHONUNBUFFERED", "1");
  if (order.code) {
    all["CONCUR_CODE"] = paths.code;
    // Python would write beside the code what it made of it, where the worker is root.
    all.try_emplace("PYTHONDONTWRITEBYTECODE", "1");
  }
  all["CONCUR_CHECKPOINT"] = paths.checkpoint;
  for (const auto& [name, address] : paths.services) {
    all[VariableName(absl::StrCat("CONCUR_SERVICE_", name, name.empty() ? "" : "_",
                                  absl::StartsWith(address, "/") ? "SOCKET" : "URL"))] = address;
  }
  all[process::kRunDirectoryVariable] = paths.directory;
  for (const auto& [name, value] : order.setting) {
    all[HyperparameterVariable(name)] = ParamText(value);
  }
  std::vector<std::string> gpus;
  for (size_t i = 0; i < 64; ++i) {
    if ((order.gpu_mask >> i) & 1) {
      gpus.push_back(i < gpu_names.size() ? gpu_names[i] : absl::StrCat(i));
    }
  }
  all["CUDA_VISIBLE_DEVICES"] = absl::StrJoin(gpus, ",");
  if (order.resources.gpu_share > 0) {
    all["CONCUR_GPU_SHARE"] = absl::StrCat(order.resources.GpuAmount());
  }
  return process::EnvironmentList(all);
}

}  // namespace concur::worker
