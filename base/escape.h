// SPDX-License-Identifier: Apache-2.0
// Text of unknown origin made safe to show: on one line, in quotes, as a JSON string.
//
// Pure functions.
#ifndef CONCUR_BASE_ESCAPE_H_
#define CONCUR_BASE_ESCAPE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace concur {

// `text` for a log or a terminal: control characters as "\n" or "\x1b", U+FFFD in the place of
// bytes that are not UTF-8, cut between two characters to at most `bytes_max` bytes of `text`.
std::string OneLine(absl::string_view text, size_t bytes_max = absl::string_view::npos);

// `text` for an error message: in quotes, with quotes, backslashes and control characters escaped,
// cut likewise, and then with "…".
std::string Quoted(absl::string_view text, size_t bytes_max = 100);

// Appends `text` as a JSON string with its quotes. Characters beyond ASCII stay as they are.
// REQUIRES: `text` is valid UTF-8.
void AppendJsonString(absl::string_view text, std::string& out);

// The reason alone of an error of the JSON library, without its kind and place:
// "[json.exception.type_error.302] type must be string, but is null" without the bracket.
std::string JsonReason(absl::string_view error);

}  // namespace concur

#endif  // CONCUR_BASE_ESCAPE_H_
