// Who is to blame for failures: what of (approach × benchmark × train or eval) has failed and what
// has succeeded on which worker.
//
// A worker is suspect of its failures in those groups in which others succeed and it never has.
// What fails on every worker is no worker's fault, and what succeeds on a worker at least now and
// then is not that worker's either.
//
// Thread-compatible; pure, deterministic.
#ifndef CONCUR_CORE_BLAME_H_
#define CONCUR_CORE_BLAME_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/durations.h"
#include "core/result.h"

namespace concur {

// Whether an attempt that ended so says anything about the worker or the job: not when it was
// lost, handed back, asked to be tried again, or can never work.
bool CountsForBlame(FailureClass failure);

class Blame {
 public:
  using Group = Durations::Group;

  // How much of what a worker failed others can do.
  struct Suspicion {
    uint32_t failures = 0;            // in `groups`
    std::vector<Group> groups;        // in which others succeed, ascending
    std::set<std::string> succeeded;  // workers that do, at most kSuccessesMax of each group
  };

  // The worker has shown that it can do this: its failures in the group are forgotten. Returns the
  // other workers of which less is thought now, by name.
  std::vector<std::string> AddSuccess(Group group, const std::string& worker);
  void AddFailure(Group group, const std::string& worker);
  // Forgets the worker's failures.
  void Pardon(const std::string& worker);
  // Forgets the worker altogether.
  void Forget(const std::string& worker);

  Suspicion SuspicionOf(const std::string& worker) const;
  // Of one group: failures by worker, and workers that succeeded last.
  const std::map<std::string, uint32_t>* FailuresIn(Group group) const;

  // Ends the process when the two sides of the table disagree.
  void CheckInvariants() const;

  // Workers that succeeded that are remembered of each group: one is enough to tell that it can be
  // done, unless it is the suspect.
  static constexpr size_t kSuccessesMax = 3;

 private:
  std::map<std::string, std::map<Group, uint32_t>> failures_;  // by worker; none is empty
  std::map<Group, std::map<std::string, uint32_t>> failing_;   // the same by group
  std::map<Group, std::vector<std::string>> succeeded_;        // the latest last
};

}  // namespace concur

#endif  // CONCUR_CORE_BLAME_H_
