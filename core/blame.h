// SPDX-License-Identifier: Apache-2.0
// Who is to blame for failures: what of each kind of job has failed and what has succeeded on which
// worker. A kind is jobs with the same content but for setting and seed (ContentKeys::KindKeyOf):
// what a corrected command does says nothing about a worker that failed with the wrong one.
//
// A worker is suspect of its failures in those kinds in which others succeed and it has not
// lately. What fails on every worker is no worker's fault, and what succeeds on a worker at least
// sometimes is not that worker's either. Failures from before a mend count against nobody: before a
// retry that a user asked for, and before the first success of a kind if it comes from a worker
// that had failed, too.
//
// Every cell of the table can be saved and restored: a restart must not free a broken worker. So
// that thousands of successful jobs seldom change a cell, a success is recorded again, or replaces
// another worker's, only once in kSuccessKept. A cell goes with the sweep that changed it last, so
// that the table does not outgrow the sweeps that are kept.
//
// Thread-compatible; pure, deterministic.
#ifndef CONCUR_CORE_BLAME_H_
#define CONCUR_CORE_BLAME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/result.h"

namespace concur {

// Whether an attempt that ended so says anything about the worker or the job: not when it was
// lost, handed back, asked to be tried again, or can never work.
bool CountsForBlame(FailureClass failure);

class Blame {
 public:
  // A kind of job. The names are for people: those under which it was first seen.
  struct Kind {
    Digest key;
    std::string approach;
    std::string benchmark;  // the train set of train jobs, the test benchmark of eval jobs
    bool is_train = false;
  };

  // What is known of a worker in a kind.
  struct Cell {
    uint32_t failures = 0;
    std::optional<absl::Time> success_time;  // in whole nanoseconds
    SweepId sweep;                           // that changed it last

    bool empty() const { return failures == 0 && !success_time; }
    friend bool operator==(const Cell&, const Cell&) = default;
  };

  // How much of what a worker failed others can do.
  struct Suspicion {
    uint32_t failures = 0;            // in `kinds`
    std::vector<Kind> kinds;          // in which others succeed, by key
    std::set<std::string> succeeded;  // workers that do, at most kSuccessesMax of each kind
  };

  // A job of the sweep succeeded: the worker has shown that it can do this, and its failures in the
  // kind are forgotten. Returns the other workers that have become more suspect, by name.
  std::vector<std::string> AddSuccess(const Kind& kind, const std::string& worker, SweepId sweep,
                                      absl::Time now);
  void AddFailure(const Kind& kind, const std::string& worker, SweepId sweep);
  // What made jobs of this kind fail is mended, says a user: nobody's failures in it count.
  void Mend(const Digest& kind);
  // Forgets the worker's failures.
  void Pardon(const std::string& worker);
  // Forgets the worker altogether.
  void Forget(const std::string& worker);
  // Forgets the cells that this sweep changed last.
  void ForgetSweep(SweepId sweep);

  Suspicion SuspicionOf(const std::string& worker) const;

  // --- saving -----------------------------------------------------------------------------------

  // The kind of a cell that is, or since the last TakeChanged was, in the table.
  const Kind& KindOf(const Digest& kind) const { return kinds_.at(kind).kind; }
  Cell CellOf(const Digest& kind, const std::string& worker) const;
  // Every cell, by kind and worker.
  void ForEach(
      const std::function<void(const Kind&, const std::string&, const Cell&)>& visit) const;
  // Calls visit for the cells that have changed since the last call; an empty one has gone.
  void TakeChanged(const std::function<void(const Kind&, const std::string&, const Cell&)>& visit);
  // Restores a saved cell. False, with nothing changed, when the cell is empty, is there already,
  // or is one success too many.
  bool Restore(const Kind& kind, const std::string& worker, const Cell& cell);

  // Ends the process when the two sides of the table disagree.
  void CheckInvariants() const;

  // How many workers that succeeded are kept for each kind: one proves that it can be done, unless
  // that one is the suspect.
  static constexpr size_t kSuccessesMax = 3;
  static constexpr absl::Duration kSuccessKept = absl::Minutes(10);

 private:
  struct Row {
    Kind kind;
    std::map<std::string, Cell> cells;  // by worker; none is empty
  };

  Row& RowOf(const Kind& kind) { return kinds_.try_emplace(kind.key, Row{kind, {}}).first->second; }
  void RecordSuccess(Row& row, const std::string& worker, SweepId sweep, absl::Time time);
  void DropFailures(Row& row, const std::string& worker);
  void Changed(const Row& row, const std::string& worker);

  std::map<Digest, Row> kinds_;                     // without cells only while one is in changed_
  std::map<std::string, std::set<Digest>> failed_;  // by worker, where it has failures; none empty
  std::set<std::pair<Digest, std::string>> changed_;
};

}  // namespace concur

#endif  // CONCUR_CORE_BLAME_H_
