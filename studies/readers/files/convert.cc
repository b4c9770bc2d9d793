// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/convert.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "studies/readers/files/torch_file.h"

namespace concur::readers {
namespace {

using PickleKind = PickleValue::Kind;
using ModelFiles = std::map<std::string, std::string>;

// The plain values among a record's fields.
std::string ConfigOf(const PickleValue& arguments) {
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  for (const auto& [name, value] : arguments.pairs) {
    if (value->kind == PickleKind::kBool) {
      config[name->text] = value->flag;
    } else if (value->kind == PickleKind::kInteger) {
      config[name->text] = value->integer;
    } else if (value->kind == PickleKind::kReal) {
      config[name->text] = value->real;
    } else if (value->kind == PickleKind::kText) {
      config[name->text] = value->text;
    }
  }
  return config.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// The keys of a dictionary of numbers, a line each in the order of the numbers, which must be 0, 1,
// 2, …
absl::StatusOr<std::string> LinesByNumber(const PickleValue& dictionary, const std::string& what) {
  std::vector<std::string> lines(dictionary.pairs.size());
  std::vector<bool> seen(lines.size(), false);
  for (const auto& [entry, number] : dictionary.pairs) {
    const int64_t index = number->integer;
    if (entry->kind != PickleKind::kText || number->kind != PickleKind::kInteger || index < 0 ||
        index >= static_cast<int64_t>(lines.size()) || seen[static_cast<size_t>(index)] ||
        absl::StrContains(entry->text, '\n')) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": expected entries without line breaks, numbered from 0"));
    }
    lines[static_cast<size_t>(index)] = entry->text;
    seen[static_cast<size_t>(index)] = true;
  }
  std::string text;
  for (const std::string& line : lines) {
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

// A state alone, or DrQA's dictionary of state, arguments and vocabularies.
absl::StatusOr<ModelFiles> FilesOf(const TorchFile& file) {
  ModelFiles files;
  const PickleValue* state = file.root().Find("state_dict");
  CONCUR_ASSIGN_OR_RETURN(const NamedTensors named,
                          TensorsOf(file, state == nullptr ? file.root() : *state));
  files["weights.safetensors"] = WriteSafeTensors(named.tensors, {});
  if (state == nullptr) {
    return files;
  }
  if (const PickleValue* arguments = file.root().Find("args"); arguments != nullptr) {
    files["config.json"] = ConfigOf(*arguments);
  }
  for (const char* part : {"word", "char", "feature"}) {
    const PickleValue* dictionary = file.root().Find(absl::StrCat(part, "_dict"));
    const PickleValue* numbers = dictionary == nullptr ? nullptr : dictionary->Find("tok2ind");
    numbers = numbers == nullptr ? dictionary : numbers;
    if (numbers != nullptr && !numbers->pairs.empty()) {
      CONCUR_ASSIGN_OR_RETURN(files[absl::StrCat(part, "s.txt")],
                              LinesByNumber(*numbers, absl::StrCat(part, "_dict")));
    }
  }
  return files;
}

// AllenNLP's: config.json, weights.th and vocabulary/*.txt.
// NOLINTNEXTLINE(performance-unnecessary-value-param): its strings are moved out
absl::StatusOr<ModelFiles> FilesOfArchive(ModelFiles entries) {
  ModelFiles files;
  for (auto& [entry, contents] : entries) {
    const absl::string_view name = absl::StripPrefix(entry, "./");
    const absl::string_view vocabulary = absl::StripPrefix(name, "vocabulary/");
    if (name == "weights.th") {
      CONCUR_ASSIGN_OR_RETURN(const TorchFile file,
                              TorchFile::Parse(std::move(contents), "weights.th"));
      CONCUR_ASSIGN_OR_RETURN(const NamedTensors named, TensorsOf(file, file.root()));
      files["weights.safetensors"] = WriteSafeTensors(named.tensors, {});
    } else if (name == "config.json") {
      files["config.json"] = std::move(contents);
    } else if (vocabulary != name && absl::EndsWith(vocabulary, ".txt") &&
               !absl::StrContains(vocabulary, '/') && vocabulary.size() > 4) {
      files[std::string(vocabulary)] = std::move(contents);
    }
  }
  if (files.count("weights.safetensors") == 0) {
    return absl::InvalidArgumentError("the archive has no weights.th");
  }
  return files;
}

absl::StatusOr<ModelFiles> ReadModel(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kModelBytesMax));
  const bool gzip = absl::StartsWith(bytes, "\x1f\x8b");
  const bool tar = bytes.size() > 262 && bytes.compare(257, 5, "ustar") == 0;
  if (gzip || tar) {
    CONCUR_ASSIGN_OR_RETURN(ModelFiles entries, UnpackArchive(bytes, path, kModelBytesMax));
    return FilesOfArchive(std::move(entries));
  }
  CONCUR_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::Parse(std::move(bytes), path));
  return FilesOf(file);
}

}  // namespace

absl::Status ConvertModel(const std::string& path, const std::string& directory) {
  const absl::StatusOr<ModelFiles> files = ReadModel(path);
  if (!files.ok()) {
    const std::string message(files.status().message());
    return absl::Status(files.status().code(), absl::StartsWith(message, path)
                                                   ? message
                                                   : absl::StrCat(path, ": ", message));
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (const auto& [name, contents] : *files) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", name), contents));
  }
  return absl::OkStatus();
}

}  // namespace concur::readers
