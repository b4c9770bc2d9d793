// SPDX-License-Identifier: Apache-2.0
// The part of DirectoryStore that uses the packs beside its files.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/file.h"
#include "base/status_macros.h"
#include "store/artifacts/directory_store.h"

namespace concur {

absl::StatusOr<Digest> DirectoryStore::PutPacked(absl::string_view data) {
  const Digest digest = Sha256Of(data);
  CONCUR_ASSIGN_OR_RETURN(const bool kept, packs_->Keep(digest, /*searches=*/false));
  if (kept) {
    return digest;
  }
  if (FileSize(digest).ok()) {
    return Put(data);
  }
  const absl::Status put = packs_->Append(digest, data);
  if (absl::IsNotFound(put)) {
    return Put(data);  // the folder of packs was removed
  }
  CONCUR_RETURN_IF_ERROR(put);
  return digest;
}

absl::Status DirectoryStore::Sync() { return packs_ ? packs_->Sync() : absl::OkStatus(); }

uint64_t DirectoryStore::failed_syncs() const { return packs_ ? packs_->failed_syncs() : 0; }

absl::Status DirectoryStore::SetPackedAside(const Digest& digest, const Packs::PackedBytes& packed,
                                            absl::string_view problem) const {
  return SetAside(digest, problem, [&](const std::string& target) {
    const FileDescriptor fd(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd.valid()) {
      return ErrnoStatus(errno, target, "create");
    }
    absl::Status moved = WriteAll(fd.get(), packed.bytes, target);
    if (moved.ok()) {
      moved = packs_->RemoveAt(digest, packed.place);
    }
    if (!moved.ok()) {
      unlink(target.c_str());  // the next reader tries again
    }
    return moved;
  });
}

}  // namespace concur
