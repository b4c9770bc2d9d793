// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace concur::readers {

absl::StatusOr<Vocabulary> Vocabulary::FromEntries(const std::vector<std::string>& entries) {
  Vocabulary vocabulary;
  for (const std::string& entry : entries) {
    const int64_t before = vocabulary.size();
    vocabulary.Add(entry);
    if (vocabulary.size() == before) {
      return absl::InvalidArgumentError(absl::StrCat("\"", entry, "\" is listed twice"));
    }
  }
  return vocabulary;
}

void Vocabulary::Add(absl::string_view entry) {
  if (ids_.try_emplace(entry, size()).second) {
    entries_.emplace_back(entry);
  }
}

std::vector<std::string> Counts::Ranked(int64_t count_min) const {
  std::vector<std::pair<int64_t, absl::string_view>> ranked;
  for (const auto& [entry, count] : counts_) {
    if (count >= count_min) {
      ranked.emplace_back(-count, entry);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> entries;
  entries.reserve(ranked.size());
  for (const auto& [count, entry] : ranked) {
    entries.emplace_back(entry);
  }
  return entries;
}

std::vector<absl::string_view> CharactersOf(absl::string_view word) {
  std::vector<absl::string_view> characters;
  while (!word.empty()) {
    const size_t bytes = std::max<size_t>(1, Utf8CharacterBytes(word));
    characters.push_back(word.substr(0, bytes));
    word.remove_prefix(bytes);
  }
  return characters;
}

}  // namespace concur::readers
