// SPDX-License-Identifier: Apache-2.0
// A disk in memory for the real SQLite store, implemented as an SQLite VFS. A power cut may lose or
// truncate each write that was not synced; the power may be cut at any write or sync of a commit;
// the disk may be full or unreadable.
//
// One thread. The two small files beside the database (lock and mark) are real, in a directory that
// is removed with the disk: power cuts do not affect the mark, so that every missing acknowledged
// commit is detected.
#ifndef CONCUR_TESTS_SIM_DISKS_SQLITE_DISK_H_
#define CONCUR_TESTS_SIM_DISKS_SQLITE_DISK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "store/store.h"
#include "tests/sim/disks/store_disk.h"
#include "tests/sim/world.h"

struct sqlite3_vfs;

namespace concur::sim {

class SqliteStoreDisk : public StoreDisk {
 public:
  explicit SqliteStoreDisk(World& world);
  ~SqliteStoreDisk() override;

  absl::StatusOr<std::unique_ptr<Store>> Open() override;
  void Restart(bool power_cut) override;
  bool power_is_cut() const override { return power_is_cut_; }
  bool TookFault() override { return std::exchange(took_fault_, false); }

 private:
  friend struct SqliteCalls;  // the functions of the VFS
  class Session;

  struct File {
    struct Write {
      size_t offset = 0;
      std::string data;
      bool truncates = false;  // truncates to `offset`
    };
    std::string contents;
    std::string synced;                                // survives a power cut
    std::vector<Write> pending;                        // since the last sync
    std::vector<std::unique_ptr<std::string>> shared;  // memory shared by connections
  };

  absl::StatusOr<Snapshot> Load(Store& store);
  absl::Status Commit(Store& store, const Batch& batch);
  // True if the power is cut at this write or sync.
  bool CutsNow();
  bool IsFull() const { return world_.now() < full_until_; }
  static void Apply(const File::Write& write, std::string& contents);
  void LosePower(File& file);

  World& world_;
  std::string directory_;
  const std::string name_;  // the VFS's
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, File> files_;
  std::vector<std::unique_ptr<std::string>> unmapped_;  // shared memory of dead processes
  uint64_t process_ = 1;                                // calls by earlier processes are ignored
  int64_t cut_after_ = -1;  // writes and syncs until a power cut; -1: none
  int64_t fail_read_ = -1;  // reads until one fails; -1: none
  bool power_is_cut_ = false;
  bool took_fault_ = false;
  absl::Time full_until_ = absl::InfinitePast();
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_DISKS_SQLITE_DISK_H_
