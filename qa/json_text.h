// SPDX-License-Identifier: Apache-2.0
// Error messages about JSON, for the readers of data.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_JSON_TEXT_H_
#define CONCUR_QA_JSON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace concur::qa {

// Where and why `text` is not one JSON value: `line 3, column 7: expected …`; "" if it is. Parses
// the text again, so use it for error messages only. Columns count bytes from 1, lines from
// `first_line`.
std::string ExplainJsonError(absl::string_view text, int64_t first_line = 1);

// Quoted (base/escape.h), cut after 60 bytes.
std::string Shown(absl::string_view text);

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_TEXT_H_
