// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/inspect.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/attributes.h"
#include "qa/dataset_io.h"
#include "qa/json_items.h"
#include "qa/json_text.h"
#include "qa/normalize.h"
#include "qa/raw_bytes.h"
#include "qa/raw_stream.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr char kWhiteSpace[] = " \t\r\n\f\v";
// Limit for a file that is parsed as one JSON document, which takes up to 15 times as much memory.
constexpr int64_t kDocumentBytesMax = kJsonItemBytesMax;

int64_t CountTokens(absl::string_view text) {
  int64_t count = 0;
  for (size_t at = text.find_first_not_of(kWhiteSpace); at != text.npos;
       at = text.find_first_not_of(kWhiteSpace, at)) {
    ++count;
    at = std::min(text.find_first_of(kWhiteSpace, at), text.size());
  }
  return count;
}

// Checks JSON values; missing fields and wrong types are reported as problems.
class Validator {
 public:
  explicit Validator(int64_t problems_max) : problems_max_(problems_max) {}

  absl::StatusOr<Validation> Validate(const std::string& path);

 private:
  struct Context {
    std::string text;
    CodePointMap map;
  };

  void Report(std::string what) {
    if (result_.problem_count++ < problems_max_) {
      result_.problems.push_back(Problem{place_, id_, std::move(what)});
    }
  }
  // The string at `key`; reports a problem if there is none.
  bool Text(const element& value, absl::string_view key, std::string& text) {
    std::string_view found;
    if (value.at_key(std::string_view(key.data(), key.size())).get(found) != simdjson::SUCCESS) {
      Report(absl::StrCat(key, ": expected a string"));
      return false;
    }
    text = std::string(found);
    return true;
  }
  bool List(const element& value, absl::string_view key, array& list) {
    if (value.at_key(std::string_view(key.data(), key.size())).get(list) != simdjson::SUCCESS) {
      Report(absl::StrCat(key, ": expected a list"));
      return false;
    }
    return true;
  }

  absl::StatusOr<bool> BeginsWithSeveralValues(const std::string& path);
  absl::Status CheckLinesOf(const std::string& path);
  void CheckLines(absl::string_view text);
  void CheckLine(absl::string_view line, int64_t number, bool padded, bool& first);
  void CheckPassageLine(const element& value, bool first);
  void ReportEnd(absl::string_view path, const absl::Status& status);
  absl::Status CheckArticlesOf(const std::string& path);
  void CheckSquad(const element& document);
  void CheckArticle(const element& article, const std::string& place);
  void CheckPassage(const element& value, bool squad);
  void CheckQuestion(const element& value, const Context& context, bool squad);
  void CheckId(const element& value, bool squad);
  void CheckAnswer(const std::string& answer);
  void CheckMrqaAnswers(const element& value, const Context& context);
  void CheckMrqaSpan(const element& pair, const Context& context,
                     const std::vector<std::string>& answers);
  void CheckSquadAnswers(const element& value, const Context& context);

  int64_t problems_max_;
  std::string place_;
  std::string id_;
  Validation result_;
  absl::flat_hash_map<std::string, std::string> place_of_id_;
  bool is_other_text_ = false;  // the first line is nothing that JSON could be
  simdjson::dom::parser parser_;
};

// JSON lines are read one at a time, and of a large file one line or article; any other as a whole.
absl::StatusOr<Validation> Validator::Validate(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const bool are_lines, BeginsWithSeveralValues(path));
  if (are_lines) {
    CONCUR_RETURN_IF_ERROR(CheckLinesOf(path));
    return std::move(result_);
  }
  const absl::StatusOr<std::string> bytes = ReadRawBytes(path, kDocumentBytesMax);
  if (absl::IsResourceExhausted(bytes.status())) {
    CONCUR_ASSIGN_OR_RETURN(const bool is_squad, FirstObjectHas(path, "data"));
    CONCUR_RETURN_IF_ERROR(is_squad ? CheckArticlesOf(path) : CheckLinesOf(path));
    return std::move(result_);
  }
  CONCUR_RETURN_IF_ERROR(bytes.status());
  absl::string_view text(bytes->data(), bytes->size() - kRawPadding);
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const size_t start = text.find_first_not_of(kWhiteSpace);
  if (start == text.npos) {
    place_ = "1";
    Report("the file is empty");
    return std::move(result_);
  }
  // A file is SQuAD's when all of it is one object with "data"; any other is read by lines.
  element document;
  const bool one_value =
      parser_.parse(text.data() + start, text.size() - start, false).get(document) ==
      simdjson::SUCCESS;
  const auto has = [&](std::string_view key) {
    return document.at_key(key).error() == simdjson::SUCCESS;
  };
  if (one_value && has("data")) {
    CheckSquad(document);
  } else if (one_value && !has("context") && !has("qas") && !has("header")) {
    place_ = "1";
    Report("expected SQuAD JSON or MRQA JSON lines, got another JSON document");
  } else {
    CheckLines(text);
  }
  return std::move(result_);
}

