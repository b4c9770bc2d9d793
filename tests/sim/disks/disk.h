// SPDX-License-Identifier: Apache-2.0
// The disk of a simulated worker's spool, with the faults of a real one. Writes may be truncated by
// a power cut, refused for lack of space, or unreadable later; a power cut may undo a removal that
// was not synced.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_DISKS_DISK_H_
#define CONCUR_TESTS_SIM_DISKS_DISK_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "tests/sim/world.h"

namespace concur::sim {

class Disk : public FileSystem {
 public:
  explicit Disk(World& world) : world_(world) {}

  absl::Status MakeDirectories(const std::string& path, int mode) override;
  absl::StatusOr<std::string> Read(const std::string& path) override;
  absl::Status WriteAtomically(const std::string& path, absl::string_view contents,
                               int mode) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;

  // The power was cut during a write: the machine is dead until its owner calls Restart.
  bool power_is_cut() const { return power_is_cut_; }
  // Makes the disk ready for the next process. After a kill all writes are there; after a power cut
  // each change that was not synced is kept or lost, at random.
  void Restart(bool power_cut);
  // Failed reads so far.
  int read_errors() const { return read_errors_; }

 private:
  struct File {
    explicit File(std::string bytes = "", bool is_synced = true)
        : contents(std::move(bytes)), synced(is_synced) {}

    std::string contents;
    bool exists = true;
    bool synced = true;    // `exists` and `contents` survive a power cut
    bool existed = false;  // the synced state, if not synced
    std::string old_contents;
  };
  absl::Status Dead() const { return absl::UnavailableError("the power is cut"); }

  World& world_;
  std::map<std::string, File> files_;  // by path
  bool power_is_cut_ = false;
  int read_errors_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_DISKS_DISK_H_
