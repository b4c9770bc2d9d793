// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/artifact_presence.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/suggest.h"

namespace concur {
absl::Status CheckFilesAreThere(const std::vector<SweepFile>& files, ArtifactStore& artifacts) {
  std::vector<std::string> missing;
  for (const SweepFile& file : files) {
    absl::Status there = artifacts.Touch(file.digest);
    absl::StatusOr<int64_t> bytes = there.ok() ? artifacts.Size(file.digest) : there;
    there = bytes.status();
    if (!there.ok() && !absl::IsNotFound(there)) {
      return there;
    }
    if (bytes.ok() && *bytes != file.bytes) {
      return absl::InvalidArgumentError(absl::StrCat("size_bytes: expected ", *bytes,
                                                     ", the size of the uploaded ", file.name,
                                                     ", got ", file.bytes));
    }
    if (!there.ok()) {
      missing.push_back(absl::StrCat(file.name, " (", file.digest.ToHex().substr(0, 12), "…)"));
    }
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("these files were not uploaded: ", FirstNames(missing)));
}

absl::Status FindMissing(const v1::FindMissingArtifactsRequest& request, ArtifactStore& artifacts,
                         v1::FindMissingArtifactsResponse* response) {
  for (const std::string& bytes : request.digests()) {
    const absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
    if (!digest.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("digests: ", digest.status().message()));
    }
    absl::Status there = artifacts.Touch(*digest);
    if (absl::IsNotFound(there)) {
      response->add_digests(bytes);
    } else if (!there.ok()) {
      return there;
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
