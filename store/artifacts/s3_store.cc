// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/s3_store.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"

namespace concur {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr int64_t kIdBytesMax = 1024;
constexpr absl::Duration kUploadAgeMax = absl::Hours(24);

// Maps errors of S3 to those of a store. Errors of configuration are retried like outages: work
// resumes once the options or the server are corrected.
absl::Status AsStoreStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return status;
    default:
      return absl::UnavailableError(status.message());
  }
}

absl::Status NotInBucket(const absl::Status& status, const Digest& digest) {
  return absl::IsNotFound(status)
             ? absl::NotFoundError(absl::StrCat("artifact ", digest.ToHex(), " is not stored here"))
             : AsStoreStatus(status);
}

}  // namespace

// Protects its artifact from collection until it is destroyed and the next collection begins.
class S3Store::Use {
 public:
  Use(S3Store& store, const Digest& digest) : store_(store), digest_(digest) {
    MutexLock lock(store_.mu_);
    while (store_.removing_.count(digest_) > 0) {
      store_.removed_.Wait(store_.mu_);
    }
    ++store_.used_[digest_];
  }
  ~Use() {
    MutexLock lock(store_.mu_);
    --store_.used_[digest_];
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  S3Store& store_;
  const Digest digest_;
};

// Keeps a part in memory at a time. An artifact that fits into one part is put at once.
class S3Store::ObjectWriter final : public ArtifactStore::Writer {
 public:
  ObjectWriter(S3Store& store, const Digest& digest)
      : store_(store), digest_(digest), key_(store.Key(digest)) {}
  ~ObjectWriter() override {
    if (upload_.empty()) {
      return;
    }
    if (const absl::Status status = store_.client_.AbortUpload(key_, upload_); !status.ok()) {
      LogDebug("a multipart upload is left to the next collection",
               {{"key", key_}, {"error", status.ToString()}});
    }
  }

  absl::Status Append(absl::string_view data) override {
    hasher_.Update(data);
    bytes_ += static_cast<int64_t>(data.size());
    const auto part_bytes = static_cast<size_t>(store_.client_.options().part_bytes);
    while (!data.empty()) {
      if (part_.size() == part_bytes) {
        CONCUR_RETURN_IF_ERROR(PutPart());
      }
      const size_t taken = std::min(part_bytes - part_.size(), data.size());
      part_.append(data.data(), taken);
      data.remove_prefix(taken);
    }
    return absl::OkStatus();
  }
  int64_t bytes() const override { return bytes_; }

  absl::StatusOr<Digest> Finish() override {
    const Digest found = hasher_.Finish();
    if (found != digest_) {
      return absl::DataLossError(absl::StrCat("artifact ", digest_.ToHex(), ": the ", bytes_,
                                              " bytes received have the digest ", found.ToHex()));
    }
    const Use use(store_, digest_);
    if (upload_.empty()) {
      CONCUR_RETURN_IF_ERROR(AsStoreStatus(store_.client_.Put(key_, part_, digest_)));
    } else {
      CONCUR_RETURN_IF_ERROR(PutPart());
      CONCUR_RETURN_IF_ERROR(Complete());
    }
    return digest_;
  }

 private:
  absl::Status PutPart() {
    if (upload_.empty()) {
      absl::StatusOr<std::string> upload = store_.client_.BeginUpload(key_);
      CONCUR_RETURN_IF_ERROR(AsStoreStatus(upload.status()));
      upload_ = *std::move(upload);
    }
    absl::StatusOr<std::string> tag =
        store_.client_.PutPart(key_, upload_, static_cast<int>(tags_.size()) + 1, part_);
    CONCUR_RETURN_IF_ERROR(AsStoreStatus(tag.status()));
    tags_.push_back(*std::move(tag));
    part_.clear();
    return absl::OkStatus();
  }
  absl::Status Complete() {
    absl::Status status = store_.client_.CompleteUpload(key_, upload_, tags_);
    if (absl::IsAborted(status)) {
      // An earlier attempt may have completed it, and its answer been lost.
      const absl::StatusOr<s3::Client::Info> info = store_.client_.Head(key_);
      status = info.ok() && info->bytes == bytes_ ? absl::OkStatus() : status;
    }
    if (status.ok()) {
      upload_.clear();
    }
    return AsStoreStatus(status);
  }

  S3Store& store_;
  const Digest digest_;
  const std::string key_;
  std::string upload_;  // "" before the first part
  std::vector<std::string> tags_;
  std::string part_;
  Sha256 hasher_;
  int64_t bytes_ = 0;
};

// Resumes an interrupted download where it ended.
class S3Store::ObjectSource final : public ArtifactStore::Source {
 public:
  ObjectSource(s3::Client& client, std::string key, std::unique_ptr<http::Exchange> exchange)
      : client_(client), key_(std::move(key)), exchange_(std::move(exchange)) {}

