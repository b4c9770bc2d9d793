// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/start_job.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/process/cgroup.h"
#include "base/status_macros.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {

namespace {

absl::Status CheckProgram(const std::string& path, const Digest& submitted) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest found, DigestFile(path));
  return found.digest == submitted
             ? absl::OkStatus()
             : absl::FailedPreconditionError(absl::StrCat(
                   "the program ", path, " is not the one that was submitted; submit the sweep ",
                   "again, or list the program in the approach's field code"));
}

// The command with the worker's own programs. Its program is looked up here unless it is absolute.
absl::StatusOr<process::Command> PlainCommand(const JobOrder& order, const RunPaths& paths,
                                              const std::vector<std::string>& argv,
                                              const std::string& path,
                                              const SubprocessOptions& options) {
  process::Command command;
  command.env = BuildEnvironment(order, paths, options.environment, options.gpu_names);
  command.directory = paths.directory;
  command.argv = argv;
  if (options.private_tmp) {
    command.files = {paths.temporary, order.resources.memory_bytes};
  }
  if (absl::StartsWith(argv[0], "/")) {
    command.program = argv[0];
  } else {
    CONCUR_ASSIGN_OR_RETURN(command.program, process::FindProgram(argv[0], path, paths.directory));
  }
  if (order.program) {
    CONCUR_RETURN_IF_ERROR(CheckProgram(command.program, *order.program));
  }
  return command;
}

std::string PathOf(const JobOrder& order, const SubprocessOptions& options) {
  const auto own_path = order.env.find("PATH");
  const auto base_path = options.environment.find("PATH");
  return own_path != order.env.end()              ? own_path->second
         : base_path != options.environment.end() ? base_path->second
                                                  : "";
}

}  // namespace

absl::StatusOr<ReadyEnvironment> PrepareEnvironment(const JobOrder& order, Artifacts& artifacts,
                                                    const SubprocessOptions& options,
                                                    const Artifacts::IsCanceled& is_canceled) {
  if (options.environments == nullptr) {
    return absl::FailedPreconditionError("this worker makes no environments");
  }
  HeldFile artifact;  // stays while it is read
  const auto fetch = [&]() -> absl::StatusOr<std::string> {
    CONCUR_ASSIGN_OR_RETURN(artifact, artifacts.FetchOnce(order.environment->digest, is_canceled));
    return artifact.path;
  };
  return options.environments->Get(*order.environment, fetch, is_canceled);
}

absl::StatusOr<process::Process> StartJob(const JobOrder& order, const RunPaths& paths,
                                          const std::vector<std::string>& argv,
                                          const ReadyEnvironment* environment,
                                          const SubprocessOptions& options) {
  const std::string path = PathOf(order, options);
  CONCUR_ASSIGN_OR_RETURN(
      process::Command command,
      environment == nullptr
          ? PlainCommand(order, paths, argv, path, options)
          : options.environments->CommandFor(*environment, order, paths, argv, options.gpu_names));
  command.file_bytes_max = options.output_bytes_max;
  command.error_apart = true;  // a progress bar would cut reports in pieces
  if (environment != nullptr && environment->held == nullptr && options.private_tmp) {
    command.files = {paths.temporary, order.resources.memory_bytes};
  }
  process::JobGroupPtr group;
  if (options.cgroups != nullptr) {
    const Resources& resources = order.resources;
    absl::StatusOr<process::JobGroupPtr> taken = options.cgroups->Take(
        {resources.memory_bytes, options.processes_max, resources.cpu_millis});
    if (!taken.ok()) {  // the machine's error, not the job's
      return absl::ResourceExhaustedError(taken.status().message());
    }
    group = *std::move(taken);
    command.group = group.get();
  }
  absl::StatusOr<process::Process> process = process::StartProcess(command);
  if (!process.ok() && environment == nullptr && absl::StartsWith(argv[0], "/")) {
    // The kernel looks it up anyway; if it cannot be run, FindProgram says it better.
    CONCUR_RETURN_IF_ERROR(process::FindProgram(command.program, path, paths.directory).status());
  }
  if (process.ok()) {
    process->group = std::move(group);
  }
  return process;
}

}  // namespace concur::worker
