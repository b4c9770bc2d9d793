// SPDX-License-Identifier: Apache-2.0
// A trained system that answers one question at a time: a process that gets JSON lines
// {"id", "passage", "question"} on its standard input and prints {"id", "answer"} for each. The id
// is a digest of the two others.
//
// What it prints is hostile: bytes, time and form are limited, and memory, disk and processes as
// those of jobs are. One that breaks a limit is killed with all that it started, and started again
// for a later question, after a wait that doubles.
//
// Thread-compatible. Used by threads that outlive it: a process dies with the thread that asked
// when it was started.
#ifndef CONCUR_WORKER_SERVED_SYSTEM_H_
#define CONCUR_WORKER_SERVED_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "core/serve_order.h"
#include "worker/process.h"
#include "worker/process_tree.h"
#include "worker/process_watcher.h"

namespace concur::worker {

struct ServedSystemOptions {
  // Starts a process with this standard input and output, and with its control group if it has one.
  std::function<absl::StatusOr<Process>(const Streams&)> start;
  std::string directory;  // where it runs
  std::string log;        // file for its standard error, emptied at each start
  int64_t log_bytes_max = int64_t{8} << 20;
  int64_t memory_bytes_max = 0;  // of all its processes together; 0: no limit
  int64_t disk_bytes_max = 0;    // of its directory; 0: no limit
  // For the first answer after a start; answer_max when that is longer.
  absl::Duration start_max = kServedStartTime;
  absl::Duration answer_max = absl::Seconds(20);
  size_t line_bytes_max = size_t{64} << 10;
  absl::Duration backoff_min = absl::Seconds(1);
  absl::Duration backoff_max = absl::Seconds(60);
  // Whether nobody waits for the answer any more; null: somebody does.
  std::function<bool()> is_canceled;
  // Added to what is said of its end, such as where its log is; null: nothing.
  std::function<std::string()> hint;
};

class ServedSystem {
 public:
  // Starts no process before the first question. REQUIRES: this process ignores SIGPIPE; `clock`
  // and `processes` outlive it.
  ServedSystem(Clock& clock, ProcessTable& processes, ServedSystemOptions options);
  // Kills what runs.
  ~ServedSystem();

  // Blocks. Unavailable when the system gave no answer: its message says what it did.
  absl::StatusOr<std::string> Answer(const std::string& passage, const std::string& question);

 private:
  class ServedProcess;
  absl::Status Failed(const std::string& what);

  Clock& clock_;
  const ServedSystemOptions options_;
  ProcessWatcher watcher_;
  std::unique_ptr<ServedProcess> process_;  // null: none runs
  absl::Time not_before_ = absl::InfinitePast();
  absl::Duration backoff_;
  std::string last_end_;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_SERVED_SYSTEM_H_
