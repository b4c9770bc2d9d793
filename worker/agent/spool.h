// SPDX-License-Identifier: Apache-2.0
// Results that the coordinator has not yet accepted, kept on disk so that a crash of the worker
// loses none of them.
#ifndef CONCUR_WORKER_AGENT_SPOOL_H_
#define CONCUR_WORKER_AGENT_SPOOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "core/sync/sync.h"

namespace concur::worker {

struct SpooledResult {
  FinishedAttempt finished;
  bool published = false;  // the coordinator has the artifacts
};

// The agent's loop thread calls every function.
class Spool {
 public:
  virtual ~Spool() = default;

  // Keeps results, replacing earlier ones of the same attempts. All are durable on return.
  virtual absl::Status Put(const std::vector<SpooledResult>& results) = 0;
  // Drops results that the coordinator has accepted. After a crash they may be found again: to
  // deliver a result twice changes nothing.
  virtual void Remove(const std::vector<AttemptId>& ids) = 0;
};

// A spool in a directory. Results that come together share one file and one sync; the file goes
// when all of them are taken. Thread-compatible.
class FileSpool : public Spool {
 public:
  // Reads what an earlier process left. Files that are damaged are set aside as NAME.damaged and
  // logged: they cannot hold up the rest. `files` outlives the spool.
  static absl::StatusOr<std::unique_ptr<FileSpool>> Open(const std::string& directory,
                                                         FileSystem& files = RealFileSystem());

  // Results that were found at Open, ordered by attempt.
  const std::vector<SpooledResult>& recovered() const { return recovered_; }

  absl::Status Put(const std::vector<SpooledResult>& results) override;
  void Remove(const std::vector<AttemptId>& ids) override;

 private:
  FileSpool(std::string directory, FileSystem& files);
  std::string PathOf(uint64_t file) const;
  absl::Status Load();
  void Release(uint64_t file);

  const std::string directory_;
  FileSystem& files_;
  uint64_t next_file_ = 1;
  std::map<AttemptId, uint64_t> file_of_;  // the file with the latest result
  std::map<uint64_t, size_t> live_in_;     // results in each file that still count
  std::vector<SpooledResult> recovered_;
};

// Results as text, with a digest to detect damage. ParseResults also reads files of older versions,
// which lacks the fields that they did not know; DataLoss for any other text.
std::string FormatResults(const std::vector<SpooledResult>& results);
absl::StatusOr<std::vector<SpooledResult>> ParseResults(absl::string_view text);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_SPOOL_H_
