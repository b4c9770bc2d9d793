// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/disks/sqlite_disk.h"

#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "store/sqlite_store.h"

namespace concur::sim {
namespace {

constexpr absl::Duration kFullMax = absl::Seconds(20);
constexpr size_t kSectorBytes = 512;  // written atomically
constexpr uint64_t kCutOperationsMax = 12;
constexpr uint64_t kFailReadsMax = 6;
constexpr int64_t kCheckpointPages = 40;  // few, for frequent checkpoints
constexpr int64_t kDeleteRows = 12;       // few, so that deletes take several commits

std::string NewName() {
  static uint64_t number = 0;
  return absl::StrCat("concur-sim-", ++number);
}

}  // namespace

// The functions of the VFS. Files leave the map only by deletion, which SQLite does not do to open
// files.
struct SqliteCalls {
  struct Handle {
    sqlite3_file base;  // must be first: SQLite uses a pointer to it
    SqliteStoreDisk* disk;
    SqliteStoreDisk::File* file;
    uint64_t process;
    std::unique_ptr<SqliteStoreDisk::File>* unnamed;  // set for temporary files
  };

  static Handle& Of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static SqliteStoreDisk& DiskOf(sqlite3_vfs* vfs) {
    return *static_cast<SqliteStoreDisk*>(vfs->pAppData);
  }
  static bool IsDead(const Handle& handle) {
    return handle.process != handle.disk->process_ || handle.disk->power_is_cut_;
  }

  static int Close(sqlite3_file* file) {
    delete Of(file).unnamed;
    return SQLITE_OK;
  }

  static int Read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset) {
    Handle& handle = Of(file);
    SqliteStoreDisk& disk = *handle.disk;
    if (IsDead(handle)) {
      return SQLITE_IOERR_READ;
    }
    if (disk.fail_read_ >= 0 && disk.fail_read_-- == 0) {
      disk.took_fault_ = true;
      return SQLITE_IOERR_READ;
    }
    const std::string& contents = handle.file->contents;
    const size_t at = static_cast<size_t>(offset);
    const size_t wanted = static_cast<size_t>(amount);
    const size_t got = at < contents.size() ? std::min(wanted, contents.size() - at) : 0;
    std::memcpy(to, contents.data() + (got > 0 ? at : 0), got);
    std::memset(static_cast<char*>(to) + got, 0, wanted - got);
    return got == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }

