// SPDX-License-Identifier: Apache-2.0
// Has trained systems answer questions beside the worker's jobs. Each place offers itself to the
// coordinator, serves one system from its order until nobody asks it any more, and offers itself
// again. A system gets its code, environment, variables and limits as a job does, and no more:
// but it is no job, and takes no room from those.
//
// Each place has a thread.
#ifndef CONCUR_WORKER_SYSTEM_HOST_H_
#define CONCUR_WORKER_SYSTEM_HOST_H_

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "core/job_order.h"
#include "core/serve_order.h"
#include "core/sync.h"
#include "worker/gateway_client.h"
#include "worker/subprocess_executor.h"

namespace concur::worker {

struct PreparedSystem;

class SystemHost {
 public:
  struct Options {
    int places = 1;
    absl::Duration backoff_min = absl::Seconds(1);  // between offers that came to nothing
    absl::Duration backoff_max = absl::Seconds(60);
  };
  // All but the options outlive it. REQUIRES: this process ignores SIGPIPE.
  SystemHost(Clock& clock, ServingGateway& gateway, SubprocessExecutor::Workplace workplace,
             WorkerInfo worker, const Options& options);
  // Ends what is served.
  ~SystemHost();
  SystemHost(const SystemHost&) = delete;
  SystemHost& operator=(const SystemHost&) = delete;

  // A draining worker ends what it serves, and offers nothing until it drains no longer.
  void SetDraining(bool draining);

 private:
  void Run(size_t place);
  // Whether the place may be offered; waits while the worker drains. False: it is the end.
  bool AwaitTurn();
  // Until the stream has ended. Whether a system took questions.
  bool Serve(size_t place, ServingStream& stream);
  absl::Status Prepare(const JobOrder& order, const RunPaths& paths, ServingStream& stream,
                       PreparedSystem& prepared);
  // Waits unless it is the end.
  void Pause(absl::Duration duration);
  // As far as there are enough, places have different ones.
  uint64_t GpuMask(size_t place, int32_t gpus) const;

  Clock& clock_;
  ServingGateway& gateway_;
  const SubprocessExecutor::Workplace workplace_;
  const WorkerInfo worker_;
  const Options options_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ServingStream*> streams_ ABSL_GUARDED_BY(mutex_);  // by place; null: none

  std::vector<std::thread> threads_;  // the last member: they use the others from their start
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_SYSTEM_HOST_H_
