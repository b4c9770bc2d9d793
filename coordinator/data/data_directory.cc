// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data/data_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "coordinator/engine/collector.h"
#include "core/scheduler/scheduler.h"
#include "core/sweep/expansion.h"
#include "proto/rpc/convert_sweep.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/file_blocks.h"
#include "store/memory_store.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

constexpr char kTokens[] = "/tokens.json";

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// By artifact: what it is, and how to get it back.
using ArtifactUses = absl::flat_hash_map<Digest, std::string>;

std::string RemedyFor(ArtifactKind kind, JobId job) {
  return kind == ArtifactKind::kSystem
             ? absl::StrCat(" (made anew by `concur sweep retry ", job.sweep.ToString(), " --job ",
                            job.index, " --rerun`)")
             : "";
}

ArtifactUses UsesOf(const DatabaseContents& contents,
                    const std::vector<std::shared_ptr<const Expansion>>& expansions) {
  ArtifactUses uses;
  for (const ResultRow& row : contents.snapshot.results) {
    for (const ArtifactRef& artifact : row.result.artifacts) {
      uses.try_emplace(artifact.digest,
                       absl::StrCat(ArtifactKindName(artifact.kind), " of job ", row.id.ToString(),
                                    RemedyFor(artifact.kind, row.id)));
    }
  }
  for (const AttemptRow& row : contents.attempts) {
    for (const ArtifactRef& artifact : row.result.artifacts) {
      uses.try_emplace(artifact.digest,
                       absl::StrCat(ArtifactKindName(artifact.kind), " of attempt ",
                                    row.attempt.number, " of job ", row.id.ToString()));
    }
  }
  for (const JobRow& row : contents.snapshot.jobs) {
    if (row.checkpoint) {
      uses.try_emplace(row.checkpoint->digest,
                       absl::StrCat("checkpoint of job ", row.id.ToString(),
                                    " (without it, the job's next attempt begins anew)"));
    }
  }
  for (size_t i = 0; i < expansions.size(); ++i) {
    const std::string sweep = contents.snapshot.sweeps[i].id.ToString();
    for (const BenchmarkSpec& benchmark : expansions[i]->spec().benchmarks) {
      for (const std::optional<DataFile>* file : {&benchmark.train, &benchmark.test}) {
        if (file->has_value()) {
          uses.try_emplace((*file)->digest,
                           absl::StrCat("data of sweep ", sweep, ", ", (*file)->path,
                                        " (submit that sweep again to bring it back)"));
        }
      }
    }
  }
  return uses;
}

// Every artifact that is live by the contents of the database.
absl::StatusOr<absl::flat_hash_set<Digest>> NeededArtifacts(
    DatabaseContents contents, std::vector<std::shared_ptr<const Expansion>> expansions) {
  MemoryStore attempts;
  Batch batch;
  batch.put_attempts = std::move(contents.attempts);
  CONCUR_RETURN_IF_ERROR(attempts.Commit(batch));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Scheduler> scheduler,
                          Scheduler::Restore(SchedulerPolicy(), std::move(contents.snapshot),
                                             std::move(expansions), absl::UnixEpoch()));
  CONCUR_ASSIGN_OR_RETURN(RetentionPlan plan, PlanRetention(*scheduler, attempts));
  return std::move(plan.live);
}

// The artifacts that a database refers to, and those that it needs.
struct Inventory {
  ArtifactUses uses;
  absl::flat_hash_set<Digest> needed;
};

// `database`: its name in messages.
absl::StatusOr<Inventory> TakeInventory(DatabaseContents contents, const std::string& database,
                                        DataReport& report) {
  report.sweeps = static_cast<int64_t>(contents.snapshot.sweeps.size());
  report.results = static_cast<int64_t>(contents.snapshot.results.size());
  std::vector<std::shared_ptr<const Expansion>> expansions;
  for (const SweepRow& row : contents.snapshot.sweeps) {
    absl::StatusOr<SweepSpec> spec = rpc::DecodeSpec(row.spec);
    absl::StatusOr<Expansion> expansion =
        spec.ok() ? Expansion::Make(*std::move(spec)) : spec.status();
    if (!expansion.ok()) {
      return absl::DataLossError(absl::StrCat(database, ": the stored spec of sweep ",
                                              row.id.ToString(),
                                              " is damaged: ", expansion.status().message()));
    }
    expansions.push_back(std::make_shared<const Expansion>(*std::move(expansion)));
  }
  Inventory inventory;
  inventory.uses = UsesOf(contents, expansions);
  CONCUR_ASSIGN_OR_RETURN(inventory.needed,
                          NeededArtifacts(std::move(contents), std::move(expansions)));
  return inventory;
}

