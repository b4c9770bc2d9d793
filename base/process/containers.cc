// SPDX-License-Identifier: Apache-2.0
// Podman and Apptainer: programs that run containers.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/sandbox_kinds.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

// podman reads no longer lines of variables; it would refuse 64 KiB.
constexpr size_t kPodmanLineMax = 50'000;

// podman lowers its own limit of processes to this.
constexpr rlim_t kPodmanProcessesMax = 32'768;

// Its own state, locks in files, no journal: whatever this user's or machine's configuration says.
constexpr char kPodmanConfig[] =
    "[engine]\nlock_type = \"file\"\nevents_logger = \"none\"\ncgroup_manager = \"cgroupfs\"\n";

// In the namespaces: hides control groups, which crun refuses where both versions are mounted, then
// runs podman. Nothing is lost: the job is in its group already, and makes none.
constexpr char kEnterPodman[] =
    "if [ -d /sys/fs/cgroup/unified ]; then mount -t tmpfs none /sys/fs/cgroup; fi; exec \"$@\"";

std::string OptionOf(const std::map<std::string, std::string>& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? "" : it->second;
}

// Neither program can be told of a path with one of these.
absl::Status CheckPath(const std::string& path) {
  if (path.find_first_of(",:\"\n") != path.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a path without comma, colon or quote, which ",
                     "containers cannot be told of; choose another work_directory"));
  }
  return absl::OkStatus();
}

absl::Status CheckPaths(const SandboxRun& run) {
  CONCUR_RETURN_IF_ERROR(CheckPath(run.root));
  CONCUR_RETURN_IF_ERROR(CheckPath(run.temporary));
  for (const SandboxMount& mount : run.mounts) {
    CONCUR_RETURN_IF_ERROR(CheckPath(mount.source));
    CONCUR_RETURN_IF_ERROR(CheckPath(mount.target));
  }
  return absl::OkStatus();
}

// Podman in namespaces of this worker's own. In them its user is alone, as root: it needs no
// ranges of other users, and nothing that it makes belongs to one. With the first process the
// kernel ends all others and takes the mounts away.
class Podman : public Sandbox {
 public:
  Podman(std::string program, std::string unshare, const SandboxOptions& options)
      : program_(std::move(program)),
        unshare_(std::move(unshare)),
        state_(absl::StrCat(options.state, "/podman")),
        environment_(options.environment) {}

  absl::string_view name() const override { return "podman"; }

  absl::StatusOr<Command> Wrap(const SandboxRun& run) const override {
    CONCUR_RETURN_IF_ERROR(CheckPaths(run));
    CONCUR_RETURN_IF_ERROR(MakeDirectories(state_, 0700));
    const std::string config = absl::StrCat(state_, "/containers.conf");
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(config, kPodmanConfig));
    Command command;
    command.program = unshare_;
    command.directory = run.temporary;
    command.argv = Launcher();
    const auto add = [&command](std::vector<std::string> arguments) {
      command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    };
    add({program_, "--root", absl::StrCat(state_, "/root"), "--runroot",
         absl::StrCat(state_, "/run"), "--tmpdir", absl::StrCat(state_, "/tmp"), "--storage-driver",
         // Interactive: standard input is passed on, for systems that are served.
         "overlay", "run", "--rm", "--init", "--interactive", "--pull=never", "--cgroups=disabled",
         "--network=host", "--ipc=private", "--log-driver=none", "--no-hosts", "--cap-drop=all",
         "--security-opt=no-new-privileges", "--security-opt=label=disable",
         // The container's default is 64 MB, which programs that share tensors exceed.
         "--mount=type=tmpfs,dst=/dev/shm,tmpfs-mode=1777,notmpcopyup"});
    AddLimits(&command.argv);
    if (!run.root_is_writable) {
      add({"--read-only", "--read-only-tmpfs=false"});
    }
    const auto mount = [&](const std::string& source, const std::string& target, bool writable) {
      add({"--mount", absl::StrCat("type=bind,src=", source, ",dst=", target,
                                   writable ? "" : ",ro=true", ",bind-propagation=rslave")});
    };
    mount(run.temporary, "/tmp", true);
    mount(run.temporary, "/var/tmp", true);
    for (const SandboxMount& one : run.mounts) {
      mount(one.source, one.target, one.is_writable);
    }
    for (const std::string& device : run.devices) {
      add({"--device", device});
    }
    // Hidden: everybody on the machine sees the command line, and in podman's own environment a
    // job's LD_PRELOAD would be loaded into it.
    for (const auto& [name, value] : run.env) {
      if (value.size() > kPodmanLineMax || value.find_first_of("\r\n") != std::string::npos) {
        add({"--env", absl::StrCat(name, "=", value)});  // no line of a file can hold it
      } else {
        absl::StrAppend(&command.hidden, name, "=", value, "\n");
      }
    }
    if (!command.hidden.empty()) {
      add({"--env-file", "/proc/self/fd/"});
      command.hidden_at = command.argv.size() - 1;
    }
    for (const auto& [name, value] : run.own_env) {
      add({"--env", name});  // takes podman's own value
    }
    add({"--workdir", run.directory, "--rootfs",
         absl::StrCat(run.root, run.root_is_writable ? "" : ":O")});
    add(run.argv);
    const std::string path = OptionOf(environment_, "PATH");
    command.env = EnvironmentList(run.own_env);
    command.env.insert(command.env.end(),
                       {absl::StrCat("PATH=", path), absl::StrCat("HOME=", state_),
                        absl::StrCat("CONTAINERS_CONF=", config), "TERM=dumb"});
    if (geteuid() != 0) {
      // It need not make a namespace of its own.
      command.env.insert(command.env.end(), {"_CONTAINERS_USERNS_CONFIGURED=done",
                                             absl::StrCat("_CONTAINERS_ROOTLESS_UID=", geteuid()),
                                             absl::StrCat("_CONTAINERS_ROOTLESS_GID=", getegid())});
    }
    return command;
  }

 private:
  std::vector<std::string> Launcher() const {
    std::vector<std::string> argv = {unshare_};
    if (geteuid() != 0) {
      argv.insert(argv.end(), {"--user", "--map-root-user"});
    }
    argv.insert(argv.end(), {"--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                             "/bin/sh", "-c", kEnterPodman, "sh"});
    return argv;
  }

  // podman asks for its own idea of limits, which a worker may not be able to grant.
  static void AddLimits(std::vector<std::string>* argv) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    argv->push_back(absl::StrCat("--ulimit=nofile=", limit.rlim_cur, ":", limit.rlim_max));
    getrlimit(RLIMIT_NPROC, &limit);
    const rlim_t processes = std::min(limit.rlim_max, kPodmanProcessesMax);
    argv->push_back(absl::StrCat("--ulimit=nproc=", processes, ":", processes));
  }

  const std::string program_;
  const std::string unshare_;
  const std::string state_;
  const std::map<std::string, std::string> environment_;
};

