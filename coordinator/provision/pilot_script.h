// SPDX-License-Identifier: Apache-2.0
// The batch script of a pilot, whatever engine runs it: makes a directory of its own, removes those
// that killed pilots left on the node, runs `setup` and the worker, passes SIGTERM on, cleans up.
// Needs bash, and nothing from the submitting machine but itself and what its parts name.
//
// Pure functions.
#ifndef CONCUR_COORDINATOR_PROVISION_PILOT_SCRIPT_H_
#define CONCUR_COORDINATOR_PROVISION_PILOT_SCRIPT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "coordinator/provision/provider.h"
#include "core/pools/pool.h"

namespace concur::provision {

// "concur-ID-": what the names of a coordinator's jobs begin with; a pilot's name follows.
std::string PilotPrefix(const PilotSetup& setup);

// Parts that differ between engines: whole lines of bash, run in the pilot's directory.
struct PilotScriptParts {
  std::string name;          // sets `name`, the pilot's; runs first, before there is a directory
  std::string token;         // exports CONCUR_TOKEN; "": the environment has it
  std::string key;           // makes client.key, where the setup has one
  std::string setup_failed;  // keeps $why, which begins with kPilotSetupFailed; "": nothing does
};

inline constexpr char kPilotSetupFailed[] = "setup failed: ";
inline constexpr size_t kPilotReasonBytesMax = 1000;  // bytes of $why that are kept

std::string PilotScript(const PoolSpec& pool, const PilotSetup& setup,
                        const PilotScriptParts& parts);

// A word for the shell, in quotes where it needs them.
std::string ShellQuoted(absl::string_view text);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_PILOT_SCRIPT_H_
