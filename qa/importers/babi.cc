// SPDX-License-Identifier: Apache-2.0
// bAbI v1.2 (Weston et al., 2016): numbered sentences of a story, and among them questions with
// the answer and the numbers of the sentences that support it. The passage is the story so far;
// the answer's span is its first occurrence in a supporting sentence; where only its plural stands
// there, the plural is the answer (Liu et al., 2023).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

// The story so far: sentences by their numbers, as spans of the passage.
struct Story {
  std::string text;
  std::map<int64_t, Span> sentences;
  int64_t last = 0;  // number of the last line
};

// Plurals of the nouns in the data: mice, wolves, sheep; others end in s.
std::string PluralOf(const std::string& noun) {
  if (noun == "mouse") {
    return "mice";
  }
  if (absl::EndsWith(noun, "sheep")) {
    return noun;
  }
  if (absl::EndsWith(noun, "f")) {
    return absl::StrCat(noun.substr(0, noun.size() - 1), "ves");
  }
  return noun + "s";
}

// The first occurrence of `words` in one of the sentences, in the order given.
std::optional<Span> FindInSentences(const Story& story, const std::vector<Span>& sentences,
                                    const std::string& words) {
  for (const Span& sentence : sentences) {
    const std::optional<Span> found =
        FindWords(TextOf(story.text, sentence), words, LetterCase::kIgnoreAscii);
    if (found.has_value()) {
      return Span{sentence.begin + found->begin, sentence.begin + found->end};
    }
  }
  return std::nullopt;
}

class BabiFile {
 public:
  // The last `test_questions` questions are the test set. With `drop_repeats` a question that its
  // set has already of the same passage is dropped.
  BabiFile(const std::string& path, int64_t questions, int64_t test_questions, bool drop_repeats,
           ImportSink& sink)
      : stem_(std::filesystem::path(path).stem().string()),
        first_test_(questions - test_questions),
        drop_repeats_(drop_repeats),
        sink_(sink) {}

  absl::Status TakeLine(const LineReader& lines);

 private:
  absl::Status TakeQuestion(absl::string_view text, const LineReader& lines);

  const std::string stem_;
  const int64_t first_test_;
  const bool drop_repeats_;
  ImportSink& sink_;
  Story story_;
  int64_t questions_ = 0;
  absl::flat_hash_set<Digest> seen_;  // questions with their passages and sets
};

absl::Status InvalidBabi(const LineReader& lines, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(lines.place(), ": ", message));
}

absl::Status BabiFile::TakeLine(const LineReader& lines) {
  const absl::string_view line = absl::StripAsciiWhitespace(lines.line());
  const size_t space = line.find(' ');
  int64_t number = 0;
  if (space == line.npos || !absl::SimpleAtoi(line.substr(0, space), &number) ||
      (number != 1 && number != story_.last + 1)) {
    return InvalidBabi(lines, absl::StrCat("expected a line that starts with its number, ",
                                           story_.last + 1, " or 1"));
  }
  if (number == 1) {
    story_ = Story();
  }
  story_.last = number;
  const absl::string_view rest = absl::StripAsciiWhitespace(line.substr(space + 1));
  if (rest.find('\t') != rest.npos) {
    return TakeQuestion(rest, lines);
  }
  story_.text.append(story_.text.empty() ? "" : " ");
  const auto begin = static_cast<int64_t>(story_.text.size());
  story_.text.append(rest.data(), rest.size());
  story_.sentences[number] = Span{begin, static_cast<int64_t>(story_.text.size())};
  return absl::OkStatus();
}

absl::Status BabiFile::TakeQuestion(absl::string_view text, const LineReader& lines) {
  const std::vector<absl::string_view> fields = absl::StrSplit(text, '\t');
  if (fields.size() != 3) {
    return InvalidBabi(lines,
                       absl::StrCat("expected QUESTION, ANSWER and SUPPORT between tabs, got ",
                                    fields.size(), " fields"));
  }
  std::vector<Span> support;
  for (const absl::string_view piece : absl::StrSplit(fields[2], ' ', absl::SkipEmpty())) {
    int64_t number = 0;
    const bool is_number = absl::SimpleAtoi(piece, &number);
    const auto sentence = story_.sentences.find(number);
    if (!is_number || sentence == story_.sentences.end()) {
      return InvalidBabi(lines, absl::StrCat("expected numbers of the story's sentences, got \"",
                                             piece.substr(0, 20), "\""));
    }
    support.push_back(sentence->second);
  }
  const Split split = questions_++ < first_test_ ? Split::kTrain : Split::kTest;
  Question question;
  question.id = absl::StrCat(stem_, ":", lines.number());
  question.text = std::string(absl::StripAsciiWhitespace(fields[0]));
  if (drop_repeats_ &&
      !seen_
           .insert(Sha256Of(absl::StrCat(SplitName(split), "\n", question.text, "\n", story_.text)))
           .second) {
    return sink_.Drop("the same passage had the question before", lines.place());
  }
  const std::string answer(absl::StripAsciiWhitespace(fields[1]));
  std::optional<Span> span = FindInSentences(story_, support, answer);
  if (!span.has_value() && !answer.empty()) {
    span = FindInSentences(story_, support, PluralOf(answer));
  }
  if (!span.has_value()) {
    return sink_.Drop("no supporting sentence holds the answer", lines.place());
  }
  question.answers = {std::string(TextOf(story_.text, *span))};
  question.spans = {*span};
  Passage passage;
  passage.title = stem_;
  passage.context = story_.text;
  passage.questions.push_back(std::move(question));
  return sink_.Keep(std::move(passage), lines.place(), split);
}

bool Splits(const Parameters& parameters) {
  return parameters.IsGiven("valid") || parameters.Rate("test-share") > 0;
}

// The last `test_share` of the file's questions are the test set.
absl::Status ReadBabi(const std::string& path, double test_share, const ImporterInput& input) {
  int64_t questions = 0;
  CONCUR_RETURN_IF_ERROR(ForEachTextLine(path, [&](const LineReader& lines) {
    questions += absl::StrContains(lines.line(), "\t") ? 1 : 0;
    return absl::OkStatus();
  }));
  BabiFile file(path, questions, std::llround(static_cast<double>(questions) * test_share),
                input.parameters.Text("repeats") == "drop", input.sink);
  return ForEachTextLine(path, [&](const LineReader& lines) { return file.TakeLine(lines); });
}

absl::Status RunBabi(const ImporterInput& input) {
  const std::string& valid = input.parameters.Text("valid");
  for (const std::string& path : input.files) {
    CONCUR_RETURN_IF_ERROR(
        ReadBabi(path, valid.empty() ? input.parameters.Rate("test-share") : 0, input));
  }
  return valid.empty() ? absl::OkStatus() : ReadBabi(valid, 1, input);
}

}  // namespace

ImporterInfo BabiImporter() {
  ImporterInfo info;
  info.name = "babi";
  info.summary = "bAbI tasks 1-5 and 11-16: DIR/train.jsonl and test.jsonl of each file";
  info.parameters = {
      RateParameter("test-share", "0.1",
                    "the last questions of each file that are the test set; 0: one file"),
      RecordedWhereGiven(FileParameter(
          "valid", "", "the test set, and each FILE whole the train set, as in en-valid/")),
      RecordedWhereGiven(ChoiceParameter("repeats", {"keep", "drop"},
                                         "questions that a set has already of the same passage"))};
  info.run = RunBabi;
  info.splits = Splits;
  return info;
}

}  // namespace concur::qa