std::string UseText(const ArtifactUses& uses, const Digest& digest) {
  const auto it = uses.find(digest);
  return it == uses.end() ? "; nothing refers to it" : absl::StrCat("; it is the ", it->second);
}

// Checks every artifact, copying it as well when `to` is given.
absl::Status CheckArtifacts(const ArtifactStore& store, const Inventory& inventory,
                            ArtifactStore* to, DataReport& report) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Digest> digests, store.List());
  absl::flat_hash_set<Digest> seen;
  for (const Digest& digest : digests) {
    const absl::StatusOr<int64_t> bytes = store.Size(digest);
    absl::Status status = to == nullptr ? store.Verify(digest) : CopyArtifact(store, digest, *to);
    if (status.ok() && bytes.ok()) {
      ++report.artifacts;
      report.artifact_bytes += *bytes;
      seen.insert(digest);
    } else if (absl::IsDataLoss(status)) {
      report.findings.push_back(absl::StrCat(status.message(), UseText(inventory.uses, digest)));
      seen.insert(digest);
    } else if (!absl::IsNotFound(status)) {  // collected meanwhile: then it is not needed
      return status;
    }
  }
  std::vector<Digest> missing;
  for (const Digest& digest : inventory.needed) {
    if (!seen.contains(digest)) {
      missing.push_back(digest);
    }
  }
  std::sort(missing.begin(), missing.end());
  for (const Digest& digest : missing) {
    report.findings.push_back(
        absl::StrCat("artifact ", digest.ToHex(), " is missing", UseText(inventory.uses, digest)));
  }
  return absl::OkStatus();
}

// As long as the descriptor is open nothing is collected. Where nothing can be written there is no
// coordinator that collects.
absl::StatusOr<FileDescriptor> HoldArtifacts(const std::string& directory) {
  absl::StatusOr<FileDescriptor> lock = LockFile(directory + kCollectLock, LOCK_SH);
  return lock.ok() || faccessat(AT_FDCWD, directory.c_str(), W_OK, AT_EACCESS) == 0
             ? std::move(lock)
             : FileDescriptor();
}

// Artifacts, unless `source` is null, and hashes of tokens.
absl::Status CopyRest(const ArtifactStore* source, const std::string& tokens,
                      const Inventory& inventory, const DataPlace& to, DataReport& report) {
  SystemClock clock;
  CONCUR_ASSIGN_OR_RETURN(const auto target, OpenArtifacts(clock, to));
  if (source != nullptr) {
    CONCUR_RETURN_IF_ERROR(CheckArtifacts(*source, inventory, target.get(), report));
  }
  return tokens.empty() ? absl::OkStatus()
                        : WriteFileAtomically(to.directory + kTokens, tokens, 0600);
}

}  // namespace

absl::StatusOr<std::string> ReadTokens(const std::string& directory) {
  absl::StatusOr<std::string> tokens = ReadFile(directory + kTokens);
  return absl::IsNotFound(tokens.status()) ? "" : std::move(tokens);
}

absl::StatusOr<DataReport> CheckDataDirectory(const DataPlace& place) {
  const std::string& directory = place.directory;
  const bool in_postgres = !place.database.empty();
  const std::string file = directory + kDatabaseFile;
  CONCUR_RETURN_IF_ERROR(in_postgres ? CheckDatabasePlace(place) : RequireDatabase(directory));
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor hold, HoldArtifacts(directory));
  DataReport report;
  CONCUR_ASSIGN_OR_RETURN(report.findings,
                          in_postgres ? CheckPostgres(place.database) : CheckDatabase(file));
  Inventory inventory;
  if (report.findings.empty()) {
    absl::StatusOr<DatabaseContents> contents =
        in_postgres ? ReadPostgres(place.database) : ReadDatabase(file);
    absl::StatusOr<Inventory> taken =
        contents.ok() ? TakeInventory(*std::move(contents),
                                      in_postgres ? "the database in PostgreSQL" : file, report)
                      : contents.status();
    if (absl::IsDataLoss(taken.status())) {
      report.findings.emplace_back(taken.status().message());
    } else {
      CONCUR_RETURN_IF_ERROR(taken.status());
      inventory = *std::move(taken);
    }
  }
  SystemClock clock;
  CONCUR_ASSIGN_OR_RETURN(const auto artifacts, OpenArtifacts(clock, place));
  CONCUR_RETURN_IF_ERROR(CheckArtifacts(*artifacts, inventory, nullptr, report));
  return report;
}

