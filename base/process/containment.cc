// SPDX-License-Identifier: Apache-2.0
#include "base/process/containment.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/process/process.h"
#include "base/status_macros.h"

namespace concur::process {
namespace {

// A job must see its own directory beside a /tmp that is not the machine's.
absl::Status CheckOutsideOfTmp(const std::string& directory) {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(directory, error).string() + "/";
  for (const char* hidden : {"/tmp/", "/var/tmp/", "/dev/shm/"}) {
    if (absl::StartsWith(path, hidden)) {
      return absl::FailedPreconditionError(
          absl::StrCat("private_tmp: jobs would not see ", directory, ", which is in ", hidden,
                       "; choose another work_directory and run_directory"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Containment> SetUpContainment(const ContainmentWish& wish) {
  Containment made;
  if (wish.groups) {
    absl::StatusOr<std::unique_ptr<Cgroups>> cgroups =
        Cgroups::Open({.work_directory = wish.work_directory});
    if (cgroups.ok()) {
      made.cgroups = *std::move(cgroups);
      made.names = made.cgroups->Names();
      RaiseOpenFiles();  // a group holds eight, and the usual limit is 1024
    } else if (wish.must_group) {
      return absl::FailedPreconditionError(
          absl::StrCat("containment: cgroup: this worker may make no control groups (",
                       cgroups.status().message(),
                       "); run it as a systemd unit with Delegate=yes, or set containment: auto"));
    } else {
      made.without = std::string(cgroups.status().message());
    }
  } else {
    made.without = "containment: processes";
  }
  if (made.cgroups == nullptr) {
    made.names = {"processes"};
  }
  if (wish.private_tmp) {
    CONCUR_RETURN_IF_ERROR(CheckOutsideOfTmp(wish.work_directory));
    if (!wish.run_directory.empty()) {
      CONCUR_RETURN_IF_ERROR(CheckOutsideOfTmp(wish.run_directory));
    }
    if (const absl::Status status = TryPrivateFiles(wish.work_directory); !status.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("private_tmp: this worker may make no namespaces (", status.message(),
                       "); allow user namespaces to its user, or set private_tmp: false"));
    }
    made.names.insert(made.names.end(), {"shm", "tmp"});
  }
  return made;
}

}  // namespace concur::process