  static int Change(Handle& handle, SqliteStoreDisk::File::Write write) {
    SqliteStoreDisk& disk = *handle.disk;
    if (IsDead(handle)) {
      return SQLITE_IOERR_WRITE;
    }
    if (disk.IsFull() && !write.truncates) {
      disk.took_fault_ = true;
      return SQLITE_FULL;
    }
    SqliteStoreDisk::Apply(write, handle.file->contents);
    handle.file->pending.push_back(std::move(write));
    return disk.CutsNow() ? SQLITE_IOERR_WRITE : SQLITE_OK;
  }
  static int Write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    return Change(
        Of(file),
        {static_cast<size_t>(offset),
         std::string(static_cast<const char*>(from), static_cast<size_t>(amount)), false});
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    return Change(Of(file), {static_cast<size_t>(size), "", true});
  }

  static int Sync(sqlite3_file* file, int /*flags*/) {
    Handle& handle = Of(file);
    SqliteStoreDisk& disk = *handle.disk;
    if (IsDead(handle) || disk.CutsNow()) {
      return SQLITE_IOERR_FSYNC;
    }
    if (disk.world_.bug() == Bug::kCommitNotSynced) {
      return SQLITE_OK;
    }
    for (const SqliteStoreDisk::File::Write& write : handle.file->pending) {
      SqliteStoreDisk::Apply(write, handle.file->synced);
    }
    handle.file->pending.clear();
    return SQLITE_OK;
  }

  static int FileSize(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(Of(file).file->contents.size());
    return SQLITE_OK;
  }

  // One connection at a time: locks are always free. A dead process gets none, so that it does not
  // checkpoint the log on close.
  static int Lock(sqlite3_file* file, int /*level*/) {
    return IsDead(Of(file)) ? SQLITE_IOERR_LOCK : SQLITE_OK;
  }
  static int Unlock(sqlite3_file* /*file*/, int /*level*/) { return SQLITE_OK; }
  static int CheckReservedLock(sqlite3_file* /*file*/, int* reserved) {
    *reserved = 0;
    return SQLITE_OK;
  }
  static int FileControl(sqlite3_file* /*file*/, int /*op*/, void* /*arg*/) {
    return SQLITE_NOTFOUND;
  }
  static int SectorSize(sqlite3_file* /*file*/) { return 4096; }
  static int DeviceCharacteristics(sqlite3_file* /*file*/) {
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
  }

  static int SharedMap(sqlite3_file* file, int region, int size, int extend,
                       void volatile** memory) {
    std::vector<std::unique_ptr<std::string>>& shared = Of(file).file->shared;
    const size_t wanted = static_cast<size_t>(region) + 1;
    while (shared.size() < wanted && extend != 0) {
      shared.push_back(std::make_unique<std::string>(static_cast<size_t>(size), '\0'));
    }
    *memory = shared.size() < wanted ? nullptr : shared[wanted - 1]->data();
    return SQLITE_OK;
  }
  static int SharedLock(sqlite3_file* /*file*/, int /*offset*/, int /*count*/, int /*flags*/) {
    return SQLITE_OK;
  }
  static void SharedBarrier(sqlite3_file* /*file*/) {}
  static int SharedUnmap(sqlite3_file* file, int remove) {
    if (remove != 0) {
      Of(file).file->shared.clear();
    }
    return SQLITE_OK;
  }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                  int* out_flags) {
    static const sqlite3_io_methods methods = MakeMethods();
    SqliteStoreDisk& disk = DiskOf(vfs);
    file->pMethods = nullptr;
    Handle& handle = Of(file);
    handle.disk = &disk;
    handle.process = disk.process_;
    handle.unnamed = nullptr;
    if (name == nullptr) {
      handle.unnamed = new std::unique_ptr<SqliteStoreDisk::File>(new SqliteStoreDisk::File);
      handle.file = handle.unnamed->get();
    } else if (!disk.files_.contains(name) && (flags & SQLITE_OPEN_CREATE) == 0) {
      return SQLITE_CANTOPEN;
    } else {
      handle.file = &disk.files_[name];
    }
    if (out_flags != nullptr) {
      *out_flags = flags;
    }
    file->pMethods = &methods;
    return SQLITE_OK;
  }

  static int Delete(sqlite3_vfs* vfs, const char* name, int /*sync*/) {
    SqliteStoreDisk& disk = DiskOf(vfs);
    // Cleared, not erased: a handle of a dead process may still point to it.
    if (!disk.power_is_cut_ && disk.files_.contains(name)) {
      disk.files_[name].contents.clear();
      disk.files_[name].synced.clear();
      disk.files_[name].pending.clear();
    }
    return SQLITE_OK;
  }
  static int Access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* result) {
    const SqliteStoreDisk& disk = DiskOf(vfs);
    const auto it = disk.files_.find(name);
    *result = it != disk.files_.end() && !it->second.contents.empty() ? 1 : 0;
    return SQLITE_OK;
  }
  static int FullPathname(sqlite3_vfs* /*vfs*/, const char* name, int size, char* out) {
    if (std::strlen(name) + 1 > static_cast<size_t>(size)) {
      return SQLITE_CANTOPEN;
    }
    std::memcpy(out, name, std::strlen(name) + 1);
    return SQLITE_OK;
  }
  static int Randomness(sqlite3_vfs* /*vfs*/, int size, char* out) {
    std::memset(out, 0, static_cast<size_t>(size));
    return size;
  }
  static int Sleep(sqlite3_vfs* /*vfs*/, int microseconds) { return microseconds; }
  static int CurrentTime(sqlite3_vfs* /*vfs*/, double* days) {
    *days = 2440587.5;  // 1970, in Julian days
    return SQLITE_OK;
  }
  static int LastError(sqlite3_vfs* /*vfs*/, int /*size*/, char* /*out*/) { return 0; }

  static sqlite3_io_methods MakeMethods() {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xClose = Close;
    methods.xRead = Read;
    methods.xWrite = Write;
    methods.xTruncate = Truncate;
    methods.xSync = Sync;
    methods.xFileSize = FileSize;
    methods.xLock = Lock;
    methods.xUnlock = Unlock;
    methods.xCheckReservedLock = CheckReservedLock;
    methods.xFileControl = FileControl;
    methods.xSectorSize = SectorSize;
    methods.xDeviceCharacteristics = DeviceCharacteristics;
    methods.xShmMap = SharedMap;
    methods.xShmLock = SharedLock;
    methods.xShmBarrier = SharedBarrier;
    methods.xShmUnmap = SharedUnmap;
    return methods;
  }

  static std::unique_ptr<sqlite3_vfs> MakeVfs(SqliteStoreDisk& disk, const char* name) {
    auto vfs = std::make_unique<sqlite3_vfs>();
    vfs->iVersion = 1;
    vfs->szOsFile = sizeof(Handle);
    vfs->mxPathname = 1024;
    vfs->zName = name;
    vfs->pAppData = &disk;
    vfs->xOpen = Open;
    vfs->xDelete = Delete;
    vfs->xAccess = Access;
    vfs->xFullPathname = FullPathname;
    vfs->xRandomness = Randomness;
    vfs->xSleep = Sleep;
    vfs->xCurrentTime = CurrentTime;
    vfs->xGetLastError = LastError;
    return vfs;
  }
};

