// SPDX-License-Identifier: Apache-2.0
// Sweeps of results that were computed elsewhere: all of their jobs end in the turn that adds them.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/imported_results.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {

absl::StatusOr<SweepId> Scheduler::Import(Submission submission,
                                          std::vector<ImportedResult> results) {
  CONCUR_CHECK(submission.expansion != nullptr);
  CONCUR_CHECK(submission.expansion->spec().imported.has_value());
  CONCUR_ASSIGN_OR_RETURN(const std::optional<SweepId> earlier, FindRequest(submission));
  if (earlier) {
    return *earlier;
  }
  CONCUR_RETURN_IF_ERROR(ValidateImportedResults(*submission.expansion, results, FieldPath()));
  CONCUR_ASSIGN_OR_RETURN(const SweepId id, AddNewSweep(std::move(submission)));
  SweepRecord& sweep = *sweeps_.at(id);
  size_t next = 0;
  for (uint32_t job = 0; job < sweep.jobs.size(); ++job) {
    if (next < results.size() && results[next].job == job) {
      Succeed(sweep, job, std::move(results[next].result), kNoHolder);
      ++next;
    } else {
      SetState(sweep, job, JobState::kCanceled);  // a gap: nothing will ever fill it
    }
  }
  return id;
}

}  // namespace concur
