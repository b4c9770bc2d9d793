// SPDX-License-Identifier: Apache-2.0
// The approach whose command an order has.
//
// Thread-safe (stateless).
#ifndef CONCUR_CORE_SWEEP_SERVED_APPROACH_H_
#define CONCUR_CORE_SWEEP_SERVED_APPROACH_H_

#include "core/ids.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"

namespace concur {

// The approach of a job, or of a service that was started for it: the job's own where the job asks
// no service at that place. REQUIRES: the job is one of the expansion.
const ApproachSpec& ServedApproach(const Expansion& expansion, JobId id);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_SERVED_APPROACH_H_
