// SPDX-License-Identifier: Apache-2.0
// Submits a sweep file and uploads those of its data files that the server lacks.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_SUBMIT_H_
#define CONCUR_CLI_SWEEP_SUBMIT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/sweep/made_files.h"
#include "concur/v1/coordinator.pb.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

// The values of --var NAME=VALUE. InvalidArgument when one has no name or stands twice.
absl::StatusOr<std::map<std::string, std::string>> ParseVariables(
    const std::vector<std::string>& flags);

struct SubmitFlags {
  std::string file;
  std::vector<std::string> variables;  // NAME=VALUE
  std::string request_id;              // empty: a random one
  bool once = false;  // a request id of the sweep's content; REQUIRES: request_id is empty
  bool dry_run = false;
  bool no_check = false;  // leave the data sets unread
  std::string rerun;      // selector of MarkReruns; empty: nothing that is finished runs again
};
// Reads the sweep file and what it names, and checks it. Warnings go to context.err. `made`
// keeps the files that the sweep's data are made of until they are uploaded: it outlives
// SubmitLoaded.
absl::StatusOr<spec::LoadedSweep> LoadForSubmission(CommandContext& context,
                                                    const SubmitFlags& flags, MadeFiles* made);
// Uploads what the server lacks, and submits, with a random request id if that is empty.
absl::StatusOr<v1::CreateSweepResponse> SubmitLoaded(CommandContext& context, Client& client,
                                                     const spec::LoadedSweep& loaded,
                                                     const std::string& request_id, bool dry_run);
// Loads the sweep file, uploads what the server lacks, and submits. Warnings go to context.err.
absl::StatusOr<v1::CreateSweepResponse> SubmitSweep(CommandContext& context, Client& client,
                                                    const SubmitFlags& flags);
// "s12 demo: 360 jobs in 72 cells; 118 of them reuse a finished result".
std::string SubmittedText(const v1::Sweep& sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_SUBMIT_H_
