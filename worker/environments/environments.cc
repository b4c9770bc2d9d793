// SPDX-License-Identifier: Apache-2.0
#include "worker/environments/environments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/remove_tree.h"
#include "base/process/sandbox_kinds.h"
#include "base/status_macros.h"
#include "core/pools/pool.h"
#include "worker/inputs/inputs.h"

extern char** environ;  // NOLINT: the C library's

namespace concur::worker {
namespace {

constexpr char kRootPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr char kGpuFolder[] = "/.concur-gpu";
constexpr int kPythonMinorMax = 99;
constexpr int64_t kVariablesBytesMax = int64_t{1} << 20;

bool IsRootKind(EnvironmentKind kind) {
  return kind == EnvironmentKind::kRoot || kind == EnvironmentKind::kImage;
}

std::string RootOf(const ReadyEnvironment& environment) {
  return absl::StrCat(environment.held->directory(), "/root");
}

// The driver's devices and libraries, which come from the machine and not from the root.
void AddGpus(process::SandboxRun* run) {
  run->devices = process::GpuDevices();
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
        "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"}) {
    std::vector<std::string> libraries;
    for (const char* name :
         {"libcuda.so*", "libnvidia-*.so*", "libcudadebugger.so*", "libnvcuvid.so*"}) {
      for (std::string& library : process::Glob(absl::StrCat(folder, "/", name))) {
        libraries.push_back(std::move(library));
      }
    }
    for (const std::string& library : libraries) {
      std::error_code error;
      const std::filesystem::path path(library);
      const std::string real = std::filesystem::canonical(path, error).string();
      if (!error) {
        run->mounts.push_back({real, absl::StrCat(kGpuFolder, "/", path.filename().string())});
      }
    }
    if (!libraries.empty()) {
      std::string& searched = run->env["LD_LIBRARY_PATH"];
      searched = searched.empty() ? kGpuFolder : absl::StrCat(kGpuFolder, ":", searched);
      return;
    }
  }
}

// Inputs of an attempt lie elsewhere, and its directory has links to them: the command must see
// both.
void AddInputs(const RunPaths& paths, process::SandboxRun* run) {
  for (const std::string* path :
       {&paths.train, &paths.validation, &paths.start, &paths.test, &paths.code, &paths.model}) {
    std::error_code error;
    const std::string target =
        path->empty() ? "" : std::filesystem::read_symlink(*path, error).string();
    if (!error && absl::StartsWith(target, "/")) {
      const std::string source = std::filesystem::canonical(target, error).string();
      if (!error) {
        run->mounts.push_back({source, target});
      }
    }
  }
}

