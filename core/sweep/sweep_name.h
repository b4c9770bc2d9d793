// SPDX-License-Identifier: Apache-2.0
// Ways in which users name sweeps: by id ("s12"), by name, which is the newest of their own, or as
// "OWNER/NAME".
//
// Thread-safe (stateless).
#ifndef CONCUR_CORE_SWEEP_SWEEP_NAME_H_
#define CONCUR_CORE_SWEEP_SWEEP_NAME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"

namespace concur {

struct SweepName {
  std::string owner;  // "": not said
  std::string name;
};
// Splits "OWNER/NAME".
SweepName ParseSweepName(absl::string_view text);

struct NamedSweep {
  SweepId id;
  std::string owner;
};
// Sweep that `user` means of `sweeps`, all of that name with the oldest first: the newest of the
// owner that is said, or of `user`, or of the only owner there is. NotFound; InvalidArgument names
// the owners when there are several and `user` is none of them.
absl::StatusOr<SweepId> ChooseSweep(const SweepName& name, absl::string_view user,
                                    const std::vector<NamedSweep>& sweeps);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_SWEEP_NAME_H_
