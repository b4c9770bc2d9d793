// SPDX-License-Identifier: Apache-2.0
// The passages that FuzzySyntheticQA asks about: sequences of tokens from a uniform distribution, a
// 3-gram language model, a probabilistic grammar, or a file of ready-made passages.
//
// Thread-compatible.
#ifndef CONCUR_QA_BUILDERS_PASSAGES_H_
#define CONCUR_QA_BUILDERS_PASSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "qa/builders/builder.h"

namespace concur::qa {

// Token types by number. The first ones may be those of a vector table.
class TokenTable {
 public:
  // The number of `token`; a new one when it was not seen before.
  uint32_t Intern(absl::string_view token);
  const std::string& operator[](uint32_t token) const { return tokens_[token]; }
  size_t size() const { return tokens_.size(); }

 private:
  std::vector<std::string> tokens_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

class PassageSource {
 public:
  virtual ~PassageSource() = default;
  // Fills `tokens` with the next passage of `split`. ResourceExhausted when there is none left.
  virtual absl::Status Next(Split split, Random& random, std::vector<uint32_t>& tokens) = 0;
};

// `length` tokens, each uniform over 0 … vocabulary-1. REQUIRES: vocabulary > 0.
std::unique_ptr<PassageSource> UniformPassages(uint32_t vocabulary, size_t length);

// `length` tokens from the maximum-likelihood 3-gram model of `text` (lower-case words of plain
// text): each token follows the two before it as often as in the text. At the end of the text,
// which has no successor, it continues at a random position. InvalidArgument for a text of less
// than four words.
absl::StatusOr<std::unique_ptr<PassageSource>> TrigramPassages(
    const std::vector<std::string>& words, size_t length, TokenTable& table);

// Sentences derived from a probabilistic context-free grammar, until there are `length` tokens.
// The grammar has lines `LHS -> item item [probability] | item [probability]`, terminals quoted
// with ' or ", the start symbol first, `#` comments; probabilities of a symbol sum to 1 (within
// 1e-3). InvalidArgument as "PATH:LINE: …"; also for symbols without a rule and grammars whose
// derivations need not end.
absl::StatusOr<std::unique_ptr<PassageSource>> GrammarPassages(absl::string_view grammar,
                                                               const std::string& path,
                                                               size_t length, TokenTable& table);

// One passage per line, cut after `length` tokens. Punctuation at the edges of words becomes tokens
// of its own. Lines are assigned at random, `train_share` to `test_share`; each is used once.
// InvalidArgument for invalid UTF-8.
absl::StatusOr<std::unique_ptr<PassageSource>> FilePassages(absl::string_view contents,
                                                            const std::string& path, size_t length,
                                                            int64_t train_share, int64_t test_share,
                                                            uint64_t seed, TokenTable& table);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_PASSAGES_H_
