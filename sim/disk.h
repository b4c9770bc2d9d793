// The disk on which a simulated worker keeps its spool: the real code's files, with what a real
// disk does to them. Writes may be cut off by a power cut, refused for lack of space, or unreadable
// later; a removal that was not synced may be undone by a power cut.
//
// One thread.
#ifndef CONCUR_SIM_DISK_H_
#define CONCUR_SIM_DISK_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "sim/world.h"

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

  // The power was cut within a write: the machine is dead, and its owner is to call Restart.
  bool power_is_cut() const { return power_is_cut_; }
  // The disk as the next process finds it. A process that was merely killed finds all that was
  // written; after a power cut each change that was not synced stands or not, by chance.
  void Restart(bool power_cut);
  // How often a file could not be read, so far.
  int read_errors() const { return read_errors_; }

 private:
  struct File {
    explicit File(std::string bytes = "", bool is_synced = true)
        : contents(std::move(bytes)), synced(is_synced) {}

    std::string contents;
    bool exists = true;
    bool synced = true;    // `exists` and `contents` are what a power cut leaves
    bool existed = false;  // when not synced: what stood there before
    std::string old_contents;
  };
  absl::Status Dead() const { return absl::UnavailableError("the power is cut"); }

  World& world_;
  std::map<std::string, File> files_;  // by path
  bool power_is_cut_ = false;
  int read_errors_ = 0;
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_DISK_H_
