// SPDX-License-Identifier: Apache-2.0
// Where attempts run: one directory each, WORK/runs/s12-345-a2, made before the command starts and
// removed when the coordinator has forgotten the attempt. WORK/runs may be a link to a directory on
// another file system. The log lies in WORK/logs, out of the command's way.
#ifndef CONCUR_WORKER_INPUTS_RUN_DIR_H_
#define CONCUR_WORKER_INPUTS_RUN_DIR_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "core/ids.h"
#include "core/sync/job_order.h"

namespace concur::worker {

// Paths of one attempt; the files of inputs end as their data files do. All are absolute.
struct RunPaths {
  std::string directory;
  std::string train;       // "" for eval jobs
  std::string validation;  // "" unless the command of a train job reads it
  std::string start;       // "" unless a train job starts from a system
  std::string test;        // "" for train jobs
  std::string code;        // "" without code
  std::string model;
  std::string checkpoint;
  std::string predictions;
  std::string metrics;
  std::string examples;
  std::string reports;  // lines of a job that cannot print them
  std::string output;
  std::string temporary;
  std::string log;
  std::string port;    // that a service listens on
  std::string socket;  // instead; alone in a directory. "" unless its command has {socket}
  // Urls or sockets of JobOrder::services.
  std::map<std::string, std::string> services;
};

// True for an empty directory, and where nothing is; a link is something.
bool HasNothing(const std::string& path);

// "s12-345-a2".
std::string RunName(const AttemptId& id);

// Thread-safe.
class RunDirectories {
 public:
  // Kills what an earlier worker left running in its run directories, wherever they are, and
  // removes them; what cannot be removed is set aside, and `notices` says so. The new ones are made
  // in `work_directory`, or in a directory of their own in `run_directory` unless that is "".
  // REQUIRES: the caller holds the work directory's lock.
  static absl::StatusOr<std::unique_ptr<RunDirectories>> Open(
      const std::string& work_directory, const std::string& run_directory = "");
  // Leftovers that the start found on disk and could not remove, a line each, for people.
  const std::vector<std::string>& notices() const { return notices_; }
  // Removes what was made outside the work directory.
  ~RunDirectories();
  RunDirectories(const RunDirectories&) = delete;
  RunDirectories& operator=(const RunDirectories&) = delete;

  RunPaths PathsOf(const JobOrder& order) const;
  // Makes the run directory with nothing in it but empty folders: output, checkpoint, temporary.
  absl::Status Make(const RunPaths& paths);
  // Removes directory and log; OK when they are gone. Does not follow links, and removes folders
  // whose permissions the command took away. A directory that is as Make left it is kept for the
  // next one, whose name it gets then: one step instead of six. `has_log`: false when there is
  // surely none.
  absl::Status Remove(const RunPaths& paths, bool has_log = true);
  // The worker leaves: removals that go on end, with Cancelled. The next start removes the rest.
  void StopRemoving() { is_stopping_ = true; }
  // Removes what stands among the run directories and is none: jobs make it, to keep it or to have
  // it counted nowhere. Returns the names.
  std::vector<std::string> RemoveStrays();
  // Where the directory that was opened as `directory` is now; "" where it should be, or nowhere.
  static std::string MovedTo(const RunPaths& paths, int directory);

  const std::string& runs() const { return runs_; }
  // A place for links to inputs, on the file system of the run directories.
  std::string links() const;

 private:
  // Properties that the directories made here have in common.
  struct Made {
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
    dev_t device = 0;
  };

  RunDirectories(std::string link, std::string runs, std::string logs, const Made& made,
                 bool recycles);
  bool IsMade(int directory) const;
  // Removes the files in a run directory; whether it is then as Make left it: only the folders that
  // Make made are left, empty and with the rights that it gave them.
  bool Empty(const RunPaths& paths) const;

  std::vector<std::string> notices_;
  const std::string link_;  // WORK/runs where that is a link; "" where it is a folder
  const std::string runs_;  // without links
  const std::string logs_;
  const Made made_;
  const bool recycles_;  // true if directories are used again
  std::atomic<bool> is_stopping_ = false;
  Mutex mu_;
  std::vector<std::string> spares_ ABSL_GUARDED_BY(mu_);  // directories of attempts that are gone
  std::set<std::string> used_ ABSL_GUARDED_BY(mu_);       // directories of the others
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_RUN_DIR_H_