// True if the first line that is not blank is JSON by itself, and another such line follows.
absl::StatusOr<bool> Validator::BeginsWithSeveralValues(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  bool has_value = false;
  for (;;) {
    const absl::StatusOr<bool> more = lines.Next();
    if (absl::IsInvalidArgument(more.status())) {
      return has_value;  // too long, or not UTF-8: whoever reads on says so
    }
    CONCUR_RETURN_IF_ERROR(more.status());
    if (!*more) {
      return false;
    }
    if (lines.line().find_first_not_of(kWhiteSpace) == absl::string_view::npos) {
      continue;
    }
    if (has_value) {
      return true;
    }
    if (parser_.parse(lines.line().data(), lines.line().size(), /*realloc_if_needed=*/true)
            .error() != simdjson::SUCCESS) {
      return false;
    }
    has_value = true;
  }
}

absl::Status Validator::CheckLinesOf(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  bool first = true;
  for (;;) {
    const absl::StatusOr<bool> more = lines.Next();
    if (absl::IsInvalidArgument(more.status())) {
      ReportEnd(path, more.status());
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(more.status());
    if (!*more) {
      return absl::OkStatus();
    }
    CheckLine(lines.line(), lines.number(), /*padded=*/false, first);
    if (is_other_text_) {
      return absl::OkStatus();
    }
  }
}

// Reports what keeps the rest of the file from being read: "PATH:LINE: what".
void Validator::ReportEnd(absl::string_view path, const absl::Status& status) {
  absl::string_view what = status.message();
  id_.clear();
  place_ = "1";
  if (absl::ConsumePrefix(&what, absl::StrCat(path, ":"))) {
    const size_t line = what.find_first_not_of("0123456789");
    place_ = std::string(what.substr(0, line));
    what.remove_prefix(std::min(line, what.size()));
    absl::ConsumePrefix(&what, ": ");
  }
  Report(std::string(what));
}

// A SQuAD document, by articles.
absl::Status Validator::CheckArticlesOf(const std::string& path) {
  size_t index = 0;
  absl::Status status = ForEachListItem(
      path, "data", [&](const JsonFields::Element& article, const std::string& /*place*/) {
        CheckArticle(article, absl::StrCat("data[", index++, "]"));
        return absl::OkStatus();
      });
  if (!absl::IsInvalidArgument(status)) {
    return status;
  }
  ReportEnd(path, status);
  return absl::OkStatus();
}

void Validator::CheckLines(absl::string_view text) {
  bool first = true;
  for (int64_t number = 1; !text.empty() && !is_other_text_; ++number) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    CheckLine(line, number, /*padded=*/true, first);
  }
}

// `padded`: readable bytes follow the line, as simdjson needs them. `first` becomes false with the
// first line that is not blank.
void Validator::CheckLine(absl::string_view line, int64_t number, bool padded, bool& first) {
  if (line.find_first_not_of(kWhiteSpace) == line.npos) {
    return;
  }
  place_ = absl::StrCat(number);
  id_.clear();
  element value;
  if (parser_.parse(line.data(), line.size(), /*realloc_if_needed=*/!padded).get(value) !=
      simdjson::SUCCESS) {
    // Each line of a file in another form would be a problem.
    const char start = line[line.find_first_not_of(kWhiteSpace)];
    is_other_text_ = first && start != '{' && start != '[';
    Report(is_other_text_ ? absl::StrCat(Shown(line),
                                         ", which is no JSON: expected SQuAD JSON or MRQA JSON "
                                         "lines; concur data import writes them from the raw "
                                         "files of other data sets")
                          : absl::StrCat("not valid JSON: ", ExplainJsonError(line, number)));
  } else {
    CheckPassageLine(value, first);
  }
  first = false;
}

