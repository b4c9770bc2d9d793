// A trained system that is a directory travels as one artifact: an uncompressed tar whose bytes
// depend on names, contents and executable bits alone.
//
// Thread-safe (stateless). Links and special files are refused on the way in and out.
#ifndef CONCUR_WORKER_DIRECTORY_TAR_H_
#define CONCUR_WORKER_DIRECTORY_TAR_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::worker {

// Most files and folders that one directory may have.
inline constexpr int64_t kTarEntriesMax = 1'000'000;

// Gives the tar of `directory` to `sink` piece by piece. InvalidArgument, with the path, when it
// has a link or a special file; the sink's first error.
absl::Status WriteDirectoryTar(const std::string& directory,
                               const std::function<absl::Status(absl::string_view)>& sink);

// Whether the file at `path` is a tar that WriteDirectoryTar made.
absl::StatusOr<bool> IsDirectoryTar(const std::string& path);

// Makes `directory`, which must not exist, from the tar. DataLoss when the tar is malformed or has
// an entry that is not a plain file or folder below the root.
absl::Status ExtractDirectoryTar(const std::string& tar_path, const std::string& directory);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_DIRECTORY_TAR_H_
