// SPDX-License-Identifier: Apache-2.0
// Confinement of a served system, as far as this machine allows it: a control group and a
// sandbox, the same that workers have for jobs.
//
// In the sandbox a system sees the machine's programs and files read-only, without the room, the
// files that are hidden from it, /run (except the file by which names of hosts are looked up),
// other processes and other users' temporary files. It writes its own directory and /tmp. The
// network is the machine's.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_ANNOTATION_CONFINEMENT_H_
#define CONCUR_STUDIES_ANNOTATION_CONFINEMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/process/cgroup.h"
#include "base/process/sandbox.h"

namespace concur::annotation {

// Files and folders of this machine that a system sees in a sandbox.
struct VisibleFiles {
  std::vector<std::string> tops = {"/"};  // folders whose folders it sees, except the room
  std::string room;                       // a directory of which it sees only what is listed here
  std::string run;                        // a directory in the room, its own, which it writes
  // A directory in the room for its sandbox and the record of its control groups, of no other
  // system's; "": the room.
  std::string state;
  std::vector<std::string> read;    // files and folders that it sees also in the room and in /tmp
  std::vector<std::string> hidden;  // files of which it sees nothing
};

class Confinement {
 public:
  // `sandbox`: "auto", bubblewrap if it works here; "none"; or the one of process::SandboxNames()
  // that must. What there is not, "auto" takes as it is, and notes() says so. Podman and Apptainer
  // only when named: what is mounted within a folder of the machine stays writable in theirs.
  // InvalidArgument for another word; FailedPrecondition when that sandbox does not work, with the
  // reason. REQUIRES: the room's lock is held; paths are absolute; the room's, what it writes and
  // what it reads are without links.
  static absl::StatusOr<std::unique_ptr<Confinement>> SetUp(const VisibleFiles& files,
                                                            const std::string& sandbox);

  process::Cgroups* cgroups() const { return cgroups_.get(); }  // null: none
  bool has_sandbox() const { return sandbox_ != nullptr; }
  // Lists what this machine does not limit or hide, and why; a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // `command` in the sandbox. As Sandbox::Wrap. REQUIRES: has_sandbox().
  absl::StatusOr<process::Command> Wrap(const process::Command& command) const;

 private:
  explicit Confinement(const VisibleFiles& files) : files_(files) {}
  absl::Status SetUpSandbox(const std::string& wish);
  const std::string& state() const { return files_.state.empty() ? files_.room : files_.state; }

  const VisibleFiles files_;
  std::string state_;  // a directory of the sandbox's own
  std::vector<process::SandboxMount> mounts_;
  std::unique_ptr<process::Sandbox> sandbox_;
  std::unique_ptr<process::Cgroups> cgroups_;
  std::vector<std::string> notes_;
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_CONFINEMENT_H_
