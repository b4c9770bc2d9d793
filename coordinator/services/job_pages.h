// SPDX-License-Identifier: Apache-2.0
// Pages of a sweep's jobs. The engine's thread copies the jobs; a pool builds the answer, which
// takes several times as long.
//
// Stateless.
#ifndef CONCUR_COORDINATOR_SERVICES_JOB_PAGES_H_
#define CONCUR_COORDINATOR_SERVICES_JOB_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine/engine.h"
#include "core/ids.h"
#include "core/sweep/expansion.h"

namespace concur {

// NotFound, with the nearest name, when the request asks for an approach, a benchmark, a setting or
// a seed that the sweep does not have.
absl::Status CheckJobFilters(const v1::ListJobsRequest& request, const Expansion& expansion);

// Up to `size` of the sweep's jobs from index `from` on that match the request. `done` is called
// once, on a thread of `pool` or the caller's. `request`, `engine` and `pool` outlive that.
void ListJobsPage(Engine& engine, ThreadPool& pool, const v1::ListJobsRequest& request,
                  SweepId sweep, uint64_t from, size_t size,
                  std::function<void(absl::StatusOr<v1::ListJobsResponse>)> done);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_JOB_PAGES_H_
