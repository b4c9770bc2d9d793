// SPDX-License-Identifier: Apache-2.0
// Names in messages: "did you mean …?" for unknown ones, and lists that stay short.
#ifndef CONCUR_BASE_SUGGEST_H_
#define CONCUR_BASE_SUGGEST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur {

// The candidate nearest to `name` by edit distance, the first of equals; "" when all are further
// away than a third of the name's length, or one letter is all of it.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

// ` (did you mean "x"?)`, or "" when there is no near candidate.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates);

// `expected a, b or c, got "x"`, with DidYouMean.
std::string ExpectedOneOf(const std::vector<std::string>& names, absl::string_view got);

// "a, b, c and 4 more": the first `shown_max` names.
std::string FirstNames(const std::vector<std::string>& names, absl::string_view separator = ", ",
                       size_t shown_max = 6);

}  // namespace concur

#endif  // CONCUR_BASE_SUGGEST_H_