void Validator::CheckPassageLine(const element& value, bool first) {
  if (!value.is_object()) {
    Report("expected an object");
    return;
  }
  const bool header = value.at_key("header").error() == simdjson::SUCCESS &&
                      value.at_key("context").error() != simdjson::SUCCESS;
  if (!header) {
    CheckPassage(value, false);
  } else if (!first) {
    Report("header: expected on the first line only");
  }
}

void Validator::CheckSquad(const element& document) {
  place_ = "data";
  array articles;
  if (!List(document, "data", articles)) {
    return;
  }
  size_t index = 0;
  for (const element article : articles) {
    CheckArticle(article, absl::StrCat("data[", index++, "]"));
  }
}

void Validator::CheckArticle(const element& article, const std::string& place) {
  place_ = place;
  id_.clear();
  array paragraphs;
  if (!List(article, "paragraphs", paragraphs)) {
    return;
  }
  size_t index = 0;
  for (const element paragraph : paragraphs) {
    place_ = absl::StrCat(place, ".paragraphs[", index++, "]");
    CheckPassage(paragraph, true);
  }
}

void Validator::CheckPassage(const element& value, bool squad) {
  ++result_.passages;
  id_.clear();
  std::string text;
  array questions;
  const bool has_text = Text(value, "context", text);
  if (!List(value, "qas", questions) || !has_text) {
    return;
  }
  CodePointMap map(text);
  const Context context{std::move(text), std::move(map)};
  const std::string place = place_;
  size_t index = 0;
  for (const element question : questions) {
    place_ = absl::StrCat(place, squad ? ".qas[" : ": qas[", index++, "]");
    id_.clear();
    CheckQuestion(question, context, squad);
  }
}

void Validator::CheckQuestion(const element& value, const Context& context, bool squad) {
  ++result_.questions;
  if (!value.is_object()) {
    Report("expected an object");
    return;
  }
  CheckId(value, squad);
  std::string text;
  if (Text(value, "question", text) && text.find_first_not_of(kWhiteSpace) == text.npos) {
    Report("question: empty");
  }
  if (squad) {
    CheckSquadAnswers(value, context);
  } else {
    CheckMrqaAnswers(value, context);
  }
}

void Validator::CheckId(const element& value, bool squad) {
  const bool has_qid = value.at_key("qid").error() == simdjson::SUCCESS;
  const bool has_id = value.at_key("id").error() == simdjson::SUCCESS;
  const absl::string_view key = squad || (has_id && !has_qid) ? "id" : "qid";
  std::string id;
  if (!Text(value, key, id)) {
    return;
  }
  id_ = id;
  if (id.empty()) {
    Report(absl::StrCat(key, ": empty"));
    return;
  }
  const auto [it, inserted] = place_of_id_.emplace(std::move(id), place_);
  if (!inserted) {
    Report(absl::StrCat(key, ": repeats the id at ", it->second));
  }
}

void Validator::CheckAnswer(const std::string& answer) {
  if (answer.empty()) {
    Report("answers: empty answer");
  } else if (NormalizeAnswer(answer).empty()) {
    Report(absl::StrCat("answers: nothing is left of ", Shown(answer),
                        " when it is normalized for scoring"));
  }
}

void Validator::CheckMrqaAnswers(const element& value, const Context& context) {
  array list;
  std::vector<std::string> texts;
  if (List(value, "answers", list)) {
    for (const element answer : list) {
      std::string_view text;
      if (answer.get(text) != simdjson::SUCCESS) {
        Report("answers: expected strings");
        continue;
      }
      texts.emplace_back(text);
      CheckAnswer(texts.back());
    }
    if (list.size() == 0) {
      Report("answers: none");
    }
  }
  element detected;
  if (value.at_key("detected_answers").get(detected) != simdjson::SUCCESS || detected.is_null()) {
    return;
  }
  array entries;
  if (!List(value, "detected_answers", entries)) {
    return;
  }
  for (const element entry : entries) {
    array pairs;
    if (entry.at_key("char_spans").get(pairs) != simdjson::SUCCESS) {
      Report("detected_answers: expected objects with char_spans");
      continue;
    }
    for (const element pair : pairs) {
      CheckMrqaSpan(pair, context, texts);
    }
  }
}

