// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ship/shipper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/file_blocks.h"
#include "store/sqlite_store.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr size_t kBasePieceBytes = size_t{4} << 20;
constexpr size_t kDigestDigits = 64;
constexpr int kTransfers = 8;           // artifacts at a time
constexpr size_t kBatchArtifacts = 64;  // between two looks at the log
constexpr int kCopiesMax = 3;           // copies of the database in a round
// Between rounds: a round's own time within these.
constexpr absl::Duration kPauseMin = absl::Seconds(1);
constexpr absl::Duration kPauseMax = absl::Seconds(10);
// Between two looks at a place to which nothing is written.
constexpr absl::Duration kLookEvery = absl::Minutes(1);

absl::StatusOr<absl::flat_hash_set<Digest>> SetOf(const ArtifactStore& store) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> digests, store.List());
  return absl::flat_hash_set<Digest>(digests.begin(), digests.end());
}

int64_t ModifiedNanos(const struct stat& info) {
  return absl::ToUnixNanos(absl::TimeFromTimespec(info.st_mtim));
}

}  // namespace

Shipper::Shipper(Clock& clock, const DataPlace& from, const ShipPlace& to, const ShipLimits& limits)
    : clock_(clock),
      from_(from),
      database_(from.directory + kDatabaseFile),
      to_(to),
      limits_(limits),
      next_collection_(clock.Now() + limits.garbage_kept),
      pool_(kTransfers) {}

absl::StatusOr<std::unique_ptr<Shipper>> Shipper::Start(Clock& clock, const DataPlace& from,
                                                        const ShipPlace& to,
                                                        const ShipLimits& limits) {
  std::unique_ptr<Shipper> shipper(new Shipper(clock, from, to, limits));
  if (access(shipper->database_.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        from.directory, ": holds no concur.db yet; start a coordinator, or name its --data-dir"));
  }
  absl::StatusOr<FileDescriptor> lock = LockFile(from.directory + "/ship.lock", LOCK_EX | LOCK_NB);
  if (absl::IsUnavailable(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(from.directory, ": another process ships it; end that one first"));
  }
  CONCUR_RETURN_IF_ERROR(lock.status());
  shipper->lock_ = *std::move(lock);
  CONCUR_RETURN_IF_ERROR(shipper->ReadPlace());
  return shipper;
}

absl::StatusOr<std::string> Shipper::ReadShipment() const {
  absl::StatusOr<std::string> text = to_.read();
  return absl::IsNotFound(text.status()) ? "" : std::move(text);
}

absl::Status Shipper::ReadPlace() {
  CONCUR_ASSIGN_OR_RETURN(const CommitMark::Mark mark, IdAndCommitsOf(database_));
  database_id_ = mark.database_id;
  CONCUR_ASSIGN_OR_RETURN(text_there_, ReadShipment());
  if (!text_there_.empty()) {
    CONCUR_ASSIGN_OR_RETURN(shipped_, ParseShipment(text_there_, to_.name));
    if (shipped_.database_id != database_id_) {
      return absl::FailedPreconditionError(
          absl::StrCat(to_.name, " has what another coordinator shipped; ship to another place"));
    }
    status_.time = shipped_.time;
  }
  CONCUR_ASSIGN_OR_RETURN(pieces_there_, SetOf(*to_.database));
  CONCUR_ASSIGN_OR_RETURN(artifacts_there_, SetOf(*to_.artifacts));
  ShowStatus();
  return absl::OkStatus();
}

void Shipper::ShowStatus() {
  struct stat info {};
  const bool copies = base_.empty() && stat(database_.c_str(), &info) == 0;
  status_.bytes_behind = (copies ? info.st_size : 0) + log_unread_ + log_bytes_ -
                         log_bytes_shipped_ + artifact_bytes_unread_;
  const absl::Status written = WriteShipStatus(from_.directory, status_);
  if (!written.ok()) {
    LogDebug("the status of shipping is not shown", {{"error", written.ToString()}});
  }
}

