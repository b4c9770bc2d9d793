// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/originals/comparison.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

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

}  // namespace concur::readers
