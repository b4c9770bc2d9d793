// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/environment.h"

#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/names.h"
#include "core/result.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 4> kEnvironmentKindNames = {"root", "image", "venv",
                                                                    "conda"};
constexpr size_t kShownDigits = 12;
constexpr size_t kSetupLineBytesMax = 65'536;
constexpr size_t kFilePathBytesMax = 4'096;
constexpr char kDigestMark[] = "@sha256:";

std::string LabelOf(absl::string_view name) { return absl::StrCat(kEnvironmentLabelPrefix, name); }

// True if a container of the image is all that its jobs need. The image's name is a label's value.
bool IsImageAsItIs(const Environment& environment) {
  return !environment.HasFile() && environment.setup.empty() &&
         environment.reference.size() <= kNameBytesMax;
}

}  // namespace

absl::string_view EnvironmentKindName(EnvironmentKind kind) {
  return NameIn(kEnvironmentKindNames, kind);
}

Digest KeyOfEnvironment(const Environment& environment) {
  Sha256 hasher;
  hasher.UpdateField("environment");
  hasher.UpdateField(EnvironmentKindName(environment.kind));
  hasher.UpdateField(environment.HasFile() ? environment.digest.ToBytes() : "");
  hasher.UpdateField(environment.reference);
  hasher.UpdateField(environment.python);
  for (const std::string& line : environment.setup) {
    hasher.UpdateField(line);
  }
  return hasher.Finish();
}

std::string EnvironmentText(const Environment& environment) {
  const std::string file = environment.path.substr(environment.path.rfind('/') + 1);
  return absl::StrCat(
      EnvironmentKindName(environment.kind), " ",
      environment.HasFile()
          ? absl::StrCat(environment.digest.ToHex().substr(0, kShownDigits), "…",
                         file.empty() ? "" : absl::StrCat(" (", CleanUtf8(file), ")"))
          : environment.reference,
      environment.python.empty() ? "" : absl::StrCat(", ", environment.python),
      environment.setup.empty()
          ? ""
          : absl::StrCat(", setup: ", absl::StrJoin(environment.setup, "; ")));
}

absl::Status CheckImageReference(absl::string_view reference) {
  const size_t mark = reference.find(kDigestMark);
  bool valid = mark != reference.npos && mark > 0 && reference.size() <= kReferenceBytesMax &&
               absl::ascii_isalnum(static_cast<unsigned char>(reference[0])) &&
               Digest::FromHex(reference.substr(mark + sizeof kDigestMark - 1)).ok();
  for (const char c : reference.substr(0, valid ? mark : 0)) {
    valid = valid &&
            (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-/:", c));
  }
  return valid ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "expected an image with its digest, REGISTRY/NAME@sha256:… (a tag alone may "
                     "mean another image tomorrow), got ",
                     Quoted(reference)));
}

absl::Status CheckPythonName(absl::string_view python) {
  absl::string_view rest = python;
  bool valid = absl::ConsumePrefix(&rest, "python3");
  if (valid && absl::ConsumePrefix(&rest, ".")) {
    valid = !rest.empty() && rest.size() <= 3;
    for (const char c : rest) {
      valid = valid && absl::ascii_isdigit(static_cast<unsigned char>(c));
    }
  } else {
    valid = valid && rest.empty();
  }
  return valid ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "expected python3 or a version such as python3.11, got ", Quoted(python)));
}

absl::Status CheckEnvironmentSpec(const FieldPath& path, const Environment& environment) {
  const bool is_venv = environment.kind == EnvironmentKind::kVenv;
  if (!environment.HasFile()) {
    if (environment.kind != EnvironmentKind::kImage) {
      return FieldError(path.Field("reference"), "expected none but for an image");
    }
    CONCUR_RETURN_IF_ERROR(
        AtField(path.Field("reference"), CheckImageReference(environment.reference)));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("size_bytes"), environment.bytes, 0, kArtifactBytesMax));
  CONCUR_RETURN_IF_ERROR(
      CheckText(path.Field("path"), CleanUtf8(environment.path), kFilePathBytesMax));
  if (is_venv) {
    CONCUR_RETURN_IF_ERROR(AtField(path.Field("python"), CheckPythonName(environment.python)));
  } else if (!environment.python.empty()) {
    return FieldError(path.Field("python"), "expected none but for a venv");
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("setup"), environment.setup.size(), kSetupLinesMax));
  for (size_t i = 0; i < environment.setup.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        CheckText(path.Field("setup", i), environment.setup[i], kSetupLineBytesMax));
  }
  return absl::OkStatus();
}

Labels LabelsOfEnvironment(const Environment& environment) {
  Labels labels;
  switch (environment.kind) {
    case EnvironmentKind::kImage:
      if (IsImageAsItIs(environment)) {
        labels[kImageLabel] = environment.reference;
        break;
      }
      if (!environment.HasFile()) {
        labels[kRegistryLabel] = kEnvironmentLabelValue;
      }
      labels[kRootLabel] = kEnvironmentLabelValue;
      break;
    case EnvironmentKind::kRoot:
      labels[kRootLabel] = kEnvironmentLabelValue;
      break;
    case EnvironmentKind::kVenv:
      labels[LabelOf(environment.python)] = kEnvironmentLabelValue;
      break;
    case EnvironmentKind::kConda:
      labels[LabelOf("conda")] = kEnvironmentLabelValue;
      break;
  }
  return labels;
}

}  // namespace concur
