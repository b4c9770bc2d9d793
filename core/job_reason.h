// SPDX-License-Identifier: Apache-2.0
// The reason why a job is in its state, as a code and its values. ReasonFinder gives it;
// core/scheduler/reason_text.h puts it into words.
//
// Values.
#ifndef CONCUR_CORE_JOB_REASON_H_
#define CONCUR_CORE_JOB_REASON_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"
#include "core/labels.h"
#include "core/quota.h"
#include "core/resources.h"
#include "core/result.h"

namespace concur {

// The workers as a READY job sees them.
struct FleetCounts {
  uint32_t live = 0;        // that take jobs, and of these:
  uint32_t labeled = 0;     // with the job's labels, and of these:
  uint32_t reserved = 0;    // for jobs with more GPUs
  uint32_t fits_empty = 0;  // large enough
  uint32_t fits_free = 0;   // with room now
  uint32_t draining = 0;
  uint32_t quarantined = 0;
  std::vector<std::string> drained;  // by a user, lost ones included; they stay so over restarts
};

// Why a job took no result of an earlier one.
struct NoReuse {
  struct Field {
    std::string name;  // field of the content key; of these two, `code_here` and so on say more
    std::optional<std::string> here{};
    std::optional<std::string> there{};
  };
  static constexpr char kCodeField[] = "code";
  static constexpr char kPredictCodeField[] = "predict code";

  std::vector<JobId> same_work;  // jobs that did the same work themselves, the newest first
  bool asked_to_run = false;     // beside these
  // Without these: the earlier job that is most like it, and the fields in which they differ.
  std::optional<JobId> nearest;
  std::vector<Field> fields;
  bool code_here = false;
  bool code_there = false;
  std::vector<std::string> code_files;  // as CodeDifferences, when there is code in both places
};

// The fate of a job, were its sweep submitted now.
struct PlannedJob {
  bool runs = true;             // else it takes the result of `equal`, now or once that has ended
  bool awaits_setting = false;  // instead of these: a search has not chosen its setting
  std::optional<JobId> equal;   // does the same work, or did
  bool equal_runs = false;      // it has not ended
  bool equal_is_own = false;    // it is an earlier job of this sweep
  bool asked_to_run = false;    // although `equal` has ended
  NoReuse not_reused;           // without `equal`, of the first jobs: the nearest one
};

struct JobReason {
  enum class Code {
    // BLOCKED
    kAwaitsEqual,   // `other` does the same work now
    kAwaitsSource,  // `source` is not done
    kPaused,        // by early_stop: `rung`, `metric`
    kAwaitsImport,  // its sweep is being imported
    kAwaitsTrials,  // its search has not chosen its setting: `trials`, those without a result
    // READY; with no_reuse
    kSweepPaused,
    kOverBudget,          // its sweep is: `budget`, `spent`, `promised`, `cost`
    kAwaitsCost,          // another job of the sweep shows first what they cost
    kSweepCanceled,       // and this job is still to be canceled
    kSweepRetried,        // and not all of its jobs are back in the queue
    kRunningJobsMax,      // limit of the owner's quota: `owner`, `owner_use`
    kStoredBytesMax,      // the same
    kNoUnits,             // a named resource is used up: `use`
    kServiceFailed,       // its service, and is to be started again: `service`
    kServiceLoads,        // `service`
    kServiceBusy,         // `service`
    kMustRunAlone,        // after `deaths`; `request`
    kNoWorker,            // none takes jobs; this and below: `request`, `fleet`
    kLabelsOnNoneAtOnce,  // each of the labels is on some worker
    kNoEnvironment,       // `missing`
    kNoLabel,             // `missing`, `present`
    kReserved,            // for jobs with more GPUs
    kTooLarge,            // for every worker
    kNoRoom,              // `ready`
    kNoTime,              // `expected` is longer than workers with room stay
    kNotItsTurn,          // `ready`, `priority`
    // BACKOFF, RUNNING
    kBackoff,  // `attempt`, `failure`, `not_before`, the counts
    kRuns,     // `attempt`, `worker`; with no_reuse, also kAhead and kSucceeded
    kAhead,    // the same, but waits there for something to end
    // ended
    kReused,     // the result of `other`
    kImported,   // `message`
    kSucceeded,  // `attempt`, `worker`, `unanswered`
    kFailed,     // `attempt`, `failure`, the counts, `message`
    kGap,        // nothing was imported for it
    kCanceledWithSweep,
    kCanceled,
    kSkippedSourceFailed,      // `source`
    kSkippedSourceFailedOnce,  // `source` has succeeded since
    kSkippedWithSource,        // `source`, for `source_reason`
    kSkipped,                  // `message` is its scope; "": that can no longer be seen
    kStopped,                  // by early_stop: `metric`
    kSourceStopped,            // `source`
  };
  struct Rung {
    int64_t until = 0;
    int64_t max = 0;
    size_t reached = 0;  // settings
    int64_t eta = 0;
    bool has_brackets = false;
  };
  // The named resource that it waits for.
  struct Use {
    std::string name;
    int64_t units = 0;              // that it uses
    std::optional<int64_t> amount;  // that there are; nullopt: it is not set
    int64_t in_use = 0;
    int64_t per_minute = 0;  // set where it waits for its rate alone
    // Where enough units are free: the worker that may hold some, since it has not called after a
    // restart; "": some attempt's uses are not known.
    std::string silent;
  };
  // The service that it waits for.
  struct Service {
    std::string name;                    // the approach whose it is; "": the job's own
    std::string worker;                  // that runs it
    std::optional<absl::Duration> time;  // since its start
    std::optional<absl::Duration> load;  // that the last start took
    uint32_t serves = 0;
    uint32_t failed_starts = 0;
    absl::Duration next_start;  // from now
  };
  struct Unanswered {
    double questions = 0;
    int64_t of = 0;
  };

  Code code = Code::kNotItsTurn;
  JobId job;
  JobId other;
  JobId source;
  bool starts_from_source = false;  // `source` is the train job that this train job starts from
  Rung rung;
  std::string metric;
  uint32_t trials = 0;
  std::string owner;
  OwnerUse owner_use;
  std::optional<Use> use;
  std::optional<Service> service;
  // Millionths of a dollar:
  int64_t budget = 0;
  int64_t spent = 0;
  int64_t promised = 0;  // expected of running jobs, beyond what they have spent
  int64_t cost = 0;      // expected of this one
  Resources resources;   // the request
  Labels labels;         // the request's
  FleetCounts fleet;
  Labels missing;                 // labels that no live worker carries
  std::set<std::string> present;  // values of the first of them that there are
  size_t ready = 0;               // jobs in all
  int32_t priority = 0;
  absl::Duration expected;
  uint32_t attempt = 0;
  uint32_t failures = 0;
  uint32_t failures_max = 0;
  uint32_t lost = 0;
  uint32_t lost_max = 0;
  uint32_t deaths = 0;  // in a row
  FailureClass failure = FailureClass::kNone;
  absl::Time not_before;
  std::string worker;
  std::string message;
  std::optional<Unanswered> unanswered;
  std::vector<JobReason> source_reason;  // at most one
  NoReuse no_reuse;
};

}  // namespace concur

#endif  // CONCUR_CORE_JOB_REASON_H_
