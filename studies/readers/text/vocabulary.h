// SPDX-License-Identifier: Apache-2.0
// Numbers words or characters. Id 0 is padding, 1 is everything unknown; known entries follow, the
// most frequent first.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TEXT_VOCABULARY_H_
#define CONCUR_STUDIES_READERS_TEXT_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

class Vocabulary {
 public:
  static constexpr int64_t kPadding = 0;
  static constexpr int64_t kUnknown = 1;
  static constexpr int64_t kFirst = 2;

  // The entries in the order of their ids, from kFirst. InvalidArgument when one repeats.
  static absl::StatusOr<Vocabulary> FromEntries(const std::vector<std::string>& entries);

  // kUnknown for what is not in it.
  int64_t Id(absl::string_view entry) const {
    const auto found = ids_.find(entry);
    return found == ids_.end() ? kUnknown : found->second;
  }
  // Does nothing when it is in already.
  void Add(absl::string_view entry);

  // Padding and unknown included.
  int64_t size() const { return static_cast<int64_t>(entries_.size()) + kFirst; }
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
  absl::flat_hash_map<std::string, int64_t> ids_;
};

// Number of occurrences of each entry.
class Counts {
 public:
  void Add(absl::string_view entry, int64_t times = 1) { counts_[entry] += times; }
  // Most frequent first, of equals the smaller in bytes; those that occur at least `count_min`
  // times.
  std::vector<std::string> Ranked(int64_t count_min = 1) const;

 private:
  absl::flat_hash_map<std::string, int64_t> counts_;
};

// The characters of a word, each as its UTF-8 bytes; an ill-formed byte is a character.
std::vector<absl::string_view> CharactersOf(absl::string_view word);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_VOCABULARY_H_
