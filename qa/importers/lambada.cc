// SPDX-License-Identifier: Apache-2.0
// LAMBADA (Paperno et al., 2016): one passage per line, as tokenized plain text or as JSON
// {"text": …}; its last word is to be predicted. The passage without that word is the context, the
// last sentence with XXXXX in its place the question. Passages without the word are dropped.
#include <cstddef>
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
#include "qa/builders/text.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/json_items.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

constexpr char kSpace[] = " \t\r\n";

absl::Status TakeLambadaPassage(absl::string_view text, const std::string& id,
                                absl::string_view place, ImportSink& sink) {
  text = absl::StripAsciiWhitespace(text);
  const size_t last_space = text.find_last_of(kSpace);
  if (last_space == text.npos) {
    return sink.Drop("the passage is a single word", place);
  }
  const absl::string_view answer = text.substr(last_space + 1);
  Passage passage;
  passage.context = std::string(absl::StripTrailingAsciiWhitespace(text.substr(0, last_space)));
  std::optional<Span> span = FindWords(passage.context, answer);
  if (!span.has_value()) {
    span = FindWords(passage.context, answer, LetterCase::kIgnoreAscii);
  }
  if (!span.has_value()) {
    return sink.Drop("the passage does not hold the answer", place);
  }
  Question question;
  question.id = id;
  question.text = absl::StrCat(
      absl::StripAsciiWhitespace(passage.context.substr(LastSentenceBegin(passage.context))), " ",
      kMask);
  question.answers = {std::string(TextOf(passage.context, *span))};
  question.spans = {*span};
  passage.questions.push_back(std::move(question));
  return sink.Keep(std::move(passage), place);
}

absl::Status ReadPlain(const std::string& path, const std::string& stem, ImportSink& sink) {
  return ForEachTextLine(path, [&](const LineReader& lines) {
    return TakeLambadaPassage(lines.line(), absl::StrCat(stem, ":", lines.number()), lines.place(),
                              sink);
  });
}

absl::Status ReadJson(const std::string& path, const std::string& stem, ImportSink& sink) {
  return ForEachJsonLine(
      path, [&](const JsonFields::Element& line, const std::string& place) -> absl::Status {
        JsonFields json;
        json.place = place;
        std::optional<JsonFields::Element> text;
        CONCUR_RETURN_IF_ERROR(json.Collect(line, "line", {{"text", &text}}));
        CONCUR_ASSIGN_OR_RETURN(const std::string passage, json.Text(text, "text"));
        return TakeLambadaPassage(passage, absl::StrCat(stem, place.substr(place.rfind(':'))),
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
    CONCUR_RETURN_IF_ERROR(json ? ReadJson(path, stem, input.sink)
                                : ReadPlain(path, stem, input.sink));
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo LambadaImporter() {
  ImporterInfo info;
  info.name = "lambada";
  info.summary = "LAMBADA: lambada_*_plain_text.txt, or JSON lines {\"text\": …}";
  info.run = RunLambada;
  return info;
}

}  // namespace concur::qa
