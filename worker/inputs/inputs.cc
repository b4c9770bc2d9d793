// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "qa/builders/mixture.h"
#include "store/file_blocks.h"

namespace concur::worker {
namespace {

// A broken transfer goes on where it stopped, so often in a row; then the attempt waits.
constexpr int kResumesMax = 5;
// Artifacts that are known to be whole, some 150 bytes each.
constexpr size_t kCheckedMax = 100'000;
// Changes when the same parts and seed may give another mixture.
constexpr char kMixtureVersion[] = "mixture-1";

std::string MixtureKey(const std::vector<JobOrder::Input>& parts, uint64_t seed) {
  Sha256 hasher;
  hasher.UpdateField(kMixtureVersion);
  hasher.UpdateField(absl::StrCat(seed));
  for (const JobOrder::Input& part : parts) {
    hasher.UpdateField(part.name);
    hasher.UpdateField(part.digest.ToBytes());
    hasher.UpdateField(absl::StrCat(part.examples_max));
  }
  return hasher.Finish().ToHex();
}

std::string CheckedKey(const DirectoryStore& store, const Digest& digest) {
  return absl::StrCat(store.store_id(), " ", digest.ToBytes());
}

}  // namespace

// Holds a key's turn until the end of a scope.
class Artifacts::Turn {
 public:
  Turn(Artifacts& artifacts, std::string key) : artifacts_(artifacts), key_(std::move(key)) {
    MutexLock lock(artifacts_.mu_);
    while (!artifacts_.turns_.insert(key_).second) {
      artifacts_.turn_over_.Wait(artifacts_.mu_);
    }
  }
  ~Turn() {
    {
      MutexLock lock(artifacts_.mu_);
      artifacts_.turns_.erase(key_);
    }
    artifacts_.turn_over_.NotifyAll();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Artifacts& artifacts_;
  const std::string key_;
};

Artifacts::Artifacts(const std::string& root, std::string links,
                     std::unique_ptr<DirectoryStore> cache, int64_t cache_bytes_max,
                     ArtifactTransfer& transfer)
    : cache_(std::move(cache)),
      mixtures_(absl::StrCat(root, "/mixtures")),
      codes_(absl::StrCat(root, "/code")),
      links_(std::move(links)),
      transfer_(transfer),
      index_(cache_bytes_max) {}

absl::StatusOr<std::unique_ptr<Artifacts>> Artifacts::Open(const std::string& work_directory,
                                                           std::string links,
                                                           const CacheLimits& limits,
                                                           const std::vector<Digest>& live,
                                                           ArtifactTransfer& transfer,
                                                           std::vector<std::string>& notices) {
  std::error_code error;
  const std::string root = std::filesystem::absolute(work_directory, error).string();
  CONCUR_RETURN_IF_ERROR(MakeDirectories(root, 0700));
  CONCUR_ASSIGN_OR_RETURN(auto cache, DirectoryStore::Open(absl::StrCat(root, "/cache")));
  std::unique_ptr<Artifacts> artifacts(
      new Artifacts(root, std::move(links), std::move(cache), limits.bytes_max, transfer));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(artifacts->mixtures_, 0700));
  CONCUR_RETURN_IF_ERROR(artifacts->links_.Open());
  CONCUR_RETURN_IF_ERROR(artifacts->codes_.Open(limits.unused_since, notices));
  CONCUR_RETURN_IF_ERROR(artifacts->Collect({live.begin(), live.end()}, limits.unused_since));
  for (const Digest& digest : live) {
    artifacts->index_.Hold(digest.ToHex());
    MutexLock lock(artifacts->mu_);
    ++artifacts->puts_[digest];
  }
  CONCUR_RETURN_IF_ERROR(artifacts->IndexCache());
  artifacts->MakeRoom();
  return artifacts;
}

absl::Status Artifacts::IndexCache() {
  struct Found {
    absl::Time used;
    std::string name;
    int64_t bytes = 0;
  };
  std::vector<Found> all;
  const auto add = [&all](const std::string& path, std::string name) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      all.push_back({absl::TimeFromTimespec(info.st_mtim), std::move(name), info.st_size});
    }
  };
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> digests, cache_->List());
  for (const Digest& digest : digests) {
    add(cache_->PathOf(digest).value_or(""), digest.ToHex());
  }
  CONCUR_RETURN_IF_ERROR(ForEachEntry(mixtures_, [&](const std::string& name) {
    add(absl::StrCat(mixtures_, "/", name), name);
    return absl::OkStatus();
  }));
  CONCUR_RETURN_IF_ERROR(
      codes_.ForEach([&](const std::string& name, absl::Time used, int64_t bytes) {
        all.push_back({used, name, bytes});
      }));
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tie(a.used, a.name) < std::tie(b.used, b.name);
  });
  for (const Found& found : all) {
    index_.Use(found.name, found.bytes);
  }
  return absl::OkStatus();
}

