// SPDX-License-Identifier: Apache-2.0
// Starts programs the way a job needs them: own process group, own directory, exact environment,
// no shell, standard input empty, standard output and error in one pipe (unless the command says
// otherwise), killed when the worker dies.
//
// posix_spawn cannot set the parent-death signal or report at which step it failed, and fork copies
// the page tables of a threaded process; so the child is a clone that borrows the parent's memory
// until it runs the program (what vfork and glibc's posix_spawn do), and does nothing in between
// but system calls.
//
// Signals have their default actions in the program. Which ones have others in this process is
// looked up when it first starts one: they are not changed after that.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_PROCESS_PROCESS_H_
#define CONCUR_BASE_PROCESS_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/process/cgroup.h"

namespace concur::process {

// Makes /tmp, /var/tmp, /dev/shm and System V shared memory a job's own, in namespaces.
struct PrivateFiles {
  std::string temporary;  // the directory that becomes /tmp and /var/tmp; "": nothing is made
  int64_t shared_bytes_max = 0;  // size of /dev/shm; 0: what the kernel takes for it
};

// Descriptors above 2 of this process that become a program's standard input and output; -1: as
// above.
struct Streams {
  int input_fd = -1;
  int output_fd = -1;
};

struct Command {
  std::string program;            // path of the file to run
  std::vector<std::string> argv;  // as the program sees it; not empty
  std::vector<std::string> env;   // "NAME=value"; nothing else is passed on
  // Text that no other user may see, and no file has: the program reads it from a descriptor, whose
  // number is added to argv[hidden_at]. "": none.
  std::string hidden;
  size_t hidden_at = 0;
  std::string directory;            // where it runs
  int64_t file_bytes_max = 0;       // for any file that it writes; 0: no limit
  const JobGroup* group = nullptr;  // the control group in which it begins; null: the worker's
  PrivateFiles files;
  Streams streams;
  bool error_apart = false;  // standard error has a pipe of its own
};

struct Process {
  pid_t pid = -1;         // also the id of its process group
  FileDescriptor pidfd;   // readable when the process has ended
  FileDescriptor output;  // the pipe's read end, non-blocking
  // The pipe's other end: while it is open, nobody is woken because the process has closed its own,
  // which it does a moment before its end.
  FileDescriptor output_end;
  FileDescriptor error;  // the same of standard error; set with error_apart
  FileDescriptor error_end;
  JobGroupPtr group;  // set by who started it; null: none
};

// The calling thread should live as long as the process: the kernel kills the process when that
// thread ends. NotFound, PermissionDenied or InvalidArgument when the program cannot be run;
// ResourceExhausted when the machine is short of processes, memory or descriptors.
absl::StatusOr<Process> StartProcess(const Command& command);

// Lets this process open as many files as its hard limit allows, up to 65,536; the processes that
// it starts keep the limit from before.
void RaiseOpenFiles();

// Checks that this user may have a job's files made private, with `temporary` as its directory: OK
// or the error of the step that was refused.
absl::Status TryPrivateFiles(const std::string& temporary);

// The file that `name` means: itself when it has a slash (from `directory` when relative), else the
// first executable of that name in `path` ("/usr/bin:/bin"). NotFound, with what was searched.
absl::StatusOr<std::string> FindProgram(absl::string_view name, absl::string_view path,
                                        absl::string_view directory);

// True when `pattern`, a variable's name or "CUDA_*", means the variable `name`.
bool EnvPatternMatches(absl::string_view pattern, absl::string_view name);

// {"NAME=value", …}.
std::vector<std::string> EnvironmentList(const std::map<std::string, std::string>& variables);

// PATH (with the directory of this program first), HOME, LANG and the like of this process.
// Besides those, what matches one of `patterns`.
std::map<std::string, std::string> BaseEnvironment(const std::vector<std::string>& patterns = {});

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_PROCESS_H_
