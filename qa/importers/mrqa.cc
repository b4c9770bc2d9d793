// SPDX-License-Identifier: Apache-2.0
// The unified form of the MRQA 2019 shared task: JSON lines with a header, gold spans as
// `detected_answers` with inclusive `char_spans` in code points.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/normalize.h"
#include "qa/passage_reader.h"

namespace concur::qa {
namespace {

constexpr absl::string_view kContextTokens = "context-tokens";

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
  // Converts a span of the old text to one of the new text. If it cuts a token, it is extended to
  // the whole token.
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

void RewriteHtml(Passage& passage) {
  const HtmlRewrite rewrite(passage.context);
  passage.context = rewrite.text();
  for (Question& question : passage.questions) {
    for (std::string& answer : question.answers) {
      answer = HtmlRewrite(answer).text();
    }
    for (Span& span : question.spans) {
      span = rewrite.Map(span);
    }
  }
}

bool IsAnswer(absl::string_view text, const std::vector<std::string>& answers) {
  return !text.empty() &&
         std::any_of(answers.begin(), answers.end(), [&](const std::string& answer) {
           return answer == text || NormalizeAnswer(answer) == NormalizeAnswer(text);
         });
}

// Keeps the questions of which a span holds an answer; drops the others for the reason `no_span`.
absl::Status KeepMrqaPassage(Passage passage, const std::string& place, absl::string_view no_span,
                             ImportSink& sink) {
  for (size_t i = 0; i < passage.questions.size(); ++i) {
    Question& question = passage.questions[i];
    std::vector<Span> spans;
    for (const Span& span : question.spans) {
      if (IsAnswer(TextOf(passage.context, span), question.answers)) {
        AddSpan(span, spans);
      } else {
        sink.Note(kSpanWithoutAnswer, absl::StrCat(place, ": qas[", i, "]"));
      }
    }
    question.spans = std::move(spans);
  }
  return KeepWithSpans(std::move(passage), place, ": qas", no_span, sink);
}

absl::Status RunMrqa(const ImporterInput& input) {
  const bool rewrite_html = input.parameters.Text("html-tokens") == "words";
  const int64_t tokens_max = input.parameters.Count(kContextTokens);
  ReadPolicy policy = PassOnPolicy(input.sink);
  policy.context_tokens_max = static_cast<size_t>(tokens_max);
  const std::string no_span =
      tokens_max == 0 ? "no span holds an answer"
                      : absl::StrCat("no span in the first ", tokens_max, " tokens has an answer");
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(ReadMrqa(file, policy, [&](Passage passage, const std::string& place) {
      if (rewrite_html) {
        RewriteHtml(passage);
      }
      return KeepMrqaPassage(std::move(passage), place, no_span, input.sink);
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
                                     "words: <P> becomes BPB, </P> EEPE; spans move along"),
                     RecordedWhereGiven(CountParameter(
                         std::string(kContextTokens), 0, 0, 1'000'000,
                         "cut passages after so many of their context_tokens, as the shared task "
                         "did after 800; 0: keep them whole"))};
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