class SqliteStoreDisk::Session : public Store {
 public:
  Session(SqliteStoreDisk& disk, std::unique_ptr<SqliteStore> store)
      : disk_(disk), store_(std::move(store)) {}

  absl::StatusOr<Snapshot> Load() override { return disk_.Load(*store_); }
  absl::Status Commit(const Batch& batch) override { return disk_.Commit(*store_, batch); }
  bool IsDeleting() const override { return store_->IsDeleting(); }
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override {
    return store_->ListAttempts(job);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override {
    return store_->ListSweepAttempts(sweep);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override {
    return store_->ListServiceUse(sweep);
  }
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override {
    return store_->ListSteps(job);
  }

 private:
  SqliteStoreDisk& disk_;
  std::unique_ptr<SqliteStore> store_;
};

SqliteStoreDisk::SqliteStoreDisk(World& world)
    : world_(world), name_(NewName()), vfs_(SqliteCalls::MakeVfs(*this, name_.c_str())) {
  std::string pattern = (std::filesystem::temp_directory_path() / "concur-sim-XXXXXX").string();
  CONCUR_CHECK(mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  CONCUR_CHECK(sqlite3_vfs_register(vfs_.get(), /*makeDflt=*/0) == SQLITE_OK);
}

SqliteStoreDisk::~SqliteStoreDisk() {
  sqlite3_vfs_unregister(vfs_.get());
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::StatusOr<std::unique_ptr<Store>> SqliteStoreDisk::Open() {
  if (world_.Strikes(Fault::kReadError)) {
    fail_read_ = static_cast<int64_t>(world_.random().Below(kFailReadsMax));
  }
  SqliteStoreOptions options;
  options.vfs = name_;
  options.checkpoint_pages = kCheckpointPages;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(directory_ + "/concur.db", options);
  if (!store.ok()) {
    fail_read_ = -1;
    return store.status();
  }
  (*store)->set_delete_rows(kDeleteRows);
  return std::unique_ptr<Store>(new Session(*this, *std::move(store)));
}

absl::StatusOr<Snapshot> SqliteStoreDisk::Load(Store& store) {
  absl::StatusOr<Snapshot> snapshot = store.Load();
  fail_read_ = -1;
  return snapshot;
}

absl::Status SqliteStoreDisk::Commit(Store& store, const Batch& batch) {
  if (!IsFull() && world_.Strikes(Fault::kDiskFull)) {
    full_until_ = world_.now() + world_.Between(absl::Milliseconds(1), kFullMax);
  }
  if (world_.Strikes(Fault::kCommitLost)) {
    took_fault_ = true;
    return absl::UnknownError("killed before the commit");
  }
  const bool torn = world_.Strikes(Fault::kCommitTorn);
  if (torn) {
    took_fault_ = true;
    cut_after_ = static_cast<int64_t>(world_.random().Below(kCutOperationsMax));
  }
  CONCUR_RETURN_IF_ERROR(store.Commit(batch));
  if (torn) {
    // The commit took fewer operations: the power is cut before its answer.
    power_is_cut_ = true;
    return absl::UnavailableError("the power is cut");
  }
  if (world_.Strikes(Fault::kCommitUnanswered)) {
    took_fault_ = true;
    return absl::UnknownError("killed after the commit");
  }
  return absl::OkStatus();
}

bool SqliteStoreDisk::CutsNow() {
  if (cut_after_ < 0 || cut_after_-- > 0) {
    return false;
  }
  power_is_cut_ = true;
  return true;
}

void SqliteStoreDisk::Apply(const File::Write& write, std::string& contents) {
  const size_t end = write.offset + write.data.size();
  if (write.truncates || contents.size() < end) {
    contents.resize(end);
  }
  contents.replace(write.offset, write.data.size(), write.data);
}

// Each write since the last sync is kept, lost, or kept for some of its sectors.
void SqliteStoreDisk::LosePower(File& file) {
  for (File::Write& write : file.pending) {
    const double fate = world_.random().Uniform();
    if (fate < 0.4) {
      continue;
    }
    if (fate < 0.6) {
      write.data.resize(world_.random().Below(write.data.size() / kSectorBytes + 1) * kSectorBytes);
    }
    Apply(write, file.synced);
  }
  file.pending.clear();
  file.contents = file.synced;
}

void SqliteStoreDisk::Restart(bool power_cut) {
  ++process_;  // later calls by the old process are ignored
  for (auto& [name, file] : files_) {
    if (power_cut || power_is_cut_) {
      LosePower(file);
    }
    // The old process still has it mapped.
    std::move(file.shared.begin(), file.shared.end(), std::back_inserter(unmapped_));
    file.shared.clear();
  }
  power_is_cut_ = false;
  cut_after_ = -1;
  fail_read_ = -1;
}

}  // namespace concur::sim
