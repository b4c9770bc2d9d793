// The coordinator's disk: what stores are opened on, one process after the other.
//
// One thread.
#ifndef CONCUR_SIM_STORE_DISK_H_
#define CONCUR_SIM_STORE_DISK_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sim/world.h"
#include "store/memory_store.h"
#include "store/store.h"

namespace concur::sim {

class StoreDisk {
 public:
  virtual ~StoreDisk() = default;

  // A store for one process. Its failed commits are reported by what follows.
  virtual absl::StatusOr<std::unique_ptr<Store>> Open() = 0;
  // The disk as the next process finds it: after a power cut without what was not synced.
  virtual void Restart(bool power_cut) = 0;
  // The power was cut within a commit: the machine is dead.
  virtual bool power_is_cut() const = 0;
  // A fault of this disk struck since the last call, and explains an error.
  virtual bool TookFault() = 0;
};

// One on which the rows of a MemoryStore lie. Commits are lost, torn, unanswered or refused; a
// start cannot read. Also where the planted bugs of stores stand.
class MemoryStoreDisk : public StoreDisk {
 public:
  explicit MemoryStoreDisk(World& world) : world_(world) {}

  absl::StatusOr<std::unique_ptr<Store>> Open() override;
  void Restart(bool power_cut) override;
  bool power_is_cut() const override { return power_is_cut_; }
  bool TookFault() override { return std::exchange(took_fault_, false); }

 private:
  class Session;

  absl::StatusOr<Snapshot> Load();
  absl::Status Commit(const Batch& batch);
  absl::Status Fault(absl::Status status);

  World& world_;
  MemoryStore written_;  // what a process reads back
  MemoryStore synced_;   // what a power cut leaves; behind only with a planted bug
  bool power_is_cut_ = false;
  bool took_fault_ = false;
  absl::Time full_until_ = absl::InfinitePast();
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_STORE_DISK_H_
