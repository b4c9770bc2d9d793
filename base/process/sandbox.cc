// SPDX-License-Identifier: Apache-2.0
#include "base/process/sandbox.h"

#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/process/process_tree.h"
#include "base/process/run_program.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

constexpr int kProbeExit = 42;
constexpr absl::Duration kProbeTimeout = absl::Seconds(20);
constexpr size_t kProbeReasonBytes = 400;

bool IsExecutable(const struct stat& info) {
  return S_ISREG(info.st_mode) && (info.st_mode & 0111) != 0;
}

// True if the command sees `path` by a mount; `is_program` then tells if a program lies there.
bool FindInMounts(const SandboxRun& run, const std::string& path, bool* is_program) {
  for (const SandboxMount& mount : run.mounts) {
    if (path == mount.target || absl::StartsWith(path, absl::StrCat(mount.target, "/"))) {
      const std::string source = absl::StrCat(mount.source, path.substr(mount.target.size()));
      struct stat info {};
      *is_program = stat(source.c_str(), &info) == 0 && IsExecutable(info);
      return true;
    }
  }
  return false;
}

// Follows links as the command would: none leads out of the root.
bool IsProgramInRoot(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const FileDescriptor file(
      static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  if (!file.valid()) {
    return errno == ENOSYS;  // before Linux 5.6: the launcher will say it
  }
  struct stat info {};
  return fstat(file.get(), &info) == 0 && IsExecutable(info);
}

}  // namespace

absl::Status TrySandbox(const Sandbox& sandbox, const std::string& scratch) {
  // A launcher that is killed early leaves a child that waits for it (bubblewrap 0.8).
  CONCUR_RETURN_IF_ERROR(KillLeftovers(scratch, kProbeTimeout));
  SandboxRun run;
  run.root = absl::StrCat(scratch, "/root");
  run.directory = absl::StrCat(scratch, "/run");
  run.temporary = absl::StrCat(scratch, "/tmp");
  for (const std::string& folder : {run.root, run.directory, run.temporary}) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(folder, 0700));
  }
  std::error_code error;
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64", "/lib32", "/nix"}) {
    const std::string source = std::filesystem::canonical(folder, error).string();
    if (!error) {
      run.mounts.push_back({source, folder});
    }
  }
  run.mounts.push_back({run.directory, run.directory, /*is_writable=*/true});
  run.env = {{"PATH", "/usr/bin:/bin"}};
  run.argv = {"/bin/sh", "-c", absl::StrCat("touch made && exit ", kProbeExit)};
  CONCUR_ASSIGN_OR_RETURN(const Command command, sandbox.Wrap(run));
  CONCUR_ASSIGN_OR_RETURN(const ProgramEnd end, RunProgram(command, {.timeout = kProbeTimeout}));
  if (end.exit_code == kProbeExit) {
    return absl::OkStatus();
  }
  std::string reason = end.output.substr(0, kProbeReasonBytes);
  while (!reason.empty() && reason.back() == '\n') {
    reason.pop_back();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(reason.empty() ? "no output" : reason, " (exit code ", end.exit_code, ")"));
}

absl::StatusOr<std::string> FindProgramInRoot(const SandboxRun& run, absl::string_view name,
                                              absl::string_view path) {
  const FileDescriptor root(open(run.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    return ErrnoStatus(errno, run.root, "open");
  }
  const auto is_program = [&](const std::string& file) {
    bool found = false;
    return FindInMounts(run, file, &found) ? found : IsProgramInRoot(root.get(), file);
  };
  if (absl::StrContains(name, '/')) {
    std::string file =
        absl::StartsWith(name, "/") ? std::string(name) : absl::StrCat(run.directory, "/", name);
    return is_program(file)
               ? absl::StatusOr<std::string>(std::move(file))
               : absl::NotFoundError(absl::StrCat("program \"", name, "\" does not exist in the ",
                                                  "approach's environment, or is not executable"));
  }
  for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    std::string file = absl::StrCat(folder, "/", name);
    if (is_program(file)) {
      return file;
    }
  }
  return absl::NotFoundError(absl::StrCat("program \"", name, "\" was not found in the approach's ",
                                          "environment; searched ", path));
}

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  // It reads no environment without GLOB_TILDE.  NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> GpuDevices() {
  std::vector<std::string> devices;
  for (const char* pattern : {"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm*",
                              "/dev/nvidia-modeset", "/dev/nvidia-caps/*"}) {
    for (std::string& device : Glob(pattern)) {
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace concur::process
