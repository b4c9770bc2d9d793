// SPDX-License-Identifier: Apache-2.0
// The kinds of sandboxes (base/process/sandbox.h), by their programs.
#ifndef CONCUR_BASE_PROCESS_SANDBOX_KINDS_H_
#define CONCUR_BASE_PROCESS_SANDBOX_KINDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/process/sandbox.h"

namespace concur::process {

// "bubblewrap", "podman", "apptainer": the order in which they are tried.
std::vector<std::string> SandboxNames();

// The sandbox of that name, by the first of its programs on PATH. NotFound when there is none.
absl::StatusOr<std::unique_ptr<Sandbox>> MakeSandbox(absl::string_view name,
                                                     const SandboxOptions& options);

// The first of `kinds` that works for this user; null when none does. `missing` gets a line for
// each before it, with the reason. Kinds that are no sandboxes' names are passed over.
std::unique_ptr<Sandbox> FirstSandbox(const std::vector<std::string>& kinds,
                                      const SandboxOptions& options,
                                      std::vector<std::string>& missing);

std::unique_ptr<Sandbox> MakeBubblewrap(std::string program);
std::unique_ptr<Sandbox> MakePodman(std::string program, std::string unshare,
                                    const SandboxOptions& options);
// Also Singularity, whose options are the same.
std::unique_ptr<Sandbox> MakeApptainer(std::string program, const SandboxOptions& options);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_SANDBOX_KINDS_H_
