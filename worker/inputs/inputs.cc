// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/inputs.h"

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
#include "store/artifacts/file_blocks.h"

namespace concur::worker {
namespace {

// A broken transfer goes on where it stopped, so often in a row; then the attempt waits.
constexpr int kResumesMax = 5;
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
  CONCUR_ASSIGN_OR_RETURN(
      auto cache,
      DirectoryStore::Open(absl::StrCat(root, "/cache"), Packing::kIfFound, Touching::kOnRequest));
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
  const std::string name = digest.ToHex();
  if (index_.UseAgain(name)) {
    return;
  }
  if (const absl::StatusOr<int64_t> bytes = cache_->Size(digest); bytes.ok()) {
    index_.Use(name, *bytes);
  }
}

void Artifacts::Remove(const std::string& name) {
  const absl::StatusOr<Digest> digest = Digest::FromHex(name);
  absl::Status removed;
  if (digest.ok()) {
    removed = cache_->Remove(*digest).status();
  } else if (CodeFolders::IsName(name)) {
    removed = codes_.Remove(name);
  } else if (const std::string path = absl::StrCat(mixtures_, "/", name);
             unlink(path.c_str()) != 0 && errno != ENOENT) {
    removed = ErrnoStatus(errno, path, "remove");
  }
  if (!removed.ok()) {
    LogWarning("a cached file cannot be removed", {{"error", removed.ToString()}});
  }
  {
    MutexLock lock(mu_);
    mixture_digests_.erase(name);
  }
  verified_.Forget(name);
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

absl::StatusOr<uint64_t> Artifacts::Look(const std::string& name) {
  if (CodeFolders::IsName(name)) {
    return verified_.Look(name, codes_.PathOf(name), [&] { return codes_.Verify(name); });
  }
  Digest digest;
  if (const absl::StatusOr<Digest> artifact = Digest::FromHex(name); artifact.ok()) {
    digest = *artifact;
  } else {
    MutexLock lock(mu_);
    const auto built = mixture_digests_.find(name);
    digest = built == mixture_digests_.end() ? Digest() : built->second;  // none: another process's
  }
  const std::string path = PathOf(name);
  return verified_.Look(name, path, [&]() -> absl::Status {
    const absl::StatusOr<FileDigest> found = DigestFile(path);
    if (found.ok() && found->digest == digest) {
      return absl::OkStatus();
    }
    if (!found.ok() && !MeansOtherBytes(found.status())) {
      return found.status();
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, path, "remove");
    }
    return absl::DataLossError(absl::StrCat(path, ": missing, or changed; removed"));
  });
}

std::string Artifacts::PathOf(const std::string& name) const {
  const absl::StatusOr<Digest> digest = Digest::FromHex(name);
  return digest.ok()                 ? cache_->FilePath(*digest)
         : CodeFolders::IsName(name) ? codes_.PathOf(name)
                                     : absl::StrCat(mixtures_, "/", name);
}

absl::StatusOr<HeldFile> Artifacts::Fetch(const Digest& digest, const IsCanceled& is_canceled) {
  const std::string name = digest.ToHex();
  const Turn turn(*this, name);
  HeldFile file{PathOf(name), CacheHold(index_, name), name};
  absl::StatusOr<uint64_t> generation = Look(name);
  if (absl::IsDataLoss(generation.status())) {
    CONCUR_RETURN_IF_ERROR(Bring(digest, is_canceled));
    generation = Look(name);
  }
  CONCUR_ASSIGN_OR_RETURN(file.generation, std::move(generation));
  Used(digest);
  MakeRoom();
  return file;
}

absl::StatusOr<HeldFile> Artifacts::FetchOnce(const Digest& digest, const IsCanceled& is_canceled) {
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  absl::StatusOr<std::string> path =
      shared != nullptr ? shared->PathOf(digest) : absl::NotFoundError("");
  if (!path.ok()) {
    return Fetch(digest, is_canceled);
  }
  CONCUR_RETURN_IF_ERROR(shared->Verify(digest));
  return HeldFile{*std::move(path)};
}

absl::Status Artifacts::Bring(const Digest& digest, const IsCanceled& is_canceled) {
  const std::shared_ptr<DirectoryStore> shared = SharedStore();
  // An artifact in a pack is fetched like what lies elsewhere.
  const absl::StatusOr<std::string> path =
      shared != nullptr ? shared->PathOf(digest) : absl::NotFoundError("");
  if (!path.ok()) {
    return Download(digest, is_canceled);
  }
  const absl::Status copied = cache_->PutFile(*path, Durability::kCache, digest).status();
  if (!absl::IsDataLoss(copied)) {
    return copied;
  }
  CONCUR_RETURN_IF_ERROR(shared->Verify(digest));  // which sets it aside
  return absl::UnavailableError(absl::StrCat(*path, ": changed while it was copied"));
}

absl::StatusOr<bool> Artifacts::IsSame(const HeldFile& input) {
  if (verified_.IsSame(input.name, input.path, input.generation)) {
    return true;
  }
  const Turn turn(*this, input.name);
  const absl::StatusOr<uint64_t> generation = Look(input.name);
  if (!generation.ok() && !absl::IsDataLoss(generation.status())) {
    return generation.status();
  }
  return generation.ok() && *generation == input.generation;
}

bool Artifacts::AreLatest(const std::vector<HeldFile>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [this](const HeldFile& input) {
    return verified_.IsLatest(input.name, input.generation);
  });
}

