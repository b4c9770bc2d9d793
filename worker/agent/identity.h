// SPDX-License-Identifier: Apache-2.0
// The identity of a worker process: a name that outlives it, and its own incarnation.
#ifndef CONCUR_WORKER_AGENT_IDENTITY_H_
#define CONCUR_WORKER_AGENT_IDENTITY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace concur::worker {

// Holds the lock of a work directory for as long as it lives. Thread-compatible.
class Identity {
 public:
  // Takes the work directory, makes a new incarnation and writes it down. An empty `name` means the
  // one used here before, or one made of the host's name. FailedPrecondition when another process
  // holds the directory.
  static absl::StatusOr<Identity> Acquire(const std::string& work_directory,
                                          const std::string& name);

  const std::string& name() const { return name_; }
  const std::string& incarnation() const { return incarnation_; }
  // The incarnation of this name that used the directory before: it is dead, for this process holds
  // its lock. "" when there was none.
  const std::string& previous_incarnation() const { return previous_incarnation_; }

 private:
  Identity() = default;

  FileDescriptor lock_;
  std::string name_;
  std::string incarnation_;
  std::string previous_incarnation_;
};

// The name of this machine.
std::string HostName();

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_IDENTITY_H_
