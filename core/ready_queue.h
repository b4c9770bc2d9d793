// The jobs that could start now, in the order in which they should: higher priority first, then
// older sweeps, eval jobs before train jobs (scores come early), then the job's index.
//
// Jobs wait in lanes of equal (priority, sweep, kind, resources), so that choosing one for a worker
// looks at lanes, not at jobs, and a lane whose jobs fit nowhere holds up nobody.
//
// Thread-compatible.
#ifndef CONCUR_CORE_READY_QUEUE_H_
#define CONCUR_CORE_READY_QUEUE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/container/btree_set.h"
#include "core/ids.h"
#include "core/resources.h"

namespace concur {

class ReadyQueue {
 public:
  struct Lane {
    int32_t priority = 0;
    SweepId sweep;
    bool is_train = false;
    Resources resources;

    // The order in which lanes are looked at.
    friend std::strong_ordering operator<=>(const Lane& a, const Lane& b) {
      if (const auto order = b.priority <=> a.priority; order != 0) {
        return order;
      }
      if (const auto order = a.sweep <=> b.sweep; order != 0) {
        return order;
      }
      if (const auto order = a.is_train <=> b.is_train; order != 0) {
        return order;
      }
      return a.resources <=> b.resources;
    }
    friend bool operator==(const Lane& a, const Lane& b) = default;
  };

  // Adds a job. REQUIRES: it is not in the queue.
  void Push(const Lane& lane, uint32_t job);
  // Removes a job. REQUIRES: it is in the queue under this lane.
  void Erase(const Lane& lane, uint32_t job);
  bool Contains(const Lane& lane, uint32_t job) const;
  // Takes the first job that fits into `free`.
  std::optional<JobId> Pop(const Resources& free);

  // A paused sweep's jobs stay in the queue but are not taken.
  void Pause(SweepId sweep);
  void Resume(SweepId sweep);
  // Removes all jobs of a sweep.
  void EraseSweep(SweepId sweep);

  size_t size() const { return size_; }

 private:
  using Lanes = std::map<Lane, absl::btree_set<uint32_t>>;
  static void Move(SweepId sweep, Lanes& from, Lanes& to);

  Lanes lanes_;  // none is empty
  Lanes paused_;
  absl::btree_set<SweepId> paused_sweeps_;
  size_t size_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_READY_QUEUE_H_