void Artifacts::BeginUse(const std::vector<HeldFile>& inputs, const AttemptId& attempt) {
  for (const HeldFile& input : inputs) {
    verified_.Begin(input.name, attempt);
  }
}

std::optional<ChangedInput> Artifacts::EndUse(const std::vector<HeldFile>& inputs,
                                              const AttemptId& attempt) {
  std::optional<ChangedInput> changed;
  for (const HeldFile& input : inputs) {
    const absl::StatusOr<bool> is_same = IsSame(input);
    std::vector<AttemptId> others = verified_.End(input.name, attempt);
    if (!changed && !is_same.value_or(false)) {
      changed = {input.label, verified_.HasDiffered(input.name, input.generation), is_same.status(),
                 std::move(others)};
    }
  }
  return changed;
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
    // Bytes that came count as progress: only a transfer that stands still gives up.
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
  const std::string name = kept.digest.ToHex();
  index_.Hold(name);
  const auto look = [&] {
    const Turn turn(*this, name);
    return Look(name).status();
  };
  // The same bytes may have lain there already, and gone in between; or others, of the same size.
  absl::Status there = look();
  if (absl::IsDataLoss(there)) {
    const absl::StatusOr<FileDigest> again = put();
    there = !again.ok()                    ? again.status()
            : again->digest != kept.digest ? absl::AbortedError("the file changed while it was put")
                                           : look();
  }
  if (!there.ok()) {
    index_.Release(name);
    return there;
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
    return shared->PutFile(path, durability);
  }
  return Keep([&] { return cache_->PutFile(path); });
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
  // An artifact in a pack may not be durable yet.
  if (shared != nullptr && shared->PathOf(digest).ok()) {
    return absl::OkStatus();
  }
  const std::string path = PathOf(digest.ToHex());
  {
    const Turn turn(*this, digest.ToHex());
    CONCUR_RETURN_IF_ERROR(Look(digest.ToHex()).status());
  }
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
  HeldFile folder{PathOf(name), CacheHold(index_, name), name};
  absl::StatusOr<uint64_t> generation = Look(name);
  if (absl::IsDataLoss(generation.status())) {
    CONCUR_ASSIGN_OR_RETURN(const HeldFile tar, FetchOnce(code.digest, is_canceled));
    CONCUR_RETURN_IF_ERROR(codes_.Unpack(tar.path, code.key));
    generation = Look(name);
  }
  CONCUR_ASSIGN_OR_RETURN(folder.generation, std::move(generation));
  index_.Use(name, codes_.BytesOf(name));
  MakeRoom();
  return folder;
}

absl::StatusOr<HeldFile> Artifacts::Mixture(const std::vector<JobOrder::Input>& inputs,
                                            uint64_t seed, const IsCanceled& is_canceled) {
  std::vector<qa::MixturePart> parts;
  std::vector<HeldFile> files;
  for (const JobOrder::Input& input : inputs) {
    CONCUR_ASSIGN_OR_RETURN(HeldFile file, Fetch(input.digest, is_canceled));
    parts.push_back({input.name, file.path, input.examples_max});
    files.push_back(std::move(file));
  }
  const std::string name = absl::StrCat(MixtureKey(inputs, seed), ".jsonl");
  const Turn turn(*this, name);
  HeldFile mixture{PathOf(name), CacheHold(index_, name), name};
  absl::StatusOr<uint64_t> generation = Look(name);
  if (absl::IsDataLoss(generation.status())) {
    CONCUR_RETURN_IF_ERROR(qa::BuildMixture(parts, seed, mixture.path));
    CONCUR_ASSIGN_OR_RETURN(const FileDigest built, DigestFile(mixture.path));
    for (const HeldFile& file : files) {
      CONCUR_ASSIGN_OR_RETURN(const bool is_same, IsSame(file));
      if (!is_same) {
        return absl::UnavailableError("a part of the mixture was changed while it was read");
      }
    }
    if (chmod(mixture.path.c_str(), 0444) != 0) {
      return ErrnoStatus(errno, mixture.path, "make read-only");
    }
    {
      MutexLock lock(mu_);
      mixture_digests_[name] = built.digest;
    }
    generation = Look(name);
  }
  CONCUR_ASSIGN_OR_RETURN(mixture.generation, std::move(generation));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(mixture.path, error);
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
