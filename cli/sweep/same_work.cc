// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/same_work.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/suggest.h"
#include "core/sweep/content_key.h"
#include "core/sweep/params.h"
#include "core/sweep/sweep.h"

namespace concur::cli {

std::vector<std::string> WarnOfSameWork(const Expansion& expansion) {
  const SweepSpec& spec = expansion.spec();
  const ContentKeys keys(expansion);
  // By approach: the kinds of jobs of its blocks, then its settings; the seeds are the sweep's. The
  // places of train sets and benchmarks stand in for their data, which may not be read yet.
  std::vector<std::string> kinds(spec.approaches.size());
  for (const Block& block : expansion.blocks()) {
    absl::StrAppend(&kinds[block.approach], "\n", block.train_set, "/",
                    absl::StrJoin(block.tests, ","), "/");
    for (auto source = block.source; source; source = expansion.blocks()[*source].source) {
      absl::StrAppend(&kinds[block.approach], "from ", expansion.blocks()[*source].train_set, "/");
    }
    for (uint32_t kind = 0; kind < block.JobsPerCell(); ++kind) {
      absl::StrAppend(&kinds[block.approach],
                      keys.KindKeyOf(block.JobOf(0, block.first_kind + kind)).ToHex());
    }
  }
  for (uint32_t a = 0; a < spec.approaches.size(); ++a) {
    if (spec.search) {  // settings are chosen by name, too
      absl::StrAppend(&kinds[a], "\n", spec.approaches[a].name);
    }
    for (const Setting& setting : expansion.Settings(a)) {
      absl::StrAppend(&kinds[a], "\n", concur::SettingText(setting));
    }
  }
  std::vector<std::vector<std::string>> groups;
  std::map<std::string, size_t> group_of;
  for (uint32_t a = 0; a < spec.approaches.size(); ++a) {
    const auto [found, is_new] = group_of.emplace(std::move(kinds[a]), groups.size());
    if (is_new) {
      groups.emplace_back();
    }
    groups[found->second].push_back(spec.approaches[a].name);
  }
  std::vector<std::string> equals;
  for (const std::vector<std::string>& names : groups) {
    if (names.size() > 1) {
      equals.push_back(FirstNames(names));
    }
  }
  if (equals.empty()) {
    return {};
  }
  return {absl::StrCat(
      "approaches ", FirstNames(equals, "; "),
      " run the same work: their commands, code and settings are equal, so that one result counts "
      "for all of them; what tells them apart must stand in a command, env or setting")};
}

}  // namespace concur::cli
