// SPDX-License-Identifier: Apache-2.0
// What keeps a served system in bounds, as far as this machine allows it: a control group and a
// sandbox, the same that workers have for jobs.
//
// In the sandbox a system sees the machine's programs and files read-only, without the room, the
// files that are hidden from it, /run, other processes and other users' temporary files. It writes
// its own directory and /tmp. The network is the machine's.
//
// Thread-compatible.
#ifndef CONCUR_ANNOTATION_CONFINEMENT_H_
#define CONCUR_ANNOTATION_CONFINEMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/cgroup.h"
#include "worker/sandbox.h"

namespace concur::annotation {

// What of this machine a system sees in a sandbox.
struct VisibleFiles {
  std::string room;                 // a directory of which it sees only what is listed here
  std::string run;                  // a directory in the room, its own, which it writes
  std::vector<std::string> read;    // files and folders that it sees also in the room and in /tmp
  std::vector<std::string> hidden;  // files of which it sees nothing
};

class Confinement {
 public:
  // `sandbox`: "auto", the first of worker::SandboxNames() that works here; "none"; or the name of
  // one that must. What there is not, "auto" takes as it is, and notes() says so.
  // InvalidArgument for another word; FailedPrecondition when that sandbox does not work, with the
  // reason. REQUIRES: the room's lock is held; paths are absolute.
  static absl::StatusOr<std::unique_ptr<Confinement>> SetUp(const VisibleFiles& files,
                                                            const std::string& sandbox);

  worker::Cgroups* cgroups() const { return cgroups_.get(); }  // null: none
  bool has_sandbox() const { return sandbox_ != nullptr; }
  // What this machine does not limit or hide, and why; a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // `command` in the sandbox. As Sandbox::Wrap. REQUIRES: has_sandbox().
  absl::StatusOr<worker::Command> Wrap(const worker::Command& command) const;

 private:
  explicit Confinement(const VisibleFiles& files) : files_(files) {}
  absl::Status SetUpSandbox(const std::string& wish);

  const VisibleFiles files_;
  std::string state_;  // a directory of the sandbox's own
  std::vector<worker::SandboxMount> mounts_;
  std::unique_ptr<worker::Sandbox> sandbox_;
  std::unique_ptr<worker::Cgroups> cgroups_;
  std::vector<std::string> notes_;
};

}  // namespace concur::annotation

#endif  // CONCUR_ANNOTATION_CONFINEMENT_H_
