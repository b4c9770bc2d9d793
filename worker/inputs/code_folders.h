// SPDX-License-Identifier: Apache-2.0
// The code of approaches, unpacked: WORK/code/KEY, read-only and shared by the attempts that run.
//
// A folder is as its key says when it gets its name. VerifiedInputs keeps asking for that: commands
// run as the worker's user.
//
// Thread-safe, but for one folder at a time by one thread (worker/inputs/inputs.cc gives the
// turns).
#ifndef CONCUR_WORKER_INPUTS_CODE_FOLDERS_H_
#define CONCUR_WORKER_INPUTS_CODE_FOLDERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "core/sweep/code.h"

namespace concur::worker {

class CodeFolders {
 public:
  explicit CodeFolders(std::string directory) : directory_(std::move(directory)) {}

  // Makes the directory, and removes halves and what was not used since `before`. What cannot be
  // removed is set aside beside the directory, and `notices` says so.
  absl::Status Open(absl::Time before, std::vector<std::string>& notices);
  // The folders that are there: visit(name, last use, bytes).
  absl::Status ForEach(
      const std::function<void(const std::string&, absl::Time, int64_t)>& visit) const;

  // The name of a folder, which no artifact and no mixture has.
  static std::string NameOf(const Digest& key);
  static bool IsName(absl::string_view name);
  std::string PathOf(absl::string_view name) const;

  // OK when the code is there, as its key says. DataLoss when it is not, and what is there is
  // removed or set aside. Other errors when nobody can tell, and it stays.
  absl::Status Verify(const std::string& name);
  // Unpacks the tar. DataLoss when it is malformed, too large, or does not give the key.
  absl::Status Unpack(const std::string& tar_path, const Digest& key);
  // On disk, of one that was verified.
  int64_t BytesOf(const std::string& name) const;
  absl::Status Remove(const std::string& name);

 private:
  const std::string directory_;
  mutable Mutex mu_;
  std::map<std::string, int64_t> bytes_ ABSL_GUARDED_BY(mu_);  // sizes of verified folders
};

// The files of a folder with their digests, in order. InvalidArgument for a link or a special file.
absl::StatusOr<std::vector<CodeFile>> CodeFilesIn(const std::string& folder);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_CODE_FOLDERS_H_