void Validator::CheckMrqaSpan(const element& pair, const Context& context,
                              const std::vector<std::string>& answers) {
  array ends;
  int64_t first = 0;
  int64_t last = 0;
  if (pair.get(ends) != simdjson::SUCCESS || ends.size() != 2 ||
      ends.at(0).get(first) != simdjson::SUCCESS || ends.at(1).get(last) != simdjson::SUCCESS) {
    Report("char_spans: expected [first, last]");
    return;
  }
  if (first < 0 || last < first || last >= context.map.size()) {
    Report(absl::StrCat("char_spans: [", first, ", ", last, "] is outside the context's ",
                        context.map.size(), " characters"));
    return;
  }
  const auto begin = static_cast<size_t>(context.map.ByteOf(first));
  const auto end = static_cast<size_t>(context.map.ByteOf(last + 1));
  const absl::string_view held = absl::string_view(context.text).substr(begin, end - begin);
  // A text that normalization leaves empty equals only itself.
  const std::string normalized = NormalizeAnswer(held);
  const bool found = std::any_of(answers.begin(), answers.end(), [&](const std::string& answer) {
    return held == answer || (!normalized.empty() && NormalizeAnswer(answer) == normalized);
  });
  if (!found) {
    Report(absl::StrCat("char_spans: [", first, ", ", last, "] holds ", Shown(held),
                        ", none of the answers"));
  }
}

void Validator::CheckSquadAnswers(const element& value, const Context& context) {
  array list;
  if (!List(value, "answers", list)) {
    return;
  }
  if (list.size() == 0) {
    Report("answers: none");
  }
  for (const element answer : list) {
    std::string text;
    if (!Text(answer, "text", text)) {
      continue;
    }
    CheckAnswer(text);
    int64_t start = 0;
    if (answer.at_key("answer_start").get(start) != simdjson::SUCCESS) {
      Report("answer_start: expected a number");
      continue;
    }
    if (start < 0 || start > context.map.size()) {
      Report(absl::StrCat("answer_start: ", start, " is outside the context's ", context.map.size(),
                          " characters"));
      continue;
    }
    const auto begin = static_cast<size_t>(context.map.ByteOf(start));
    const auto end = static_cast<size_t>(
        context.map.ByteOf(std::min(context.map.size(), start + CountCodePoints(text))));
    if (context.text.compare(begin, text.size(), text) != 0) {
      Report(absl::StrCat("answer_start: ", start, " holds ",
                          Shown(absl::string_view(context.text).substr(begin, end - begin)),
                          ", not the answer ", Shown(text)));
    }
  }
}

}  // namespace

absl::StatusOr<DatasetStats> ComputeStats(const std::string& path) {
  DatasetStats stats;
  int64_t question_tokens = 0;
  int64_t context_tokens = 0;
  int64_t answer_tokens = 0;
  size_t overlap = 0;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) {
    ++stats.passages;
    const int64_t tokens = CountTokens(passage.context);
    for (const Question& question : passage.questions) {
      ++stats.questions;
      stats.answers += static_cast<int64_t>(question.answers.size());
      stats.questions_with_spans += question.spans.empty() ? 0 : 1;
      question_tokens += CountTokens(question.text);
      overlap += LongestOverlap(question.text, passage.context);
      context_tokens += tokens;
      answer_tokens += question.answers.empty() ? 0 : CountTokens(question.answers[0]);
    }
    return absl::OkStatus();
  }));
  if (stats.questions > 0) {
    const auto questions = static_cast<double>(stats.questions);
    stats.question_tokens_mean = static_cast<double>(question_tokens) / questions;
    stats.context_tokens_mean = static_cast<double>(context_tokens) / questions;
    stats.answer_tokens_mean = static_cast<double>(answer_tokens) / questions;
    stats.overlap_mean = static_cast<double>(overlap) / questions;
  }
  return stats;
}

absl::StatusOr<Validation> ValidateDataset(const std::string& path, int64_t problems_max) {
  return Validator(problems_max).Validate(path);
}

}  // namespace concur::qa
