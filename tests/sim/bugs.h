// SPDX-License-Identifier: Apache-2.0
// Bugs that can be injected, one at a time, to show that the simulation finds them. Each is in a
// wrapper around one of the real interfaces, not in the real code.
//
// Values.
#ifndef CONCUR_TESTS_SIM_BUGS_H_
#define CONCUR_TESTS_SIM_BUGS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::sim {

enum class Bug : uint8_t {
  kNone,
  // Bugs of the coordinator's store.
  kCommitNotSynced,      // a commit is acknowledged before it is on disk
  kCommitNotAtomic,      // a power cut leaves half of a commit
  kCancelNotSaved,       // the row of a canceled sweep is not marked canceled
  kJobCancelNotSaved,    // a job that was canceled alone is saved as ready
  kImportNotWhole,       // the last score of an import is saved as a gap
  kHalfImportKept,       // a restart ends an import that it cut off
  kAttemptNotSaved,      // the number of an attempt is saved minus one
  kRequestIdNotSaved,    // a submission repeated after a restart is not recognized
  kRunningNotRequeued,   // a restart abandons running attempts
  kCountedAgain,         // a restart forgets that a failed attempt was counted
  kQuarantineForgotten,  // a restart ends quarantines
  kBlameForgotten,       // a restart forgets the failures of workers
  kDeathsForgotten,      // a restart forgets whose workers died
  kStepNotSaved,         // the last report of a commit is not saved
  kStepsForgotten,       // a restart forgets which reports have counted
  kRungNotSaved,         // a restart sets back how far early_stop has let a job go
  kStopNotSaved,         // jobs that early_stop stopped are saved as waiting
  kScoresForgotten,      // a restart forgets what jobs reported to early_stop
  kCheckpointNotSaved,   // a restart forgets what attempts left for the next ones
  kChoiceNotSaved,       // the settings that a search chose are not saved
  kBracketsForgotten,    // a restart compares settings across the brackets of hyperband
  kRetryHalfDone,        // a restart forgets that a whole sweep is being retried
  kAmountNotSaved,       // a restart forgets how much of a named resource there is now
  kSpentNotSaved,        // the last amount of a commit that was spent is not saved
  kBudgetForgotten,      // a restart forgets the budgets of sweeps
  kLeftOutDeleted,       // sweeps that there is no memory for are deleted
  kDeleteHalfDone,       // a delete is saved by the last of its turns
  // Bugs of two coordinators on one database.
  kCommitWithoutEpoch,  // a commit does not compare the leader's row
  kExpiryByOwnClock,    // a stand-by compares the leader's expiry with its own clock
  kBothLead,            // a stand-by takes a row that has not expired
  kOutcomeGuessed,      // a commit whose answer is lost counts as saved
  kEmptyTurnAnswered,   // a turn that saves nothing does not compare it either
  kFormerAnswers,       // a coordinator that leads no more answers reads
  // Bugs of the coordinator's services.
  kAnswerBeforeCommit,    // users are answered before the commit
  kAnsweredHalfImported,  // an import is answered after its first turn
  kStaleAttemptAccepted,  // the attempt number of a result is not checked
  kLeaseNeverEnds,        // a silent worker keeps its jobs
  kPauseNotCounted,       // leases end while the coordinator itself is paused
  kOverdueKept,           // a worker that calls keeps its jobs, though no results come
  kSubmittedTwice,        // a repeated submission makes another sweep
  kNameTakenOver,         // a second worker takes the name of a live one
  kHostsForgotten,        // workers of one machine are compared with each other
  kKeyForgetsData,        // content keys do not cover the data
  kGivenUpAtOnce,         // one failure is enough to give up similar jobs
  kCheckpointMixedUp,     // an attempt goes on from another job's checkpoint
  kStartedFromNothing,    // a stage does not get the system that it starts from
  kKeyForgetsSource,      // the key of a stage does not cover what its source was trained on
  kGpuOverfilled,         // every share of a GPU is one of the worker's first
  kAmountNotApplied,      // a change of a named resource's amount is answered and not made
  kUnitsAtStop,           // the units of an attempt are given to others when it is told to stop
  kSpentTwice,            // spending of a lost attempt is also charged to the next one
  kUnitsForgotten,        // a restart forgets the units of attempts that run
  kRateNotKept,           // attempts that use a named resource are given out at any rate
  kServiceKept,           // services are never told to stop
  kServiceGpuTaken,       // every service gets a worker's first GPUs
  kServiceChargedTwice,   // the use of a service that has ended is saved twice
  kServiceNotCharged,     // the use of services that were lost with their workers is not saved
  kNeedNotAwaited,        // a job is sent while a service that it needs is dead
  kNeedStopped,           // a needed service is stopped while a job asks it
  // Bugs of what clients see.
  kStaleRead,         // every other read is answered from a cache
  kReadBeforeCommit,  // a read sees what is not saved yet
  kEventSkipped,      // a watcher that comes back misses an event
  kEventRepeated,     // a watcher that comes back gets an event again
  // Bugs of artifacts.
  kCollectorTakesLive,   // artifacts still in use are removed
  kCheckpointCollected,  // a checkpoint that a job is to go on from is removed
  kLeftOutCollected,     // artifacts of sweeps that are not loaded are removed
  kPublishSkipped,       // a result is reported before its artifacts are uploaded
  // Bugs of the worker.
  kOldAnswerTaken,     // the response to a superseded call is applied
  kForgottenUnasked,   // a result is dropped once it is sent
  kSpoolNotRead,       // results of an earlier incarnation are not reported
  kSpoolNotSynced,     // a power cut empties the spool
  kTerminatedBlamed,   // a job that gets its worker's SIGTERM first has failed
  kStepsNotSentAgain,  // reports are dropped once they are sent
  kServiceReadyEarly,  // services are said to be ready while they load
  kServiceNotListed,   // services that run are not listed
};
inline constexpr size_t kBugs = 75;  // without kNone

// "none", "commit-not-synced", …
absl::string_view BugName(Bug bug);
// InvalidArgument, listing the names, when there is no such bug.
absl::StatusOr<Bug> BugFromName(absl::string_view name);
// True if the bug needs two coordinators.
bool IsOfTwoCoordinators(Bug bug);
// Every bug but kNone.
std::array<Bug, kBugs> AllBugs();

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_BUGS_H_