  absl::Status Next(int64_t bytes_max, std::string* data) override {
    data->clear();
    for (int attempts = 1;; ++attempts) {
      if (exchange_ == nullptr) {
        CONCUR_RETURN_IF_ERROR(AsStoreStatus(GoOn()));  // tries again itself
      }
      const absl::Status status = exchange_->Read(bytes_max, data);
      offset_ += static_cast<int64_t>(data->size());
      if (!absl::IsUnavailable(status) || attempts >= client_.options().attempts_max) {
        return AsStoreStatus(status);
      }
      exchange_ = nullptr;
      client_.WaitAfter(attempts, status);
    }
  }

 private:
  absl::Status GoOn() {
    CONCUR_ASSIGN_OR_RETURN(exchange_, client_.Get(key_, offset_));
    return exchange_->code() == 200 ? Skip(offset_) : absl::OkStatus();
  }
  // A server without support for ranges sends the whole object.
  absl::Status Skip(int64_t bytes) {
    std::string piece;
    while (bytes > 0) {
      piece.clear();
      CONCUR_RETURN_IF_ERROR(exchange_->Read(std::min(bytes, kPieceBytes), &piece));
      if (piece.empty()) {
        return absl::UnavailableError(absl::StrCat(key_, ": it is shorter than it was"));
      }
      bytes -= static_cast<int64_t>(piece.size());
    }
    return absl::OkStatus();
  }

