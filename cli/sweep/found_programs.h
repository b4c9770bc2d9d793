// SPDX-License-Identifier: Apache-2.0
// The programs and scripts of a sweep's commands: whether this machine, or the approach's code, has
// them.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_CLI_SWEEP_FOUND_PROGRAMS_H_
#define CONCUR_CLI_SWEEP_FOUND_PROGRAMS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

struct FoundProgram {
  std::string name;
  std::string where;  // on this machine; "" when nowhere, or when the code lacks it
  std::set<std::string> approaches;
  std::string remedy;  // for one that is missing for another reason than this machine
};

// Every program of the approaches, by name. `path` as $PATH, where an approach's env has none.
// REQUIRES: spec::ResolveCode(&sweep) was OK.
std::vector<FoundProgram> FindPrograms(const spec::LoadedSweep& sweep, absl::string_view path);

// The value of $PATH.
std::string SearchPath();

// Digests the scripts ("#!…") of a user's that commands begin with, by absolute paths or as found
// on `path`: they become part of content keys. A relative one is in the code (spec::ResolveCode).
void DigestPrograms(absl::string_view path, spec::LoadedSweep* sweep);

// A warning of other files, programs and folders of a user's that commands name and that are in no
// code: when they change, nothing runs anew. Another of relative arguments that are files
// beside the approach's file, which no job sees; without `programs_too`, of none that CheckPrograms
// refuses. REQUIRES: spec::ResolveCode(&sweep) was OK, and DigestPrograms was called.
std::vector<std::string> WarnOfProgramsInNoCode(const spec::LoadedSweep& sweep,
                                                absl::string_view path, bool programs_too);

// FailedPrecondition when a program is missing.
absl::Status CheckPrograms(const std::vector<FoundProgram>& programs);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_FOUND_PROGRAMS_H_
