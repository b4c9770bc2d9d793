// SPDX-License-Identifier: Apache-2.0
// Builds environments: worker/environments/environments.h.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/archive/root_tar.h"
#include "base/file.h"
#include "base/process/remove_tree.h"
#include "base/process/run_program.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "worker/environments/environments.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kBuildTimeout = absl::Hours(2);  // limit for one program or line
constexpr int kBuildTemporary = 75;
constexpr int kBuildConfig = 78;
constexpr size_t kShownOutputBytes = 1500;
constexpr size_t kShownLineBytes = 200;

// True for output that programs print when a network or an index does not answer.
bool LooksTemporary(absl::string_view output) {
  for (const char* text :
       {"Temporary failure in name resolution", "Connection timed out", "Connection refused",
        "Connection reset", "Read timed out", "Network is unreachable", "toomanyrequests",
        "503 Service", "429 Too Many"}) {
    if (absl::StrContains(output, text)) {
      return true;
    }
  }
  return false;
}

// `failed` is the code of an ordinary failure.
absl::Status BuildError(absl::string_view what, const process::ProgramEnd& end,
                        const std::string& log, absl::StatusCode failed) {
  std::string tail = CleanUtf8(end.output);
  if (tail.size() > kShownOutputBytes) {
    tail = CleanUtf8(tail.substr(tail.size() - kShownOutputBytes));
    tail.erase(0, tail.find('\n') + 1);
  }
  const absl::StatusCode code = end.exit_code == kBuildConfig ? absl::StatusCode::kInvalidArgument
                                : end.exit_code == kBuildTemporary || LooksTemporary(tail)
                                    ? absl::StatusCode::kAborted
                                    : failed;
  return absl::Status(code,
                      absl::StrCat("the approach's environment could not be built: ",
                                   what.substr(0, kShownLineBytes), ": exit code ", end.exit_code,
                                   "; its whole output is in ", log, " there and ends so: ", tail));
}

std::string PrefixOf(EnvironmentKind kind, const std::string& directory) {
  return absl::StrCat(directory, kind == EnvironmentKind::kVenv ? "/venv" : "/conda");
}

}  // namespace

absl::Status Environments::Build(const Environment& environment, const Fetch& fetch,
                                 const IsCanceled& is_canceled, const std::string& directory,
                                 const std::string& log) const {
  const std::string temporary = absl::StrCat(directory, "/tmp");
  CONCUR_RETURN_IF_ERROR(MakeDirectories(temporary, 0700));
  switch (environment.kind) {
    case EnvironmentKind::kRoot:
    case EnvironmentKind::kImage:
      CONCUR_RETURN_IF_ERROR(BuildRoot(environment, fetch, is_canceled, directory, log));
      break;
    case EnvironmentKind::kVenv:
      CONCUR_RETURN_IF_ERROR(BuildVenv(environment, fetch, is_canceled, directory, log));
      break;
    case EnvironmentKind::kConda:
      CONCUR_RETURN_IF_ERROR(BuildConda(environment, fetch, is_canceled, directory, log));
      break;
  }
  CONCUR_RETURN_IF_ERROR(RunSetup(environment, is_canceled, directory, log));
  return process::RemoveTree(temporary);
}

absl::Status Environments::RunTool(const std::vector<std::string>& argv,
                                   const std::string& directory, const IsCanceled& is_canceled,
                                   const std::string& log, absl::StatusCode failed) const {
  process::Command command;
  command.argv = argv;
  CONCUR_ASSIGN_OR_RETURN(command.program, FindTool(argv[0]));
  std::map<std::string, std::string> variables = options_.build_only;
  variables.insert(options_.base.begin(), options_.base.end());
  variables["TMPDIR"] = absl::StrCat(directory, "/tmp");
  command.env = process::EnvironmentList(variables);
  command.directory = directory;
  CONCUR_ASSIGN_OR_RETURN(
      const process::ProgramEnd end,
      process::RunProgram(command,
                          {.timeout = kBuildTimeout, .is_canceled = is_canceled, .log = log}));
  return end.exit_code == 0 ? absl::OkStatus()
                            : BuildError(absl::StrJoin(argv, " "), end, log, failed);
}

absl::StatusOr<std::string> Environments::PullImage(const Environment& environment,
                                                    const IsCanceled& is_canceled,
                                                    const std::string& directory,
                                                    const std::string& log) const {
  const std::string file = absl::StrCat(directory, "/image.tar");
  const std::string& program = puller_[1];
  const auto run = [&](const std::vector<std::string>& argv) {
    return RunTool(argv, directory, is_canceled, log, absl::StatusCode::kUnknown);
  };
  if (puller_[0] == "skopeo") {
    CONCUR_RETURN_IF_ERROR(run({program, "copy", absl::StrCat("docker://", environment.reference),
                                absl::StrCat("oci-archive:", file)}));
  } else {
    CONCUR_RETURN_IF_ERROR(run({program, "pull", "--quiet", environment.reference}));
    CONCUR_RETURN_IF_ERROR(run({program, "save", "--quiet", "--format", "oci-archive", "--output",
                                file, environment.reference}));
  }
  return file;
}

