// SPDX-License-Identifier: Apache-2.0
// Writes tars, one upon another, into the directory of a root file system
// (base/archive/root_tar.h).
//
// Thread-compatible.
#ifndef CONCUR_BASE_ARCHIVE_ROOT_WRITER_H_
#define CONCUR_BASE_ARCHIVE_ROOT_WRITER_H_

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/archive/root_limits.h"

namespace concur {

struct TarReaderCloser {
  void operator()(archive* a) const { archive_read_free(a); }
};
using TarReader = std::unique_ptr<archive, TarReaderCloser>;

// A tar, plain or packed by gzip, xz or zstd. InvalidArgument when it cannot be read.
absl::StatusOr<TarReader> OpenTar(const std::string& path);

// Bytes that may be unpacked of a file in all, where `unpacked` were already: 100 times its
// size and 64 MiB more, and no more than limits.bytes_max. Fails if there is no such file.
absl::StatusOr<int64_t> AllowedBytes(const std::string& path, int64_t unpacked,
                                     const RootLimits& limits);

class RootWriter {
 public:
  RootWriter(std::string directory, const RootLimits& limits);

  // Makes the directory, which must not exist.
  absl::Status Make();
  // Errors as ExtractRootTar.
  absl::Status AddTar(const std::string& tar);
  // A layer of an image, whose entries named ".wh.NAME" take away what lower layers have.
  absl::Status AddLayer(const std::string& tar);
  absl::Status Finish();

 private:
  struct DiskCloser {
    void operator()(archive* a) const { archive_write_free(a); }
  };

  absl::Status ForEachEntry(const std::string& tar,
                            const std::function<absl::Status(archive*, archive_entry*)>& visit);
  absl::Status Whiteout(const std::string& name);
  absl::Status AddEntry(const std::string& tar, const std::string& name, archive* reader,
                        archive_entry* entry);
  absl::Status CopyData(const std::string& tar, const std::string& name, archive* reader);
  absl::Status WriteError(const std::string& tar, const std::string& name) const;

  std::string directory_;
  const RootLimits limits_;
  const std::unique_ptr<archive, DiskCloser> disk_;
  int64_t entries_ = 0;
  int64_t bytes_ = 0;
  int64_t allowed_ = 0;  // limit on bytes_
};

}  // namespace concur

#endif  // CONCUR_BASE_ARCHIVE_ROOT_WRITER_H_
