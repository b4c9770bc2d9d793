// SPDX-License-Identifier: Apache-2.0
// The users' requests, the workers, and the behavior of each job's command. All of it depends on
// the seed only, not on faults, so that a world without faults gives the expected scores.
//
// Values; immutable after Draw.
#ifndef CONCUR_TESTS_SIM_WORKLOAD_H_
#define CONCUR_TESTS_SIM_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep/expansion.h"
#include "core/sweep/imported_results.h"
#include "core/sweep/sweep.h"
#include "core/sync/job_order.h"
#include "tests/sim/bugs.h"

namespace concur::sim {

inline constexpr absl::Duration kJobTimeMax = absl::Seconds(15);
inline constexpr absl::Duration kJobTimeout = absl::Seconds(60);
inline constexpr absl::Duration kOverdueGrace = absl::Seconds(40);
inline constexpr absl::Duration kPauseMin = absl::Seconds(1);
inline constexpr char kSweepOwner[] = "user";
inline constexpr char kStepName[] = "score";  // that train jobs report
inline constexpr int64_t kTrainSteps = 3;     // steps that a train job reports

// A user changes a sweep's budget.
struct BudgetChange {
  absl::Duration after;
  int64_t usd_micros = 0;
};

struct PlannedSweep {
  std::string text;  // the encoded spec, which is its number
  std::string request_id;
  std::shared_ptr<const Expansion> expansion;  // the scheduler keeps it as long as the sweep exists
  // Results that were computed elsewhere and are imported, of some of the jobs; empty for a sweep
  // that runs.
  std::vector<ImportedResult> imported;
  absl::Duration submit_after;
  // Measured from the response to the submission.
  std::optional<absl::Duration> pause_after;  // resumed after the same time again
  std::optional<absl::Duration> cancel_after;
  std::optional<absl::Duration> retry_after;  // retries jobs failed by then
  std::optional<absl::Duration> rerun_after;  // reruns one successful job
  std::optional<absl::Duration> delete_after;
  std::optional<absl::Duration> cancel_job_after;  // cancels one job
  std::optional<BudgetChange> budget_change;
  uint32_t rerun_job = 0;
  uint32_t cancel_job = 0;
  // The user's failures_max_per_block; kGivenUpAtOnce submits another value.
  uint32_t failures_max = 0;
};

inline constexpr uint32_t kQuarantineFailures = 2;

struct PlannedWorker {
  std::string name;
  Resources capacity;
  std::string host;
  uint32_t slots = 0;
  bool takes_services = true;
  bool shares_disk = false;  // with the coordinator, for artifacts
  bool broken = false;       // every command fails there, until the faults end
};

// A user sets the amount of a named resource.
struct AmountChange {
  absl::Duration after;
  std::string name;
  int64_t amount = 0;
};

struct Workload {
  std::vector<PlannedSweep> sweeps;
  std::vector<PlannedWorker> workers;
  absl::Duration lease;
  int64_t running_jobs_max = 0;  // the owner's quota; 0: none
  // Named resources with their first amounts, which are set before any sweep is submitted, and
  // later ones. The last of each is enough for every job.
  std::map<std::string, int64_t> resources;
  std::vector<AmountChange> amounts;
  std::map<std::string, int64_t> rates;  // attempts a minute that use them; absent: any number
  // Jobs spend money, and some sweeps have budgets, which users change.
  bool spends = false;
  absl::Duration faults_end;  // no faults after this time

  // kKeyForgetsData gives all data files the same digest, as if keys did not cover them. Without
  // `gives_up` no job is given up, and none is stopped early.
  static Workload Draw(uint64_t seed, Bug bug, bool gives_up);
  // The submitted spec that `text` encodes.
  absl::StatusOr<SweepSpec> Decode(absl::string_view text) const;
  // The number of the sweep that `text` encodes, with or without what its search chose.
  std::optional<size_t> NumberOf(absl::string_view text) const;
  // Total run time of all jobs, one attempt each.
  absl::Duration SerialTime() const;
};

// The text of a submitted spec, which is its path, and of what its search chose.
std::string TextOf(const SweepSpec& spec);

// Behavior of a job's command without faults: a function of the job's definition.
struct JobBehavior {
  absl::Duration run_time;
  int exit_code = 0;          // if not 0, the job always fails with it
  bool kills_worker = false;  // takes its worker's process along
  std::string system;         // contents of a train job's output
  double score = 0;           // an eval job's, in percent
  double usd = 0;             // that an attempt spends
  std::string predictions;    // contents of an eval job's output
};
JobBehavior BehaviorOf(const JobOrder& order);

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_WORKLOAD_H_
