// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them, read strictly and written so that they read back.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_CSV_H_
#define CONCUR_BASE_CSV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

struct CsvRecord {
  int64_t line = 0;  // where it starts, from 1
  std::vector<std::string> fields;
};

enum class CsvQuotes {
  kStrict,
  // Quotes stand for themselves in lines that begin with "#", and between tabs where they do not
  // enclose a field, as in tables that were copied from pages.
  kLenient,
};

// Splits `text` into records of fields between separators. Accepts a byte order mark, the line ends
// LF, CRLF and CR, quoted fields with doubled quotes and line breaks; skips lines that are wholly
// empty. InvalidArgument, as `FILE:LINE: …`, as CheckText, and for a quote inside an unquoted
// field, text after a closing quote and a quote that is never closed.
absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text, absl::string_view file,
                                                char separator = ',',
                                                CsvQuotes quotes = CsvQuotes::kStrict);

// InvalidArgument, as `FILE:LINE: …`, for bytes that are not UTF-8 and NUL bytes.
absl::Status CheckText(absl::string_view text, absl::string_view file);

// `field` as it must stand in a CSV file: quoted when it has commas, quotes, line breaks or
// surrounding blanks.
std::string CsvField(absl::string_view field);

// Text from outside as a field: behind an apostrophe where a spreadsheet would take it for a
// formula, which is for what begins with "=", "+", "-" or "@" and is no number.
std::string CsvText(absl::string_view text);
// The inverse: `field` without such an apostrophe.
absl::string_view WithoutApostrophe(absl::string_view field);

}  // namespace concur

#endif  // CONCUR_BASE_CSV_H_
