// SPDX-License-Identifier: Apache-2.0
// The JSON files of a pretrained encoder's checkpoint: config.json, tokenizer.json, and the index
// of shards. What is read cuts a text into pieces that stand in order, and sizes have limits.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/files/checkpoint_files.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/text/checkpoint_tokenizer.h"
#include "tests/fuzz/fuzz.h"

namespace concur::readers {
namespace {

constexpr char kText[] = "``Á 12, [MASK]  ▁ب\xff\xcc\x81 \xe1\x84\x92\xe1\x85\xa1''";

void TryConfig(absl::string_view json) {
  const auto config = ParseEncoderConfig(json, "config.json");
  if (!config.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(config.status()));
    return;
  }
  CONCUR_CHECK(config->width % config->heads == 0);
  for (const std::vector<size_t>& step : config->Steps()) {
    for (const size_t layer : step) {
      CONCUR_CHECK(layer < config->LayerPaths().size());
    }
  }
}

void TryTokenizer(absl::string_view json) {
  for (const Implementation implementation : {Implementation::kPython, Implementation::kRust}) {
    const auto tokenizer = CheckpointTokenizer::ParseJson(json, "tokenizer.json", implementation);
    if (!tokenizer.ok()) {
      CONCUR_CHECK(absl::IsInvalidArgument(tokenizer.status()));
      continue;
    }
    const std::vector<Piece> pieces = tokenizer->Tokenize(kText);
    uint32_t at = 0;
    for (const Piece& piece : pieces) {
      CONCUR_CHECK(at <= piece.begin && piece.begin <= piece.end && piece.end < sizeof(kText));
      CONCUR_CHECK(piece.id >= 0 && piece.id < tokenizer->size());
      at = piece.begin;
    }
    CONCUR_CHECK(tokenizer->Shown(kText, pieces).size() == pieces.size());
  }
}

void TryIndex(absl::string_view json) {
  const auto files = ParseShardIndex(json, "model.safetensors.index.json");
  if (!files.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(files.status()));
    return;
  }
  for (const auto& [tensor, file] : *files) {
    CONCUR_CHECK(file.find('/') == std::string::npos);
  }
}

}  // namespace
}  // namespace concur::readers

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view json = concur::testing::Text(data, size);
  concur::readers::TryConfig(json);
  concur::readers::TryTokenizer(json);
  concur::readers::TryIndex(json);
  return 0;
}