std::map<std::string, std::string> MapOf(const std::vector<std::string>& env) {
  std::map<std::string, std::string> map;
  for (const std::string& variable : env) {
    const size_t equals = variable.find('=');
    map[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return map;
}

// Reads a root's "variables" file, as BuildRoot wrote it.
std::vector<std::pair<std::string, std::string>> ReadVariables(const std::string& directory) {
  std::vector<std::pair<std::string, std::string>> variables;
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(directory, "/variables"), kVariablesBytesMax);
  for (const absl::string_view line :
       absl::StrSplit(text.ok() ? *text : "", '\0', absl::SkipEmpty())) {
    const size_t equals = line.find('=');
    if (equals != line.npos && equals > 0) {
      variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace

std::map<std::string, std::string> BuildVariables() {
  std::map<std::string, std::string> variables;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const absl::string_view text = *one;
    const std::string name(text.substr(0, text.find('=')));
    const std::string lower = absl::AsciiStrToLower(name);
    if (absl::StartsWith(name, "PIP_") || absl::StartsWith(name, "CONDA_") ||
        absl::StartsWith(name, "MAMBA_") || absl::EndsWith(lower, "_proxy") ||
        name == "SSL_CERT_FILE" || name == "SSL_CERT_DIR" || name == "REQUESTS_CA_BUNDLE" ||
        name == "XDG_RUNTIME_DIR" || name == "REGISTRY_AUTH_FILE") {
      variables[name] = std::string(text.substr(std::min(text.size(), name.size() + 1)));
    }
  }
  return variables;
}

std::map<std::string, std::string> ImageVariables(const std::vector<std::string>& env_pass) {
  const char* of_pod = std::getenv(kPodVariables);  // NOLINT(concurrency-mt-unsafe): at the start
  std::set<std::string> others = absl::StrSplit(of_pod == nullptr ? "" : of_pod, ',');
  others.insert({"HOME", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "TERM", "_"});
  std::map<std::string, std::string> variables;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const absl::string_view text = *one;
    const std::string name(text.substr(0, text.find('=')));
    const bool is_passed = std::any_of(
        env_pass.begin(), env_pass.end(),
        [&](const std::string& pattern) { return process::EnvPatternMatches(pattern, name); });
    if (!absl::StartsWith(name, "CONCUR_") && !absl::StartsWith(name, "KUBERNETES_") &&
        (is_passed || !others.contains(name))) {
      variables[name] = std::string(text.substr(std::min(text.size(), name.size() + 1)));
    }
  }
  return variables;
}

std::unique_ptr<Environments> Environments::Open(EnvironmentOptions options) {
  std::unique_ptr<Environments> made(new Environments(std::move(options)));
  if (!made->options_.image.empty()) {
    made->labels_[kImageLabel] = made->options_.image;
    return made;
  }
  if (made->options_.kinds.empty()) {
    return made;
  }
  absl::StatusOr<std::unique_ptr<EnvironmentCache>> cache =
      EnvironmentCache::Open(made->options_.directory, made->options_.bytes_max);
  if (!cache.ok()) {
    made->missing_.push_back(absl::StrCat("all: ", cache.status().message()));
    return made;
  }
  made->cache_ = *std::move(cache);
  // Whatever an earlier worker ran there is dead.
  const std::string state = absl::StrCat(made->options_.work_directory, "/sandbox");
  if (const absl::Status removed = process::RemoveTree(state); !removed.ok()) {
    LogWarning("what sandboxes left cannot be removed", {{"error", removed.ToString()}});
  }
  made->FindSandbox();
  made->FindBuilders();
  return made;
}

absl::StatusOr<std::string> Environments::FindTool(absl::string_view name) const {
  const auto path = options_.base.find("PATH");
  return process::FindProgram(name, path == options_.base.end() ? "" : path->second, "/");
}

void Environments::FindSandbox() {
  const std::string state = absl::StrCat(options_.work_directory, "/sandbox");
  sandbox_ = process::FirstSandbox(options_.kinds, {.state = state, .environment = options_.base},
                                   missing_);
  if (sandbox_ == nullptr) {
    return;
  }
  labels_[kSandboxLabel] = std::string(sandbox_->name());
  labels_[kRootLabel] = kEnvironmentLabelValue;
  for (const char* tool : {"skopeo", "podman"}) {
    if (absl::StatusOr<std::string> found = FindTool(tool); found.ok()) {
      puller_ = {tool, *std::move(found)};
      labels_[kRegistryLabel] = kEnvironmentLabelValue;
      return;
    }
  }
}

void Environments::FindBuilders() {
  const auto wanted = [&](absl::string_view kind) {
    return std::find(options_.kinds.begin(), options_.kinds.end(), kind) != options_.kinds.end();
  };
  const auto add = [&](const std::string& name) {
    labels_[absl::StrCat(kEnvironmentLabelPrefix, name)] = kEnvironmentLabelValue;
  };
  if (wanted("venv")) {
    bool found = FindTool("python3").ok();
    if (found) {
      add("python3");
    }
    for (int minor = 3; minor <= kPythonMinorMax; ++minor) {
      const std::string name = absl::StrCat("python3.", minor);
      if (FindTool(name).ok()) {
        add(name);
        found = true;
      }
    }
    if (!found) {
      missing_.push_back("venv: no python3 on PATH");
    }
  }
  if (wanted("conda")) {
    for (const char* name : {"micromamba", "mamba", "conda"}) {
      if (absl::StatusOr<std::string> found = FindTool(name); found.ok()) {
        conda_ = *std::move(found);
        add("conda");
        return;
      }
    }
    missing_.push_back("conda: no micromamba, mamba or conda on PATH");
  }
}

absl::StatusOr<ReadyEnvironment> Environments::Get(const Environment& environment,
                                                   const Fetch& fetch,
                                                   const IsCanceled& is_canceled) {
  if (!LabelsMatch(LabelsOfEnvironment(environment), labels_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("this worker has nothing for the environment ", EnvironmentText(environment)));
  }
  ReadyEnvironment ready;
  ready.kind = environment.kind;
  if (!options_.image.empty()) {
    return ready;
  }
  CONCUR_ASSIGN_OR_RETURN(
      ready.held, cache_->Get(KeyOfEnvironment(environment),
                              [&](const std::string& directory, const std::string& log) {
                                return Build(environment, fetch, is_canceled, directory, log);
                              }));
  if (IsRootKind(ready.kind)) {
    ready.variables = ReadVariables(ready.held->directory());
  }
  return ready;
}

bool Environments::SparesLauncher(const ReadyEnvironment& environment) const {
  return environment.held != nullptr && IsRootKind(environment.kind) && sandbox_->SparesLauncher();
}

absl::StatusOr<process::Command> Environments::CommandFor(
    const ReadyEnvironment& environment, const JobOrder& order, const RunPaths& paths,
    const std::vector<std::string>& argv, const std::vector<std::string>& gpu_names) const {
  process::Command command;
  const auto make_plain = [&](const std::map<std::string, std::string>& base) -> absl::Status {
    command.env = BuildEnvironment(order, paths, base, gpu_names);
    command.argv = argv;
    command.directory = paths.directory;
    CONCUR_ASSIGN_OR_RETURN(
        command.program,
        process::FindProgram(argv[0], MapOf(command.env)["PATH"], paths.directory));
    return absl::OkStatus();
  };
  std::map<std::string, std::string> root_base = {
      {"PATH", kRootPath}, {"HOME", paths.temporary}, {"LANG", "C.UTF-8"}};
  if (environment.held == nullptr) {
    for (const auto& [name, value] : options_.image_variables) {
      root_base[name] = value;
    }
    CONCUR_RETURN_IF_ERROR(make_plain(root_base));
    return command;
  }
  if (!IsRootKind(environment.kind)) {
    const bool is_venv = environment.kind == EnvironmentKind::kVenv;
    const std::string prefix =
        absl::StrCat(environment.held->directory(), is_venv ? "/venv" : "/conda");
    std::map<std::string, std::string> base = options_.base;
    base["PATH"] = absl::StrCat(prefix, "/bin:", base["PATH"]);
    base[is_venv ? "VIRTUAL_ENV" : "CONDA_PREFIX"] = prefix;
    CONCUR_RETURN_IF_ERROR(make_plain(base));
    return command;
  }
  process::SandboxRun run;
  run.root = RootOf(environment);
  run.directory = paths.directory;
  run.temporary = paths.temporary;
  for (const auto& [name, value] : environment.variables) {
    root_base[name] = value;
  }
  run.env = MapOf(BuildEnvironment(order, paths, root_base, gpu_names));
  run.mounts.push_back({paths.directory, paths.directory, /*is_writable=*/true});
  if (!paths.socket.empty()) {  // a mount of its own, which a link cannot replace
    const std::string directory = paths.socket.substr(0, paths.socket.rfind('/'));
    run.mounts.push_back({directory, directory, /*is_writable=*/true});
  }
  AddInputs(paths, &run);
  for (const auto& [name, address] : paths.services) {
    if (absl::StartsWith(address, "/")) {
      const std::string directory = address.substr(0, address.rfind('/'));
      run.mounts.push_back({directory, directory});
    }
  }
  if (order.gpu_mask != 0) {
    AddGpus(&run);
  }
  run.argv = argv;
  CONCUR_ASSIGN_OR_RETURN(run.argv[0], process::FindProgramInRoot(run, argv[0], run.env["PATH"]));
  return sandbox_->Wrap(run);
}

FailureClass ClassOfBuildError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:  // the file can never be built
      return FailureClass::kConfig;
    case absl::StatusCode::kAborted:  // exit code 75, an index that was not reached
      return FailureClass::kTemporary;
    case absl::StatusCode::kUnknown:  // a line or a package failed
      return FailureClass::kFailed;
    default:
      return FailureClass::kWorker;
  }
}

}  // namespace concur::worker
