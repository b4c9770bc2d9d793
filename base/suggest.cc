#include "base/suggest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur {
namespace {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
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
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  return nearest.empty() ? "" : absl::StrCat(" (did you mean \"", nearest, "\"?)");
}

}  // namespace concur
