// SPDX-License-Identifier: Apache-2.0
#include "readers/originals/data_check.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/json_text.h"
#include "readers/originals/originals_of.h"

namespace concur::readers {
namespace {

constexpr size_t kOriginalLineBytesMax = size_t{32} << 20;
constexpr size_t kShownDifferenceBytes = 300;

// The path of the file in one of the folders.
absl::StatusOr<std::string> VocabularyIn(const std::vector<std::string>& folders,
                                         const std::string& name) {
  for (const std::string& folder : folders) {
    std::error_code error;
    std::string path = absl::StrCat(folder, "/", name);
    if (!folder.empty() && std::filesystem::exists(path, error)) {
      return path;
    }
  }
  return absl::NotFoundError(
      absl::StrCat(name, ": no such vocabulary; say where it is with --vocabularies DIR"));
}

bool IsTokenizerFile(absl::string_view name) {
  absl::ConsumePrefix(&name, "fast-");
  return absl::EndsWith(name, ".jsonl") &&
         (absl::StartsWith(name, "bert-") || absl::StartsWith(name, "roberta") ||
          absl::StartsWith(name, "albert") || name == "sentencepiece-raw.jsonl");
}

bool IsWindowsFile(absl::string_view name) {
  return absl::EndsWith(name, ".jsonl") &&
         (absl::StartsWith(name, "legacy.") || absl::StartsWith(name, "runqa."));
}

}  // namespace

absl::StatusOr<CheckpointTokenizer> TokenizerCalled(absl::string_view name,
                                                    Implementation implementation,
                                                    const std::vector<std::string>& folders) {
  TokenizerFiles files;
  TokenizerOptions options;
  options.implementation = implementation;
  options.lower_case = !absl::StrContains(name, "-cased");
  options.keep_accents = absl::StrContains(name, "-keepaccents");
  if (absl::StartsWith(name, "bert-")) {
    CONCUR_ASSIGN_OR_RETURN(files.vocabulary,
                            VocabularyIn(folders, absl::StrCat(name, "-vocab.txt")));
  } else if (absl::StartsWith(name, "roberta")) {
    CONCUR_ASSIGN_OR_RETURN(files.byte_entries, VocabularyIn(folders, "roberta-vocab.json"));
    CONCUR_ASSIGN_OR_RETURN(files.merges, VocabularyIn(folders, "roberta-merges.txt"));
  } else if (absl::StartsWith(name, "albert")) {
    CONCUR_ASSIGN_OR_RETURN(files.model, VocabularyIn(folders, "albert-spiece.model"));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no tokenizer here: expected bert-…, roberta or albert"));
  }
  return CheckpointTokenizer::Read(files, options);
}

absl::Status ForEachLine(
    const std::string& path,
    const std::function<absl::Status(const OriginalJson& line, int64_t number)>& on_line) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (int64_t number = 1; std::getline(file, text); ++number) {
    const auto invalid = [&](absl::string_view message) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", message));
    };
    if (text.size() > kOriginalLineBytesMax) {
      return invalid(absl::StrCat("more than ", kOriginalLineBytesMax, " bytes"));
    }
    try {
      const absl::Status status = on_line(OriginalJson::parse(text), number);
      if (!status.ok()) {
        return invalid(status.message());
      }
    } catch (const OriginalJson::exception& error) {
      return invalid(error.what());
    }
  }
  return absl::OkStatus();
}

std::vector<uint32_t> CodePointsBefore(absl::string_view text) {
  std::vector<uint32_t> before(1, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size() || (text[i + 1] & '\xC0') != '\x80';
    before.push_back(before.back() + (ends ? 1 : 0));
  }
  return before;
}

void CompareValues(const std::string& place, const OriginalJson& computed,
                   const OriginalJson& expected, DataCheckResult& result) {
  ++result.compared;
  if (computed == expected) {
    return;
  }
  if (++result.different == 1) {
    const auto shown = [](const OriginalJson& value) {
      return value.dump(-1, ' ', false, OriginalJson::error_handler_t::replace)
          .substr(0, kShownDifferenceBytes);
    };
    result.first_difference =
        absl::StrCat(place, ": computed ", shown(computed), ", the original ", shown(expected));
  }
}

std::string FixtureName(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

absl::StatusOr<std::vector<DataCheckResult>> CheckData(const std::string& directory,
                                                       const std::string& vocabularies) {
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    names.insert(at->path().filename().string());
  }
  const std::vector<std::string> folders = {vocabularies, directory,
                                            absl::StrCat(directory, "/../tokenizers")};
  std::vector<DataCheckResult> results;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(directory, "/", name);
    std::vector<DataCheckResult> found;
    if (IsTokenizerFile(name)) {
      CONCUR_ASSIGN_OR_RETURN(found.emplace_back(), CheckTokenizerFile(path, folders));
    } else if (IsWindowsFile(name)) {
      CONCUR_ASSIGN_OR_RETURN(found, CheckWindowsFile(path, folders));
    }
    for (DataCheckResult& result : found) {
      result.name = absl::StrCat(FixtureName(directory), "/", result.name);
      results.push_back(std::move(result));
    }
  }
  return results;
}

absl::StatusOr<std::vector<DataCheckResult>> CheckDataFolders(
    const std::vector<std::string>& directories, const std::string& vocabularies) {
  std::vector<DataCheckResult> results;
  for (const std::string& directory : directories) {
    std::set<std::string> folders = {directory};
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      if (at->is_directory(error)) {
        folders.insert(at->path().string());
      }
    }
    for (const std::string& folder : folders) {
      CONCUR_ASSIGN_OR_RETURN(std::vector<DataCheckResult> found, CheckData(folder, vocabularies));
      results.insert(results.end(), std::make_move_iterator(found.begin()),
                     std::make_move_iterator(found.end()));
    }
  }
  return results;
}

}  // namespace concur::readers
