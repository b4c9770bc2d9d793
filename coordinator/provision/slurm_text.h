// SPDX-License-Identifier: Apache-2.0
// Command lines of Slurm's programs, and parsers of what they print.
//
// Pilots are known by the name of their Slurm job, "concur-ID-POOL-NUMBER", where ID is the
// coordinator's and NUMBER that of the first pilot of a job array; never by the id that sbatch
// prints: a slurmctld that is killed just after it has acknowledged a job forgets the job and hands
// its id out again.
//
// Pure functions.
#ifndef CONCUR_COORDINATOR_PROVISION_SLURM_TEXT_H_
#define CONCUR_COORDINATOR_PROVISION_SLURM_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/run_command.h"
#include "coordinator/provision/provider.h"
#include "core/pools/pool.h"
#include "core/pools/pools.h"

namespace concur::provision {

// The name of the job that starts these pilots. REQUIRES: at least one.
std::string SlurmJobName(const PilotSetup& setup, const std::vector<std::string>& pilots);

// sbatch, its arguments, the token in its environment and the script on its standard input.
CommandRequest SbatchRequest(const PoolSpec& pool, const PilotSetup& setup,
                             const std::string& token, const std::vector<std::string>& pilots);

// The batch script of the pilots of a job (coordinator/provision/pilot_script.h).
std::string SlurmScript(const PoolSpec& pool, const PilotSetup& setup,
                        const std::vector<std::string>& pilots);

// The job's id from what `sbatch --parsable` printed; DataLoss when it is something else.
absl::StatusOr<std::string> ParseSbatch(absl::string_view out);

// Arguments of one squeue, and pilots that it printed. Jobs of others are left out. DataLoss when a
// line is not as it was asked for, or the last one is cut: then nothing of it is to be believed.
std::vector<std::string> SqueueArguments();
struct SlurmPilot {
  PilotReport report;
  std::string job_name;
};
absl::StatusOr<std::vector<SlurmPilot>> ParseSqueue(absl::string_view out, const PilotSetup& setup);

// A pilot whose `setup` lines failed writes that into its job's comment. True if it may have; the
// arguments of squeue, by the job's id; and what it printed, as a sentence, or "".
bool MayHaveFailedSetup(const PilotReport& report);
std::vector<std::string> SqueueCommentArguments(const std::string& job);
std::string SetupFailureOf(absl::string_view out);

// The text that `sbatch --test-only` printed to its standard error, as a sentence.
std::string ParseSbatchTest(absl::string_view err);

// Why a program of Slurm failed, in its own words. Unavailable when the controller could not be
// reached or is overloaded, FailedPrecondition when it refused.
absl::Status SlurmError(absl::string_view program, const CommandResult& result);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_SLURM_TEXT_H_
