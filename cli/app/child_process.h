// SPDX-License-Identifier: Apache-2.0
// A program that `concur up` runs: started in its own process group, so that Ctrl-C reaches only
// `up`, with its output in a log file. Ends with SIGTERM when `up` dies.
//
// Thread-compatible; start and use on one thread that outlives the process.
#ifndef CONCUR_CLI_APP_CHILD_PROCESS_H_
#define CONCUR_CLI_APP_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace concur::cli {

class ChildProcess {
 public:
  // Appends to `log_path`. `path_prefix` comes first in the child's PATH. An error names the
  // program.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& argv,
                                            const std::string& log_path,
                                            const std::string& path_prefix);

  pid_t pid() const { return pid_; }
  // Returns how it ended, in words ("exit code 1", "signal 9 (Killed)"); nullopt while it runs.
  std::optional<std::string> Ended();
  bool running() { return !Ended().has_value(); }
  // No-op once it has ended.
  void Signal(int signal);
  // True when it ended in time.
  bool WaitUntil(absl::Time deadline);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::optional<std::string> ended_;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_APP_CHILD_PROCESS_H_
