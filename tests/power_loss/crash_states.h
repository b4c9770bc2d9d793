// SPDX-License-Identifier: Apache-2.0
// States of a directory after a power cut: a model of a file system that keeps only what was
// synced, and of everything else as much as it likes.
//
// A write that was not synced is kept, lost, torn into sectors of 512 or 4,096 bytes each of which
// is kept or not, or has made the file longer by zeros. A change of a name is durable once one of
// its directories is synced; before, it is kept or lost, apart from other changes. A rename is one
// change. A new directory whose own name is lost takes its contents along. These are the freedoms
// that POSIX gives, but for the rename, which every journaling file system makes at once.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_POWER_LOSS_CRASH_STATES_H_
#define CONCUR_TESTS_POWER_LOSS_CRASH_STATES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/random.h"
#include "tests/power_loss/file_trace.h"

namespace concur::testing {

// Fate of the operations that were not synced.
enum class Fate : uint8_t {
  kAllLost,
  kAllKept,    // as after a killed process
  kPrefix,     // up to some moment all is kept, after it nothing
  kNamesOnly,  // names and lengths are kept, the bytes are zeros: data is written last
  kDataOnly,   // bytes are kept, names are not
  kRandom,     // each by itself
};
inline constexpr Fate kFates[] = {Fate::kAllLost,   Fate::kAllKept,  Fate::kPrefix,
                                  Fate::kNamesOnly, Fate::kDataOnly, Fate::kRandom};
absl::string_view FateName(Fate fate);

// Contents of files by their paths; of directories "/".
using FileTree = std::map<std::string, std::string>;

class CrashModel {
 public:
  // Starts with `tree`, on disk for certain.
  explicit CrashModel(const FileTree& tree = {});

  // Operations come in the order of the trace.
  void Apply(const FileOp& op);
  // Tree that is found after a power cut now.
  FileTree Crash(Fate fate, Random& random) const;

 private:
  struct Write {
    size_t number = 0;  // the operation's
    size_t offset = 0;
    std::string data;
    bool truncates = false;
  };
  struct File {
    bool is_directory = false;
    std::string synced;
    std::vector<Write> pending;
  };
  struct NameChange {
    size_t number = 0;
    FileNumber from_directory = 0;
    std::string from;  // this name goes; "": none
    FileNumber to_directory = 0;
    std::string to;  // this name is of `file`; "": none
    FileNumber file = 0;
  };
  using Entries = std::map<std::string, FileNumber>;
  using Directories = std::map<FileNumber, Entries>;

  // The directory and the last part of a path, as the process sees them.
  FileNumber DirectoryOf(const std::string& path, std::string& name) const;
  static void Change(const NameChange& change, Directories& directories);
  void AddChange(NameChange change);
  void Sync(FileNumber number);
  static bool Touches(const NameChange& change, FileNumber directory);
  static void Keep(const Write& write, std::string& contents);
  static void KeepSome(const Write& write, Random& random, std::string& contents);
  static void Build(const std::map<FileNumber, std::string>& contents,
                    const std::map<FileNumber, File>& files, const Directories& directories,
                    FileNumber directory, const std::string& path, FileTree& tree);

  size_t ops_ = 0;
  std::map<FileNumber, File> files_;
  Directories seen_;    // by the process
  Directories synced_;  // on disk for certain
  std::vector<NameChange> pending_;
};

// Writes a tree into an empty directory.
void WriteTree(const FileTree& tree, const std::string& directory);
// Reads a directory.
FileTree ReadTree(const std::string& directory);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_POWER_LOSS_CRASH_STATES_H_