absl::StatusOr<DataReport> BackUpDataDirectory(const DataPlace& place, const std::string& to) {
  const std::string& directory = place.directory;
  CONCUR_RETURN_IF_ERROR(RequireDatabase(directory));
  if (Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat(to, ": exists; a backup needs a new directory"));
  }
  CONCUR_ASSIGN_OR_RETURN(const FileDescriptor hold, HoldArtifacts(directory));
  const std::string partial = absl::StrCat(to, ".partial.", getpid());
  DataReport report;
  const auto fill = [&]() -> absl::Status {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(partial, 0700));
    CONCUR_RETURN_IF_ERROR(BackupDatabase(directory + kDatabaseFile, partial + kDatabaseFile));
    CONCUR_ASSIGN_OR_RETURN(DatabaseContents contents, ReadDatabase(partial + kDatabaseFile));
    CONCUR_ASSIGN_OR_RETURN(const Inventory inventory,
                            TakeInventory(std::move(contents), partial + kDatabaseFile, report));
    SystemClock clock;
    CONCUR_ASSIGN_OR_RETURN(const auto artifacts, OpenArtifacts(clock, place));
    CONCUR_ASSIGN_OR_RETURN(const std::string tokens, ReadTokens(directory));
    CONCUR_RETURN_IF_ERROR(
        CopyRest(artifacts.get(), tokens, inventory, {partial, std::nullopt}, report));
    CONCUR_RETURN_IF_ERROR(SyncDirectory(partial));
    // Does not replace a directory that was created meanwhile.
    if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
      return ErrnoStatus(errno, to, "create");
    }
    const std::string parent = std::filesystem::path(to).parent_path().string();
    return SyncDirectory(parent.empty() ? "." : parent);
  };
  const absl::Status status = fill();
  if (!status.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(partial, ignored);
    return status;
  }
  return report;
}

absl::Status RequireDatabase(const std::string& directory) {
  if (!Exists(directory + kDatabaseFile)) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": holds no concur.db; name the data directory with --data-dir"));
  }
  return absl::OkStatus();
}

absl::Status RequireNoDatabase(const DataPlace& place) {
  if (!Exists(place.directory + kDatabaseFile)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(place.directory,
                   ": holds a database already, which is not replaced; move it away, "
                   "or restore into another --data-dir"));
}

absl::StatusOr<DataReport> RestoreParts(const DataParts& parts, const DataPlace& place) {
  CONCUR_RETURN_IF_ERROR(RequireNoDatabase(place));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> damage, CheckDatabase(parts.database));
  if (!damage.empty()) {
    return absl::DataLossError(damage.front());
  }
  DataReport report;
  CONCUR_ASSIGN_OR_RETURN(DatabaseContents contents, ReadDatabase(parts.database));
  CONCUR_ASSIGN_OR_RETURN(const Inventory inventory,
                          TakeInventory(std::move(contents), parts.database, report));
  CONCUR_RETURN_IF_ERROR(MakeDataDirectory(place.directory));
  CONCUR_RETURN_IF_ERROR(CopyRest(parts.artifacts, parts.tokens, inventory, place, report));
  CONCUR_RETURN_IF_ERROR(RestoreDatabase(parts.database, place.directory + kDatabaseFile));
  return report;
}

absl::StatusOr<DataReport> RestoreDataDirectory(const std::string& from, const DataPlace& place) {
  CONCUR_RETURN_IF_ERROR(RequireDatabase(from));
  CONCUR_RETURN_IF_ERROR(RequireNoDatabase(place));
  SystemClock clock;
  CONCUR_ASSIGN_OR_RETURN(const auto artifacts, OpenArtifacts(clock, {from, std::nullopt}));
  CONCUR_ASSIGN_OR_RETURN(const std::string tokens, ReadTokens(from));
  return RestoreParts({from + kDatabaseFile, artifacts.get(), tokens}, place);
}

}  // namespace concur
