// SPDX-License-Identifier: Apache-2.0
// A coordinator and workers as processes of this machine, for `concur up` and `concur demo`.
#ifndef CONCUR_CLI_COMMANDS_RUN_UP_H_
#define CONCUR_CLI_COMMANDS_RUN_UP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/app/context.h"

namespace concur::cli {

struct UpFlags {
  int workers = -1;  // on this machine; -1: 1, with `slurm` none
  double cpus = 0;   // for each worker; 0: the machine's, shared out, and 1 through Slurm
  // A partition, or "default": a pool of at most slurm_max workers through Slurm, and a coordinator
  // that its nodes reach by TLS.
  std::string slurm;
  int slurm_max = 10;
  std::string data_directory;
  bool fresh = false;  // deletes what the data directory holds, unless something runs on it
  std::string listen;  // "": 127.0.0.1:7447, with `slurm` 0.0.0.0:7447
  std::string
      page;  // HOST:PORT of the page; "none"; "": 127.0.0.1:7449, or any port beside `listen`
  std::string options;
  std::vector<std::string> env_pass;  // as WorkerOptions::env_pass
  std::string run;                    // a sweep file
  std::vector<std::string> variables;
  bool no_check = false;  // leave the data sets of `run` unread
  bool link = false;      // only print a link to the page of the coordinator that runs
  // Called on a thread of its own when that sweep has ended, before the programs are stopped.
  std::function<void(const std::string& address, const std::string& token_file)> then;
};

// Runs a coordinator and workers until Ctrl-C or until the sweep of `run` has ended.
absl::Status Up(CommandContext& context, const UpFlags& flags);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_UP_H_
