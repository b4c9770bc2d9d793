// SPDX-License-Identifier: Apache-2.0
// The amounts that the attempts of a sweep's jobs have spent (core/spent.h).
//
// An attempt reports running totals, of which the largest counts: a report that comes again, or
// late, adds nothing twice. What was spent stays, whatever becomes of the attempt and its job.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_SPENT_LEDGER_H_
#define CONCUR_CORE_STATE_SPENT_LEDGER_H_

#include <compare>
#include <cstdint>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/spent.h"

namespace concur {

class SpentLedger {
 public:
  struct Entry {
    Spent spent;
    absl::Time time;  // when a report last added something
  };
  using Attempts = absl::btree_map<uint32_t, Entry>;  // by number

  // The attempt has spent so much so far. Returns its entry if that is more than was known.
  const Entry* Report(uint32_t job, uint32_t attempt, const Spent& spent, absl::Time now);
  // The sum over all attempts.
  const Spent& total() const { return total_; }

  // Jobs that are expected to cost about as much: of an approach and its benchmark.
  struct Kind {
    bool is_train = false;
    uint32_t approach = 0;
    uint32_t group = 0;

    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Cost {
    int64_t usd_micros = 0;
    int64_t jobs = 0;

    friend bool operator==(const Cost&, const Cost&) = default;
  };
  using Costs = absl::btree_map<Kind, Cost>;
  // The job, of this kind, has succeeded by running itself: all that it spent is what such a job
  // costs. Or it no longer counts. REQUIRES: alternately.
  void AddFinished(uint32_t job, const Kind& kind) { Count(job, kind, 1, finished_); }
  void RemoveFinished(uint32_t job, const Kind& kind) { Count(job, kind, -1, finished_); }
  // The mean cost of finished jobs of the kind, else of its approach, else of all that train, or
  // that do not; nullopt when none has finished.
  std::optional<int64_t> MeanUsdMicros(const Kind& kind) const;
  // The job's attempts that have reported something.
  const Attempts& Of(uint32_t job) const;

  // Ends the process when the total is not the sum, or others than those that `visit` is called
  // with count as finished.
  void CheckInvariants(
      absl::FunctionRef<void(absl::FunctionRef<void(uint32_t job, const Kind& kind)> visit)>
          for_each_finished) const;

 private:
  void Count(uint32_t job, const Kind& kind, int sign, Costs& costs) const;

  absl::btree_map<uint32_t, Attempts> jobs_;
  // By kind; with kAny for its group, by approach; and for its approach, over all.
  Costs finished_;
  Spent total_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_SPENT_LEDGER_H_