absl::Status Environments::BuildRoot(const Environment& environment, const Fetch& fetch,
                                     const IsCanceled& is_canceled, const std::string& directory,
                                     const std::string& log) const {
  const std::string root = absl::StrCat(directory, "/root");
  RootLimits limits;
  limits.is_canceled = is_canceled;
  if (options_.bytes_max > 0) {
    limits.bytes_max = options_.bytes_max;
  }
  if (environment.kind == EnvironmentKind::kRoot) {
    CONCUR_ASSIGN_OR_RETURN(const std::string tar, fetch());
    return ExtractRootTar(tar, root, limits);
  }
  std::string archive;
  if (environment.HasFile()) {
    CONCUR_ASSIGN_OR_RETURN(archive, fetch());
  } else {
    CONCUR_ASSIGN_OR_RETURN(archive, PullImage(environment, is_canceled, directory, log));
  }
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<std::string> variables,
      ExtractOciArchive(archive, absl::StrCat(directory, "/blobs"), root, limits));
  if (!environment.HasFile()) {
    unlink(archive.c_str());
  }
  // A value may have several lines.
  return WriteFileAtomically(absl::StrCat(directory, "/variables"),
                             absl::StrJoin(variables, absl::string_view("\0", 1)), 0600);
}

absl::Status Environments::BuildVenv(const Environment& environment, const Fetch& fetch,
                                     const IsCanceled& is_canceled, const std::string& directory,
                                     const std::string& log) const {
  CONCUR_ASSIGN_OR_RETURN(const std::string file, fetch());
  const std::string venv = PrefixOf(environment.kind, directory);
  // Without a package of the system this fails on this worker, and may work on others.
  CONCUR_RETURN_IF_ERROR(RunTool({environment.python, "-m", "venv", venv}, directory, is_canceled,
                                 log, absl::StatusCode::kFailedPrecondition));
  return RunTool({absl::StrCat(venv, "/bin/python"), "-m", "pip", "install", "--no-input",
                  "--disable-pip-version-check", "--requirement", file},
                 directory, is_canceled, log, absl::StatusCode::kUnknown);
}

absl::Status Environments::BuildConda(const Environment& environment, const Fetch& fetch,
                                      const IsCanceled& is_canceled, const std::string& directory,
                                      const std::string& log) const {
  CONCUR_ASSIGN_OR_RETURN(const std::string artifact, fetch());
  // The programs tell formats by the names of files.
  const std::string file = absl::StrCat(directory, "/environment.yml");
  std::error_code error;
  std::filesystem::copy_file(artifact, file, error);
  if (error) {
    return ErrnoStatus(error.value(), file, "copy");
  }
  std::vector<std::string> argv = {conda_};
  if (!absl::EndsWith(conda_, "micromamba")) {
    argv.push_back("env");
  }
  argv.push_back("create");
  if (absl::EndsWith(conda_, "micromamba")) {
    argv.push_back("--yes");
  }
  argv.insert(argv.end(), {"--prefix", PrefixOf(environment.kind, directory), "--file", file});
  return RunTool(argv, directory, is_canceled, log, absl::StatusCode::kUnknown);
}

absl::StatusOr<process::Command> Environments::SetupCommand(const Environment& environment,
                                                            const std::string& line,
                                                            const std::string& directory) const {
  const std::string temporary = absl::StrCat(directory, "/tmp");
  const bool is_root =
      environment.kind == EnvironmentKind::kRoot || environment.kind == EnvironmentKind::kImage;
  if (!is_root) {
    process::Command command;
    const std::string prefix = PrefixOf(environment.kind, directory);
    std::map<std::string, std::string> variables = options_.build_only;
    variables.insert(options_.base.begin(), options_.base.end());
    variables["PATH"] = absl::StrCat(prefix, "/bin:", variables["PATH"]);
    variables[environment.kind == EnvironmentKind::kVenv ? "VIRTUAL_ENV" : "CONDA_PREFIX"] = prefix;
    variables["TMPDIR"] = temporary;
    command.program = "/bin/sh";
    command.argv = {"sh", "-euc", line};
    command.env = process::EnvironmentList(variables);
    command.directory = temporary;
    return command;
  }
  process::SandboxRun run;
  run.root = absl::StrCat(directory, "/root");
  run.root_is_writable = true;
  run.directory = "/tmp";
  run.temporary = temporary;
  run.env = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
             {"HOME", "/tmp"},
             {"TMPDIR", "/tmp"},
             {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : options_.build_only) {
    if (name != "XDG_RUNTIME_DIR") {
      run.own_env[name] = value;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string shell,
                          process::FindProgramInRoot(run, "sh", run.env["PATH"]));
  run.argv = {shell, "-euc", line};
  return sandbox_->Wrap(run);
}

absl::Status Environments::RunSetup(const Environment& environment, const IsCanceled& is_canceled,
                                    const std::string& directory, const std::string& log) const {
  for (const std::string& line : environment.setup) {
    const absl::StatusOr<process::Command> command = SetupCommand(environment, line, directory);
    if (!command.ok()) {
      return absl::IsNotFound(command.status())  // no shell in the root: nowhere else either
                 ? absl::InvalidArgumentError(command.status().message())
                 : command.status();
    }
    CONCUR_ASSIGN_OR_RETURN(
        const process::ProgramEnd end,
        process::RunProgram(*command,
                            {.timeout = kBuildTimeout, .is_canceled = is_canceled, .log = log}));
    if (end.exit_code != 0) {
      return BuildError(absl::StrCat("setup line \"", line, "\""), end, log,
                        absl::StatusCode::kUnknown);
    }
  }
  return absl::OkStatus();
}

}  // namespace concur::worker
