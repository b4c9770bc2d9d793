// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/sources.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/file.h"
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

absl::Status SystemError(int error, absl::string_view action) {
  return absl::UnavailableError(absl::StrCat(action, ": ", std::generic_category().message(error)));
}

// Reads `fd` to its end.
absl::StatusOr<std::string> Drain(int fd, const std::string& name, size_t bytes_max) {
  std::string output;
  std::string buffer(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return SystemError(errno, absl::StrCat(name, ": read"));
    }
    if (got == 0) {
      return output;
    }
    if (output.size() + static_cast<size_t>(got) > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": printed more than the limit of ", bytes_max, " bytes"));
    }
    output.append(buffer.data(), static_cast<size_t>(got));
  }
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
  const std::string& program = arguments.at(0);
  if (access(program.c_str(), X_OK) != 0) {
    return ErrnoStatus(errno, program, "run");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return SystemError(errno, "pipe");
  }
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& copy : copies) {
    argv.push_back(copy.data());
  }
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  writer.Reset();
  if (error != 0) {
    return SystemError(error, absl::StrCat(program, ": run"));
  }
  absl::StatusOr<std::string> output = Drain(reader.get(), program, bytes_max);
  reader.Reset();  // ends a program that still writes with SIGPIPE
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  CONCUR_RETURN_IF_ERROR(output.status());
  if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
    return absl::UnavailableError(
        absl::StrCat(program, WIFEXITED(wait_status)
                                  ? absl::StrCat(": exit status ", WEXITSTATUS(wait_status))
                                  : absl::StrCat(": ended by signal ", WTERMSIG(wait_status))));
  }
  return output;
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
