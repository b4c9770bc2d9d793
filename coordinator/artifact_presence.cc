#include "coordinator/artifact_presence.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"

namespace concur {
namespace {

// Every artifact that a sweep reads.
std::vector<const DataFile*> DataFilesOf(const SweepSpec& spec) {
  std::vector<const DataFile*> files;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    for (const auto* file : {&benchmark.train, &benchmark.test}) {
      if (file->has_value()) {
        files.push_back(&**file);
      }
    }
  }
  return files;
}

}  // namespace

absl::Status CheckDataIsThere(const SweepSpec& spec, ArtifactStore& artifacts) {
  std::vector<std::string> missing;
  for (const DataFile* file : DataFilesOf(spec)) {
    absl::Status there = artifacts.Touch(file->digest);
    if (!there.ok() && !absl::IsNotFound(there)) {
      return there;
    }
    if (!there.ok()) {
      missing.push_back(absl::StrCat(file->path, " (", file->digest.ToHex().substr(0, 12), "…)"));
    }
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("these data files were not uploaded: ", absl::StrJoin(missing, ", ")));
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
