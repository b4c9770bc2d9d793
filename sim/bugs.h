// Bugs that can be planted, one at a time, to show that the simulation would find them. Each stands
// in a wrapper around one of the real interfaces, never in the real code.
//
// Values.
#ifndef CONCUR_SIM_BUGS_H_
#define CONCUR_SIM_BUGS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::sim {

enum class Bug : uint8_t {
  kNone,
  // Of the coordinator's store.
  kCommitNotSynced,      // a commit is acknowledged before it is on disk
  kCommitNotAtomic,      // a power cut leaves half of a commit
  kCancelNotSaved,       // the row of a canceled sweep does not say so
  kAttemptNotSaved,      // the number of an attempt is saved one behind
  kRequestIdNotSaved,    // a submission that is repeated after a restart is not recognized
  kRunningNotRequeued,   // a restart gives up what was running
  kCountedAgain,         // a restart forgets that a failed attempt was counted
  kQuarantineForgotten,  // a restart frees workers that are set aside
  kBlameForgotten,       // a restart forgets what workers failed
  // Of the coordinator's services.
  kAnswerBeforeCommit,    // users are answered before the commit
  kStaleAttemptAccepted,  // the number of a finished attempt is not looked at
  kLeaseNeverEnds,        // a silent worker keeps its jobs
  kSubmittedTwice,        // a repeated submission makes another sweep
  kNameTakenOver,         // a second worker takes the name of a live one
  kKeyForgetsData,        // content keys do not cover the data
  kGivenUpAtOnce,         // one failure is enough to give up what is like it
  // Of artifacts.
  kCollectorTakesLive,  // artifacts that are needed are removed
  kPublishSkipped,      // a result is handed in before its artifacts are
  // Of the worker.
  kOldAnswerTaken,    // the answer to a superseded call is carried out
  kForgottenUnasked,  // a result is dropped once it was sent
  kSpoolNotRead,      // results of an earlier incarnation are not handed in
  kSpoolNotSynced,    // a power cut empties the spool
};
inline constexpr size_t kBugs = 22;  // kNone apart

// "none", "commit-not-synced", …
absl::string_view BugName(Bug bug);
// InvalidArgument, listing the names, when there is no such bug.
absl::StatusOr<Bug> BugFromName(absl::string_view name);
// Every bug but kNone.
std::array<Bug, kBugs> AllBugs();

}  // namespace concur::sim

#endif  // CONCUR_SIM_BUGS_H_
