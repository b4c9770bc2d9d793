// SPDX-License-Identifier: Apache-2.0
// The jobs of one sweep: the state of each, in 16 bytes, and the results that count.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_JOB_TABLE_H_
#define CONCUR_CORE_STATE_JOB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/job.h"
#include "core/result.h"
#include "core/state/running_jobs.h"

namespace concur {

class JobTable {
 public:
  // One job. State and result change through the table alone.
  class Job {
   public:
    JobState state() const { return state_; }
    bool has_result() const { return result_ != kNoResult; }
    // SUCCEEDED with another job's result.
    bool reused() const { return reused_; }
    // It has never left the states that its sweep's expansion gives it: nothing needs saving.
    bool IsUntouched() const {
      return attempt == 0 && failures == 0 && lost == 0 && !settled && !system_collected &&
             !no_reuse && !reused_ && rung == 0 && !whole;
    }

    uint32_t attempt = 0;  // the latest; 0: none
    uint16_t failures = 0;
    uint16_t lost = 0;
    FailureClass failure = FailureClass::kNone;  // the latest unsuccessful attempt's
    bool settled : 1 = false;                    // the result of the latest attempt was accepted
    bool system_collected : 1 = false;           // train job whose system is gone
    bool no_reuse : 1 = false;                   // somebody asked to run it again
    bool whole : 1 = false;                      // somebody asked for it: no early_stop of it

   private:
    friend class JobTable;
    static constexpr uint32_t kNoResult = UINT32_MAX;

    bool reused_ : 1 = false;
    JobState state_ = JobState::kReady;

   public:
    uint8_t rung =
        0;  // early_stop's rung: how far a train job may train (core/early_stop/early_stop.h)

   private:
    uint32_t result_ = kNoResult;  // into results_
  };
  static_assert(sizeof(Job) == 16);

  // A result that counts.
  struct Result {
    JobResult result;
    uint32_t holder = kNoHolder;
    JobId source;  // where a reused one was made
  };

  // All jobs are READY.
  explicit JobTable(uint32_t jobs);

  uint32_t size() const { return static_cast<uint32_t>(jobs_.size()); }
  Job& operator[](uint32_t job) { return jobs_[job]; }
  const Job& operator[](uint32_t job) const { return jobs_[job]; }
  const StateCounts& counts() const { return counts_; }
  uint32_t count(JobState state) const { return counts_[static_cast<size_t>(state)]; }
  uint32_t unfinished() const;
  uint32_t reused() const { return reused_; }            // jobs
  size_t part_metrics() const { return part_metrics_; }  // PartMetricsOf all results
  void SetState(uint32_t job, JobState state);

  // Null when the job has no result. Valid until the next change of a result.
  const Result* Find(uint32_t job) const;
  const JobResult* ResultOf(uint32_t job) const;
  // REQUIRES: the job has no result.
  void PutResult(uint32_t job, JobResult result, uint32_t holder);
  // REQUIRES: the job has a result.
  void DropResult(uint32_t job);
  // Frees a result; false when there is none. Nothing but this may follow.
  bool FreeResult();
  // The job's result was made by another job. REQUIRES: it has a result that is not reused.
  void MarkReused(uint32_t job, JobId source);
  // REQUIRES: the job has a result.
  void SetHolder(uint32_t job, uint32_t holder);
  // Makes room for as many results.
  void ReserveResults(size_t results) { results_.reserve(results); }

  // Ends the process when counts, states and results disagree.
  void CheckInvariants() const;

 private:
  std::vector<Job> jobs_;
  std::vector<Result> results_;
  std::vector<uint32_t> free_results_;  // places in `results_`
  StateCounts counts_{};
  uint32_t reused_ = 0;
  size_t part_metrics_ = 0;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_JOB_TABLE_H_
