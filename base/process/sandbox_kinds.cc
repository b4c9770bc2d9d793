// SPDX-License-Identifier: Apache-2.0
#include "base/process/sandbox_kinds.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/process.h"
#include "base/status_macros.h"

namespace concur::process {

std::vector<std::string> SandboxNames() { return {"bubblewrap", "podman", "apptainer"}; }

absl::StatusOr<std::unique_ptr<Sandbox>> MakeSandbox(absl::string_view name,
                                                     const SandboxOptions& options) {
  const auto path = options.environment.find("PATH");
  const std::string searched = path == options.environment.end() ? "" : path->second;
  const auto find = [&](absl::string_view program) { return FindProgram(program, searched, "/"); };
  if (name == "bubblewrap") {
    CONCUR_ASSIGN_OR_RETURN(std::string program, find("bwrap"));
    return MakeBubblewrap(std::move(program));
  }
  if (name == "podman") {
    CONCUR_ASSIGN_OR_RETURN(std::string program, find("podman"));
    CONCUR_ASSIGN_OR_RETURN(std::string unshare, find("unshare"));
    return MakePodman(std::move(program), std::move(unshare), options);
  }
  absl::StatusOr<std::string> program = find("apptainer");
  if (!program.ok()) {
    const absl::StatusOr<std::string> older = find("singularity");
    program = older.ok() ? older : program;
  }
  CONCUR_RETURN_IF_ERROR(program.status());
  return MakeApptainer(*std::move(program), options);
}

std::unique_ptr<Sandbox> FirstSandbox(const std::vector<std::string>& kinds,
                                      const SandboxOptions& options,
                                      std::vector<std::string>& missing) {
  const std::vector<std::string> names = SandboxNames();
  for (const std::string& kind : kinds) {
    if (std::find(names.begin(), names.end(), kind) == names.end()) {
      continue;
    }
    absl::StatusOr<std::unique_ptr<Sandbox>> sandbox = MakeSandbox(kind, options);
    if (!sandbox.ok()) {
      missing.push_back(absl::StrCat(kind, ": ", sandbox.status().message()));
      continue;
    }
    const absl::Status works = TrySandbox(**sandbox, absl::StrCat(options.state, "/try-", kind));
    if (works.ok()) {
      return *std::move(sandbox);
    }
    missing.push_back(absl::StrCat(kind, ": it is here and does not work: ", works.message()));
  }
  return nullptr;
}

}  // namespace concur::process
