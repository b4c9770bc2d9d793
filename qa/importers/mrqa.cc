// The unified form of the MRQA 2019 shared task: JSON lines with a header, gold spans as
// `detected_answers` with inclusive `char_spans` in code points.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/json_fields.h"
#include "qa/json_items.h"
#include "qa/normalize.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

// A text whose HTML tokens are words of letters and digits, so that tokenizers keep them whole:
// <P> is BPB, </P> is EEPE, <Td_colspan="2"> is BTdcolspan2B (Liu et al., 2023).
class HtmlRewrite {
 public:
  explicit HtmlRewrite(absl::string_view text) {
    size_t copied = 0;
    for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
      const size_t end = TokenEnd(text, at);
      if (end == 0) {
        continue;
      }
      text_.append(text.data() + copied, at - copied);
      const size_t begin = text_.size();
      const bool closing = text[at + 1] == '/';
      text_.append(closing ? "EE" : "B");
      for (const char c : text.substr(at, end - at)) {
        if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
          text_.push_back(c);
        }
      }
      text_.append(closing ? "E" : "B");
      edits_.push_back({at, end, begin, text_.size()});
      copied = end;
    }
    text_.append(text.data() + copied, text.size() - copied);
  }

  const std::string& text() const { return text_; }
  // Bytes of the text as they were → bytes of the new text. A token that the span cuts is taken in
  // whole.
  Span Map(const Span& span) const {
    return {static_cast<int64_t>(MapOffset(static_cast<size_t>(span.begin), false)),
            static_cast<int64_t>(MapOffset(static_cast<size_t>(span.end), true))};
  }

 private:
  struct Edit {
    size_t old_begin = 0;
    size_t old_end = 0;
    size_t new_begin = 0;
    size_t new_end = 0;
  };

  // The end of the HTML token at `begin`; 0 when there is none.
  static size_t TokenEnd(absl::string_view text, size_t begin) {
    size_t at = begin + 1;
    at += at < text.size() && text[at] == '/' ? 1 : 0;
    if (at >= text.size() || !absl::ascii_isalpha(static_cast<unsigned char>(text[at]))) {
      return 0;
    }
    at = text.find_first_of(" \t\n\r<>", at);
    return at == text.npos || text[at] != '>' ? 0 : at + 1;
  }
  size_t MapOffset(size_t offset, bool end) const {
    const auto behind =
        std::upper_bound(edits_.begin(), edits_.end(), offset,
                         [](size_t value, const Edit& edit) { return value < edit.old_begin; });
    if (behind == edits_.begin()) {
      return offset;
    }
    const Edit& edit = *(behind - 1);
    if (offset >= edit.old_end) {
      return offset - edit.old_end + edit.new_end;
    }
    return end && offset > edit.old_begin ? edit.new_end : edit.new_begin;
  }

  std::string text_;
  std::vector<Edit> edits_;  // in text order
};

class MrqaImport {
 public:
  MrqaImport(bool rewrite_html, ImportSink& sink) : rewrite_html_(rewrite_html), sink_(sink) {}

  absl::Status TakeLine(const element& line, const std::string& place);

 private:
  struct Source {
    std::string context;
    CodePointMap map;
    std::optional<HtmlRewrite> rewrite;
  };

  absl::Status TakeQuestion(const element& value, const Source& source, Passage& passage);
  absl::Status TakeSpans(const array& detected, const Source& source, absl::string_view context,
                         Question& question);
  absl::StatusOr<std::optional<Span>> ToSpan(const element& pair, const Source& source) const;

  const bool rewrite_html_;
  ImportSink& sink_;
  JsonFields json_;
};

