// SPDX-License-Identifier: Apache-2.0
#include "tests/power_loss/promises.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/file.h"
#include "base/random.h"
#include "store/artifacts/directory_store.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "tests/power_loss/crash_states.h"
#include "tests/store/store_rows.h"
#include "tests/testing/full_result.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/temp_dir.h"
#include "worker/agent/spool.h"

namespace concur::testing {
namespace {

constexpr int kStarts = 3;
constexpr int kStepsPerStart = 12;
constexpr int64_t kCheckpointPages = 24;  // few, for frequent checkpoints
constexpr size_t kArtifactBytesMax = 20'000;

SqliteStoreOptions StoreOptions() {
  SqliteStoreOptions options;
  options.checkpoint_pages = kCheckpointPages;
  return options;
}

std::string DatabaseIn(const std::string& data) { return data + "/concur.db"; }

// Fills the stores, and notes what they acknowledge.
class Workload {
 public:
  Workload(uint64_t seed, std::string root, std::string outside, FileTrace& trace,
           Promises& promises)
      : random_(seed, "power_loss"),
        data_(root + "/data"),
        work_(root + "/work"),
        outside_(std::move(outside)),
        trace_(trace),
        promises_(promises) {
    promises_.commits.push_back({0, 0, Describe(rows_)});
  }

  void Run() {
    for (int start = 0; start < kStarts; ++start) {
      CONCUR_CHECK_OK(MakePrivateDirectory(data_, {"concur.db"}));
      store_ = *SqliteStore::Open(DatabaseIn(data_), StoreOptions());
      CONCUR_CHECK_OK(store_->Load().status());
      artifacts_.reset();  // its pack has no writer any more, as after a crash
      artifacts_ = *DirectoryStore::Open(data_ + "/artifacts", Packing::kMake);
      CONCUR_CHECK_OK(MakePrivateDirectory(work_, {"spool"}));
      spool_ = *worker::FileSpool::Open(work_ + "/spool");
      CollectArtifacts();  // few steps do, and then mostly with nothing to merge
      for (int step = 0; step < kStepsPerStart; ++step) {
        Step();
      }
      PutSmallArtifacts();
      BackUp();
      store_.reset();
    }
  }

 private:
  void Step() {
    const double kind = random_.Uniform();
    if (kind < 0.6) {
      Commit();
    } else if (kind < 0.7) {
      PutArtifact();
    } else if (kind < 0.79) {
      PutSmallArtifacts();
    } else if (kind < 0.82) {
      DropArtifact();
    } else if (kind < 0.86) {
      CollectArtifacts();
    } else if (kind < 0.93) {
      PutResults();
    } else {
      DropResult();
    }
  }

  void Commit() {
    const Batch batch = RandomBatch(random_);
    const size_t begin = trace_.position();
    CONCUR_CHECK_OK(store_->Commit(batch));
    CONCUR_CHECK_OK(rows_.Commit(batch));
    promises_.commits.push_back({begin, trace_.position(), Describe(rows_)});
  }

  void PutArtifact() {
    std::string data(random_.Below(kArtifactBytesMax), '\0');
    for (char& byte : data) {
      byte = static_cast<char>(random_.Below(256));
    }
    switch (random_.Below(3)) {
      case 0:
        CONCUR_CHECK_OK(artifacts_->Put(data).status());
        break;
      case 1: {
        auto writer = *artifacts_->NewWriter(Sha256Of(data));
        CONCUR_CHECK_OK(writer->Append(data.substr(0, data.size() / 3)));
        CONCUR_CHECK_OK(writer->Append(data.substr(data.size() / 3)));
        CONCUR_CHECK_OK(writer->Finish().status());
        break;
      }
      default:
        // More than what is read before it is copied.
        data.resize(kArtifactBytesMax * 4, 'x');
        CONCUR_CHECK_OK(WriteFileAtomically(outside_ + "/file", data));
        CONCUR_CHECK_OK(artifacts_->PutFile(outside_ + "/file").status());
    }
    promises_.artifacts.push_back({data, trace_.position(), kNever});
  }