void Artifacts::Used(const Digest& digest) {
  // For the next worker here, whose order is that of the files' times.
  if (cache_->Touch(digest).ok()) {
    index_.Use(digest.ToHex(), cache_->Size(digest).value_or(0));
  }
}

void Artifacts::Remove(const std::string& name) {
  const absl::StatusOr<Digest> digest = Digest::FromHex(name);
  absl::Status removed;
  if (digest.ok()) {
    removed = cache_->Remove(*digest).status();
    MutexLock lock(mu_);
    checked_.erase(CheckedKey(*cache_, *digest));
  } else if (CodeFolders::IsName(name)) {
    removed = codes_.Remove(name);
  } else if (const std::string path = absl::StrCat(mixtures_, "/", name);
             unlink(path.c_str()) != 0 && errno != ENOENT) {
    removed = ErrnoStatus(errno, path, "remove");
  }
  if (!removed.ok()) {
    LogWarning("a cached file cannot be removed", {{"error", removed.ToString()}});
  }
  index_.Removed(name);
}

void Artifacts::MakeRoom() {
  while (const std::optional<std::string> name = index_.NextToGo()) {
    Remove(*name);
  }
}

void Artifacts::SetCoordinatorStore(const CoordinatorStore& store) {
  {
    MutexLock lock(mu_);
    if (coordinator_ == store) {
      return;
    }
    coordinator_ = store;
    shared_ = nullptr;
  }
  // Looked at before it is opened: opening makes a store where there is none.
  const absl::StatusOr<std::string> id =
      store.directory.empty() ? absl::NotFoundError("")
                              : ReadFile(absl::StrCat(store.directory, "/store-id"), 4096);
  if (!id.ok() || store.store_id.empty() || absl::StripAsciiWhitespace(*id) != store.store_id ||
      access(absl::StrCat(store.directory, "/tmp").c_str(), W_OK) != 0) {
    LogInfo("artifacts are transferred: the coordinator's store is not on this machine's disk");
    return;
  }
  absl::StatusOr<std::unique_ptr<DirectoryStore>> opened = DirectoryStore::Open(store.directory);
  if (!opened.ok() || (*opened)->store_id() != store.store_id) {
    LogWarning("artifacts are transferred: the coordinator's store cannot be used directly",
               {{"error", opened.status().ToString()}});
    return;
  }
  LogInfo("artifacts are shared with the coordinator", {{"directory", store.directory}});
  MutexLock lock(mu_);
  if (coordinator_ == store) {
    shared_ = *std::move(opened);
  }
}

std::shared_ptr<DirectoryStore> Artifacts::SharedStore() const {
  MutexLock lock(mu_);
  return shared_;
}

bool Artifacts::Holds(const PutStart& start) const {
  return start.store != nullptr && start.store == SharedStore();
}

DirectoryStore& Artifacts::PutStore(const std::shared_ptr<DirectoryStore>& shared) const {
  return shared != nullptr ? *shared : *cache_;
}

void Artifacts::MarkChecked(const DirectoryStore& store, const Digest& digest) {
  MutexLock lock(mu_);
  if (checked_.size() >= kCheckedMax) {
    checked_.clear();  // they are read once more when they are used again
  }
  checked_.insert(CheckedKey(store, digest));
}

