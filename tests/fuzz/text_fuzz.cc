// SPDX-License-Identifier: Apache-2.0
// Texts and files of word vectors. Tokens cover a text but for white space, in order; a row that
// was read has finite numbers.
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "studies/readers/text/tokenizer.h"
#include "studies/readers/text/word_vectors.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = concur::testing::Text(data, size);
  uint32_t at = 0;
  for (const concur::readers::Token& token : concur::readers::Tokenize(text)) {
    CONCUR_CHECK(at <= token.begin && token.begin < token.end && token.end <= text.size());
    at = token.end;
  }
  absl::flat_hash_set<std::string> forms;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    forms.insert(std::string(line.substr(0, line.find_first_of(" \t"))));
  }
  const auto rows = concur::readers::WordVectorRows::Read(concur::testing::FileWith(text), 0, forms,
                                                          concur::readers::VectorsCase::kLower);
  if (!rows.ok()) {
    CONCUR_CHECK(!rows.status().message().empty());
    return 0;
  }
  for (const std::string& word : forms) {
    CONCUR_CHECK(rows->Find(word).empty() ||
                 static_cast<int64_t>(rows->Find(word).size()) == rows->width());
    for (const float value : rows->Find(word)) {
      CONCUR_CHECK(std::isfinite(value));
    }
  }
  return 0;
}
