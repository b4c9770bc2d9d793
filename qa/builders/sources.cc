// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/sources.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/run_command.h"
#include "base/status_macros.h"

namespace concur::qa {
namespace {

constexpr size_t kBibleBytesMax = size_t{64} << 20;

std::string BaseName(absl::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

absl::Status WithRemedy(const absl::Status& status, absl::string_view package) {
  if (!absl::IsNotFound(status)) {
    return status;
  }
  return absl::NotFoundError(absl::StrCat(status.message(), "; install the Debian package ",
                                          package, " (apt-get install ", package, ")"));
}

}  // namespace

std::string PackageVersion(const std::string& status_path, absl::string_view package) {
  const absl::StatusOr<std::string> contents = ReadFile(status_path);
  if (!contents.ok()) {
    return "unknown";
  }
  const std::string first_line = absl::StrCat("Package: ", package);
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(*contents, '\n')) {
    if (absl::StartsWith(line, "Package: ")) {
      inside = line == first_line;
    } else if (inside && absl::StartsWith(line, "Version: ")) {
      return std::string(line.substr(9));
    }
  }
  return "unknown";
}

absl::StatusOr<std::string> RunAndRead(const std::vector<std::string>& arguments,
                                       size_t bytes_max) {
  CommandRequest request;
  request.argv = arguments;
  request.inherits_env = false;
  request.timeout = absl::Minutes(10);
  request.output_bytes_max = bytes_max;
  CONCUR_ASSIGN_OR_RETURN(CommandResult result, RunCommand(request));
  if (result.exit_code != 0) {
    return absl::UnavailableError(absl::StrCat(arguments[0], ": exit status ", result.exit_code));
  }
  return std::move(result.out);
}

void SourceLog::RecordPackage(absl::string_view package) {
  const std::string key = absl::StrCat("source.", package);
  if (!recorded_.contains(key)) {
    recorded_[key] = PackageVersion(paths_.package_status, package);
  }
}

absl::StatusOr<std::string> SourceLog::ReadPackaged(const std::string& path,
                                                    absl::string_view package) {
  absl::StatusOr<std::string> contents = ReadFile(path);
  if (!contents.ok()) {
    return WithRemedy(contents.status(), package);
  }
  RecordPackage(package);
  recorded_[absl::StrCat("sha256.", BaseName(path))] = Sha256Of(*contents).ToHex();
  return contents;
}

absl::StatusOr<std::string> SourceLog::ReadOwn(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  recorded_[absl::StrCat("sha256.", BaseName(path))] = Sha256Of(contents).ToHex();
  return contents;
}

absl::Status SourceLog::RecordOwn(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
  recorded_[absl::StrCat("sha256.", BaseName(path))] = digest.digest.ToHex();
  return absl::OkStatus();
}

absl::StatusOr<std::string> SourceLog::ReadBible() {
  // Without -p the program prefers a bible.data of the current directory.
  absl::StatusOr<std::string> text = RunAndRead(
      {paths_.bible_program, "-p", paths_.bible_data, "-f", "gen1:1-rev22:21"}, kBibleBytesMax);
  if (!text.ok()) {
    return WithRemedy(text.status(), "bible-kjv");
  }
  RecordPackage("bible-kjv-text");
  recorded_["sha256.bible.txt"] = Sha256Of(*text).ToHex();
  return text;
}

}  // namespace concur::qa
