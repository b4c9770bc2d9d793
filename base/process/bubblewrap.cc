// SPDX-License-Identifier: Apache-2.0
// bubblewrap: `bwrap` makes namespaces and executes the command in them.
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/sandbox_kinds.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

// Made by bwrap, or of no use in a root that is not its own machine's.
constexpr const char* kOwnFolders[] = {"/dev", "/proc", "/sys", "/tmp", "/var/tmp"};

// Arguments that show a root read-only. It cannot be mounted as a whole where something is to be
// mounted within it at a path that it lacks: then the folders on the way are made anew, and what is
// in them is mounted entry by entry.
class RootPlanter {
 public:
  RootPlanter(const std::string& root, std::vector<std::string>* arguments)
      : root_(root), arguments_(arguments) {}

  // A path at which something else will be.
  void Reserve(const std::string& target) { targets_.insert(target); }

  absl::Status Plant(const std::string& folder) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(root_ + folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string path = absl::StrCat(folder, "/", it->path().filename().string());
      if (targets_.contains(path)) {
        continue;
      }
      struct stat info {};
      const std::string source = root_ + path;
      if (lstat(source.c_str(), &info) != 0) {
        return ErrnoStatus(errno, source, "stat");
      }
      if (S_ISLNK(info.st_mode) && HasTargetBelow(path)) {
        continue;  // bwrap makes a folder
      }
      if (S_ISLNK(info.st_mode)) {
        const std::string link = std::filesystem::read_symlink(source, error).string();
        Add({"--symlink", link, path});
      } else if (S_ISDIR(info.st_mode) && HasTargetBelow(path)) {
        Add({"--dir", path});
        CONCUR_RETURN_IF_ERROR(Plant(path));
      } else {
        Add({"--ro-bind", source, path});
      }
    }
    return error ? ErrnoStatus(error.value(), root_ + folder, "list") : absl::OkStatus();
  }

 private:
  bool HasTargetBelow(const std::string& path) const {
    const auto it = targets_.lower_bound(path + "/");
    return it != targets_.end() && absl::StartsWith(*it, path + "/");
  }
  void Add(std::vector<std::string> arguments) {
    arguments_->insert(arguments_->end(), arguments.begin(), arguments.end());
  }

  const std::string root_;
  std::vector<std::string>* const arguments_;
  std::set<std::string> targets_;
};

class Bubblewrap : public Sandbox {
 public:
  explicit Bubblewrap(std::string program) : program_(std::move(program)) {}

  absl::string_view name() const override { return "bubblewrap"; }

  absl::StatusOr<Command> Wrap(const SandboxRun& run) const override {
    std::vector<std::string> argv = {program_, "--unshare-pid", "--unshare-ipc",
                                     "--die-with-parent"};
    const auto add = [&argv](std::vector<std::string> arguments) {
      argv.insert(argv.end(), arguments.begin(), arguments.end());
    };
    // Names of hosts are looked up as on the machine, whose network it is.
    const std::vector<std::string> of_machine = {"/etc/resolv.conf"};
    if (run.root_is_writable) {
      add({"--bind", run.root, "/"});
    } else {
      add({"--tmpfs", "/"});
      RootPlanter planter(run.root, &argv);
      for (const char* folder : kOwnFolders) {
        planter.Reserve(folder);
      }
      for (const std::string& file : of_machine) {
        planter.Reserve(file);
      }
      for (const SandboxMount& mount : run.mounts) {
        planter.Reserve(mount.target);
      }
      CONCUR_RETURN_IF_ERROR(planter.Plant(""));
    }
    add({"--proc", "/proc", "--dev", "/dev", "--ro-bind-try", "/sys", "/sys"});
    for (const std::string& file : of_machine) {
      std::error_code error;
      const std::string source = std::filesystem::canonical(file, error).string();
      struct stat info {};
      const bool is_link = run.root_is_writable && lstat((run.root + file).c_str(), &info) == 0 &&
                           S_ISLNK(info.st_mode);
      if (!error && !is_link) {
        add({"--ro-bind-try", source, file});
      }
    }
    add({"--bind", run.temporary, "/tmp", "--bind", run.temporary, "/var/tmp"});
    for (const std::string& device : run.devices) {
      add({"--dev-bind-try", device, device});
    }
    for (const SandboxMount& mount : run.mounts) {
      add({mount.is_writable ? "--bind" : "--ro-bind", mount.source, mount.target});
    }
    if (!run.root_is_writable) {
      add({"--remount-ro", "/"});
    }
    add({"--chdir", run.directory, "--cap-drop", "ALL", "--"});
    argv.insert(argv.end(), run.argv.begin(), run.argv.end());
    Command command;
    for (const auto& [name, value] : run.env) {  // all users see an argv; `ps` lists it
      for (const std::string& part : {std::string("--setenv"), name, value}) {
        command.hidden.append(part).push_back('\0');
      }
    }
    if (!command.hidden.empty()) {
      argv.insert(argv.begin() + 1, {"--args", ""});
      command.hidden_at = 2;
    }
    command.program = program_;
    command.argv = std::move(argv);
    command.env = EnvironmentList(run.own_env);
    command.directory = run.temporary;
    return command;
  }

  // bwrap waits for the command, and ends by a signal of its own.
  bool SparesLauncher() const override { return true; }

 private:
  const std::string program_;
};

}  // namespace

std::unique_ptr<Sandbox> MakeBubblewrap(std::string program) {
  return std::make_unique<Bubblewrap>(std::move(program));
}

}  // namespace concur::process