class Apptainer : public Sandbox {
 public:
  Apptainer(std::string program, const SandboxOptions& options)
      : program_(std::move(program)),
        state_(absl::StrCat(options.state, "/apptainer")),
        environment_(options.environment) {}

  absl::string_view name() const override { return "apptainer"; }

  absl::StatusOr<Command> Wrap(const SandboxRun& run) const override {
    CONCUR_RETURN_IF_ERROR(CheckPaths(run));
    CONCUR_RETURN_IF_ERROR(MakeDirectories(state_, 0700));
    Command command;
    command.program = program_;
    command.directory = run.temporary;
    command.argv = {program_,    "--quiet",    "exec",  "--containall", "--cleanenv",
                    "--no-home", "--no-privs", "--pwd", run.directory};
    const auto bind = [&command](const std::string& source, const std::string& target,
                                 bool is_writable) {
      command.argv.insert(command.argv.end(),
                          {"--bind", absl::StrCat(source, ":", target, is_writable ? "" : ":ro")});
    };
    if (run.root_is_writable) {
      command.argv.push_back("--writable");
    }
    bind(run.temporary, "/tmp", true);
    bind(run.temporary, "/var/tmp", true);
    for (const SandboxMount& mount : run.mounts) {
      bind(mount.source, mount.target, mount.is_writable);
    }
    for (const std::string& device : run.devices) {
      bind(device, device, true);
    }
    command.argv.push_back(run.root);
    command.argv.insert(command.argv.end(), run.argv.begin(), run.argv.end());
    command.env = {absl::StrCat("PATH=", OptionOf(environment_, "PATH")),
                   absl::StrCat("HOME=", state_)};
    const char* prefix =
        absl::EndsWith(program_, "singularity") ? "SINGULARITYENV_" : "APPTAINERENV_";
    for (const auto* variables : {&run.env, &run.own_env}) {
      for (const auto& [name, value] : *variables) {
        command.env.push_back(absl::StrCat(prefix, name, "=", value));
      }
    }
    return command;
  }

 private:
  const std::string program_;
  const std::string state_;
  const std::map<std::string, std::string> environment_;
};

}  // namespace

std::unique_ptr<Sandbox> MakePodman(std::string program, std::string unshare,
                                    const SandboxOptions& options) {
  return std::make_unique<Podman>(std::move(program), std::move(unshare), options);
}

std::unique_ptr<Sandbox> MakeApptainer(std::string program, const SandboxOptions& options) {
  return std::make_unique<Apptainer>(std::move(program), options);
}

}  // namespace concur::process
