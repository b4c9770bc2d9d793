// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data/data_place.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/artifacts/directory_store.h"
#include "store/artifacts/s3_store.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr char kArtifacts[] = "/artifacts";
constexpr int64_t kRecordBytesMax = 4096;

bool HasArtifacts(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path root = directory + kArtifacts;
  for (const char* folder : {"sha256", "packs"}) {
    // Folders of artifacts that are gone stay.
    for (std::filesystem::recursive_directory_iterator entry(root / folder, error), end;
         !error && entry != end; entry.increment(error)) {
      if (!entry->is_directory(error)) {
        return true;
      }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return true;  // the unreadable may be artifacts
    }
  }
  return false;
}

// The recorded id and location, "" when there is no record.
absl::StatusOr<std::pair<std::string, std::string>> ReadRecord(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kRecordBytesMax);
  if (absl::IsNotFound(text.status())) {
    return std::pair<std::string, std::string>();
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  const absl::string_view line = absl::StripAsciiWhitespace(*text);
  const size_t space = line.find(' ');
  if (space == 0 || space == line.npos) {
    return absl::DataLossError(absl::StrCat(path, ": expected an id and an address"));
  }
  return std::pair<std::string, std::string>(line.substr(0, space), line.substr(space + 1));
}

absl::Status CheckFirstUse(const std::string& directory, const std::string& location) {
  if (!HasArtifacts(directory)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(directory, kArtifacts, " holds artifacts, and the options say ", location,
                   ": make a backup without artifacts.s3, and restore it with artifacts.s3 into "
                   "another data directory"));
}

}  // namespace

absl::Status MakeDataDirectory(const std::string& directory) {
  return MakePrivateDirectory(directory, {"concur.db", "tokens.json"});
}

absl::Status CheckDatabasePlace(const DataPlace& place) {
  CONCUR_ASSIGN_OR_RETURN(const auto record, ReadRecord(place.directory + kDatabaseRecord));
  if (place.database.empty()) {
    return record.first.empty() ? absl::OkStatus()
                                : absl::FailedPreconditionError(absl::StrCat(
                                      "the rows of ", place.directory, " are in ", record.second,
                                      ": name it under database in the options (--options)"));
  }
  std::error_code ignored;
  if (std::filesystem::exists(place.directory + kDatabaseFile, ignored)) {
    return absl::FailedPreconditionError(
        absl::StrCat(place.directory, kDatabaseFile, ": holds rows, and the options name another ",
                     "database: take them there with `concur-coordinator migrate`, or move the "
                     "file away"));
  }
  return absl::OkStatus();
}

absl::Status RecordDatabase(const std::string& directory, const std::string& id,
                            const std::string& address) {
  const std::string path = directory + kDatabaseRecord;
  CONCUR_ASSIGN_OR_RETURN(const auto record, ReadRecord(path));
  if (record.first == id) {
    return absl::OkStatus();
  }
  if (!record.first.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the rows of ", directory, " are in ", record.second, ", and the options name ", address,
        ", which is another database (", path, ")"));
  }
  return WriteFileAtomically(path, absl::StrCat(id, " ", address, "\n"), 0600);
}

absl::Status RecordLeader(const std::string& directory, const std::string& leader) {
  return WriteFileAtomically(directory + kLeaderRecord, leader + "\n", 0600);
}

bool IsDirectoryOf(const std::string& directory, const std::string& leader) {
  const absl::StatusOr<std::string> text = ReadFile(directory + kLeaderRecord, kRecordBytesMax);
  return text.ok() && *text == leader + "\n";
}

absl::StatusOr<std::unique_ptr<ArtifactStore>> OpenArtifacts(Clock& clock, const DataPlace& place) {
  const std::string path = place.directory + kStorageRecord;
  CONCUR_ASSIGN_OR_RETURN(const auto record, ReadRecord(path));
  if (!place.s3.has_value()) {
    if (!record.first.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the artifacts of ", place.directory, " are in ", record.second,
                       ": name it under artifacts.s3 in the options (--options)"));
    }
    return DirectoryStore::Open(place.directory + kArtifacts,
                                place.makes_packs ? Packing::kMake : Packing::kIfFound);
  }
  std::string id = record.first;
  if (id.empty()) {
    CONCUR_ASSIGN_OR_RETURN(id, NewUniqueId());
  }
  auto store = std::make_unique<S3Store>(clock, *place.s3, id);
  const absl::StatusOr<std::string> found = store->ReadId();
  const bool is_new = absl::IsNotFound(found.status());
  if (!is_new) {
    CONCUR_RETURN_IF_ERROR(found.status());
    if (*found != id) {
      return absl::FailedPreconditionError(absl::StrCat(
          store->location(), " is another coordinator's (", "its store-id is not that of ", path,
          "): choose another artifacts.s3.prefix"));
    }
  }
  if (store->location() != record.second) {
    if (!record.first.empty() && is_new) {
      return absl::FailedPreconditionError(
          absl::StrCat("the artifacts of ", place.directory, " are in ", record.second,
                       ", and the options say ", store->location(), ", where none are"));
    }
    CONCUR_RETURN_IF_ERROR(CheckFirstUse(place.directory, store->location()));
    CONCUR_RETURN_IF_ERROR(MakeDataDirectory(place.directory));
    CONCUR_RETURN_IF_ERROR(
        WriteFileAtomically(path, absl::StrCat(id, " ", store->location(), "\n"), 0600));
  }
  if (is_new) {
    CONCUR_RETURN_IF_ERROR(store->WriteId());
  }
  return store;
}

}  // namespace concur
