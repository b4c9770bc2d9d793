// SPDX-License-Identifier: Apache-2.0
// Root file systems of environments: a tar of one, or a container image as an OCI archive, unpacked
// into a directory that belongs to the caller's user.
//
// Other people's files: nothing is written outside the directory, through a link, or beyond a
// limit. Owners, setuid bits and extended attributes are not kept; what lies in dev/ and run/ and
// is neither file, folder nor link is left out, and refused elsewhere.
//
// Functions are thread-safe (stateless).
#ifndef CONCUR_BASE_ARCHIVE_ROOT_TAR_H_
#define CONCUR_BASE_ARCHIVE_ROOT_TAR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/archive/root_limits.h"

namespace concur {

// Checks that a file begins as such a tar, plain or packed by gzip, xz or zstd. InvalidArgument.
absl::Status CheckRootTar(const std::string& path);
// Checks that a file is an OCI archive, as far as its first entries tell. InvalidArgument.
absl::Status CheckOciArchive(const std::string& path);

// Makes `directory`, which must not exist, from the tar. InvalidArgument when the tar is malformed,
// has an entry that leads out of it, or is beyond a limit.
absl::Status ExtractRootTar(const std::string& tar_path, const std::string& directory,
                            const RootLimits& limits = {});

// As ExtractRootTar, of the image's layers one upon another. `scratch` must not exist, and is there
// no longer afterwards. Returns the variables that the image sets, "NAME=value".
absl::StatusOr<std::vector<std::string>> ExtractOciArchive(const std::string& archive_path,
                                                           const std::string& scratch,
                                                           const std::string& directory,
                                                           const RootLimits& limits = {});

}  // namespace concur

#endif  // CONCUR_BASE_ARCHIVE_ROOT_TAR_H_
