// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers died while they ran.
//
// One that takes all memory of a machine takes its worker along, and everything else that ran
// there. After so many deaths in a row a job is suspect: it runs alone next, on a worker that has
// nothing else. If that one dies, too, the job is poison and never runs again by itself; if it
// lives, the job is acquitted. A death that several jobs shared is nobody's proof: it is not
// charged to their budgets of lost attempts.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SUSPECTS_H_
#define CONCUR_CORE_STATE_SUSPECTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/ids.h"

namespace concur {

class Suspects {
 public:
  // Deaths of workers that ran one job.
  struct Deaths {
    uint32_t in_a_row = 0;     // its latest attempts, which all ended so
    bool last_shared = false;  // other jobs ran beside the last of them

    friend bool operator==(const Deaths&, const Deaths&) = default;
  };

  // A job is suspect after so many deaths in a row; 0: never.
  explicit Suspects(uint32_t deaths_max) : deaths_max_(deaths_max) {}

  // The job's worker died while it ran, beside others or alone. Returns true if the job is poison.
  bool AddDeath(JobId id, bool shared);
  // The worker had not died after all. Returns true if that death was shared.
  bool TakeBackDeath(JobId id);
  // An attempt of the job has ended in another way.
  void Acquit(JobId id) { deaths_.erase(id); }
  void Restore(JobId id, Deaths deaths) { deaths_[id] = deaths; }

  Deaths Of(JobId id) const;
  bool MustRunAlone(JobId id) const {
    return deaths_max_ > 0 && !deaths_.empty() && Of(id).in_a_row >= deaths_max_;
  }

  // --- suspects that are ready to run, which no queue has
  // -----------------------------------------

  // REQUIRES: it must run alone, and is not there.
  void AddReady(JobId id);
  // False when it is not there.
  bool RemoveReady(JobId id) { return ready_.erase(id) > 0; }
  bool IsReady(JobId id) const { return ready_.contains(id); }
  // In order.
  const absl::btree_set<JobId>& ready() const { return ready_; }

  // The jobs that have deaths.
  size_t size() const { return deaths_.size(); }
  template <typename Visitor>
  void ForEach(Visitor visit) const {
    for (const auto& [id, deaths] : deaths_) {
      visit(id, deaths);
    }
  }
  // Ends the process when a job is ready here that need not run alone.
  void CheckInvariants() const;

 private:
  const uint32_t deaths_max_;
  absl::flat_hash_map<JobId, Deaths> deaths_;  // with one at least
  absl::btree_set<JobId> ready_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SUSPECTS_H_
