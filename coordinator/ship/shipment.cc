// SPDX-License-Identifier: Apache-2.0
#include "coordinator/ship/shipment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/directory_store.h"
#include "store/artifacts/s3_store.h"
#include "store/log_tail.h"
#include "store/sqlite_schema.h"

namespace concur {
namespace {

constexpr char kShipmentHead[] = "concur shipment 1\n";
constexpr char kShipmentFile[] = "shipment";
constexpr int64_t kShipmentBytesMax = int64_t{64} << 20;
constexpr int64_t kPieceBytesMax = int64_t{64} << 20;
constexpr absl::string_view kSchemeS3 = "s3://";

bool TakeDigest(absl::string_view text, Digest& digest) {
  const absl::StatusOr<Digest> read = Digest::FromHex(text);
  digest = read.value_or(Digest());
  return read.ok();
}

bool TakeLine(absl::string_view key, absl::string_view value, Shipment& shipment) {
  if (key == "time") {
    int64_t millis = 0;
    const bool taken = absl::SimpleAtoi(value, &millis);
    shipment.time = absl::FromUnixMillis(millis);
    return taken;
  }
  if (key == "commits") {
    return absl::SimpleAtoi(value, &shipment.commits);
  }
  if (key == "base" || key == "log") {
    return TakeDigest(value, (key == "base" ? shipment.base : shipment.log).emplace_back());
  }
  if (key == "tokens") {
    return TakeDigest(value, shipment.tokens);
  }
  (key == "database" ? shipment.database_id : shipment.object_storage) = std::string(value);
  return key == "database" || key == "object-storage";
}

absl::StatusOr<ShipPlace> OpenDirectory(const std::string& to) {
  struct stat info {};
  if (stat((to + kDatabaseFile).c_str(), &info) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(to, ": is a data directory or a backup; name another directory"));
  }
  // Not its parents: they are missing when a disk is not mounted.
  if (mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, to, "make the directory");
  }
  ShipPlace place;
  place.name = to;
  CONCUR_ASSIGN_OR_RETURN(place.artifacts, DirectoryStore::Open(to + "/artifacts"));
  CONCUR_ASSIGN_OR_RETURN(place.database, DirectoryStore::Open(to + "/database"));
  const std::string path = absl::StrCat(to, "/", kShipmentFile);
  place.read = [path] { return ReadFile(path, kShipmentBytesMax); };
  place.write = [path](absl::string_view text) { return WriteFileAtomically(path, text, 0600); };
  return place;
}

// Shipping ends at FailedPrecondition, which a server also answers with while its bucket, its
// region or a clock is being mended.
absl::Status Retryable(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? absl::UnavailableError(status.message()) : status;
}

absl::StatusOr<ShipPlace> OpenObjects(Clock& clock, const s3::Options& options, bool claims) {
  const auto within = [&options](absl::string_view name) {
    s3::Options more = options;
    more.prefix = absl::StrCat(options.prefix, options.prefix.empty() ? "" : "/", name);
    return more;
  };
  auto artifacts = std::make_unique<S3Store>(clock, within("artifacts"), kShipmentFile);
  // A coordinator removes what it does not know under its prefix, and so do we.
  const absl::StatusOr<std::string> id = artifacts->ReadId();
  if (absl::IsNotFound(id.status())) {
    CONCUR_RETURN_IF_ERROR(claims ? artifacts->WriteId() : absl::OkStatus());
  } else if (!id.ok()) {
    return id.status();
  } else if (*id != kShipmentFile) {
    return absl::FailedPreconditionError(
        absl::StrCat(artifacts->location(), " is a coordinator's; ship to another prefix"));
  }
  const auto client = std::make_shared<s3::Client>(clock, options);  // shared by the functions
  const std::string key = within(kShipmentFile).prefix;
  ShipPlace place;
  place.name = client->location();
  place.artifacts = std::move(artifacts);
  place.database = std::make_unique<S3Store>(clock, within("database"), kShipmentFile);
  place.read = [client, key]() -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> text = client->Read(key, kShipmentBytesMax);
    return text.ok() ? std::move(text) : Retryable(text.status());
  };
  place.write = [client, key](absl::string_view text) {
    return Retryable(client->Put(key, text, Sha256Of(text)));
  };
  return place;
}

absl::StatusOr<std::string> ReadPiece(const ArtifactStore& store, const Digest& digest) {
  ArtifactReader reader(store, digest, /*offset=*/0);
  std::string whole;
  std::string part;
  do {
    CONCUR_RETURN_IF_ERROR(reader.Next(kPieceBytesMax / 16, &part));
    whole += part;
    if (static_cast<int64_t>(whole.size()) > kPieceBytesMax) {
      return absl::DataLossError(
          absl::StrCat("piece ", digest.ToHex(), ": expected at most ", kPieceBytesMax, " bytes"));
    }
  } while (!part.empty());
  return whole;
}

