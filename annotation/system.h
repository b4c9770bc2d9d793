// SPDX-License-Identifier: Apache-2.0
// A trained system that answers one question at a time: a process that gets JSON lines
// {"id", "passage", "question"} on its standard input and prints {"id", "answer"} for each. The id
// is a digest of the two others.
//
// What it prints is hostile: bytes, time and form are limited, and memory and processes as those of
// jobs are. One that breaks a limit is killed with all that it started, and started again for a
// later question, after a wait that doubles.
//
// Thread-compatible. Used by threads that outlive it: a process dies with the thread that asked
// when it was started.
#ifndef CONCUR_ANNOTATION_SYSTEM_H_
#define CONCUR_ANNOTATION_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "annotation/confinement.h"
#include "base/clock.h"

namespace concur::annotation {

struct SystemOptions {
  std::vector<std::string> command;        // argv; the program is looked for in PATH
  std::map<std::string, std::string> env;  // besides the basic variables of jobs
  std::string directory;                   // where it runs
  std::string log;                         // file for its standard error, emptied at each start
  int64_t log_bytes_max = int64_t{8} << 20;
  const Confinement* confinement = nullptr;  // null: none. Outlives the system
  // Of all its processes together; 0: no limit.
  int64_t memory_bytes_max = int64_t{8} << 30;
  int64_t processes_max = 4096;  // threads included; where there are control groups
  // For the first answer after a start; answer_max when that is longer.
  absl::Duration start_max = absl::Seconds(120);
  absl::Duration answer_max = absl::Seconds(20);
  size_t line_bytes_max = size_t{64} << 10;
  int64_t file_bytes_max = int64_t{64} << 20;  // of each file that it writes
  absl::Duration backoff_min = absl::Seconds(1);
  absl::Duration backoff_max = absl::Seconds(60);
};

class System {
 public:
  virtual ~System() = default;
  // Blocks. Unavailable when the system gave no answer: its message says what it did, and where its
  // log is.
  virtual absl::StatusOr<std::string> Answer(const std::string& passage,
                                             const std::string& question) = 0;
};

// Starts no process before the first question. REQUIRES: this process ignores SIGPIPE; `clock`
// outlives the system.
std::unique_ptr<System> MakeServedSystem(Clock& clock, SystemOptions options);

}  // namespace concur::annotation

#endif  // CONCUR_ANNOTATION_SYSTEM_H_
