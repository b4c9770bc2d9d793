// SPDX-License-Identifier: Apache-2.0
// Starts the command of an attempt, with its environment and what contains it.
#ifndef CONCUR_WORKER_EXECUTION_START_JOB_H_
#define CONCUR_WORKER_EXECUTION_START_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/process/process.h"
#include "core/sync/job_order.h"
#include "worker/environments/environments.h"
#include "worker/execution/subprocess_options.h"
#include "worker/inputs/inputs.h"
#include "worker/inputs/run_dir.h"

namespace concur::worker {

// Makes the environment of an order ready. Errors as Environments::Get and Artifacts::Fetch.
// REQUIRES: the order has one.
absl::StatusOr<ReadyEnvironment> PrepareEnvironment(const JobOrder& order, Artifacts& artifacts,
                                                    const SubprocessOptions& options,
                                                    const Artifacts::IsCanceled& is_canceled);

// `argv` is the order's command without placeholders; `environment` is the order's, null without
// one. As StartProcess, which also says who should call it; ResourceExhausted when there is no
// control group to be had.
absl::StatusOr<process::Process> StartJob(const JobOrder& order, const RunPaths& paths,
                                          const std::vector<std::string>& argv,
                                          const ReadyEnvironment* environment,
                                          const SubprocessOptions& options);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_START_JOB_H_
