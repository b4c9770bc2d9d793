// Pages of a sweep's jobs. The engine's thread copies what the scheduler knows of them; a pool
// makes the answer of it, which takes several times as long.
//
// Stateless.
#ifndef CONCUR_COORDINATOR_JOB_PAGES_H_
#define CONCUR_COORDINATOR_JOB_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine.h"
#include "core/ids.h"

namespace concur {

// Up to `size` of the sweep's jobs from index `from` on that the request asks for. `done` is called
// once, on a thread of `pool` or the caller's. `request`, `engine` and `pool` outlive that.
void ListJobsPage(Engine& engine, ThreadPool& pool, const v1::ListJobsRequest& request,
                  SweepId sweep, uint64_t from, size_t size,
                  std::function<void(absl::StatusOr<v1::ListJobsResponse>)> done);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_JOB_PAGES_H_
