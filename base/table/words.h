// SPDX-License-Identifier: Apache-2.0
// Lists of words as one text: "|test|dev|". Thread-safe (stateless).
#ifndef CONCUR_BASE_TABLE_WORDS_H_
#define CONCUR_BASE_TABLE_WORDS_H_

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace concur {

// True when `words`, each between "|", has `word`.
inline bool HasWord(absl::string_view words, absl::string_view word) {
  return absl::StrContains(words, absl::StrCat("|", word, "|"));
}

}  // namespace concur

#endif  // CONCUR_BASE_TABLE_WORDS_H_
