// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/originals/data_check.h"

#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "tests/studies/readers/check/originals/tokenizer_check.h"
#include "tests/studies/readers/check/originals/windows_check.h"

namespace concur::readers {
namespace {

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

absl::StatusOr<std::vector<DataCheckResult>> CheckDataIn(const std::string& directory,
                                                         const std::string& vocabularies) {
  std::set<std::string> folders = {directory};
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error)) {
      folders.insert(at->path().string());
    }
  }
  std::vector<DataCheckResult> results;
  for (const std::string& folder : folders) {
    CONCUR_ASSIGN_OR_RETURN(std::vector<DataCheckResult> found, CheckData(folder, vocabularies));
    results.insert(results.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  return results;
}

}  // namespace concur::readers
