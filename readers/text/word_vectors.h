// SPDX-License-Identifier: Apache-2.0
// The vectors of the words that a data set has, from a file in the text form of word2vec or GloVe,
// which may be larger than memory.
//
// Thread-compatible.
#ifndef CONCUR_READERS_TEXT_WORD_VECTORS_H_
#define CONCUR_READERS_TEXT_WORD_VECTORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace concur::readers {

class WordVectorRows {
 public:
  // Reads the rows of the words that are `wanted`; of a word that repeats, the first. `path` may be
  // gzipped. InvalidArgument as "PATH:LINE: …" for a malformed row, and as "PATH: …" when rows have
  // another width than `width` (0: any).
  static absl::StatusOr<WordVectorRows> Read(
      const std::string& path, int64_t width,
      const std::function<bool(absl::string_view word)>& wanted);

  // A row, or nothing for a word without one.
  absl::Span<const float> Find(absl::string_view word) const;

  // Ascending.
  std::vector<std::string> Words() const;
  int64_t width() const { return width_; }
  int64_t size() const { return static_cast<int64_t>(index_.size()); }

 private:
  int64_t width_ = 0;
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<float> values_;
};

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_WORD_VECTORS_H_