// Makes the database's file.
absl::Status MakeDatabase(const ShipPlace& from, const Shipment& shipment,
                          const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "create");
  }
  for (const Digest& digest : shipment.base) {
    CONCUR_ASSIGN_OR_RETURN(const std::string piece, ReadPiece(*from.database, digest));
    CONCUR_RETURN_IF_ERROR(WriteAll(fd.get(), piece, path));
  }
  uint64_t pages = 0;
  for (const Digest& digest : shipment.log) {
    CONCUR_ASSIGN_OR_RETURN(const std::string images, ReadPiece(*from.database, digest));
    CONCUR_RETURN_IF_ERROR(ApplyLog(images, fd.get(), path, &pages));
  }
  if ((pages != 0 && ftruncate(fd.get(), static_cast<off_t>(pages) * kDatabasePageBytes) != 0) ||
      fsync(fd.get()) != 0) {
    return ErrnoStatus(errno, path, "complete");
  }
  return absl::OkStatus();
}

}  // namespace

std::string ShipmentText(const Shipment& shipment) {
  std::string text =
      absl::StrCat(kShipmentHead, "database ", shipment.database_id, "\ntime ",
                   absl::ToUnixMillis(shipment.time), "\ncommits ", shipment.commits, "\n");
  if (!shipment.object_storage.empty()) {
    absl::StrAppend(&text, "object-storage ", shipment.object_storage, "\n");
  }
  if (!shipment.tokens.IsZero()) {
    absl::StrAppend(&text, "tokens ", shipment.tokens.ToHex(), "\n");
  }
  for (const Digest& piece : shipment.base) {
    absl::StrAppend(&text, "base ", piece.ToHex(), "\n");
  }
  for (const Digest& piece : shipment.log) {
    absl::StrAppend(&text, "log ", piece.ToHex(), "\n");
  }
  return absl::StrCat(text, "sum ", Sha256Of(text).ToHex(), "\n");
}

absl::StatusOr<Shipment> ParseShipment(absl::string_view text, const std::string& place) {
  const size_t sum = text.rfind("sum ");
  if (sum == absl::string_view::npos ||
      text.substr(sum) != absl::StrCat("sum ", Sha256Of(text.substr(0, sum)).ToHex(), "\n")) {
    return absl::DataLossError(absl::StrCat(
        place, ": shipment: it is damaged: its last line is not the checksum of the others"));
  }
  text = text.substr(0, sum);
  Shipment shipment;
  bool is_known = absl::ConsumePrefix(&text, kShipmentHead);
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    is_known = is_known && TakeLine(parts.first, parts.second, shipment);
  }
  if (!is_known || shipment.database_id.empty() || shipment.base.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(place, ": shipment: another version of concur-coordinator wrote it"));
  }
  return shipment;
}

bool IsObjectStorage(absl::string_view to) { return absl::StartsWith(to, kSchemeS3); }

absl::StatusOr<ShipPlace> OpenShipPlace(Clock& clock, const std::string& to, s3::Options s3,
                                        bool claims) {
  absl::string_view rest = to;
  if (!absl::ConsumePrefix(&rest, kSchemeS3)) {
    return OpenDirectory(to);
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(absl::StripSuffix(rest, "/"), absl::MaxSplits('/', 1));
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-_.", c);
  });
  if (parts.first.empty() || !is_plain || absl::StrContains(rest, "//")) {
    return absl::InvalidArgumentError(absl::StrCat(
        to, ": expected s3://BUCKET/PREFIX of letters, digits, \"/\", \"-\", \"_\" and \".\""));
  }
  s3.bucket = std::string(parts.first);
  s3.prefix = std::string(parts.second);
  return OpenObjects(clock, s3, claims);
}

absl::StatusOr<DataReport> RestoreShipment(const ShipPlace& from, const DataPlace& place,
                                           absl::Time* time) {
  CONCUR_RETURN_IF_ERROR(RequireNoDatabase(place));
  const absl::StatusOr<std::string> text = from.read();
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(from.name, ": nothing was shipped here"));
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  CONCUR_ASSIGN_OR_RETURN(const Shipment shipment, ParseShipment(*text, from.name));
  *time = shipment.time;
  CONCUR_RETURN_IF_ERROR(MakeDataDirectory(place.directory));
  DataParts parts{absl::StrCat(place.directory, kDatabaseFile, ".shipped"), from.artifacts.get(),
                  ""};
  if (!shipment.object_storage.empty()) {
    parts.artifacts = nullptr;
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(place.directory + kStorageRecord,
                                               absl::StrCat(shipment.object_storage, "\n"), 0600));
  }
  if (!shipment.tokens.IsZero()) {
    CONCUR_ASSIGN_OR_RETURN(parts.tokens, ReadPiece(*from.database, shipment.tokens));
  }
  const absl::Status made = MakeDatabase(from, shipment, parts.database);
  absl::StatusOr<DataReport> report = made.ok() ? RestoreParts(parts, place) : made;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    unlink((parts.database + suffix).c_str());
  }
  return report;
}

}  // namespace concur
