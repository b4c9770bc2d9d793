// SPDX-License-Identifier: Apache-2.0
// Approaches of one sweep that differ in nothing but their names.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_SWEEP_SAME_WORK_H_
#define CONCUR_CLI_SWEEP_SAME_WORK_H_

#include <string>
#include <vector>

#include "core/sweep/expansion.h"

namespace concur::cli {

// One warning, or none, of the sets of approaches all of whose jobs have the same content keys
// (core/sweep/content_key.h), so that one result counts for all of a set: in the order of the
// sweep. REQUIRES: spec::ResolveCode was OK on the sweep that was expanded.
std::vector<std::string> WarnOfSameWork(const Expansion& expansion);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_SAME_WORK_H_
