// SPDX-License-Identifier: Apache-2.0
// Runs a command over the root file system of an environment: by bubblewrap, Podman or Apptainer,
// whichever the machine has.
//
// The command sees that root read-only, the mounts that it is given, a /tmp of its own, the
// machine's network, and neither other processes nor the machine's files. It keeps its worker's
// user, and has no other: what it makes can be removed. It ends with the launcher.
//
// Sandboxes are immutable; thread-safe.
#ifndef CONCUR_BASE_PROCESS_SANDBOX_H_
#define CONCUR_BASE_PROCESS_SANDBOX_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/process/process.h"

namespace concur::process {

struct SandboxMount {
  std::string source;  // a file or folder of the machine
  std::string target;  // where the command sees it; absolute
  bool is_writable = false;
};

struct SandboxRun {
  std::string root;               // the root file system
  bool root_is_writable = false;  // for building it
  std::vector<SandboxMount> mounts;
  std::vector<std::string> devices;  // "/dev/nvidia0"
  std::string directory;             // where the command starts; a mount, or below one
  std::string temporary;             // a folder that becomes /tmp and /var/tmp
  // All that the command sees. The launcher, which runs outside, has none of `env`: whoever chose
  // it could load a library into that. `own_env` is this process's choice, and may hold secrets: it
  // is in the launcher's environment, and on no command line.
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> own_env;
  std::vector<std::string> argv;
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;

  // "bubblewrap", "podman", "apptainer".
  virtual absl::string_view name() const = 0;
  // Command that launches this. InvalidArgument for paths that the launcher cannot express.
  virtual absl::StatusOr<Command> Wrap(const SandboxRun& run) const = 0;
  // True if a SIGTERM to the launcher would end it before the command: then it goes to the
  // launcher's process group without the launcher.
  virtual bool SparesLauncher() const { return false; }
};

struct SandboxOptions {
  std::string state;                               // a directory for a sandbox's own files
  std::map<std::string, std::string> environment;  // for launchers: PATH, HOME
};

// Runs something small, with the machine's own programs as the root. OK, or the reason why this
// machine or user cannot. Takes .03 s (bubblewrap) to .3 s.
absl::Status TrySandbox(const Sandbox& sandbox, const std::string& scratch);

// Where in a root a program lies that is looked for in `path` ("/usr/bin:/bin"), as the command
// would see it; one with a slash is itself. NotFound when it is neither there nor in a mount.
absl::StatusOr<std::string> FindProgramInRoot(const SandboxRun& run, absl::string_view name,
                                              absl::string_view path);

// The paths that match a pattern of the shell, ascending.
std::vector<std::string> Glob(const std::string& pattern);

// The files of this machine's GPUs, as SandboxRun::devices takes them.
std::vector<std::string> GpuDevices();

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_SANDBOX_H_
