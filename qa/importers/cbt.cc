// SPDX-License-Identifier: Apache-2.0
// The Children's Book Test (Hill et al., 2016), named entities and common nouns: twenty numbered
// sentences and a twenty-first with XXXXX, the answer and the choices behind tabs. The choices are
// discarded; the answer is its first occurrence in the twenty sentences.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr int64_t kSentences = 20;

class CbtFile {
 public:
  CbtFile(const std::string& path, ImportSink& sink)
      : path_(path), stem_(std::filesystem::path(path).stem().string()), sink_(sink) {}

  absl::Status Read() {
    CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path_));
    while (true) {
      CONCUR_ASSIGN_OR_RETURN(const bool more, lines.Next());
      if (!more) {
        break;
      }
      const absl::string_view line = absl::StripAsciiWhitespace(lines.line());
      if (line.empty() || absl::StartsWith(line, "_BOOK_TITLE_")) {
        continue;
      }
      CONCUR_RETURN_IF_ERROR(TakeLine(line, lines));
    }
    if (number_ != 0) {
      return absl::DataLossError(absl::StrCat(
          lines.place(), ": the file ends early: expected line ", number_ + 1, " of an example"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status TakeLine(absl::string_view line, const LineReader& lines) {
    const size_t space = line.find(' ');
    int64_t number = 0;
    if (space == line.npos || !absl::SimpleAtoi(line.substr(0, space), &number) ||
        number != number_ + 1) {
      return absl::InvalidArgumentError(absl::StrCat(lines.place(), ": expected sentence ",
                                                     number_ + 1,
                                                     " of an example, with its number in front"));
    }
    const absl::string_view rest = absl::StripAsciiWhitespace(line.substr(space + 1));
    if (number <= kSentences) {
      number_ = number;
      absl::StrAppend(&context_, context_.empty() ? "" : " ", rest);
      return absl::OkStatus();
    }
    number_ = 0;
    return TakeQuestion(rest, std::exchange(context_, ""), lines);
  }

  absl::Status TakeQuestion(absl::string_view rest, std::string context, const LineReader& lines) {
    const std::vector<absl::string_view> fields = absl::StrSplit(rest, '\t');
    if (fields.size() < 2 || !absl::StrContains(fields[0], kMask)) {
      return absl::InvalidArgumentError(absl::StrCat(lines.place(), ": expected a question with ",
                                                     kMask, " and its answer behind a tab"));
    }
    const absl::string_view answer = absl::StripAsciiWhitespace(fields[1]);
    std::optional<Span> span = FindWords(context, answer);
    if (!span.has_value()) {
      span = FindWords(context, answer, LetterCase::kIgnoreAscii);
    }
    if (!span.has_value()) {
      return sink_.Drop("the answer is not in the passage", lines.place());
    }
    Question question;
    question.id = absl::StrCat(stem_, ":", lines.number());
    question.text = std::string(absl::StripAsciiWhitespace(fields[0]));
    question.answers = {std::string(TextOf(context, *span))};
    question.spans = {*span};
    Passage passage;
    passage.context = std::move(context);
    passage.questions.push_back(std::move(question));
    return sink_.Keep(std::move(passage), lines.place());
  }

  const std::string& path_;
  const std::string stem_;
  ImportSink& sink_;
  std::string context_;
  int64_t number_ = 0;  // the last sentence's
};

absl::Status RunCbt(const ImporterInput& input) {
  for (const std::string& path : input.files) {
    CONCUR_RETURN_IF_ERROR(CbtFile(path, input.sink).Read());
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo CbtImporter() {
  ImporterInfo info;
  info.name = "cbt";
  info.summary = "Children's Book Test: cbtest_CN_*.txt, cbtest_NE_*.txt";
  info.run = RunCbt;
  return info;
}

}  // namespace concur::qa
