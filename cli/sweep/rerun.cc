// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/rerun.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/suggest.h"

namespace concur::cli {
namespace {

bool IsSelected(const ApproachSpec& approach, absl::string_view selector) {
  if (selector == kRerunAll) {
    return true;
  }
  if (!absl::ConsumePrefix(&selector, "tag:")) {
    return approach.name == selector;
  }
  const std::pair<std::string, std::string> tag = absl::StrSplit(selector, absl::MaxSplits('=', 1));
  const auto it = approach.tags.find(tag.first);
  return it != approach.tags.end() &&
         it->second == (selector.find('=') == selector.npos ? "yes" : tag.second);
}

// "it has a, b, c, …"
std::string NamesText(std::vector<std::string> names) {
  constexpr size_t kShownMax = 5;
  const bool more = names.size() > kShownMax;
  names.resize(std::min(names.size(), kShownMax));
  return absl::StrCat("it has ", absl::StrJoin(names, ", "), more ? ", …" : "");
}

}  // namespace

absl::Status MarkReruns(absl::string_view selector, SweepSpec* spec) {
  for (const absl::string_view part : absl::StrSplit(selector, ',')) {
    bool found = false;
    std::vector<std::string> names;
    for (ApproachSpec& approach : spec->approaches) {
      names.push_back(approach.name);
      if (IsSelected(approach, part)) {
        approach.rerun = true;
        found = true;
      }
    }
    if (!found) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rerun: expected an approach of this sweep (", NamesText(names),
          "), tag:NAME or tag:NAME=VALUE, got \"", part, "\"", DidYouMean(part, names)));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur::cli
