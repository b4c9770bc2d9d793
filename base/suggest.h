// "did you mean …?" for unknown names.
#ifndef CONCUR_BASE_SUGGEST_H_
#define CONCUR_BASE_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur {

// The candidate nearest to `name` by edit distance, or "" when none is near
// (more than a third of the name's length away). Ties go to the first.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

// ` (did you mean "x"?)`, or "" when nothing is near.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace concur

#endif  // CONCUR_BASE_SUGGEST_H_
