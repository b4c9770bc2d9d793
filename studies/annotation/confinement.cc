// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/confinement.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "base/process/containment.h"
#include "base/process/process_tree.h"
#include "base/process/remove_tree.h"
#include "base/process/sandbox_kinds.h"
#include "base/status_macros.h"

namespace concur::annotation {
namespace {

using process::SandboxMount;

// Made by sandboxes themselves; /run has the sockets of services that act for this user.
const std::set<std::string>& OwnFolders() {
  static const std::set<std::string>& folders =
      *new std::set<std::string>{"/dev", "/proc", "/run", "/sys", "/tmp"};
  return folders;
}

bool IsWithin(const std::string& path, const std::string& folder) {
  return absl::StartsWith(path, folder + "/");
}

std::vector<SandboxMount> FoldersOfMachine(const std::vector<std::string>& tops) {
  std::vector<SandboxMount> mounts;
  for (const std::string& top : tops) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(top, error), end; !error && it != end;
         it.increment(error)) {
      const std::string path = it->path().string();
      std::error_code none;
      const std::string source = std::filesystem::canonical(path, none).string();
      if (!none && !OwnFolders().contains(path) && std::filesystem::is_directory(source, none)) {
        mounts.push_back({source, path});
      }
    }
  }
  std::sort(mounts.begin(), mounts.end(),
            [](const SandboxMount& a, const SandboxMount& b) { return a.target < b.target; });
  return mounts;
}

// The mounts in their order: later ones lie within earlier ones. `state` has what is shown in place
// of something else.
absl::StatusOr<std::vector<SandboxMount>> MountsOf(const VisibleFiles& files,
                                                   const std::string& state) {
  std::vector<SandboxMount> machine = FoldersOfMachine(files.tops);
  // A link of the machine may also lead into what is not shown.
  std::erase_if(machine, [&files](const SandboxMount& folder) {
    return IsWithin(folder.source + "/", files.room) || IsWithin(folder.source + "/", "/var/tmp");
  });
  std::vector<SandboxMount> mounts = machine;
  // Shows `source` in place of `path`, also where a link of the machine leads to that: /home may be
  // /var/home, and is mounted as well.
  const auto cover = [&](const std::string& path, const std::string& source, bool is_writable) {
    mounts.push_back({source, path, is_writable});
    for (const SandboxMount& folder : machine) {
      if (folder.source != folder.target && IsWithin(path, folder.source)) {
        mounts.push_back({source, folder.target + path.substr(folder.source.size()), is_writable});
      }
    }
  };
  cover("/var/tmp", state + "/tmp", /*is_writable=*/true);
  // Names of hosts are looked up by a file that may be a service's, in /run.
  std::error_code missing;
  const std::string resolver = std::filesystem::canonical("/etc/resolv.conf", missing).string();
  if (!missing && IsWithin(resolver, "/run")) {
    mounts.push_back({resolver, resolver});
  }
  // The room may lie in one of these.
  for (const std::string& path : files.read) {
    if (!IsWithin(path, files.room)) {
      mounts.push_back({path, path});
    }
  }
  // An empty room, with places for what is seen in it.
  const std::string room = state + "/room";
  CONCUR_RETURN_IF_ERROR(MakeDirectories(room, 0700));
  cover(files.room, room, /*is_writable=*/false);
  const auto make_place = [&](const std::string& path) -> absl::Status {
    if (!IsWithin(path, files.room)) {
      return absl::OkStatus();
    }
    const std::string place = room + path.substr(files.room.size());
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      return MakeDirectories(place, 0700);
    }
    CONCUR_RETURN_IF_ERROR(
        MakeDirectories(std::filesystem::path(place).parent_path().string(), 0700));
    return WriteFileAtomically(place, "");
  };
  CONCUR_RETURN_IF_ERROR(make_place(files.run));
  mounts.push_back({files.run, files.run, /*is_writable=*/true});
  for (const std::string& path : files.read) {
    if (IsWithin(path, files.room)) {
      CONCUR_RETURN_IF_ERROR(make_place(path));
      mounts.push_back({path, path});
    }
  }
  const std::string nothing = state + "/nothing";
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(nothing, ""));
  for (const std::string& path : files.hidden) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error) {
      CONCUR_RETURN_IF_ERROR(make_place(real));
      cover(real, nothing, /*is_writable=*/false);
    }
  }
  return mounts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Confinement>> Confinement::SetUp(const VisibleFiles& files,
                                                                const std::string& sandbox) {
  process::AdoptOrphans();  // processes that a system leaves behind are found when it ends
  std::unique_ptr<Confinement> made(new Confinement(files));
  CONCUR_RETURN_IF_ERROR(made->SetUpSandbox(sandbox));
  CONCUR_ASSIGN_OR_RETURN(process::Containment containment,
                          process::SetUpContainment({.work_directory = made->state()}));
  made->cgroups_ = std::move(containment.cgroups);
  if (made->cgroups_ == nullptr) {
    made->notes_.push_back(
        absl::StrCat("the system's memory is measured four times a second and the number of its "
                     "processes is not limited: no control groups (",
                     containment.without, ")"));
  }
  return made;
}

absl::Status Confinement::SetUpSandbox(const std::string& wish) {
  const std::vector<std::string> names = process::SandboxNames();
  const bool is_name = std::find(names.begin(), names.end(), wish) != names.end();
  if (!is_name && wish != "auto" && wish != "none") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--sandbox: expected auto, none, ", absl::StrJoin(names, ", "), ", got \"", wish, "\""));
  }
  if (wish == "none") {
    return absl::OkStatus();
  }
  state_ = state() + "/sandbox";
  CONCUR_RETURN_IF_ERROR(process::RemoveTree(state_));  // processes that ran there are dead
  for (const char* folder : {"/root", "/tmp"}) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(state_ + folder, 0700));
  }
  std::vector<std::string> missing;
  // The others' read-only mounts leave what is mounted within them writable.
  sandbox_ =
      process::FirstSandbox({is_name ? wish : "bubblewrap"},
                            {.state = state_, .environment = process::BaseEnvironment()}, missing);
  if (sandbox_ != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(mounts_, MountsOf(files_, state_));
    return absl::OkStatus();
  }
  if (is_name) {
    return absl::FailedPreconditionError(absl::StrCat("--sandbox: ", absl::StrJoin(missing, "; ")));
  }
  notes_.push_back(absl::StrCat("the system has your rights on this machine: no sandbox works (",
                                absl::StrJoin(missing, "; "), ")"));
  return absl::OkStatus();
}

absl::StatusOr<process::Command> Confinement::Wrap(const process::Command& command) const {
  CONCUR_CHECK(has_sandbox());
  process::SandboxRun run;
  run.root = state_ + "/root";
  run.mounts = mounts_;
  // A program in /tmp would not be seen. First: the room may lie in that folder.
  const std::string folder = std::filesystem::path(command.program).parent_path().string();
  if (IsWithin(folder, "/tmp") && !IsWithin(folder, files_.room)) {
    run.mounts.insert(run.mounts.begin(), {folder, folder});
  }
  run.devices = process::GpuDevices();
  run.directory = command.directory;
  run.temporary = state_ + "/tmp";
  for (const std::string& variable : command.env) {
    run.env.insert(
        std::pair<std::string, std::string>(absl::StrSplit(variable, absl::MaxSplits('=', 1))));
  }
  run.argv = command.argv;
  run.argv[0] = command.program;
  return sandbox_->Wrap(run);
}

}  // namespace concur::annotation