absl::StatusOr<std::string> Artifacts::Checked(const DirectoryStore& store, const Digest& digest) {
  bool checked = false;
  {
    MutexLock lock(mu_);
    checked = checked_.contains(CheckedKey(store, digest));
  }
  if (!checked) {
    CONCUR_RETURN_IF_ERROR(store.Verify(digest));
    MarkChecked(store, digest);
  }
  return store.PathOf(digest);
}

absl::StatusOr<HeldFile> Artifacts::Fetch(const Digest& digest, const IsCanceled& is_canceled) {
  const Turn turn(*this, digest.ToHex());
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  // What lies in a pack is fetched like what lies elsewhere.
  if (shared != nullptr && shared->PathOf(digest).ok()) {
    CONCUR_ASSIGN_OR_RETURN(std::string path, Checked(*shared, digest));
    return HeldFile{std::move(path)};
  }
  CacheHold hold(index_, digest.ToHex());
  if (cache_->Has(digest)) {
    absl::StatusOr<std::string> path = Checked(*cache_, digest);
    if (path.ok()) {
      Used(digest);
      return HeldFile{*std::move(path), std::move(hold)};
    }
    if (!absl::IsDataLoss(path.status())) {
      return path.status();
    }
    LogWarning("a cached artifact is damaged; fetching it anew",
               {{"error", path.status().ToString()}});
  }
  CONCUR_RETURN_IF_ERROR(Download(digest, is_canceled));
  MarkChecked(*cache_, digest);
  Used(digest);
  MakeRoom();
  CONCUR_ASSIGN_OR_RETURN(std::string path, cache_->PathOf(digest));
  return HeldFile{std::move(path), std::move(hold)};
}

absl::Status Artifacts::Download(const Digest& digest, const IsCanceled& is_canceled) {
  CONCUR_ASSIGN_OR_RETURN(auto writer, cache_->NewWriter(digest, Durability::kCache));
  for (int resumes = 0;; ++resumes) {
    const int64_t offset = writer->bytes();
    absl::Status status = transfer_.Download(
        digest, offset, [&](absl::string_view data) { return writer->Append(data); }, is_canceled);
    if (status.ok()) {
      return writer->Finish().status();
    }
    // What came counts as progress: only a transfer that stands still gives up.
    if (writer->bytes() > offset) {
      resumes = 0;
    }
    if (!absl::IsUnavailable(status) || resumes >= kResumesMax || is_canceled()) {
      return status;
    }
  }
}

absl::StatusOr<FileDigest> Artifacts::Keep(const std::function<absl::StatusOr<FileDigest>()>& put) {
  CONCUR_ASSIGN_OR_RETURN(FileDigest kept, put());
  index_.Hold(kept.digest.ToHex());
  // The same bytes may have lain there already, and gone in between.
  if (!cache_->Has(kept.digest)) {
    const absl::StatusOr<FileDigest> again = put();
    if (!again.ok() || again->digest != kept.digest) {
      index_.Release(kept.digest.ToHex());
      return again.ok() ? absl::AbortedError("the file changed while it was put") : again;
    }
  }
  {
    MutexLock lock(mu_);
    ++puts_[kept.digest];
  }
  Used(kept.digest);
  MakeRoom();
  return kept;
}

absl::StatusOr<FileDigest> Artifacts::PutFile(const std::string& path, Durability durability) {
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  if (shared != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(const FileDigest put, shared->PutFile(path, durability));
    MarkChecked(*shared, put.digest);
    return put;
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDigest put, Keep([&] { return cache_->PutFile(path); }));
  MarkChecked(*cache_, put.digest);
  return put;
}

absl::StatusOr<FileDigest> Artifacts::Put(absl::string_view data) {
  const auto bytes = static_cast<int64_t>(data.size());
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  if (shared != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, shared->Put(data, Durability::kAtSync));
    return FileDigest{digest, bytes};
  }
  return Keep([&]() -> absl::StatusOr<FileDigest> {
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, cache_->Put(data));
    return FileDigest{digest, bytes};
  });
}

