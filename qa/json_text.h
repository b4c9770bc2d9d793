// JSON details that readers and writers of data share.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_JSON_TEXT_H_
#define CONCUR_QA_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace concur::qa {

// Appends `text` as a JSON string with its quotes. Characters beyond ASCII stay as they are.
// REQUIRES: `text` is valid UTF-8.
void AppendJsonString(absl::string_view text, std::string& out);

// Why and where `text` is not one JSON value: `line 3, column 7: expected …`. For error messages
// only: it parses a second time. Columns count bytes from 1, lines from `first_line`; "" when
// nothing is wrong.
std::string ExplainJsonError(absl::string_view text, int64_t first_line = 1);

// `text` for an error message: quoted, cut after 60 bytes, control characters shown.
std::string Shown(absl::string_view text);

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_TEXT_H_
