// What users ask of a simulated coordinator, which workers there are, and what each job's command
// would do. All of it follows from the seed; nothing of it from the faults, so that a world without
// faults tells what the scores must be.
//
// Values; immutable after Draw.
#ifndef CONCUR_SIM_WORKLOAD_H_
#define CONCUR_SIM_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/expansion.h"
#include "core/job_order.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep.h"
#include "sim/bugs.h"

namespace concur::sim {

inline constexpr absl::Duration kJobTimeMax = absl::Seconds(15);
inline constexpr absl::Duration kJobTimeout = absl::Seconds(60);
inline constexpr char kSweepOwner[] = "user";

struct PlannedSweep {
  std::string text;  // the encoded spec: its number
  std::string request_id;
  std::shared_ptr<const Expansion> expansion;  // the scheduler keeps it as long as the sweep stands
  absl::Duration submit_after;
  // Counted from the answer to the submission.
  std::optional<absl::Duration> pause_after;  // resumed after as long again
  std::optional<absl::Duration> cancel_after;
  std::optional<absl::Duration> retry_after;  // what has failed by then
  std::optional<absl::Duration> rerun_after;  // one job, though it succeeded
  std::optional<absl::Duration> delete_after;
  uint32_t rerun_job = 0;
  // failures_max_per_block as the user wishes it: kGivenUpAtOnce submits another.
  uint32_t failures_max = 0;
};

struct PlannedWorker {
  std::string name;
  Resources capacity;
  bool shares_disk = false;  // with the coordinator's artifacts
};

struct Workload {
  std::vector<PlannedSweep> sweeps;
  std::vector<PlannedWorker> workers;
  absl::Duration lease;
  int64_t running_jobs_max = 0;  // the owner's quota; 0: none
  absl::Duration faults_end;     // faults happen until then

  // kKeyForgetsData gives all data files one digest, as if keys did not cover them. Without
  // `gives_up` every job is tried, as hopeless as it may be.
  static Workload Draw(uint64_t seed, Bug bug, bool gives_up);
  // The spec that `text` encodes.
  absl::StatusOr<SweepSpec> Decode(absl::string_view text) const;
  // Time for all jobs one after the other, one attempt each.
  absl::Duration SerialTime() const;
};

// What the command of a job does when nothing disturbs it: a function of what the job is.
struct JobBehavior {
  absl::Duration run_time;
  int exit_code = 0;        // other than 0: it always fails so
  std::string system;       // the bytes that a train job leaves
  double score = 0;         // of an eval job, in percent
  std::string predictions;  // the bytes that an eval job leaves
};
JobBehavior BehaviorOf(const JobOrder& order);

}  // namespace concur::sim

#endif  // CONCUR_SIM_WORKLOAD_H_
