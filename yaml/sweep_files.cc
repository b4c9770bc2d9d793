// SPDX-License-Identifier: Apache-2.0
// The files that a sweep names: data, code and environments, looked for and digested.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "yaml/code_files.h"
#include "yaml/environment_yaml.h"
#include "yaml/sweep_reader.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

std::string MissingFileMessage(const DataFileUse& use, absl::string_view reason) {
  return absl::StrCat(
      use.place, "expected a readable data file, got ", reason,
      use.variable.empty()
          ? std::string("; make it, or name another")
          : absl::StrCat("; make it, or say where it is with --var ", use.variable, "=PATH"));
}

// A command's first word that is a script beside the approach's file is part of its code without
// being listed: of the code that the command has, else of one of its own.
void AddRelativeScripts(LoadedSweep* sweep) {
  for (uint32_t i = 0; i < sweep->approach_folders.size(); ++i) {
    const ApproachSpec& approach = sweep->spec.approaches[i];
    std::vector commands = {std::pair(&approach.train_command, true),
                            std::pair(&approach.predict_command, false)};
    if (approach.service) {
      commands.emplace_back(&approach.service->command, false);
    }
    for (const auto& [argv, is_train] : commands) {
      const std::vector<std::string>& command = *argv;
      if (command.empty() || !absl::StrContains(command[0], '/') || command[0][0] == '/' ||
          absl::StrContains(command[0], '{')) {
        continue;
      }
      const std::string& root = sweep->approach_folders[i];
      const std::filesystem::path relative = std::filesystem::path(command[0]).lexically_normal();
      const std::string path = (std::filesystem::path(root) / relative).generic_string();
      std::error_code error;
      if (*relative.begin() == ".." || !std::filesystem::is_regular_file(path, error) ||
          !IsScript(path)) {
        continue;
      }
      const bool of_predict = !is_train && (approach.predict_code.has_value() ||
                                            (!approach.code && !approach.train_command.empty()));
      auto code = std::find_if(sweep->codes.begin(), sweep->codes.end(),
                               [&](const LoadedSweep::CodeOf& other) {
                                 return other.approach == i && other.of_predict == of_predict;
                               });
      if (code == sweep->codes.end()) {
        code = sweep->codes.insert(code, {i, CodeUse{root, {}}, {}, of_predict});
      }
      const std::string place = PlaceOf(*sweep, absl::StrCat("approaches[", i, "]"));
      code->use.entries.push_back({path, command[0], place});
    }
  }
}

}  // namespace

absl::Status ResolveDataFiles(LoadedSweep* sweep) {
  ErrorList errors;
  std::map<std::string, FileDigest> digests;
  for (const LoadedSweep::FileUse& file : sweep->files) {
    auto found = digests.find(file.use.path);
    if (found == digests.end()) {
      const absl::StatusOr<FileDigest> digest = DigestFile(file.use.path);
      if (!digest.ok()) {
        errors.Add("", {}, "", MissingFileMessage(file.use, digest.status().message()));
        continue;
      }
      found = digests.emplace(file.use.path, *digest).first;
    }
    if (file.use.digest && *file.use.digest != found->second.digest) {
      errors.Add(
          "", {}, "",
          absl::StrCat(file.use.place, "expected a file of SHA-256 ", file.use.digest->ToHex(),
                       ", got \"", file.use.path, "\" of ", found->second.digest.ToHex()));
    }
  }
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  for (const LoadedSweep::FileUse& file : sweep->files) {
    BenchmarkSpec& benchmark = sweep->spec.benchmarks[file.benchmark];
    DataFile& data = *(file.is_train ? benchmark.train : benchmark.test);
    const FileDigest& digest = digests.at(file.use.path);
    data.digest = digest.digest;
    data.bytes = digest.bytes;
  }
  return absl::OkStatus();
}

absl::Status ResolveCode(LoadedSweep* sweep) {
  AddRelativeScripts(sweep);
  ErrorList errors;
  // Approaches of one folder often name the same files.
  std::map<std::vector<std::string>, std::pair<std::vector<std::string>, Code>> packed;
  std::vector<const std::pair<std::vector<std::string>, Code>*> found;
  for (const LoadedSweep::CodeOf& code : sweep->codes) {
    std::vector<std::string> key = {code.use.root};
    for (const CodeUse::Entry& entry : code.use.entries) {
      key.push_back(entry.path);
    }
    auto it = packed.find(key);
    if (it == packed.end()) {
      std::vector<std::string> files = FindCodeFiles(code.use, errors);
      absl::StatusOr<Code> result = PackCode(code.use.root, files, nullptr);
      if (!result.ok()) {
        errors.Add("", {}, "",
                   absl::StrCat(
                       PlaceOf(*sweep, absl::StrCat("approaches[", code.approach,
                                                    code.of_predict ? "].predict.code" : "].code")),
                       result.status().message()));
        continue;
      }
      std::error_code error;
      result->root = std::filesystem::absolute(code.use.root, error).lexically_normal().string();
      it = packed.emplace(std::move(key), std::pair(std::move(files), *std::move(result))).first;
    }
    found.push_back(&it->second);
  }
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  for (size_t i = 0; i < found.size(); ++i) {
    sweep->codes[i].files = found[i]->first;
    ApproachSpec& approach = sweep->spec.approaches[sweep->codes[i].approach];
    (sweep->codes[i].of_predict ? approach.predict_code : approach.code) = found[i]->second;
  }
  return absl::OkStatus();
}

absl::Status ResolveEnvironments(LoadedSweep* sweep) {
  ErrorList errors;
  std::map<std::string, Environment> resolved;  // by kind and path: approaches share files
  for (size_t i = 0; i < sweep->spec.approaches.size(); ++i) {
    std::optional<Environment>& environment = sweep->spec.approaches[i].environment;
    if (!environment) {
      continue;
    }
    const std::string name =
        absl::StrCat(EnvironmentKindName(environment->kind), " ", environment->path);
    if (const auto it = resolved.find(name); it != resolved.end()) {
      environment->digest = it->second.digest;
      environment->bytes = it->second.bytes;
      continue;
    }
    ResolveEnvironmentFile(PlaceOf(*sweep, absl::StrCat("approaches[", i, "].environment")),
                           &*environment, &errors, &sweep->warnings);
    resolved.emplace(name, *environment);
  }
  return errors.empty() ? absl::OkStatus() : errors.ToStatus();
}

absl::StatusOr<std::vector<std::string>> MissingDataFiles(const LoadedSweep& sweep) {
  std::vector<std::string> missing;
  ErrorList errors;
  for (const LoadedSweep::FileUse& file : sweep.files) {
    const absl::Status opened = OpenRegularFile(file.use.path).status();
    if (absl::IsNotFound(opened)) {
      missing.push_back(MissingFileMessage(file.use, opened.message()));
    } else if (!opened.ok()) {
      errors.Add("", {}, "", MissingFileMessage(file.use, opened.message()));
    }
  }
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return missing;
}

}  // namespace concur::spec
