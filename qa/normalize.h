// SPDX-License-Identifier: Apache-2.0
// SQuAD's normalization of answers, after which its metrics compare them: lower case, no ASCII
// punctuation, no articles, single spaces. Equal to the official v1.1 evaluation script on all
// text, whose lower(), \b and split() follow Unicode: final sigma, combining marks, no-break
// spaces.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_NORMALIZE_H_
#define CONCUR_QA_NORMALIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::qa {

// `text` with str.lower() of Python applied: full case mapping without a language.
// REQUIRES: valid UTF-8; ill-formed bytes stay as they are and are no word characters.
std::string LowerCase(absl::string_view text);

// The normalized answer: words with one space between them, "" when nothing is left.
std::string NormalizeAnswer(absl::string_view text);

// The words of a normalized answer; they refer to it.
std::vector<absl::string_view> NormalizedWords(absl::string_view normalized);

// True for what \w matches: letters, anything with a numeric value, and the underscore; not
// combining marks.
bool IsWordCodePoint(int32_t code_point);

// True for what str.split() splits at.
bool IsSpaceCodePoint(int32_t code_point);

}  // namespace concur::qa

#endif  // CONCUR_QA_NORMALIZE_H_
