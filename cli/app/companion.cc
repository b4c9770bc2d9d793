// SPDX-License-Identifier: Apache-2.0
#include "cli/app/companion.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/argv.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::cli {

absl::StatusOr<std::string> ProgramDirectory() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::InternalError(absl::StrCat("/proc/self/exe: ", error.message()));
  }
  return self.parent_path().string();
}

absl::StatusOr<std::string> ConfigsDirectory() {
  CONCUR_ASSIGN_OR_RETURN(const std::filesystem::path programs, ProgramDirectory());
  std::error_code error;
  std::vector<std::string> tried;
  // Installed: PREFIX/bin. Built: build/PRESET/bin of the sources. Tests: in the sources.
  for (const std::filesystem::path& place :
       {std::filesystem::path("../share/concur/configs"), std::filesystem::path("../../../configs"),
        std::filesystem::current_path(error) / "configs"}) {
    tried.push_back((programs / place).lexically_normal().string());
    if (std::filesystem::is_directory(tried.back(), error)) {
      return tried.back();
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "the files that come with concur are neither in ", absl::StrJoin(tried, " nor in "),
      "; install the package, or copy share/concur beside the programs' folder, too"));
}

absl::StatusOr<std::string> CompanionProgram(const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
  std::string path = absl::StrCat(directory, "/", name);
  if (access(path.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": expected this program beside concur; is it built or installed?"));
  }
  return path;
}

absl::Status RunCompanion(const std::string& name, const CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::string program, CompanionProgram(name));
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), context.args.begin(), context.args.end());
  execv(program.c_str(), ArgvOf(arguments).data());
  return ErrnoStatus(errno, program, "run");
}

}  // namespace concur::cli
