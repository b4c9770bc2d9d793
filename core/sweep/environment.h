// SPDX-License-Identifier: Apache-2.0
// The environment of an approach: what its commands find instead of the worker's own programs. A
// worker builds it once (worker/environments/environment_cache.h) and runs the commands in it.
//
// Values; pure functions.
#ifndef CONCUR_CORE_SWEEP_ENVIRONMENT_H_
#define CONCUR_CORE_SWEEP_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "core/fields.h"
#include "core/labels.h"

namespace concur {

inline constexpr size_t kSetupLinesMax = 100;  // lines of one environment
inline constexpr size_t kReferenceBytesMax = 1'000;

// "root", "image", "venv", "conda".
enum class EnvironmentKind {
  kRoot,   // an unpacked root file system: a tar
  kImage,  // a container image: an OCI archive, or one of a registry
  kVenv,   // a Python virtual environment: pip's requirements file
  kConda,  // a conda environment: its environment file
};

absl::string_view EnvironmentKindName(EnvironmentKind kind);

struct Environment {
  EnvironmentKind kind = EnvironmentKind::kRoot;
  // The artifact that it is built from; no digest for an image of a registry.
  Digest digest;
  int64_t bytes = 0;
  std::string path;       // where the submitting machine read it: for people
  std::string reference;  // kImage of a registry: "docker.io/library/debian@sha256:…"
  std::string python;     // kVenv: "python3", "python3.11"
  // Shell lines that complete it, each run by sh -e within it.
  std::vector<std::string> setup;

  bool HasFile() const { return reference.empty(); }
  friend bool operator==(const Environment&, const Environment&) = default;
};

// A hash of all that says what is in it: of everything but `path` and `bytes`. Part of content
// keys.
Digest KeyOfEnvironment(const Environment& environment);

// "root 1f0c… (debian.tar.gz), 2 setup lines".
std::string EnvironmentText(const Environment& environment);

// InvalidArgument, naming the field within `path`.
absl::Status CheckEnvironmentSpec(const FieldPath& path, const Environment& environment);

// REPOSITORY@sha256:… InvalidArgument without the place.
absl::Status CheckImageReference(absl::string_view reference);
// "python3" or "python3.N". InvalidArgument without the place.
absl::Status CheckPythonName(absl::string_view python);

// Labels that a worker must have for it.
Labels LabelsOfEnvironment(const Environment& environment);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_ENVIRONMENT_H_
