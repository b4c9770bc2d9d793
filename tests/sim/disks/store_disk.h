// SPDX-License-Identifier: Apache-2.0
// The coordinator's disk, on which each process opens its store.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_DISKS_STORE_DISK_H_
#define CONCUR_TESTS_SIM_DISKS_STORE_DISK_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "store/memory_store.h"
#include "store/store.h"
#include "tests/sim/world.h"

namespace concur::sim {

class StoreDisk {
 public:
  virtual ~StoreDisk() = default;

  // Opens the store for one process. The functions below explain its failed commits.
  virtual absl::StatusOr<std::unique_ptr<Store>> Open() = 0;
  // Makes the disk ready for the next process; a power cut loses writes that were not synced.
  virtual void Restart(bool power_cut) = 0;
  // The power was cut during a commit: the machine is dead.
  virtual bool power_is_cut() const = 0;
  // True if a fault of this disk since the last call explains an error.
  virtual bool TookFault() = 0;
};

// A disk with the rows of a MemoryStore. Commits are lost, torn, unanswered or refused; reads at a
// start may fail. Also injects the bugs of stores.
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
  MemoryStore written_;  // as read by the process
  MemoryStore synced_;   // survives a power cut; differs only with an injected bug
  bool power_is_cut_ = false;
  bool took_fault_ = false;
  absl::Time full_until_ = absl::InfinitePast();
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_DISKS_STORE_DISK_H_
