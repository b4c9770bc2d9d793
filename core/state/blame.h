// SPDX-License-Identifier: Apache-2.0
// The blame for failures: jobs that a worker has failed and that another one then did. A job is
// the same work to all: approach, data, setting and seed. An approach that fails for some settings
// or seeds fails these anywhere, and says nothing about the worker that was given them.
//
// A worker is suspect of the jobs that it failed and that others succeeded at, in those kinds (the
// jobs of a sweep with the same approach and benchmark) in which it has not succeeded itself. What
// fails on every worker is no worker's fault, and what succeeds on a worker at least sometimes is
// not that worker's either. Failures from before a mend count against nobody: before a retry that a
// user asked for, before another submission, whose jobs are others, and before the first success of
// a kind if it comes from a worker that had failed, too.
//
// Every cell of the table can be saved and restored: a restart must not free a broken worker. So
// that thousands of successful jobs seldom change a cell, a success in a kind is recorded again, or
// replaces another worker's, only once in kSuccessKept, and one at a job only where another worker
// has failed it. A cell goes with its sweep, so that the table does not outgrow the sweeps that are
// kept.
//
// Thread-compatible; pure, deterministic.
#ifndef CONCUR_CORE_STATE_BLAME_H_
#define CONCUR_CORE_STATE_BLAME_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/result.h"

namespace concur {

// True if an attempt that ended so says anything about the worker or the job: not when it was
// lost, handed back, asked to be tried again, or can never work.
bool CountsForBlame(FailureClass failure);

class Blame {
 public:
  // A kind of job.
  struct Kind {
    SweepId sweep;
    std::string approach;
    std::string benchmark;  // the train set of train jobs, the test benchmark of eval jobs
    bool is_train = false;

    friend auto operator<=>(const Kind&, const Kind&) = default;
  };

  // The record of a worker at a job, or in a kind, where it is `success_time` alone.
  struct Cell {
    uint32_t failures = 0;
    std::optional<absl::Time> success_time;  // in whole nanoseconds

    bool empty() const { return failures == 0 && !success_time; }
    friend bool operator==(const Cell&, const Cell&) = default;
  };

  // Jobs that a worker failed and that others can do.
  struct Suspicion {
    uint32_t jobs = 0;
    std::set<Kind> kinds;             // kinds of these jobs
    std::set<std::string> succeeded;  // workers that did them
  };
  // True where this other worker's success says something: not on the suspect's machine.
  using Compares = absl::FunctionRef<bool(const std::string& other)>;

  // The rows' names in the table.
  static Digest KeyOf(JobId job);
  static Digest KeyOf(const Kind& kind);

  // The job succeeded: the worker has shown that it can do this, and its failures in the kind are
  // forgotten. Returns the other workers that have become more suspect, by name.
  std::vector<std::string> AddSuccess(const Kind& kind, JobId job, const std::string& worker,
                                      absl::Time now);
  // The job failed, and will be tried again.
  void AddFailure(const Kind& kind, JobId job, const std::string& worker);
  // Nobody's failures at this job count: what made it fail is mended, says a user, or it has failed
  // for good.
  void Mend(JobId job);
  // Forgets the worker's failures.
  void Pardon(const std::string& worker);
  // Forgets the worker altogether.
  void Forget(const std::string& worker);
  void ForgetSweep(SweepId sweep);

  bool HasFailed(const std::string& worker) const { return failed_.contains(worker); }
  bool HasFailed(const std::string& worker, JobId job) const;
  Suspicion SuspicionOf(const std::string& worker, Compares compares) const;

  // --- saving -----------------------------------------------------------------------------------

  using Visit = absl::FunctionRef<void(const Digest& key, const Kind& kind,
                                       const std::string& worker, const Cell& cell)>;

  Cell CellOf(const Digest& key, const std::string& worker) const;
  // Every cell, by key and worker.
  void ForEach(Visit visit) const;
  // Calls visit for the cells that have changed since the last call; an empty one has gone.
  void TakeChanged(Visit visit);
  // Restores a saved cell. False, with nothing changed, when the cell is empty, is there already,
  // or is one success too many.
  bool Restore(const Digest& key, const Kind& kind, const std::string& worker, const Cell& cell);

  // Ends the process when the two sides of the table disagree.
  void CheckInvariants() const;

  // Workers that succeeded, as are kept of each kind.
  static constexpr size_t kSuccessesMax = 3;
  static constexpr absl::Duration kSuccessKept = absl::Minutes(10);

 private:
  struct Row {
    Kind kind;
    std::map<std::string, Cell> cells;  // by worker; none is empty
  };
  // By worker and kind, the rows in which it has failures; none is empty.
  using Failed = std::map<std::string, std::map<Kind, std::set<Digest>>>;

  Row& RowOf(const Digest& key, const Kind& kind) {
    return rows_.try_emplace(key, Row{kind, {}}).first->second;
  }
  bool HasSucceeded(const Kind& kind, const std::string& worker) const {
    return CellOf(KeyOf(kind), worker).success_time.has_value();
  }
  // `key` is KeyOf(kind).
  void RecordSuccess(const Digest& key, const Kind& kind, const std::string& worker,
                     absl::Time time);
  // Drops the worker's failures in a kind.
  void DropFailures(const std::string& worker, const Kind& kind);
  void EraseCell(const Digest& key, const std::string& worker);
  void EraseRow(const Digest& key);

  // KeyOf(kind), hashed once for many successes of a kind.
  const Digest& KnownKeyOf(const Kind& kind);

  std::map<Kind, Digest> kind_keys_;  // some of them
  std::map<Digest, Row> rows_;        // without cells only while one is in changed_
  Failed failed_;
  std::set<std::pair<Digest, std::string>> changed_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_BLAME_H_
