// SPDX-License-Identifier: Apache-2.0
// The words of all reasons: what `concur job explain` and `concur pool
// explain`, the page and the Python package show. The parts that decide give
// codes with values; only here are they English.
//
// Functions of their arguments.
#ifndef CONCUR_CORE_SCHEDULER_REASON_TEXT_H_
#define CONCUR_CORE_SCHEDULER_REASON_TEXT_H_

#include <string>

#include "core/job_reason.h"
#include "core/pools/pool_reason.h"

namespace concur {

std::string ReasonText(const JobReason& reason);
std::string ReasonText(const PlannedJob& job);
// A sentence.
std::string ReasonText(const PoolReason& reason);
// One sentence; "" when there are no pools.
std::string ReasonText(const DemandReason& reason);

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_REASON_TEXT_H_
