// SPDX-License-Identifier: Apache-2.0
#include "cli/output/grouped_warnings.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/suggest.h"

namespace concur::cli {
namespace {

// Takes digits and then a colon.
bool TakeNumber(absl::string_view* text) {
  size_t digits = 0;
  while (digits < text->size() &&
         absl::ascii_isdigit(static_cast<unsigned char>((*text)[digits]))) {
    ++digits;
  }
  if (digits == 0 || digits == text->size() || (*text)[digits] != ':') {
    return false;
  }
  text->remove_prefix(digits + 1);
  return true;
}

// "FILE:LINE:COL" at the start of a warning; "" when it has none.
absl::string_view WarningPlace(absl::string_view warning) {
  for (size_t colon = warning.find(':'); colon != absl::string_view::npos;
       colon = warning.find(':', colon + 1)) {
    absl::string_view rest = warning.substr(colon + 1);
    if (TakeNumber(&rest) && TakeNumber(&rest)) {
      return warning.substr(0, warning.size() - rest.size() - 1);
    }
  }
  return "";
}

// The warning without what differs among those of a kind.
std::string WarningKind(absl::string_view warning) {
  absl::string_view text = warning.substr(WarningPlace(warning).size());
  std::string unquoted;
  bool is_quoted = false;
  for (const char c : text) {
    is_quoted = is_quoted != (c == '"');
    if (c == '"' || !is_quoted) {
      unquoted.push_back(c);
    }
  }
  std::string kind;
  for (const absl::string_view word : absl::StrSplit(unquoted, ' ')) {
    // Not paths: of the files that are missing, each is to be told.
    const bool is_number = word.find_first_not_of("0123456789,.;:") == absl::string_view::npos;
    const bool is_field = absl::StrContains(word, "[") && absl::EndsWith(word, ":");
    const bool differs = is_number || is_field;
    absl::StrAppend(&kind, differs ? "*" : word, " ");
  }
  return kind;
}

}  // namespace

std::vector<std::string> GroupWarnings(const std::vector<std::string>& warnings) {
  struct Group {
    std::string first;
    size_t others = 0;
    std::vector<std::string> places;  // one for each other warning that has one
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> group_of;
  for (const std::string& warning : warnings) {
    const absl::string_view place = WarningPlace(warning);
    const auto [found, is_new] = group_of.try_emplace(WarningKind(warning), groups.size());
    if (is_new) {
      groups.push_back({warning, 0, {}});
      continue;
    }
    Group& group = groups[found->second];
    ++group.others;
    if (!place.empty()) {
      group.places.emplace_back(place);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const Group& group : groups) {
    std::string line = group.first;
    if (group.others > 0) {
      constexpr size_t kShownMax = 3;
      absl::StrAppend(&line, " (and ", group.others, " more of this kind");
      if (!group.places.empty()) {
        absl::StrAppend(&line, ": ", FirstNames(group.places, ", ", kShownMax));
      }
      absl::StrAppend(&line, ")");
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace concur::cli
