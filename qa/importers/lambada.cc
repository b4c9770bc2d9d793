// SPDX-License-Identifier: Apache-2.0
// LAMBADA (Paperno et al., 2016): one passage per line, as tokenized plain text or as JSON
// {"text": …}; its last word is to be predicted. The sentences before the last are the context, the
// last without that word is the question (Liu et al., 2023: of the development set's plain text
// 4,039 contexts hold the word as a token, and the published scores are multiples of 1/4,039). With
// `--context with-final-sentence` the context goes on to the word, and XXXXX stands for it in the
// question. Passages without the word in their context are dropped.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/builders/parameters.h"
#include "qa/builders/text.h"
#include "qa/example.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/json_items.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr char kSpace[] = " \t\r\n";

// The form of the file, and of the passages made of it.
struct LambadaForm {
  bool tokens = false;               // plain text: words stand between white space
  bool with_final_sentence = false;  // the context goes on to the word that is asked for
};

// The first occurrence of `token` in `text` between white space.
std::optional<Span> FindToken(absl::string_view text, absl::string_view token) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    if (text.substr(begin, end - begin) == token) {
      return Span{static_cast<int64_t>(begin), static_cast<int64_t>(end)};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<Span> FindLastWord(const LambadaForm& form, absl::string_view context,
                                 absl::string_view word) {
  if (form.tokens && !form.with_final_sentence) {
    return FindToken(context, word);
  }
  const std::optional<Span> span = FindWords(context, word);
  return span.has_value() ? span : FindWords(context, word, LetterCase::kIgnoreAscii);
}

absl::Status TakeLambadaPassage(absl::string_view text, const LambadaForm& form,
                                const std::string& id, absl::string_view place, ImportSink& sink) {
  text = absl::StripAsciiWhitespace(text);
  const size_t last_space = text.find_last_of(kSpace);
  if (last_space == text.npos) {
    return sink.Drop("the passage is a single word", place);
  }
  const absl::string_view answer = text.substr(last_space + 1);
  const absl::string_view before = absl::StripTrailingAsciiWhitespace(text.substr(0, last_space));
  const size_t last_sentence = LastSentenceBegin(before);
  Passage passage;
  passage.context =
      std::string(form.with_final_sentence
                      ? before
                      : absl::StripTrailingAsciiWhitespace(before.substr(0, last_sentence)));
  const std::optional<Span> span = FindLastWord(form, passage.context, answer);
  if (!span.has_value()) {
    return sink.Drop("the passage does not hold the answer", place);
  }
  Question question;
  question.id = id;
  question.text = std::string(absl::StripAsciiWhitespace(before.substr(last_sentence)));
  if (form.with_final_sentence) {
    absl::StrAppend(&question.text, " ", kMask);
  }
  question.answers = {std::string(TextOf(passage.context, *span))};
  question.spans = {*span};
  passage.questions.push_back(std::move(question));
  return sink.Keep(std::move(passage), place);
}

absl::Status ReadPlain(const std::string& path, const LambadaForm& form, const std::string& stem,
                       ImportSink& sink) {
  return ForEachTextLine(path, [&](const LineReader& lines) {
    return TakeLambadaPassage(lines.line(), form, absl::StrCat(stem, ":", lines.number()),
                              lines.place(), sink);
  });
}

absl::Status ReadJson(const std::string& path, const LambadaForm& form, const std::string& stem,
                      ImportSink& sink) {
  return ForEachJsonLine(
      path, [&](const JsonFields::Element& line, const std::string& place) -> absl::Status {
        JsonFields json;
        json.place = place;
        std::optional<JsonFields::Element> text;
        CONCUR_RETURN_IF_ERROR(json.Collect(line, "line", {{"text", &text}}));
        CONCUR_ASSIGN_OR_RETURN(const std::string passage, json.Text(text, "text"));
        return TakeLambadaPassage(passage, form, absl::StrCat(stem, place.substr(place.rfind(':'))),
                                  place, sink);
      });
}

absl::StatusOr<bool> IsJson(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const bool more, lines.Next());
    const absl::string_view line =
        more ? absl::StripAsciiWhitespace(lines.line()) : absl::string_view();
    if (!more || !line.empty()) {
      return absl::StartsWith(line, "{");
    }
  }
}

absl::Status RunLambada(const ImporterInput& input) {
  for (const std::string& path : input.files) {
    const std::string stem = std::filesystem::path(path).stem().string();
    CONCUR_ASSIGN_OR_RETURN(const bool json, IsJson(path));
    const LambadaForm form = {!json, input.parameters.Text("context") == "with-final-sentence"};
    CONCUR_RETURN_IF_ERROR(json ? ReadJson(path, form, stem, input.sink)
                                : ReadPlain(path, form, stem, input.sink));
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo LambadaImporter() {
  ImporterInfo info;
  info.name = "lambada";
  info.summary = "LAMBADA: lambada_*_plain_text.txt, or JSON lines {\"text\": …}";
  info.parameters = {ChoiceParameter("context", {"before-final-sentence", "with-final-sentence"},
                                     "whether the passage goes on to the word that is asked for")};
  info.run = RunLambada;
  return info;
}

}  // namespace concur::qa
