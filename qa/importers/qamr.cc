// SPDX-License-Identifier: Apache-2.0
// QAMR (Michael et al., 2018): questions on sentences, with answers as indices of the sentence's
// tokens. Sentences of a paragraph are joined to a passage; a question that is asked of more than
// one of its sentences is dropped, since the passage does not tell which is meant (Liu et al.,
// 2023).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/raw_stream.h"

namespace concur::qa {
namespace {

// Columns of the questions' file.
constexpr size_t kSentence = 0;
constexpr size_t kTargets = 1;
constexpr size_t kWorker = 2;
constexpr size_t kNumber = 3;
constexpr size_t kText = 5;
constexpr size_t kAnswer = 6;
constexpr size_t kColumnsMin = 7;  // followed by the validators' answers, WORKER:INDICES

struct TokenRange {
  int64_t first = 0;
  int64_t last = 0;
};

struct AskedQuestion {
  std::string id;
  std::string text;
  std::string place;
  int64_t sentence = 0;
  std::vector<TokenRange> answers;  // the writer's first; empty if it is not contiguous
};

struct Paragraph {
  std::map<int64_t, std::vector<std::string>> sentences;  // tokens by the sentence's number
  std::vector<AskedQuestion> questions;
};

absl::Status InvalidQamr(const LineReader& lines, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(lines.place(), ": ", message));
}

absl::Status ForEachRow(const std::string& path, size_t columns_min,
                        const std::function<absl::Status(const std::vector<absl::string_view>&,
                                                         const LineReader&)>& on_row) {
  return ForEachTextLine(path, [&](const LineReader& lines) {
    const std::vector<absl::string_view> fields = absl::StrSplit(lines.line(), '\t');
    return fields.size() >= columns_min
               ? on_row(fields, lines)
               : InvalidQamr(lines, absl::StrCat("expected at least ", columns_min,
                                                 " fields between tabs, got ", fields.size()));
  });
}

// The paragraph and the sentence's number of "Wiki1k:wikipedia:16016:90:8".
absl::StatusOr<std::pair<absl::string_view, int64_t>> SplitId(absl::string_view id,
                                                              const LineReader& lines) {
  const size_t colon = id.rfind(':');
  int64_t number = 0;
  if (colon == id.npos || colon == 0 || !absl::SimpleAtoi(id.substr(colon + 1), &number)) {
    return InvalidQamr(lines,
                       "expected a sentence id like Wiki1k:wikipedia:16016:90:8 in column 1");
  }
  return std::make_pair(id.substr(0, colon), number);
}

// Penn Treebank's names for brackets and quotes, which questions do not use.
absl::string_view Written(absl::string_view token) {
  static const auto* const characters = new absl::flat_hash_map<absl::string_view, const char*>{
      {"-LRB-", "("}, {"-RRB-", ")"}, {"-LSB-", "["}, {"-RSB-", "]"},
      {"-LCB-", "{"}, {"-RCB-", "}"}, {"``", "\""},   {"''", "\""}};
  const auto found = characters->find(token);
  return found == characters->end() ? token : found->second;
}

// False when the indices are not contiguous; an error when they are outside the sentence.
absl::StatusOr<bool> ReadIndices(absl::string_view text, size_t tokens, const LineReader& lines,
                                 TokenRange& range) {
  std::vector<int64_t> indices;
  for (const absl::string_view piece : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    int64_t index = 0;
    if (!absl::SimpleAtoi(piece, &index) || index < 0 || index >= static_cast<int64_t>(tokens)) {
      return InvalidQamr(lines, absl::StrCat("expected indices of the sentence's ", tokens,
                                             " tokens, got \"", piece.substr(0, 20), "\""));
    }
    indices.push_back(index);
  }
  if (indices.empty()) {
    return false;
  }
  std::sort(indices.begin(), indices.end());
  range = {indices.front(), indices.back()};
  return range.last - range.first + 1 == static_cast<int64_t>(indices.size());
}

class QamrImport {
 public:
  explicit QamrImport(ImportSink& sink) : sink_(sink) {}

  absl::Status TakeSentence(const std::vector<absl::string_view>& fields, const LineReader& lines);
  absl::Status TakeQuestion(const std::vector<absl::string_view>& fields, const LineReader& lines);
  absl::Status Finish();

 private:
  absl::Status WriteParagraph(const std::string& name, const Paragraph& paragraph);

