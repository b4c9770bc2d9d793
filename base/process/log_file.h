// SPDX-License-Identifier: Apache-2.0
// Output of a job, bounded: the first bytes and the last ones, with a line between them that says
// how much was left out.
//
// Thread-compatible; ReadLogFile may run in another thread or process beside the writer.
#ifndef CONCUR_BASE_PROCESS_LOG_FILE_H_
#define CONCUR_BASE_PROCESS_LOG_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/process/redactor.h"

namespace concur::process {

// The head goes to the file as it comes; the tail waits in memory until Finish. A log that was
// never written to has no file.
class LogFile {
 public:
  // Keeps at most `bytes_max` bytes: half for the head, half for the tail. `secrets` are masked.
  LogFile(std::string path, int64_t bytes_max, std::vector<std::string> secrets = {});

  // Trouble with the disk is kept for Finish: a job is not stopped for its log. A secret is found
  // in either stream, also when pieces of the other one come between.
  void Append(absl::string_view data, bool is_error = false);
  // A line that is none of the job's, among its output: what is held back of that comes after it.
  void AppendNote(absl::string_view note) { Add(note); }
  // Nothing more comes: appends what may have been the beginning of a secret.
  void EndOutput();
  // Writes the tail. The first error of the disk, if there was one.
  absl::Status Finish();

  const std::string& path() const { return path_; }
  // Number of bytes that the job printed.
  int64_t bytes_seen() const { return bytes_seen_; }
  // The last bytes, at most `bytes_max`, for messages.
  std::string Last(size_t bytes_max) const;

 private:
  void Add(absl::string_view data);
  void WriteHead(absl::string_view data);

  const std::string path_;
  const int64_t head_bytes_max_;
  const int64_t tail_bytes_max_;
  std::vector<Redactor> redactors_;  // standard output's and error's; empty without secrets
  FileDescriptor fd_;
  absl::Status status_;
  int64_t bytes_seen_ = 0;
  int64_t head_bytes_ = 0;
  std::string tail_;           // ring buffer once it is full
  size_t tail_begin_ = 0;      // where the ring's oldest byte is
  int64_t tail_bytes_in_ = 0;  // bytes that went beyond the head
};

// Up to `bytes_max` bytes of the file from `offset`; "" when there is nothing.
std::string ReadLogFile(const std::string& path, int64_t offset, size_t bytes_max);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_LOG_FILE_H_
