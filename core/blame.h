// Who is to blame for failures: what of (approach × benchmark × train or eval) has failed and what
// has succeeded on which worker.
//
// A worker is suspect of its failures in those groups in which others succeed and it has not
// lately. What fails on every worker is no worker's fault, and what succeeds on a worker at least
// now and then is not that worker's either.
//
// Every cell of the table can be saved and put back: a restart must not free a broken worker. So
// that jobs which succeed by the thousand seldom change a cell, a success is written down anew, or
// takes the place of another worker's, once in kSuccessKept.
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
#include "core/durations.h"
#include "core/result.h"

namespace concur {

// Whether an attempt that ended so says anything about the worker or the job: not when it was
// lost, handed back, asked to be tried again, or can never work.
bool CountsForBlame(FailureClass failure);

class Blame {
 public:
  using Group = Durations::Group;

  // What is known of a worker in a group.
  struct Cell {
    uint32_t failures = 0;
    std::optional<absl::Time> success_time;  // in whole nanoseconds

    friend bool operator==(const Cell&, const Cell&) = default;
  };

  // How much of what a worker failed others can do.
  struct Suspicion {
    uint32_t failures = 0;            // in `groups`
    std::vector<Group> groups;        // in which others succeed, ascending
    std::set<std::string> succeeded;  // workers that do, at most kSuccessesMax of each group
  };

  // The worker has shown that it can do this: its failures in the group are forgotten. Returns the
  // other workers of which less is thought now, by name.
  std::vector<std::string> AddSuccess(Group group, const std::string& worker, absl::Time now);
  void AddFailure(Group group, const std::string& worker);
  // Forgets the worker's failures.
  void Pardon(const std::string& worker);
  // Forgets the worker altogether.
  void Forget(const std::string& worker);

  Suspicion SuspicionOf(const std::string& worker) const;

  // --- saving -----------------------------------------------------------------------------------

  Cell CellOf(Group group, const std::string& worker) const;
  // Every cell that says something, in any order.
  void ForEach(const std::function<void(Group, const std::string&, const Cell&)>& visit) const;
  // The cells that have changed since the last call.
  std::set<std::pair<Group, std::string>> TakeChanged();
  // Puts back a cell that was saved. False, and nothing done, when the cell says nothing, stands
  // already, or is one success too many.
  bool Restore(Group group, const std::string& worker, const Cell& cell);

  // Ends the process when the two sides of the table disagree.
  void CheckInvariants() const;

  // Workers that succeeded that are remembered of each group: one is enough to tell that it can be
  // done, unless it is the suspect.
  static constexpr size_t kSuccessesMax = 3;
  static constexpr absl::Duration kSuccessKept = absl::Minutes(10);

 private:
  std::map<std::string, std::map<Group, uint32_t>> failures_;     // by worker; none is empty
  std::map<Group, std::map<std::string, uint32_t>> failing_;      // the same by group
  std::map<Group, std::map<std::string, absl::Time>> succeeded_;  // when, by worker; none is empty
  std::set<std::pair<Group, std::string>> changed_;
};

}  // namespace concur

#endif  // CONCUR_CORE_BLAME_H_
