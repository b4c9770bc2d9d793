// SPDX-License-Identifier: Apache-2.0
#include "base/archive/root_tar.h"

#include <archive.h>
#include <archive_entry.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/archive/root_writer.h"
#include "base/status_macros.h"

namespace concur {

absl::Status CheckRootTar(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const TarReader reader, OpenTar(path));
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(reader.get(), &entry);
  if (code == ARCHIVE_EOF) {
    return absl::InvalidArgumentError(absl::StrCat(path, ", which is empty"));
  }
  return code == ARCHIVE_OK || code == ARCHIVE_WARN
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(path, ", which is no such file (",
                                                       archive_error_string(reader.get()), ")"));
}

absl::Status ExtractRootTar(const std::string& tar_path, const std::string& directory,
                            const RootLimits& limits) {
  RootWriter writer(directory, limits);
  CONCUR_RETURN_IF_ERROR(writer.Make());
  CONCUR_RETURN_IF_ERROR(writer.AddTar(tar_path));
  return writer.Finish();
}

}  // namespace concur
