// SPDX-License-Identifier: Apache-2.0
// Where attempts run: one directory each, WORK/runs/s12-345-a2, made before the command starts and
// removed when the coordinator has forgotten the attempt. WORK/runs may be a link to a directory on
// another file system. The log lies in WORK/logs, out of the command's way.
#ifndef CONCUR_WORKER_RUN_DIR_H_
#define CONCUR_WORKER_RUN_DIR_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "core/ids.h"
#include "core/job_order.h"

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
  std::string checkpoint;  // "" for eval jobs
  std::string predictions;
  std::string metrics;
  std::string examples;
  std::string output;
  std::string temporary;
  std::string log;
};

// What is known of a run directory besides its paths, from Make to Remove.
struct RunContents {
  // A folder that was seen empty.
  struct Folder {
    ino_t inode = 0;
    timespec change_time = {};
    bool settled = false;  // whatever happens to it since then has a later change time
  };
  Digest data;         // of the file that the attempt reads; zero: none, or of a mixture
  std::string target;  // of the link to it that is there; "": there is none
  Folder output;
  Folder temporary;
};

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
  // What the start found on disk and could not remove, a line each, for people.
  const std::vector<std::string>& notices() const { return notices_; }
  // Removes what was made outside the work directory.
  ~RunDirectories();
  RunDirectories(const RunDirectories&) = delete;
  RunDirectories& operator=(const RunDirectories&) = delete;

  RunPaths PathsOf(const JobOrder& order) const { return PathsOf(order, RunName(order.id)); }
  // The same in a directory of another name, of what is no attempt.
  RunPaths PathsOf(const JobOrder& order, const std::string& name) const;
  // Makes the run directory, empty, with its `output` and temporary folders. One that an attempt
  // left which read the same data still has its link to that, as the result says.
  absl::StatusOr<RunContents> Make(const RunPaths& paths, const JobOrder& order);
  // Removes the directory; OK when it is gone. Does not follow links, and removes folders whose
  // permissions the command took away. One that is as Make left it is kept for the next attempt,
  // whose name it gets then: one step instead of six. `contents` are of Make, with the link to the
  // data if it was made since.
  absl::Status Remove(const RunPaths& paths, RunContents contents);
  // Keeps the directory for the next attempt, too, if there is nothing in it but what its paths
  // name: inputs, and outputs that the caller has no more use for. Whether it did; it must not be
  // removed then.
  bool Recycle(const RunPaths& paths, RunContents& contents);
  // Removes the log, if there is one.
  absl::Status RemoveLog(const RunPaths& paths);
  const std::string& runs() const { return runs_; }
  // A place for links to inputs, on the file system of the run directories.
  std::string links() const;

 private:
  // What the directories made here have in common.
  struct Made {
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
    dev_t device = 0;
  };

  // A directory of an attempt that is gone.
  struct Spare {
    std::string directory;
    std::string data_name;  // of the link to its data, if there is one
    RunContents contents;
  };

  RunDirectories(std::string link, std::string runs, std::string logs, const Made& made);
  bool IsMade(const struct stat& info) const;
  // Whether the folder is empty, and has the rights that Make gave it. Notes that in `folder`.
  bool IsEmpty(int directory, const char* name, RunContents::Folder& folder) const;
  // Removes the files in a run directory but the link to its data, with `named_only` those that its
  // paths name; whether it is then as Make left it: of the rest only the folders that Make made are
  // left, empty and with their rights.
  bool Empty(const RunPaths& paths, bool named_only, RunContents& contents) const;
  bool KeepSpare(const RunPaths& paths, RunContents& contents);
  // Notes that an attempt has this directory. A spare for it, with a link to the same data if there
  // is one; none when there is no spare.
  std::optional<Spare> TakeSpare(const std::string& directory, const std::string& data_name,
                                 const Digest& data);
  // Notes that the attempt has it no more. Links are for attempts that follow each other: when the
  // last attempt goes, those of all spares go.
  void Release(const std::string& directory);

  std::vector<std::string> notices_;
  const std::string link_;  // WORK/runs where that is a link; "" where it is a folder
  const std::string runs_;  // without links
  const std::string logs_;
  const Made made_;
  const bool recycles_;       // whether directories are used again
  const bool tells_changes_;  // whether their file system keeps exact change times
  Mutex mu_;
  absl::flat_hash_set<std::string> used_ ABSL_GUARDED_BY(mu_);  // directories of attempts
  std::vector<Spare> spares_ ABSL_GUARDED_BY(mu_);
};

// Bytes on disk of all files and folders below `path`; what cannot be read counts as nothing.
int64_t DiskUseOf(const std::string& path);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_RUN_DIR_H_
