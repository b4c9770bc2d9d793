#include "core/result.h"

#include <array>

#include "core/names.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, kArtifactKinds> kArtifactKindNames = {
    "system", "predictions", "examples", "log", "metrics"};

constexpr std::array<absl::string_view, kFailureClasses> kFailureClassNames = {
    "none",  "failed",         "oom",    "timeout",   "lost",  "preempted",
    "spawn", "invalid-output", "config", "temporary", "worker"};

}  // namespace

absl::string_view ArtifactKindName(ArtifactKind kind) { return NameIn(kArtifactKindNames, kind); }

absl::StatusOr<ArtifactKind> ArtifactKindFromName(absl::string_view name) {
  return FromNameIn<ArtifactKind>(kArtifactKindNames, "kind of artifact", name);
}

absl::string_view FailureClassName(FailureClass failure) {
  return NameIn(kFailureClassNames, failure);
}

absl::StatusOr<FailureClass> FailureClassFromName(absl::string_view name) {
  return FromNameIn<FailureClass>(kFailureClassNames, "failure class", name);
}

const ArtifactRef* FindArtifact(const JobResult& result, ArtifactKind kind) {
  for (const ArtifactRef& artifact : result.artifacts) {
    if (artifact.kind == kind) {
      return &artifact;
    }
  }
  return nullptr;
}

}  // namespace concur
