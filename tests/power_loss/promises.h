// SPDX-License-Identifier: Apache-2.0
// Data that was acknowledged while a trace was recorded, and whether a directory keeps it.
//
// A directory holds "data" (the coordinator's database, artifacts and backups) and "work" (a
// worker's spool). Positions are those of the trace: an acknowledgement at n binds every state that
// a power cut after n operations or more leaves.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_POWER_LOSS_PROMISES_H_
#define CONCUR_TESTS_POWER_LOSS_PROMISES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "core/ids.h"
#include "tests/power_loss/file_trace.h"

namespace concur::testing {

inline constexpr size_t kNever = SIZE_MAX;

struct Promises {
  struct Commit {
    size_t begin = 0;
    size_t acknowledged = 0;
    std::string text;  // describes all rows after it
  };
  struct Artifact {
    std::string data;
    size_t acknowledged = 0;
    size_t dropped = kNever;  // when its removal began
  };
  struct Spooled {
    AttemptId id;
    size_t acknowledged = 0;
    size_t dropped = kNever;
  };
  struct Backup {
    std::string path;
    std::string text;
    size_t acknowledged = 0;
  };

  std::vector<Commit> commits;  // the first one is the empty database
  std::vector<Artifact> artifacts;
  std::vector<Spooled> spooled;
  std::vector<Backup> backups;

  // Starts a coordinator's and a worker's stores on what a power cut after `position` operations
  // left in `directory`. "" if all promises are kept; else the first that is broken. Changes no
  // row, but for one batch more if it `commits_more`.
  std::string Check(const std::string& directory, size_t position, bool commits_more) const;

 private:
  std::string CheckDatabase(const std::string& data, size_t position, bool commits_more) const;
  std::string CheckArtifacts(const std::string& data, size_t position) const;
  std::string CheckSpool(const std::string& work, size_t position) const;
  std::string CheckBackups(const std::string& data, size_t position) const;
};

struct Recording {
  std::vector<FileOp> ops;
  Promises promises;
  // Paths that differ from what the trace leads to; none if it is complete.
  std::vector<std::string> differences;
};
// Runs a coordinator's stores and a worker's spool in a directory of their own, through several
// starts: commits with frequent checkpoints, artifacts of all ways, backups, removals.
Recording Record(uint64_t seed);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_POWER_LOSS_PROMISES_H_