absl::StatusOr<Digest> Shipper::PutPiece(absl::string_view data) {
  const Digest digest = Sha256Of(data);
  if (!pieces_there_.contains(digest)) {
    CONCUR_ASSIGN_OR_RETURN(const auto writer, to_.database->NewWriter(digest));
    CONCUR_RETURN_IF_ERROR(writer->Append(data));
    CONCUR_RETURN_IF_ERROR(writer->Finish().status());
    pieces_there_.insert(digest);
  }
  return digest;
}

// --- the database --------------------------------------------------------------------------------

absl::Status Shipper::FollowDatabase() {
  for (;;) {
    std::vector<Digest> pieces;
    int64_t bytes = 0;
    CONCUR_ASSIGN_OR_RETURN(const bool begun_anew,
                            FollowLog(
                                database_, position_,
                                [&](int64_t found) {
                                  bytes = log_unread_ = found;
                                  ShowStatus();
                                },
                                [&](absl::string_view images) -> absl::Status {
                                  CONCUR_ASSIGN_OR_RETURN(pieces.emplace_back(), PutPiece(images));
                                  return absl::OkStatus();
                                }));
    log_.insert(log_.end(), pieces.begin(), pieces.end());
    log_bytes_ += bytes;
    log_unread_ = 0;
    if (!begun_anew) {
      break;
    }
  }
  struct stat info {};
  return position_.has_log() ||
                 (stat(database_.c_str(), &info) == 0 && ModifiedNanos(info) == base_time_)
             ? absl::OkStatus()
             : absl::AbortedError(absl::StrCat(database_, ": it changed without a log"));
}

absl::Status Shipper::CopyDatabase() {
  base_.clear();
  log_.clear();
  log_bytes_ = log_bytes_shipped_ = log_unread_ = 0;
  CONCUR_ASSIGN_OR_RETURN(const CommitMark::Mark mark, IdAndCommitsOf(database_));
  if (mark.database_id != database_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat(database_, ": is another database than before; ship it to another place"));
  }
  if (mark.commits < shipped_.commits) {
    return absl::FailedPreconditionError(
        absl::StrCat(to_.name, " has later data than ", from_.directory, ": ", shipped_.commits,
                     " commits, not ", mark.commits, "; restore it, or ship to another place"));
  }
  CONCUR_ASSIGN_OR_RETURN(position_, FrontOfLog(database_));
  // SQLite opens it only when this is closed, which drops the locks of this process.
  const FileDescriptor fd(open(database_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, database_, "open");
  }
  base_time_ = ModifiedNanos(info);
  std::vector<Digest> base;
  std::string piece;
  base_bytes_ = 0;
  do {
    piece.resize(kBasePieceBytes);
    const ssize_t got = pread(fd.get(), piece.data(), piece.size(), base_bytes_);
    if (got < 0) {
      return ErrnoStatus(errno, database_, "read");
    }
    piece.resize(static_cast<size_t>(got));
    if (!piece.empty()) {
      CONCUR_ASSIGN_OR_RETURN(base.emplace_back(), PutPiece(piece));
    }
    base_bytes_ += got;
    CONCUR_RETURN_IF_ERROR(FollowDatabase());
  } while (!piece.empty());
  struct stat now {};
  if (stat(database_.c_str(), &now) != 0 || now.st_ino != info.st_ino) {
    return absl::AbortedError(absl::StrCat(database_, ": it was replaced"));
  }
  base_ = std::move(base);
  return absl::OkStatus();
}

absl::Status Shipper::ShipDatabase() {
  bool copies = base_.empty() || log_.size() > limits_.log_pieces_max ||
                log_bytes_ > std::max(limits_.log_bytes_min, base_bytes_);
  for (int copied = 0;; copied += copies ? 1 : 0) {
    absl::Status status = copies ? CopyDatabase() : FollowDatabase();
    if (!absl::IsAborted(status) || copied == kCopiesMax) {
      return status;
    }
    LogInfo("the database is copied anew", {{"reason", std::string(status.message())}});
    copies = true;
  }
}

