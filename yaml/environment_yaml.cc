// SPDX-License-Identifier: Apache-2.0
#include "yaml/environment_yaml.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/archive/root_tar.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/suggest.h"
#include "core/fields.h"
#include "core/sweep/sweep.h"

namespace concur::spec {
namespace {

constexpr std::array<EnvironmentKind, 4> kEnvironmentKinds = {
    EnvironmentKind::kImage, EnvironmentKind::kRoot, EnvironmentKind::kVenv,
    EnvironmentKind::kConda};
constexpr size_t kRecipeBytesMax = size_t{1} << 20;  // for a requirements or environment file
constexpr size_t kUnpinnedShownMax = 3;

// True if pip would read another file beside the requirements file: an artifact is one file.
bool NamesAnotherFile(absl::string_view line) {
  for (const absl::string_view option :
       {"-r", "--requirement", "-c", "--constraint", "-e", "--editable", ".", "file:."}) {
    if (absl::StartsWith(line, option)) {
      return true;
    }
  }
  return false;
}

// Checks the lines of pip's requirements file, as far as keys and workers are concerned.
void CheckRequirements(const std::string& place, const std::string& path,
                       const std::string& contents, ErrorList* errors,
                       std::vector<std::string>* warnings) {
  std::vector<std::string> unpinned;
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(contents, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(whole.substr(0, whole.find(" #")));
    if (line.empty() || line[0] == '#') {
      continue;
    }
    if (NamesAnotherFile(line)) {
      errors->Add("", {}, "",
                  absl::StrCat(place, path, ":", number, ": expected a package or an option that ",
                               "needs no other file, since workers get this file alone, got ",
                               Quoted(line)));
    } else if (line[0] != '-' && !absl::StrContains(line, "==") && !absl::StrContains(line, "@")) {
      unpinned.push_back(std::string(line.substr(0, line.find_first_of(" ;<>~!["))));
    }
  }
  if (!unpinned.empty()) {
    warnings->push_back(absl::StrCat(
        place, path, ": no version is pinned of ", FirstNames(unpinned, ", ", kUnpinnedShownMax),
        ": another one may be installed tomorrow, and finished results are still reused; write "
        "NAME==VERSION (pip freeze)"));
  }
}

}  // namespace

std::optional<Environment> ReadEnvironmentSpec(const Value& value) {
  Fields fields(value);
  if (!fields.valid()) {
    return std::nullopt;
  }
  const size_t errors_before = value.errors().count();
  Environment environment;
  std::vector<std::string> found;
  for (const EnvironmentKind kind : kEnvironmentKinds) {
    const std::string name(EnvironmentKindName(kind));
    const std::optional<Value> source = fields.Get(name);
    if (!source) {
      continue;
    }
    found.push_back(name);
    environment.kind = kind;
    const bool is_reference = kind == EnvironmentKind::kImage && source->IsScalar() &&
                              absl::StrContains(source->node().text, "@");
    if (!is_reference) {
      environment.path = source->Path().value_or("");
    } else if (const std::optional<std::string> text = source->Text("an image")) {
      if (const absl::Status valid = CheckImageReference(*text); !valid.ok()) {
        source->Error(valid.message());
      }
      environment.reference = *text;
    }
  }
  if (found.size() != 1) {
    value.Error(absl::StrCat("expected exactly one of the fields image, root, venv and conda, got ",
                             found.empty() ? std::string("none") : absl::StrJoin(found, " and ")));
  }
  const bool is_venv = environment.kind == EnvironmentKind::kVenv && found.size() == 1;
  environment.python = is_venv ? "python3" : "";
  if (const auto python = fields.Get("python")) {
    const std::optional<std::string> text = python->Text("python3.N");
    const absl::Status valid = text ? CheckPythonName(*text) : absl::OkStatus();
    if (!valid.ok()) {
      python->Error(valid.message());
    } else if (!is_venv) {
      python->Error("expected this field beside venv only");
    }
    environment.python = text.value_or("");
  }
  if (const auto setup = fields.Get("setup")) {
    const auto lines = setup->List("a list of shell lines");
    for (const Value& line : lines.value_or(std::vector<Value>())) {
      environment.setup.push_back(line.Text("a shell line").value_or(""));
    }
    if (environment.setup.size() > kSetupLinesMax) {
      setup->Error(absl::StrCat("expected at most ", kSetupLinesMax, " lines, got ",
                                environment.setup.size(), "; put them into the root or image"));
    }
  }
  fields.Finish();
  if (value.errors().count() != errors_before) {
    return std::nullopt;
  }
  return environment;
}

void ResolveEnvironmentFile(const std::string& place, Environment* environment, ErrorList* errors,
                            std::vector<std::string>* warnings) {
  if (!environment->HasFile()) {
    return;
  }
  const auto refuse = [&](absl::string_view what, absl::string_view got) {
    errors->Add("", {}, "", absl::StrCat(place, "expected ", what, ", got ", got));
  };
  const absl::StatusOr<FileDigest> digest = DigestFile(environment->path);
  if (!digest.ok()) {
    refuse(environment->kind == EnvironmentKind::kImage
               ? "a readable OCI archive, or REGISTRY/NAME@sha256:…"
               : "a readable file",
           digest.status().message());
    return;
  }
  environment->digest = digest->digest;
  environment->bytes = digest->bytes;
  if (environment->kind == EnvironmentKind::kRoot) {
    if (const absl::Status status = CheckRootTar(environment->path); !status.ok()) {
      refuse("a root file system as a tar, plain or packed by gzip, xz or zstd", status.message());
    }
    return;
  }
  if (environment->kind == EnvironmentKind::kImage) {
    if (const absl::Status status = CheckOciArchive(environment->path); !status.ok()) {
      refuse(
          "an OCI archive (podman save --format oci-archive, skopeo copy docker://… "
          "oci-archive:FILE) or REGISTRY/NAME@sha256:…",
          status.message());
    }
    return;
  }
  const absl::StatusOr<std::string> contents = ReadFile(environment->path, kRecipeBytesMax);
  if (!contents.ok()) {
    refuse(environment->kind == EnvironmentKind::kVenv ? "a requirements file" : "a conda file",
           contents.status().message());
  } else if (environment->kind == EnvironmentKind::kVenv) {
    CheckRequirements(place, environment->path, *contents, errors, warnings);
  }
}

}  // namespace concur::spec