absl::Status MrqaImport::TakeLine(const element& line, const std::string& place) {
  json_.place = place;
  std::optional<element> header;
  std::optional<element> context;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(json_.Collect(
      line, "line", {{"header", &header}, {"context", &context}, {"qas", &questions}}));
  if (header.has_value() && !context.has_value()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(std::string text, json_.Text(context, "context"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
  CodePointMap map(text);
  Source source{std::move(text), std::move(map), std::nullopt};
  if (rewrite_html_) {
    source.rewrite.emplace(source.context);
  }
  Passage passage;
  passage.context = rewrite_html_ ? source.rewrite->text() : source.context;
  size_t index = 0;
  for (const element question : list) {
    json_.place = absl::StrCat(place, ": qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR(TakeQuestion(question, source, passage));
  }
  return sink_.Keep(std::move(passage), place);
}

absl::Status MrqaImport::TakeQuestion(const element& value, const Source& source,
                                      Passage& passage) {
  std::optional<element> qid;
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  std::optional<element> detected;
  CONCUR_RETURN_IF_ERROR(json_.Collect(value, "question",
                                       {{"qid", &qid},
                                        {"id", &id},
                                        {"question", &text},
                                        {"answers", &answers},
                                        {"detected_answers", &detected}}));
  Question question;
  CONCUR_ASSIGN_OR_RETURN(question.id, json_.Text(qid.has_value() ? qid : id, "qid"));
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
  for (const element answer : list) {
    CONCUR_ASSIGN_OR_RETURN(std::string one, json_.Text(answer, "answers"));
    if (rewrite_html_) {
      one = HtmlRewrite(one).text();
    }
    question.answers.push_back(std::move(one));
  }
  if (question.answers.empty()) {
    return sink_.Drop("no answer is given", json_.place);
  }
  CONCUR_ASSIGN_OR_RETURN(const array entries, json_.List(detected, "detected_answers"));
  CONCUR_RETURN_IF_ERROR(TakeSpans(entries, source, passage.context, question));
  if (question.spans.empty()) {
    return sink_.Drop("no span holds an answer", json_.place);
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

absl::Status MrqaImport::TakeSpans(const array& detected, const Source& source,
                                   absl::string_view context, Question& question) {
  for (const element entry : detected) {
    std::optional<element> char_spans;
    CONCUR_RETURN_IF_ERROR(json_.Collect(entry, "detected_answers", {{"char_spans", &char_spans}}));
    CONCUR_ASSIGN_OR_RETURN(const array pairs,
                            json_.List(char_spans, "detected_answers.char_spans"));
    for (const element pair : pairs) {
      CONCUR_ASSIGN_OR_RETURN(const std::optional<Span> span, ToSpan(pair, source));
      const absl::string_view held = span.has_value() ? TextOf(context, *span) : "";
      const auto holds = [&](const std::string& answer) {
        return answer == held || NormalizeAnswer(answer) == NormalizeAnswer(held);
      };
      if (!held.empty() && std::any_of(question.answers.begin(), question.answers.end(), holds)) {
        AddSpan(*span, question.spans);
      } else {
        sink_.Note("a span that holds none of the answers is left out", json_.place);
      }
    }
  }
  return absl::OkStatus();
}

// Nothing when the pair is outside the context.
absl::StatusOr<std::optional<Span>> MrqaImport::ToSpan(const element& pair,
                                                       const Source& source) const {
  std::array<int64_t, 2> ends{};
  array list;
  if (pair.get(list) != simdjson::SUCCESS || list.size() != ends.size() ||
      list.at(0).get(ends[0]) != simdjson::SUCCESS ||
      list.at(1).get(ends[1]) != simdjson::SUCCESS) {
    return json_.Wrong("detected_answers.char_spans", "[first, last]", pair);
  }
  if (ends[0] < 0 || ends[1] < ends[0] || ends[1] >= source.map.size()) {
    return std::optional<Span>();
  }
  const Span span{source.map.ByteOf(ends[0]), source.map.ByteOf(ends[1] + 1)};
  return std::optional<Span>(source.rewrite.has_value() ? source.rewrite->Map(span) : span);
}

absl::Status RunMrqa(const ImporterInput& input) {
  MrqaImport import(input.parameters.Text("html-tokens") == "words", input.sink);
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(
        ForEachJsonLine(file, [&](const element& line, const std::string& place) {
          return import.TakeLine(line, place);
        }));
  }
  return absl::OkStatus();
}

ImporterInfo MrqaForm(std::string name, std::string summary, bool html = false) {
  std::vector<std::string> choices = {"keep", "words"};
  if (html) {
    std::swap(choices[0], choices[1]);
  }
  ImporterInfo info;
  info.name = std::move(name);
  info.summary = std::move(summary);
  info.parameters = {ChoiceParameter("html-tokens", std::move(choices),
                                     "words: <P> becomes BPB, </P> EEPE; spans move along")};
  info.run = RunMrqa;
  return info;
}

}  // namespace

std::vector<ImporterInfo> MrqaImporters() {
  return {
      MrqaForm("mrqa", "any set in MRQA's form"),
      MrqaForm("naturalquestions", "MRQA NaturalQuestions", /*html=*/true),
      MrqaForm("newsqa", "MRQA NewsQA"),
      MrqaForm("hotpotqa", "MRQA HotpotQA"),
      MrqaForm("drop", "MRQA DROP; its own release: drop-raw"),
  };
}

}  // namespace concur::qa
