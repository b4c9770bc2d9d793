// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/identity.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"

namespace concur::worker {
namespace {

absl::StatusOr<std::string> RandomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size())) {
    return ErrnoStatus(errno, "getrandom", "read");
  }
  return absl::BytesToHexString(raw);
}

// A host name may hold what a worker's name may not.
std::string NameFromHost() {
  std::string name;
  for (const char c : HostName()) {
    const bool plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
    name += plain ? c : '-';
  }
  return name.empty() || !absl::ascii_isalnum(static_cast<unsigned char>(name[0]))
             ? absl::StrCat("worker", name)
             : name;
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

absl::StatusOr<Identity> Identity::Acquire(const std::string& work_directory,
                                           const std::string& name) {
  CONCUR_RETURN_IF_ERROR(MakePrivateDirectory(work_directory, {"identity"}));
  Identity identity;
  const std::string lock_path = absl::StrCat(work_directory, "/lock");
  identity.lock_ =
      FileDescriptor(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!identity.lock_.valid()) {
    return ErrnoStatus(errno, lock_path, "open");
  }
  if (flock(identity.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? absl::FailedPreconditionError(absl::StrCat(
                     work_directory,
                     ": another worker uses this work directory; give each its own --work-dir"))
               : ErrnoStatus(errno, lock_path, "lock");
  }
  // Two lines: name, incarnation.
  const std::string path = absl::StrCat(work_directory, "/identity");
  const absl::StatusOr<std::string> text = ReadFile(path, 4096);
  if (!text.ok() && !absl::IsNotFound(text.status())) {
    return text.status();
  }
  const std::vector<std::string> lines =
      text.ok() ? absl::StrSplit(*text, '\n', absl::SkipEmpty()) : std::vector<std::string>{};
  const std::string last_name = lines.size() == 2 ? lines[0] : "";
  identity.name_ = !name.empty() ? name : !last_name.empty() ? last_name : NameFromHost();
  CONCUR_RETURN_IF_ERROR(ValidateName(identity.name_));
  if (identity.name_ == last_name) {
    identity.previous_incarnation_ = lines[1];
  }
  CONCUR_ASSIGN_OR_RETURN(identity.incarnation_, RandomHex(16));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
      path, absl::StrCat(identity.name_, "\n", identity.incarnation_, "\n"), 0600));
  return identity;
}

}  // namespace concur::worker
