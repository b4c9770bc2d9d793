// SPDX-License-Identifier: Apache-2.0
// Text helpers of several tests.
#ifndef CONCUR_TESTS_TESTING_TEXT_H_
#define CONCUR_TESTS_TESTING_TEXT_H_

#include <cstddef>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace concur::testing {

// Number of occurrences of `part`, which must not be empty, in `text`.
inline size_t Count(absl::string_view text, absl::string_view part) {
  return std::vector<absl::string_view>(absl::StrSplit(text, part)).size() - 1;
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_TEXT_H_