Artifacts::PutStart Artifacts::StartPut() const {
  std::shared_ptr<DirectoryStore> shared = SharedStore();
  const uint64_t failed_syncs = shared != nullptr ? shared->failed_syncs() : 0;
  return {std::move(shared), failed_syncs};
}

absl::StatusOr<FileDigest> Artifacts::PutStream(
    const std::function<absl::Status(ArtifactStore::Writer&)>& write) {
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  const auto put = [&write](DirectoryStore& store) -> absl::StatusOr<FileDigest> {
    CONCUR_ASSIGN_OR_RETURN(auto writer, store.NewWriter(Digest()));
    CONCUR_RETURN_IF_ERROR(write(*writer));
    CONCUR_ASSIGN_OR_RETURN(const Digest digest, writer->Finish());
    return FileDigest{digest, writer->bytes()};
  };
  return shared != nullptr ? put(*shared) : Keep([&] { return put(*cache_); });
}

void Artifacts::Withdraw(const Digest& digest) {
  {
    MutexLock lock(mu_);
    const auto it = puts_.find(digest);
    if (it == puts_.end()) {
      return;  // it was put into the shared store
    }
    if (--it->second == 0) {
      puts_.erase(it);
    }
  }
  index_.Release(digest.ToHex());
  MakeRoom();
}

absl::Status Artifacts::Publish(const Digest& digest, const IsCanceled& is_canceled) {
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  // What lies in a pack may not be durable yet.
  if (shared != nullptr && shared->PathOf(digest).ok()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string path, Checked(*cache_, digest));
  if (shared != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(const FileDigest put, shared->PutFile(path));
    return put.digest == digest ? absl::OkStatus()
                                : absl::DataLossError(absl::StrCat(path, ": damaged"));
  }
  return transfer_.Upload(digest, path, is_canceled);
}

absl::StatusOr<HeldFile> Artifacts::Code(const JobOrder::CodeInput& code,
                                         const IsCanceled& is_canceled) {
  const std::string name = CodeFolders::NameOf(code.key);
  const Turn turn(*this, name);
  HeldFile folder{codes_.PathOf(name), CacheHold(index_, name)};
  if (!codes_.Has(code.key)) {
    CONCUR_ASSIGN_OR_RETURN(const HeldFile tar, Fetch(code.digest, is_canceled));
    CONCUR_RETURN_IF_ERROR(codes_.Unpack(tar.path, code.key));
  }
  index_.Use(name, codes_.BytesOf(name));
  MakeRoom();
  return folder;
}

absl::StatusOr<HeldFile> Artifacts::Mixture(const std::vector<JobOrder::Input>& inputs,
                                            uint64_t seed, const IsCanceled& is_canceled) {
  std::vector<qa::MixturePart> parts;
  std::vector<CacheHold> holds;
  for (const JobOrder::Input& input : inputs) {
    qa::MixturePart part;
    part.name = input.name;
    part.examples_max = input.examples_max;
    CONCUR_ASSIGN_OR_RETURN(HeldFile file, Fetch(input.digest, is_canceled));
    part.path = std::move(file.path);
    holds.push_back(std::move(file.hold));
    parts.push_back(std::move(part));
  }
  const std::string name = absl::StrCat(MixtureKey(inputs, seed), ".jsonl");
  const std::string path = absl::StrCat(mixtures_, "/", name);
  const Turn turn(*this, name);
  HeldFile mixture{path, CacheHold(index_, name)};
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), error);
  } else {
    CONCUR_RETURN_IF_ERROR(qa::BuildMixture(parts, seed, path));
  }
  const auto bytes = std::filesystem::file_size(path, error);
  index_.Use(name, error ? 0 : static_cast<int64_t>(bytes));
  MakeRoom();
  return mixture;
}

absl::Status Artifacts::Collect(const absl::flat_hash_set<Digest>& live, absl::Time before) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(mixtures_, error), end; !error && it != end;
       it.increment(error)) {
    struct stat info {};
    if (stat(it->path().c_str(), &info) == 0 && absl::TimeFromTimespec(info.st_mtim) < before) {
      unlink(it->path().c_str());
    }
  }
  return cache_->Collect(live, before).status();
}

}  // namespace concur::worker
