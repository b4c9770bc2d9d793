// SPDX-License-Identifier: Apache-2.0
// The amounts that the attempts of a sweep's jobs have spent (core/spent.h).
//
// An attempt reports running totals, of which the largest counts: a report that comes again, or
// late, adds nothing twice. What was spent stays, whatever becomes of the attempt and its job.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SPENT_LEDGER_H_
#define CONCUR_CORE_STATE_SPENT_LEDGER_H_

#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "core/spent.h"

namespace concur {

class SpentLedger {
 public:
  struct Entry {
    Spent spent;
    absl::Time time;  // of the latest report that added something
  };
  using Attempts = absl::btree_map<uint32_t, Entry>;  // by number

  // The attempt has spent so much so far. Returns its entry if that is more than was known.
  const Entry* Report(uint32_t job, uint32_t attempt, const Spent& spent, absl::Time now);
  // Of all attempts.
  const Spent& total() const { return total_; }
  // Those of the job's attempts that have reported something.
  const Attempts& Of(uint32_t job) const;

  // Ends the process when the total is not the sum.
  void CheckInvariants() const;

 private:
  absl::btree_map<uint32_t, Attempts> jobs_;
  Spent total_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SPENT_LEDGER_H_
