// SPDX-License-Identifier: Apache-2.0
// Records what this process does to the files below one directory: each write, truncation, sync,
// and change of a name, in order.
//
// The system calls of the test program are replaced by functions that note the call and carry it
// out. Libraries use the same ones. No sync reaches the disk. Not recorded: memory-mapped writes,
// modes and times, of which no promise depends.
//
// One trace at a time; calls may come from any thread.
#ifndef CONCUR_TESTS_POWER_LOSS_FILE_TRACE_H_
#define CONCUR_TESTS_POWER_LOSS_FILE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace concur::testing {

// A file or directory, whatever its names are. 0 is the traced directory itself.
using FileNumber = size_t;

struct FileOp {
  enum class Kind : uint8_t {
    kCreate,         // an empty file
    kMakeDirectory,  //
    kWrite,          // `data` at `offset`
    kTruncate,       // to `offset` bytes
    kSync,           // a file or directory
    kRename,         // from `path` to `to`
    kLink,           // a second name, `to`
    kRemove,         // a name of a file, or a directory
  };
  Kind kind = Kind::kWrite;
  FileNumber file = 0;
  std::string path;  // below the traced directory, without a leading slash
  std::string to;
  size_t offset = 0;
  std::string data;
};

class FileTrace {
 public:
  // Traces `directory`, an absolute path. What is there has the numbers from 1 on, in the order of
  // the paths.
  explicit FileTrace(const std::string& directory);
  ~FileTrace();
  FileTrace(const FileTrace&) = delete;
  FileTrace& operator=(const FileTrace&) = delete;

  // Number of operations so far.
  size_t position() const;
  std::vector<FileOp> Stop();
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_POWER_LOSS_FILE_TRACE_H_
