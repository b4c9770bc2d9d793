// SPDX-License-Identifier: Apache-2.0
// Texts and files of word vectors. Tokens cover a text but for white space, in order; a row that
// was read has finite numbers.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "readers/text/tokenizer.h"
#include "readers/text/word_vectors.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = concur::testing::Text(data, size);
  uint32_t at = 0;
  for (const concur::readers::Token& token : concur::readers::Tokenize(text)) {
    CONCUR_CHECK(at <= token.begin && token.begin < token.end && token.end <= text.size());
    at = token.end;
  }
  const auto rows = concur::readers::WordVectorRows::Read(concur::testing::FileWith(text), 0,
                                                          [](absl::string_view) { return true; });
  if (!rows.ok()) {
    CONCUR_CHECK(!rows.status().message().empty());
    return 0;
  }
  for (const std::string& word : rows->Words()) {
    CONCUR_CHECK(static_cast<int64_t>(rows->Find(word).size()) == rows->width());
    for (const float value : rows->Find(word)) {
      CONCUR_CHECK(std::isfinite(value));
    }
  }
  return 0;
}