  // They share a sync, and are acknowledged by it.
  void PutSmallArtifacts() {
    std::vector<std::string> puts(1 + random_.Below(4));
    for (std::string& data : puts) {
      data = absl::StrCat(random_.Below(1'000'000), std::string(random_.Below(1500), 'x'));
      CONCUR_CHECK_OK(artifacts_->Put(data, Durability::kAtSync).status());
    }
    CONCUR_CHECK_OK(artifacts_->Sync());
    for (std::string& data : puts) {
      promises_.artifacts.push_back({std::move(data), trace_.position(), kNever});
    }
  }

  // Merges the packs of earlier starts.
  void CollectArtifacts() {
    absl::flat_hash_set<Digest> live;
    for (const Promises::Artifact& artifact : promises_.artifacts) {
      if (artifact.dropped == kNever) {
        live.insert(Sha256Of(artifact.data));
      }
    }
    CONCUR_CHECK_OK(artifacts_->Collect(live, absl::InfiniteFuture()).status());
  }

  void DropArtifact() {
    if (promises_.artifacts.empty()) {
      return;
    }
    Promises::Artifact& artifact = promises_.artifacts[random_.Below(promises_.artifacts.size())];
    artifact.dropped = std::min(artifact.dropped, trace_.position());
    CONCUR_CHECK_OK(artifacts_->Remove(Sha256Of(artifact.data)).status());
  }

  void PutResults() {
    std::vector<worker::SpooledResult> results(1 + random_.Below(3));
    for (worker::SpooledResult& result : results) {
      result.finished.id = AttemptId{MakeJobId(1, ++jobs_), {1}};
      result.finished.result = FullResult();
    }
    CONCUR_CHECK_OK(spool_->Put(results));
    for (const worker::SpooledResult& result : results) {
      promises_.spooled.push_back({result.finished.id, trace_.position(), kNever});
    }
  }

  void DropResult() {
    if (promises_.spooled.empty()) {
      return;
    }
    Promises::Spooled& spooled = promises_.spooled[random_.Below(promises_.spooled.size())];
    spooled.dropped = std::min(spooled.dropped, trace_.position());
    spool_->Remove({spooled.id});
  }

  void BackUp() {
    const std::string name = absl::StrCat("backup-", promises_.backups.size(), ".db");
    CONCUR_CHECK_OK(BackupDatabase(DatabaseIn(data_), absl::StrCat(data_, "/", name)));
    promises_.backups.push_back({name, promises_.commits.back().text, trace_.position()});
  }

