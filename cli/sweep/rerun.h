// SPDX-License-Identifier: Apache-2.0
// Which approaches of a sweep run although their results are known.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_CLI_SWEEP_RERUN_H_
#define CONCUR_CLI_SWEEP_RERUN_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/sweep/sweep.h"

namespace concur::cli {

// Value that a --rerun without a value stands for.
inline constexpr char kRerunAll[] = "true";

// Marks the approaches that a selector names: kRerunAll, or names and tags separated by commas
// ("bert,tag:neural,tag:size=small"). InvalidArgument when one selects none.
absl::Status MarkReruns(absl::string_view selector, SweepSpec* spec);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_RERUN_H_
