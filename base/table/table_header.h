// SPDX-License-Identifier: Apache-2.0
// The header of a table as people write it, and what stands above it: parts of ReadTableText.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_TABLE_TABLE_HEADER_H_
#define CONCUR_BASE_TABLE_TABLE_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/table/table_text.h"

namespace concur {

// "; " with its blank: ";a;b" is a header whose first name is empty.
bool BeginsAsComment(absl::string_view text);

// The width that most have, and how many; one field alone is no row.
std::pair<size_t, size_t> MostCommonWidth(const std::vector<size_t>& widths);

void LeaveOutLine(TableText& table, absl::string_view reason, int64_t line);

// Takes comments, titles and blank rows out of the records, which are clean, and joins the lines of
// the header to its first.
void TakeHeader(TableText& table);

}  // namespace concur

#endif  // CONCUR_BASE_TABLE_TABLE_HEADER_H_