  ImportSink& sink_;
  std::map<std::string, Paragraph, std::less<>> paragraphs_;
};

absl::Status QamrImport::TakeSentence(const std::vector<absl::string_view>& fields,
                                      const LineReader& lines) {
  CONCUR_ASSIGN_OR_RETURN(const auto id, SplitId(fields[0], lines));
  std::vector<std::string>& tokens = paragraphs_[std::string(id.first)].sentences[id.second];
  if (!tokens.empty()) {
    return InvalidQamr(lines, absl::StrCat("the sentence ", fields[0], " came before"));
  }
  for (const absl::string_view token : absl::StrSplit(fields[1], ' ', absl::SkipEmpty())) {
    tokens.emplace_back(Written(token));
  }
  return absl::OkStatus();
}

absl::Status QamrImport::TakeQuestion(const std::vector<absl::string_view>& fields,
                                      const LineReader& lines) {
  CONCUR_ASSIGN_OR_RETURN(const auto id, SplitId(fields[kSentence], lines));
  const auto paragraph = paragraphs_.find(std::string(id.first));
  if (paragraph == paragraphs_.end() || !paragraph->second.sentences.contains(id.second)) {
    return InvalidQamr(lines, absl::StrCat("the sentence ", fields[kSentence].substr(0, 80),
                                           " is not in the file of --sentences"));
  }
  const size_t tokens = paragraph->second.sentences[id.second].size();
  AskedQuestion question;
  question.id =
      absl::StrCat(fields[kSentence], "/", absl::StrReplaceAll(fields[kTargets], {{" ", "-"}}), "/",
                   fields[kWorker], "/", fields[kNumber]);
  question.text = std::string(absl::StripAsciiWhitespace(fields[kText]));
  question.place = lines.place();
  question.sentence = id.second;
  for (size_t column = kAnswer; column < fields.size(); ++column) {
    absl::string_view indices = fields[column];
    if (column > kAnswer) {
      const size_t colon = indices.find(':');
      if (colon == indices.npos) {
        return InvalidQamr(lines, absl::StrCat("column ", column + 1, ": expected WORKER:INDICES"));
      }
      indices.remove_prefix(colon + 1);
      if (!absl::StrContains("0123456789", indices.substr(0, 1))) {
        continue;  // the validator judged the question instead of answering it
      }
    }
    TokenRange range;
    CONCUR_ASSIGN_OR_RETURN(const bool run, ReadIndices(indices, tokens, lines, range));
    if (run) {
      question.answers.push_back(range);
    } else if (column == kAnswer) {
      break;
    }
  }
  paragraph->second.questions.push_back(std::move(question));
  return absl::OkStatus();
}

absl::Status QamrImport::Finish() {
  for (const auto& [name, paragraph] : paragraphs_) {
    if (!paragraph.questions.empty()) {
      CONCUR_RETURN_IF_ERROR(WriteParagraph(name, paragraph));
    }
  }
  return absl::OkStatus();
}

absl::Status QamrImport::WriteParagraph(const std::string& name, const Paragraph& paragraph) {
  Passage passage;
  passage.title = name;
  std::map<int64_t, std::vector<Span>> tokens;
  for (const auto& [number, words] : paragraph.sentences) {
    for (const std::string& word : words) {
      passage.context.append(passage.context.empty() ? "" : " ");
      const auto begin = static_cast<int64_t>(passage.context.size());
      passage.context.append(word);
      tokens[number].push_back({begin, static_cast<int64_t>(passage.context.size())});
    }
  }
  // The sentence that a question is asked of; -1 when there are several.
  absl::flat_hash_map<std::string, int64_t> asked_of;
  for (const AskedQuestion& question : paragraph.questions) {
    const auto [it, fresh] =
        asked_of.emplace(absl::AsciiStrToLower(question.text), question.sentence);
    if (!fresh && it->second != question.sentence) {
      it->second = -1;
    }
  }
  for (const AskedQuestion& asked : paragraph.questions) {
    if (asked_of[absl::AsciiStrToLower(asked.text)] < 0) {
      CONCUR_RETURN_IF_ERROR(
          sink_.Drop("asked of more than one sentence of the passage", asked.place));
      continue;
    }
    if (asked.answers.empty()) {
      CONCUR_RETURN_IF_ERROR(sink_.Drop("the answer is in pieces", asked.place));
      continue;
    }
    Question question;
    question.id = asked.id;
    question.text = asked.text;
    for (const TokenRange& range : asked.answers) {
      const std::vector<Span>& places = tokens[asked.sentence];
      const Span span{places[static_cast<size_t>(range.first)].begin,
                      places[static_cast<size_t>(range.last)].end};
      AddSpan(span, question.spans);
      AddAnswer(TextOf(passage.context, span), question.answers);
    }
    passage.questions.push_back(std::move(question));
  }
  const std::string place = absl::StrCat("passage ", name);
  return sink_.Keep(std::move(passage), place);
}

absl::Status RunQamr(const ImporterInput& input) {
  const std::string& sentences = input.parameters.Text("sentences");
  if (sentences.empty()) {
    return absl::InvalidArgumentError(
        "qamr: --sentences: expected the file of sentences, wiki-sentences.tsv");
  }
  QamrImport import(input.sink);
  CONCUR_RETURN_IF_ERROR(ForEachRow(sentences, 2, [&](const auto& fields, const auto& lines) {
    return import.TakeSentence(fields, lines);
  }));
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(ForEachRow(
        file, kColumnsMin,
        [&](const auto& fields, const auto& lines) { return import.TakeQuestion(fields, lines); }));
  }
  return import.Finish();
}

}  // namespace

ImporterInfo QamrImporter() {
  ImporterInfo info;
  info.name = "qamr";
  info.summary = "QAMR's filtered questions (train.tsv, dev.tsv, test.tsv) and sentences";
  info.parameters = {FileParameter("sentences", "", "the sentences' file, wiki-sentences.tsv")};
  info.run = RunQamr;
  return info;
}

}  // namespace concur::qa
