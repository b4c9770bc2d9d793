// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/originals/tokenizer_check.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "studies/readers/text/bert_words.h"

namespace concur::readers {
namespace {

OriginalJson IdsOf(const std::vector<Piece>& pieces) {
  OriginalJson ids = OriginalJson::array();
  for (const Piece& piece : pieces) {
    ids.push_back(piece.id);
  }
  return ids;
}

OriginalJson OffsetsOf(const std::vector<Piece>& pieces, absl::string_view text) {
  const std::vector<uint32_t> place = CodePointsBefore(text);
  OriginalJson offsets = OriginalJson::array();
  for (const Piece& piece : pieces) {
    offsets.push_back({place[piece.begin], place[piece.end]});
  }
  return offsets;
}

// The fields that the line has, of one string.
void CompareLine(const CheckpointTokenizer& tokenizer, const OriginalJson& line, bool spaced,
                 const std::string& place, DataCheckResult& result) {
  const auto text = line.at("text").get<std::string>();
  const std::vector<Piece> pieces = tokenizer.Tokenize(text);
  CompareValues(place + " ids", IdsOf(pieces), line.at("ids"), result);
  if (line.contains("tokens")) {
    CompareValues(place + " tokens", tokenizer.Shown(text, pieces), line["tokens"], result);
  }
  // Places without the space before a word, where the original has both.
  const char* offsets = line.contains("offsets_trimmed") ? "offsets_trimmed" : "offsets";
  if (line.contains(offsets)) {
    CompareValues(place + " offsets", OffsetsOf(pieces, text), line[offsets], result);
  }
  // Lines say it where a space before the text gives other pieces.
  if (spaced) {
    CompareValues(place + " prefix_space_ids", IdsOf(tokenizer.Tokenize(text, true)),
                  line.contains("prefix_space_ids") ? line["prefix_space_ids"] : line["ids"],
                  result);
  }
  // The words of the original keep special tokens that stand in the text; what is compared here
  // keeps none.
  if (line.contains("basic") && line.value("kind", "") != "special") {
    CompareValues(place + " basic", BertWords(text, {.lower_case = tokenizer.lower_case()}),
                  line["basic"], result);
  }
}

// SentencePiece's library itself, without ALBERT's preparation of texts.
absl::StatusOr<DataCheckResult> CheckRawPieces(const std::string& path,
                                               const std::vector<std::string>& folders,
                                               DataCheckResult result) {
  CONCUR_ASSIGN_OR_RETURN(const CheckpointTokenizer albert,
                          TokenizerCalled("albert", Implementation::kPython, folders));
  const SentencePiece& model = *albert.sentence_piece();
  CONCUR_RETURN_IF_ERROR(ForEachLine(path, [&](const OriginalJson& line, int64_t number) {
    const auto text = line.at("text").get<std::string>();
    const std::string place = absl::StrCat("line ", number);
    std::vector<std::string> shown;
    const std::vector<Piece> pieces = model.Tokenize(text, &shown);
    CompareValues(place + " ids", IdsOf(pieces), line.at("ids"), result);
    CompareValues(place + " pieces", shown, line.at("pieces"), result);
    OriginalJson offsets = OriginalJson::array();
    for (size_t i = 0; i < line.at("begin").size(); ++i) {
      offsets.push_back({line["begin"][i], line.at("end").at(i)});
    }
    CompareValues(place + " begin and end", OffsetsOf(pieces, text), offsets, result);
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace

absl::StatusOr<DataCheckResult> CheckTokenizerFile(const std::string& path,
                                                   const std::vector<std::string>& folders) {
  DataCheckResult result;
  result.name = std::filesystem::path(path).filename().string();
  absl::string_view name = absl::StripSuffix(result.name, ".jsonl");
  if (name == "sentencepiece-raw") {
    return CheckRawPieces(path, folders, std::move(result));
  }
  const bool fast = absl::ConsumePrefix(&name, "fast-");
  CONCUR_ASSIGN_OR_RETURN(
      const CheckpointTokenizer tokenizer,
      TokenizerCalled(name, fast ? Implementation::kRust : Implementation::kPython, folders));
  const bool spaced = !fast && tokenizer.kind() == CheckpointTokenizer::Kind::kBytePair;
  CONCUR_RETURN_IF_ERROR(ForEachLine(path, [&](const OriginalJson& line, int64_t number) {
    CompareLine(tokenizer, line, spaced, absl::StrCat("line ", number), result);
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace concur::readers