  s3::Client& client_;
  const std::string key_;
  std::unique_ptr<http::Exchange> exchange_;  // null: to be begun at `offset_`
  int64_t offset_ = 0;
};

S3Store::S3Store(Clock& clock, s3::Options options, std::string store_id)
    : clock_(clock), store_id_(std::move(store_id)), client_(clock, std::move(options)) {}

std::string S3Store::WithPrefix(const std::string& name) const {
  const std::string& prefix = client_.options().prefix;
  return prefix.empty() ? name : absl::StrCat(prefix, "/", name);
}

std::string S3Store::Key(const Digest& digest) const {
  const std::string hex = digest.ToHex();
  return WithPrefix(absl::StrCat("sha256/", hex.substr(0, 2), "/", hex));
}

absl::StatusOr<std::string> S3Store::ReadId() {
  CONCUR_ASSIGN_OR_RETURN(std::string id, client_.Read(WithPrefix("store-id"), kIdBytesMax));
  return std::string(absl::StripSuffix(id, "\n"));
}

absl::Status S3Store::WriteId() {
  const std::string text = store_id_ + "\n";
  return client_.Put(WithPrefix("store-id"), text, Sha256Of(text));
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Writer>> S3Store::NewWriter(const Digest& digest) {
  return std::make_unique<ObjectWriter>(*this, digest);
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Source>> S3Store::OpenSource(
    const Digest& digest) const {
  std::string key = Key(digest);
  absl::StatusOr<std::unique_ptr<http::Exchange>> exchange = client_.Get(key, 0);
  if (!exchange.ok()) {
    return NotInBucket(exchange.status(), digest);
  }
  return std::make_unique<ObjectSource>(client_, std::move(key), *std::move(exchange));
}

absl::StatusOr<int64_t> S3Store::Size(const Digest& digest) const {
  const absl::StatusOr<s3::Client::Info> info = client_.Head(Key(digest));
  if (!info.ok()) {
    return NotInBucket(info.status(), digest);
  }
  return info->bytes;
}

absl::Status S3Store::Touch(const Digest& digest) {
  const Use use(*this, digest);
  const std::string key = Key(digest);
  const absl::StatusOr<s3::Client::Info> info = client_.Head(key);
  if (!info.ok()) {
    return NotInBucket(info.status(), digest);
  }
  if (info->modified > clock_.Now() - client_.options().touched_for) {
    return absl::OkStatus();
  }
  absl::Status copied = client_.Copy(key, key);
  if (copied.ok() || absl::IsUnavailable(copied)) {
    return copied;
  }
  // Too large for one copy request, or not allowed: the next upload of the artifact renews it.
  return absl::NotFoundError(
      absl::StrCat("artifact ", digest.ToHex(), " cannot be kept: ", copied.message()));
}

absl::Status S3Store::SetAside(const Digest& digest, int64_t bytes, const Digest& found) const {
  const std::string key = Key(digest);
  const std::string target =
      WithPrefix(absl::StrCat("damaged/", digest.ToHex(), ".", absl::ToUnixMillis(clock_.Now())));
  absl::Status moved = client_.Copy(key, target);
  if (moved.ok()) {
    moved = client_.Delete(key);
  }
  return absl::DataLossError(
      absl::StrCat("artifact ", digest.ToHex(), ": damaged: its ", bytes, " bytes have the digest ",
                   found.ToHex(), "; ",
                   moved.ok() ? absl::StrCat("moved to ", target) : std::string(moved.message())));
}

absl::Status S3Store::Verify(const Digest& digest) const {
  // Twice, before an object is moved: bytes may also change on their way here.
  for (int tries = 1;; ++tries) {
    CONCUR_ASSIGN_OR_RETURN(const auto source, OpenSource(digest));
    Sha256 hasher;
    int64_t bytes = 0;
    std::string piece;
    do {
      CONCUR_RETURN_IF_ERROR(source->Next(kPieceBytes, &piece));
      hasher.Update(piece);
      bytes += static_cast<int64_t>(piece.size());
    } while (!piece.empty());
    const Digest found = hasher.Finish();
    if (found == digest) {
      return absl::OkStatus();
    }
    if (tries == 2) {
      return SetAside(digest, bytes, found);
    }
  }
}

namespace {

// The artifact of a key; nothing for objects that Concur did not write.
absl::StatusOr<Digest> DigestOfKey(absl::string_view key) {
  return Digest::FromHex(key.substr(key.rfind('/') + 1));
}

}  // namespace

absl::StatusOr<std::vector<Digest>> S3Store::List() const {
  std::vector<Digest> digests;
  std::string after;
  for (;;) {
    const absl::StatusOr<s3::ObjectPage> page = client_.List(WithPrefix("sha256/"), after);
    CONCUR_RETURN_IF_ERROR(AsStoreStatus(page.status()));
    for (const s3::Object& object : page->objects) {
      if (const auto digest = DigestOfKey(object.key); digest.ok() && object.key == Key(*digest)) {
        digests.push_back(*digest);
      }
    }
    if (page->is_last) {
      return digests;
    }
    after = page->objects.back().key;
  }
}

bool S3Store::BeginRemoval(const Digest& digest) {
  MutexLock lock(mu_);
  if (used_.contains(digest)) {
    return false;
  }
  removing_.insert(digest);
  return true;
}

void S3Store::EndRemoval(const Digest& digest) {
  {
    MutexLock lock(mu_);
    removing_.erase(digest);
  }
  removed_.NotifyAll();
}

absl::StatusOr<int64_t> S3Store::Collect(const absl::flat_hash_set<Digest>& live,
                                         absl::Time before) {
  {
    MutexLock lock(mu_);
    if (std::exchange(collecting_, true)) {
      return 0;  // another collection is running
    }
    absl::erase_if(used_, [](const auto& entry) { return entry.second == 0; });
  }
  absl::StatusOr<int64_t> freed = CollectObjects(live, before);
  AbortOldUploads();
  MutexLock lock(mu_);
  collecting_ = false;
  return freed;
}

absl::StatusOr<int64_t> S3Store::CollectObjects(const absl::flat_hash_set<Digest>& live,
                                                absl::Time before) {
  int64_t bytes_freed = 0;
  std::string after;
  for (;;) {
    const absl::StatusOr<s3::ObjectPage> page = client_.List(WithPrefix("sha256/"), after);
    CONCUR_RETURN_IF_ERROR(AsStoreStatus(page.status()));
    for (const s3::Object& object : page->objects) {
      const absl::StatusOr<Digest> digest = DigestOfKey(object.key);
      if (!digest.ok() || object.key != Key(*digest) || live.contains(*digest) ||
          object.modified >= before || !BeginRemoval(*digest)) {
        continue;
      }
      const absl::Status removed = client_.Delete(object.key);
      EndRemoval(*digest);
      CONCUR_RETURN_IF_ERROR(AsStoreStatus(removed));
      bytes_freed += object.bytes;
    }
    if (page->is_last) {
      return bytes_freed;
    }
    after = page->objects.back().key;
  }
}

void S3Store::AbortOldUploads() {
  s3::UploadPage page;
  do {
    absl::StatusOr<s3::UploadPage> next = client_.ListUploads(WithPrefix("sha256/"), page);
    if (!next.ok()) {
      // Some servers cannot list them; a lifecycle rule of the bucket can abort them instead.
      LogDebug("multipart uploads that were not ended cannot be listed",
               {{"error", next.status().ToString()}});
      return;
    }
    page = *std::move(next);
    for (const s3::Upload& upload : page.uploads) {
      if (upload.begun < clock_.Now() - kUploadAgeMax) {
        const absl::Status status = client_.AbortUpload(upload.key, upload.id);
        LogInfo("gave up a multipart upload that was not ended",
                {{"key", upload.key}, {"status", status.ToString()}});
      }
    }
  } while (!page.next_key.empty());
}

}  // namespace concur