// --- artifacts -----------------------------------------------------------------------------------

absl::Status Shipper::OpenSource() {
  if (from_.s3.has_value() || has_packs_) {
    return absl::OkStatus();
  }
  has_packs_ = access((from_.directory + "/artifacts/packs").c_str(), F_OK) == 0;
  CONCUR_ASSIGN_OR_RETURN(source_, OpenArtifacts(clock_, from_));
  return absl::OkStatus();
}

absl::Status Shipper::ShipArtifacts(const std::vector<Digest>& digests) {
  std::vector<std::pair<Digest, int64_t>> missing;
  artifact_bytes_unread_ = 0;
  for (const Digest& digest : digests) {
    if (!artifacts_there_.contains(digest)) {
      missing.emplace_back(digest, source_->Size(digest).value_or(0));
      artifact_bytes_unread_ += missing.back().second;
    }
  }
  while (!missing.empty()) {
    ShowStatus();
    const size_t count = std::min(missing.size(), kBatchArtifacts);
    const auto batch = missing.end() - static_cast<ptrdiff_t>(count);
    std::vector<absl::Status> copied(count);
    absl::BlockingCounter left(static_cast<int>(count));
    for (size_t i = 0; i < count; ++i) {
      pool_.Submit([&, i] {
        copied[i] = CopyArtifact(*source_, batch[static_cast<ptrdiff_t>(i)].first, *to_.artifacts);
        left.DecrementCount();
      });
    }
    left.Wait();
    for (size_t i = 0; i < count; ++i) {
      const auto& [digest, bytes] = batch[static_cast<ptrdiff_t>(i)];
      if (copied[i].ok()) {
        artifacts_there_.insert(digest);
      } else if (absl::IsDataLoss(copied[i])) {
        LogWarning("an artifact is damaged and not shipped",
                   {{"error", std::string(copied[i].message())}});
      } else if (!absl::IsNotFound(copied[i])) {
        return copied[i];
      }
      artifact_bytes_unread_ -= bytes;
    }
    missing.resize(missing.size() - count);
    // Else it is written over meanwhile. An error comes again in the next round.
    FollowDatabase().IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status Shipper::CollectGarbage(const std::vector<Digest>& artifacts) {
  const absl::Time now = clock_.Now();
  if (now < next_collection_) {
    return absl::OkStatus();
  }
  next_collection_ = now + limits_.garbage_kept;
  const absl::Time before = now - limits_.garbage_kept;
  absl::flat_hash_set<Digest> live(artifacts.begin(), artifacts.end());
  // The place may have the last intact copy of an artifact that was damaged and set aside.
  if (source_ != nullptr) {
    CONCUR_RETURN_IF_ERROR(
        ForEachEntry(from_.directory + "/artifacts/damaged", [&live](const std::string& name) {
          const absl::StatusOr<Digest> digest = Digest::FromHex(name.substr(0, kDigestDigits));
          if (digest.ok()) {
            live.insert(*digest);
          }
          return absl::OkStatus();
        }));
  }
  // A collection that fails may have removed some.
  const auto is_garbage = [&live](const Digest& digest) { return !live.contains(digest); };
  absl::erase_if(artifacts_there_, is_garbage);
  CONCUR_RETURN_IF_ERROR(to_.artifacts->Collect(live, before).status());
  CONCUR_ASSIGN_OR_RETURN(artifacts_there_, SetOf(*to_.artifacts));
  live = {shipped_.tokens};
  live.insert(base_.begin(), base_.end());
  live.insert(log_.begin(), log_.end());
  absl::erase_if(pieces_there_, is_garbage);
  CONCUR_RETURN_IF_ERROR(to_.database->Collect(live, before).status());
  CONCUR_ASSIGN_OR_RETURN(pieces_there_, SetOf(*to_.database));
  return absl::OkStatus();
}

// --- rounds --------------------------------------------------------------------------------------

absl::Status Shipper::Publish(Shipment shipment) {
  shipped_.time = shipment.time;
  const bool is_new = text_there_.empty() || !text_trying_.empty() || shipment != shipped_;
  if (is_new || shipment.time >= next_look_) {
    CONCUR_ASSIGN_OR_RETURN(const std::string there, ReadShipment());
    if (there != text_there_ && (text_trying_.empty() || there != text_trying_)) {
      return absl::FailedPreconditionError(absl::StrCat(
          to_.name, ": is not as this process left it: another one ships to it, or its disk is ",
          "not mounted; mend that, and start ship again"));
    }
    text_there_ = there;
    next_look_ = shipment.time + kLookEvery;
  }
  if (is_new) {
    text_trying_ = ShipmentText(shipment);
    CONCUR_RETURN_IF_ERROR(to_.write(text_trying_));
    text_there_ = std::exchange(text_trying_, "");
    shipped_ = std::move(shipment);
  }
  status_.time = shipped_.time;
  return absl::OkStatus();
}

absl::Status Shipper::ShipOnce() {
  CONCUR_RETURN_IF_ERROR(OpenSource());
  CONCUR_RETURN_IF_ERROR(ShipDatabase());
  // A collection removes what the database of a moment before needs. The coordinator does not wait
  // for us: it collects later.
  const absl::StatusOr<FileDescriptor> hold =
      LockFile(from_.directory + kCollectLock, LOCK_SH | LOCK_NB);
  if (absl::IsUnavailable(hold.status())) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(hold.status());
  Shipment shipment;
  shipment.time = clock_.Now();
  const absl::StatusOr<std::optional<CommitMark::Mark>> mark = CommitMark::ReadOf(database_);
  const bool has_mark = mark.ok() && mark->has_value() && (*mark)->database_id == database_id_;
  shipment.commits = has_mark ? (*mark)->commits : shipped_.commits;
  CONCUR_RETURN_IF_ERROR(FollowDatabase());
  const int64_t log_bytes = log_bytes_;
  shipment.database_id = database_id_;
  shipment.base = base_;
  shipment.log = log_;
  CONCUR_ASSIGN_OR_RETURN(const std::string tokens, ReadTokens(from_.directory));
  if (!tokens.empty()) {
    CONCUR_ASSIGN_OR_RETURN(shipment.tokens, PutPiece(tokens));
  }
  std::vector<Digest> artifacts;
  if (source_ != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(artifacts, source_->List());
    CONCUR_RETURN_IF_ERROR(ShipArtifacts(artifacts));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const std::string record, ReadFile(from_.directory + kStorageRecord));
    shipment.object_storage = std::string(absl::StripAsciiWhitespace(record));
  }
  CONCUR_RETURN_IF_ERROR(Publish(std::move(shipment)));
  log_bytes_shipped_ = log_bytes;
  return CollectGarbage(artifacts);
}

absl::Status Shipper::Ship() {
  absl::Status status = ShipOnce();
  ShowStatus();
  return status;
}

absl::Status ShipForever(Clock& clock, const DataPlace& from, const ShipPlace& to) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Shipper> shipper, Shipper::Start(clock, from, to));
  LogInfo("shipping", {{"from", from.directory}, {"to", to.name}});
  std::string problem;
  for (;;) {
    const absl::Time begin = clock.Now();
    absl::Status status = shipper->Ship();
    if (absl::IsFailedPrecondition(status)) {
      return status;
    }
    if (!status.ok() && status.message() != problem) {
      LogWarning("cannot ship; trying again", {{"error", std::string(status.message())}});
    } else if (status.ok() && !problem.empty()) {
      LogInfo("shipping again", {{"to", to.name}});
    }
    problem = std::string(status.message());
    absl::SleepFor(std::clamp(clock.Now() - begin, kPauseMin, kPauseMax));
  }
}

}  // namespace concur
