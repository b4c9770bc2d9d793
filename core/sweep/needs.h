// SPDX-License-Identifier: Apache-2.0
// Services of other approaches that eval jobs ask, beside that of their own: `needs` of approaches
// and benchmarks. A needed service has its approach's default setting, and is one for all jobs.
//
// Thread-safe (stateless).
#ifndef CONCUR_CORE_SWEEP_NEEDS_H_
#define CONCUR_CORE_SWEEP_NEEDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/sweep/sweep.h"

namespace concur {

// Needs of an approach, and as many of a benchmark.
inline constexpr size_t kNeedsMax = 7;
static_assert(2 * kNeedsMax < kServicePlacesMax);

// The approaches whose services the approach's jobs on the benchmark ask beside its own: each once,
// those of the approach first. Element i has the place i + 1 in JobId::Service.
// REQUIRES: the indices are in range.
std::vector<uint32_t> NeedsOf(const SweepSpec& spec, uint32_t approach, uint32_t benchmark);

// InvalidArgument, naming the field within `path`, when there are more than kNeedsMax needs, one
// stands twice, is the approach itself, has no service, has settings to choose from, needs others
// itself, or has a service that is not the same for all jobs; and when an approach is nothing but a
// service, and nobody needs it. Expansion::Make asks it. REQUIRES: ValidateSweepSpec was OK.
absl::Status CheckNeeds(const SweepSpec& spec, const FieldPath& path = FieldPath());

// InvalidArgument when a predict command names a service that jobs of the approach on the benchmark
// do not need.
absl::Status CheckAskedServices(const SweepSpec& spec, uint32_t approach, uint32_t benchmark);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_NEEDS_H_
