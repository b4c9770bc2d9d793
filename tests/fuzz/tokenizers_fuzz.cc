// SPDX-License-Identifier: Apache-2.0
// The tokenizers of pretrained encoders: files of vocabularies, merges and models, and texts. The
// first half of the input is the file, the second the text. Pieces stand in order, within the text.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/text/albert_tokenizer.h"
#include "studies/readers/text/byte_pair.h"
#include "studies/readers/text/fast_albert.h"
#include "studies/readers/text/sentence_piece.h"
#include "studies/readers/text/word_piece.h"
#include "tests/fuzz/fuzz.h"

namespace concur::readers {
namespace {

void CheckPieces(const std::vector<Piece>& pieces, absl::string_view text, int32_t entries) {
  uint32_t at = 0;
  for (const Piece& piece : pieces) {
    CONCUR_CHECK(at <= piece.begin && piece.begin <= piece.end && piece.end <= text.size());
    CONCUR_CHECK(piece.id >= 0 && piece.id < entries);
    at = piece.begin;
  }
}

void TryWordPiece(absl::string_view file, absl::string_view text) {
  for (const bool lower_case : {false, true}) {
    for (const Implementation implementation : {Implementation::kPython, Implementation::kRust}) {
      const auto tokenizer =
          WordPiece::Parse(file, "vocab.txt",
                           {.words = {.lower_case = lower_case, .implementation = implementation}});
      if (!tokenizer.ok()) {
        CONCUR_CHECK(absl::IsInvalidArgument(tokenizer.status()));
        return;
      }
      CheckPieces(tokenizer->Tokenize(text), text, tokenizer->size());
    }
  }
}

// A vocabulary of the bytes and of some merges; cut where there are no merges.
std::string ByteVocabulary(absl::string_view merges) {
  std::string json = "{\"<s>\":0,\"<mask>\":1";
  int id = 2;
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte != 0xAD);
    json += ",\"";
    if (byte == '"' || byte == '\\') {
      json += '\\';
    }
    const int c = prints ? byte : 256 + others++;
    if (c >= 128) {
      json += static_cast<char>(0xC0 | (c >> 6));
    }
    json += static_cast<char>(c < 128 ? c : 0x80 | (c & 0x3F));
    json += "\":" + std::to_string(id++);
  }
  for (const char* merged : {"th", "he", "the", "in", "ing"}) {
    json += std::string(",\"") + merged + "\":" + std::to_string(id++);
  }
  return json + (merges.empty() ? "" : "}");
}

void TryBytePair(absl::string_view file, absl::string_view text) {
  for (const bool prefix_space : {false, true}) {
    const auto tokenizer = BytePair::Parse(ByteVocabulary(file), "vocab.json", file, "merges.txt",
                                           {prefix_space, Implementation::kRust});
    if (!tokenizer.ok()) {
      CONCUR_CHECK(absl::IsInvalidArgument(tokenizer.status()));
      break;
    }
    CheckPieces(tokenizer->Tokenize(text), text, tokenizer->size());
  }
  const auto damaged = BytePair::Parse(file, "vocab.json", text, "merges.txt", {});
  CONCUR_CHECK(damaged.ok() || absl::IsInvalidArgument(damaged.status()));
}

void TrySentencePiece(absl::string_view file, absl::string_view text) {
  const auto tokenizer = SentencePiece::Parse(file, "a.model");
  if (!tokenizer.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(tokenizer.status()));
    return;
  }
  CheckPieces(tokenizer->Tokenize(text), text, tokenizer->size());
  for (const bool plain : {false, true}) {
    const AlbertTokenizer albert(*tokenizer, {plain, !plain});
    CheckPieces(albert.Tokenize(text), text, tokenizer->size());
    const auto fast =
        FastAlbert::FromModel(*tokenizer, "a.model", {.lower_case = plain, .keep_accents = !plain});
    if (fast.ok()) {
      CheckPieces(fast->Tokenize(text), text, fast->size());
    }
  }
}

}  // namespace
}  // namespace concur::readers

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view all = concur::testing::Text(data, size);
  concur::readers::TryWordPiece(all.substr(0, size / 2), all.substr(size / 2));
  concur::readers::TrySentencePiece(all.substr(0, size / 2), all.substr(size / 2));
  concur::readers::TryBytePair(all.substr(0, size / 2), all.substr(size / 2));
  return 0;
}
