// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/escape.h"

namespace concur {
namespace {

// Insertions, deletions, substitutions, and exchanges of neighbours, which are usual slips.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1);  // the row before the last
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kNameBytesMax = 256;  // the distance is quadratic
  if (name.size() > kNameBytesMax) {
    return "";
  }
  const size_t distance_max = std::max<size_t>(1, name.size() / 3);
  size_t best = distance_max + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kNameBytesMax) {
      continue;
    }
    const size_t distance = EditDistance(name, candidate);
    // A name of one letter is near to every other one.
    if (distance < best && distance < name.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string ExpectedOneOf(const std::vector<std::string>& names, absl::string_view got) {
  std::string text = "expected ";
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  }
  return absl::StrCat(text, ", got ", Quoted(got), DidYouMean(got, names));
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  return nearest.empty() ? "" : absl::StrCat(" (did you mean \"", nearest, "\"?)");
}

std::string FirstNames(const std::vector<std::string>& names, absl::string_view separator,
                       size_t shown_max) {
  const size_t shown = std::min(names.size(), shown_max);
  return absl::StrCat(
      absl::StrJoin(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), separator),
      names.size() > shown ? absl::StrCat(" and ", names.size() - shown, " more") : "");
}

}  // namespace concur
