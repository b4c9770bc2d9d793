// SPDX-License-Identifier: Apache-2.0
// A directory as one artifact, a trained system or an approach's code: an uncompressed tar whose
// bytes depend on names, contents, executable bits and links alone.
//
// Functions are thread-safe (stateless). Links that stay inside the directory are kept as relative
// links; others, and special files, are refused on the way in and out.
#ifndef CONCUR_BASE_ARCHIVE_DIRECTORY_TAR_H_
#define CONCUR_BASE_ARCHIVE_DIRECTORY_TAR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// Most files and folders that one directory may have.
inline constexpr int64_t kTarEntriesMax = 1'000'000;

// Writes such a tar piece by piece. Entries are named relative to the directory; folders come
// before what is in them. Thread-compatible.
class DirectoryTarWriter {
 public:
  using Sink = std::function<absl::Status(absl::string_view)>;

  static absl::StatusOr<std::unique_ptr<DirectoryTarWriter>> Open(Sink sink);
  ~DirectoryTarWriter();
  DirectoryTarWriter(const DirectoryTarWriter&) = delete;
  DirectoryTarWriter& operator=(const DirectoryTarWriter&) = delete;

  // Each returns the sink's first error as it is.
  absl::Status AddFolder(const std::string& name);
  // REQUIRES: `target` is folders up, then names, and stays inside.
  absl::Status AddLink(const std::string& name, const std::string& target);
  // Followed by Append calls with `bytes` bytes in all.
  absl::Status AddFile(const std::string& name, bool is_executable, int64_t bytes);
  absl::Status Append(absl::string_view data);
  absl::Status Finish();

 private:
  struct State;
  explicit DirectoryTarWriter(std::unique_ptr<State> state);

  absl::Status AddEntry(const std::string& name, bool is_folder, bool is_executable, int64_t bytes);
  absl::Status Error(absl::string_view what) const;

  const std::unique_ptr<State> state_;
};

// Gives the tar of `directory` to `sink` piece by piece. Links that lead out of it and special
// files are left out, and described in `left_out` with their targets; where that is null they are
// InvalidArgument. The sink's first error.
absl::Status WriteDirectoryTar(const std::string& directory, const DirectoryTarWriter::Sink& sink,
                               std::vector<std::string>* left_out = nullptr);

// A link below `directory` that leads out of it, as WriteDirectoryTar describes it; "" while none
// is found in its first 100,000 entries and 50 levels, or it is no directory, such as a link to
// one. Others may write there meanwhile.
std::string FindLinkOut(const std::string& directory);

// True if the file at `path` is a tar that WriteDirectoryTar made.
absl::StatusOr<bool> IsDirectoryTar(const std::string& path);

struct TarLimits {
  int64_t entries_max = kTarEntriesMax;
  int64_t bytes_max = std::numeric_limits<int64_t>::max();  // all files together
};
// Makes `directory`, which must not exist, from the tar. DataLoss when the tar is malformed, has an
// entry that is no plain file, folder or link below the root, a link that leads out of it, also
// through another link, or is beyond a limit.
absl::Status ExtractDirectoryTar(const std::string& tar_path, const std::string& directory,
                                 const TarLimits& limits = {});

}  // namespace concur

#endif  // CONCUR_BASE_ARCHIVE_DIRECTORY_TAR_H_