  Random random_;
  const std::string data_;
  const std::string work_;
  const std::string outside_;  // a directory that is not traced
  FileTrace& trace_;
  Promises& promises_;
  MemoryStore rows_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<DirectoryStore> artifacts_;
  std::unique_ptr<worker::FileSpool> spool_;
  uint32_t jobs_ = 0;
};

// SQLite's index of its log is mapped into memory and made anew after a crash.
bool IsMapped(const std::string& path) { return absl::EndsWith(path, "-shm"); }

std::vector<std::string> Differences(const FileTree& expected, const FileTree& found) {
  std::vector<std::string> differences;
  for (const auto& [path, contents] : expected) {
    const auto it = found.find(path);
    if (it == found.end() || (it->second != contents && !IsMapped(path))) {
      differences.push_back(path);
    }
  }
  for (const auto& [path, contents] : found) {
    if (!expected.contains(path)) {
      differences.push_back(path);
    }
  }
  return differences;
}

}  // namespace

Recording Record(uint64_t seed) {
  Recording recording;
  const TempDir traced;
  const TempDir outside;
  FileTrace trace(traced.path());
  Workload(seed, traced.path(), outside.path(), trace, recording.promises).Run();
  recording.ops = trace.Stop();
  CrashModel model;
  for (const FileOp& op : recording.ops) {
    model.Apply(op);
  }
  Random random(seed, "power_loss.differences");
  recording.differences = Differences(ReadTree(traced.path()), model.Crash(Fate::kAllKept, random));
  return recording;
}

std::string Promises::Check(const std::string& directory, size_t position,
                            bool commits_more) const {
  const std::string data = directory + "/data";
  const std::string work = directory + "/work";
  for (const std::string& path : {data, work}) {
    if (const absl::Status made = MakePrivateDirectory(path, {"concur.db", "spool"}); !made.ok()) {
      return made.ToString();
    }
  }
  std::string broken = CheckDatabase(data, position, commits_more);
  if (broken.empty()) {
    broken = CheckArtifacts(data, position);
  }
  if (broken.empty()) {
    broken = CheckSpool(work, position);
  }
  return broken.empty() ? CheckBackups(data, position) : broken;
}

std::string Promises::CheckDatabase(const std::string& data, size_t position,
                                    bool commits_more) const {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(DatabaseIn(data), StoreOptions());
  if (!store.ok()) {
    return absl::StrCat("the database cannot be opened: ", store.status().ToString());
  }
  const std::string text = Describe(**store);
  // Each commit is there as a whole, and none is missing before an acknowledged one. The newest
  // that fits counts: a batch may change nothing.
  size_t found = commits.size();
  size_t acknowledged = 0;
  for (size_t i = 0; i < commits.size(); ++i) {
    if (commits[i].begin <= position && commits[i].text == text) {
      found = i;
    }
    if (commits[i].acknowledged <= position) {
      acknowledged = i;
    }
  }
  if (found == commits.size()) {
    return absl::StrCat("the database is as after no commit: ", text.substr(0, 300));
  }
  if (found < acknowledged) {
    return absl::StrCat(acknowledged - found, " of ", acknowledged,
                        " acknowledged commits are missing");
  }
  if (!commits_more) {
    return "";
  }
  Random random(position, "power_loss.next");
  const absl::Status next = (*store)->Commit(RandomBatch(random));
  return next.ok() ? "" : absl::StrCat("the next commit fails: ", next.ToString());
}

std::string Promises::CheckArtifacts(const std::string& data, size_t position) const {
  absl::StatusOr<std::unique_ptr<DirectoryStore>> store =
      DirectoryStore::Open(data + "/artifacts", Packing::kMake);
  if (!store.ok()) {
    return absl::StrCat("the artifacts cannot be opened: ", store.status().ToString());
  }
  for (const Artifact& artifact : artifacts) {
    if (artifact.acknowledged <= position && position <= artifact.dropped) {
      const absl::StatusOr<std::string> read = ReadArtifact(**store, Sha256Of(artifact.data));
      if (!read.ok() || *read != artifact.data) {
        return absl::StrCat("an acknowledged artifact is lost: ", read.status().ToString());
      }
    }
  }
  const absl::StatusOr<std::vector<Digest>> stored = (*store)->List();
  if (!stored.ok()) {
    return absl::StrCat("the artifacts cannot be listed: ", stored.status().ToString());
  }
  for (const Digest& digest : *stored) {
    if (const absl::Status whole = (*store)->Verify(digest); !whole.ok()) {
      return absl::StrCat("an artifact is there in part: ", whole.ToString());
    }
  }
  return "";
}

std::string Promises::CheckSpool(const std::string& work, size_t position) const {
  const absl::StatusOr<std::unique_ptr<worker::FileSpool>> spool =
      worker::FileSpool::Open(work + "/spool");
  if (!spool.ok()) {
    return absl::StrCat("the spool cannot be opened: ", spool.status().ToString());
  }
  for (const Spooled& result : spooled) {
    const std::vector<worker::SpooledResult>& found = (*spool)->recovered();
    if (result.acknowledged <= position && position <= result.dropped &&
        std::none_of(found.begin(), found.end(), [&](const worker::SpooledResult& one) {
          return one.finished.id == result.id && one.finished.result == FullResult();
        })) {
      return absl::StrCat("the spooled result of ", result.id.ToString(), " is lost");
    }
  }
  return "";
}

std::string Promises::CheckBackups(const std::string& data, size_t position) const {
  for (const Backup& backup : backups) {
    if (backup.acknowledged > position) {
      continue;
    }
    const absl::StatusOr<std::unique_ptr<SqliteStore>> copy =
        SqliteStore::Open(absl::StrCat(data, "/", backup.path));
    if (!copy.ok() || Describe(**copy) != backup.text) {
      return absl::StrCat("an acknowledged backup is lost or damaged: ", backup.path, ": ",
                          copy.status().ToString());
    }
  }
  return "";
}

}  // namespace concur::testing
