// SPDX-License-Identifier: Apache-2.0
// A trained system that answers the annotators' questions, one at a time: a process on this machine
// that gets JSON lines {"id", "passage", "question"} on its standard input and prints
// {"id", "answer"} for each. The id is a digest of the two others.
//
// Its output is hostile: bytes, time and form are limited. Its memory and processes have the limits
// of a job. A system that breaks a limit is killed with all that it started, and started again for
// a later question, after a wait that doubles.
#ifndef CONCUR_STUDIES_ANNOTATION_SYSTEM_H_
#define CONCUR_STUDIES_ANNOTATION_SYSTEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "studies/annotation/confinement.h"

namespace concur::annotation {

// Thread-compatible, but for Cancel. Used by threads that outlive it: a process dies with the
// thread that asked when it was started.
class System {
 public:
  virtual ~System() = default;
  // Blocks. Unavailable when the system gave no answer: its message, for whoever runs the room,
  // says why.
  virtual absl::StatusOr<std::string> Answer(const std::string& passage,
                                             const std::string& question) = 0;
  // Ends what Answer waits for, now and later. Any thread may call it.
  virtual void Cancel() = 0;
};

struct SystemOptions {
  std::vector<std::string> command;          // argv; the program is looked for in PATH
  std::map<std::string, std::string> env;    // besides the basic variables of jobs
  std::string directory;                     // where it runs
  std::string log;                           // file for its standard error, emptied at each start
  const Confinement* confinement = nullptr;  // null: none. Outlives the system
  // Memory of all its processes together; 0: no limit.
  int64_t memory_bytes_max = int64_t{8} << 30;
  int64_t processes_max = 4096;  // threads included; where there are control groups
  // For the first answer after a start; answer_max when that is longer.
  absl::Duration start_max = absl::Minutes(2);
  absl::Duration answer_max = absl::Seconds(20);
  int64_t file_bytes_max = int64_t{64} << 20;  // limit of each file that it writes
};

// Starts no process before the first question. REQUIRES: this process ignores SIGPIPE; `clock`
// outlives the system.
std::unique_ptr<System> MakeLocalSystem(Clock& clock, const SystemOptions& options);

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_SYSTEM_H_
