// SPDX-License-Identifier: Apache-2.0
// One attempt of the executor of real processes: of a job, or an instance of a service.
#ifndef CONCUR_WORKER_EXECUTION_SUBPROCESS_ENTRY_H_
#define CONCUR_WORKER_EXECUTION_SUBPROCESS_ENTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "core/sync/job_order.h"
#include "worker/environments/environments.h"
#include "worker/execution/scorer.h"
#include "worker/execution/step_reader.h"
#include "worker/executor.h"
#include "worker/inputs/inputs.h"
#include "worker/inputs/run_dir.h"

namespace concur::worker {

struct SubprocessEntry {
  enum class Stage { kPreparing, kRunning, kEnded };

  // Constant after construction.
  JobOrder order;
  RunPaths paths;  // but for port and services
  uint64_t number = 0;
  absl::Time order_time;

  // Asked for by transfers while they run.
  std::atomic<bool> canceled = false;
  std::atomic<bool> unwanted = false;  // canceled or fenced: its checkpoint is for nobody

  // Used by one thread at a time.
  std::vector<std::string> argv;
  // That it asks, once they were found; null: it was not there.
  std::vector<std::shared_ptr<SubprocessEntry>> services;
  uint16_t port = 0;                            // a service's
  std::optional<ReadyEnvironment> environment;  // set for an order that has one
  bool lacks_environment = false;               // it could not be made ready
  PreparedInputs inputs;
  int renewals = 0;  // renewals of inputs that had changed when it was to start
  Scorer::Gold gold;
  absl::Time start_time;
  FileDescriptor directory;  // the run directory, while the command runs, wherever it is moved
  StepReader steps;
  StepReader::Sink on_step;

  // Guarded by the executor's mu_.
  Stage stage = Stage::kPreparing;
  std::optional<StopCause> stopped;
  bool stop_at_once = false;
  bool is_ready = false;  // a service that answers
  bool has_room = false;
  bool preparing = false;  // work for it is with the pool
  bool prepared = false;
  // The result's artifacts, which stay here until it is forgotten: a worker that dies after their
  // upload, and before its spool says so, must find them again.
  std::vector<Digest> kept;
  size_t watcher = 0;   // from its start on
  bool has_log = true;  // false once it has ended without printing anything
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_SUBPROCESS_ENTRY_H_
