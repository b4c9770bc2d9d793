// SPDX-License-Identifier: Apache-2.0
// CNN (Hermann et al., 2015): one question per file NAME.question, in blocks between blank lines:
// the address, the passage, the question with @placeholder, the answer (@entity7), the entities'
// names. Entities are not replaced by their names; the answer is its first occurrence in the
// passage.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/sampling.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr char kExtension[] = ".question";
constexpr size_t kBlocks = 4;  // without the entities

// The files in order of their names; of a directory all question files in it and below.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!std::filesystem::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    const size_t before = files.size();
    std::filesystem::recursive_directory_iterator entries(input, error);
    while (!error && entries != std::filesystem::recursive_directory_iterator()) {
      if (entries->path().extension() == kExtension) {
        files.push_back(entries->path().string());
      }
      entries.increment(error);
    }
    if (error) {
      return ErrnoStatus(error.value(), input, "list");
    }
    if (files.size() == before) {
      return absl::InvalidArgumentError(
          absl::StrCat(input, ": expected files *", kExtension, " in this directory, found none"));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::vector<std::string>> ReadBlocks(const std::string& path, std::string& place) {
  CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  std::vector<std::string> blocks;
  bool fresh = true;
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const bool more, lines.Next());
    place = lines.place();
    if (!more) {
      break;
    }
    const absl::string_view line = absl::StripAsciiWhitespace(lines.line());
    if (line.empty()) {
      fresh = true;
      continue;
    }
    if (std::exchange(fresh, false)) {
      blocks.emplace_back();
    }
    if (blocks.size() > kBlocks) {
      continue;  // the entities; read only to detect a damaged file
    }
    absl::StrAppend(&blocks.back(), blocks.back().empty() ? "" : " ", line);
  }
  if (blocks.size() < kBlocks) {
    return absl::InvalidArgumentError(
        absl::StrCat(place,
                     ": expected an address, a passage, a question and an answer between "
                     "blank lines, found ",
                     blocks.size(), " of them"));
  }
  return blocks;
}

absl::Status TakeFile(const std::string& path, ImportSink& sink) {
  std::string place;
  CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> blocks, ReadBlocks(path, place));
  if (!absl::StrContains(blocks[2], "@placeholder")) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected a question with @placeholder as the third block"));
  }
  if (!absl::StartsWith(blocks[3], "@entity")) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected an answer like @entity7 as the fourth block"));
  }
  Passage passage;
  passage.title = std::move(blocks[0]);
  passage.context = std::move(blocks[1]);
  const std::optional<Span> span = FindWords(passage.context, blocks[3]);
  if (!span.has_value()) {
    return sink.Drop("the answer is not in the passage", path);
  }
  Question question;
  question.id = std::filesystem::path(path).stem().string();
  question.text = std::move(blocks[2]);
  question.answers = {std::move(blocks[3])};
  question.spans = {*span};
  passage.questions.push_back(std::move(question));
  return sink.Keep(std::move(passage), path);
}

absl::Status RunCnn(const ImporterInput& input) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFiles(input.files));
  const auto questions_max = static_cast<size_t>(input.parameters.Count("questions-max"));
  std::vector<bool> drawn(files.size(), true);
  if (questions_max > 0 && questions_max < files.size()) {
    Random random(input.seed, "import/cnn");
    drawn = SampleMarks(files.size(), questions_max, random);
    input.sink.LeaveOut(static_cast<int64_t>(files.size() - questions_max));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (drawn[i]) {
      CONCUR_RETURN_IF_ERROR(TakeFile(files[i], input.sink));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo CnnImporter() {
  ImporterInfo info;
  info.name = "cnn";
  info.summary = "CNN: *.question files, or directories of them";
  info.parameters = {CountParameter("questions-max", 0, 0, 10'000'000,
                                    "draw so many of the files at random (100000); 0: all")};
  info.run = RunCnn;
  return info;
}

}  // namespace concur::qa
