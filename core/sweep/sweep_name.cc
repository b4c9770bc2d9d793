// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/sweep_name.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace concur {

SweepName ParseSweepName(absl::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == absl::string_view::npos) {
    return {"", std::string(text)};
  }
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

absl::StatusOr<SweepId> ChooseSweep(const SweepName& name, absl::string_view user,
                                    const std::vector<NamedSweep>& sweeps) {
  std::map<std::string, SweepId, std::less<>> newest;  // by owner
  for (const NamedSweep& sweep : sweeps) {
    newest[sweep.owner] = sweep.id;
  }
  const auto found = newest.find(name.owner.empty() ? user : name.owner);
  if (found != newest.end()) {
    return found->second;
  }
  if (name.owner.empty() && newest.size() == 1) {
    return newest.begin()->second;
  }
  if (newest.empty() || !name.owner.empty()) {
    return absl::NotFoundError("no such sweep");
  }
  std::vector<std::string> names;
  for (const auto& [owner, id] : newest) {
    names.push_back(absl::StrCat(owner, "/", name.name));
  }
  return absl::InvalidArgumentError(absl::StrCat("none of the sweeps called \"", name.name,
                                                 "\" is yours: write ",
                                                 absl::StrJoin(names, " or ")));
}

}  // namespace concur
