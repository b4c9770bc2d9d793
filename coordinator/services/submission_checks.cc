// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/submission_checks.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/services/disk_space.h"
#include "core/fields.h"

namespace concur {
namespace {

constexpr size_t kRequestIdBytesMax = 200;

}  // namespace

absl::StatusOr<std::shared_ptr<const Expansion>> ExpandRequested(const std::string& request_id,
                                                                 absl::StatusOr<SweepSpec> spec,
                                                                 const ServiceLimits& limits) {
  if (request_id.empty() || request_id.size() > kRequestIdBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: expected 1 to ", kRequestIdBytesMax,
                                                   " bytes, got ", request_id.size()));
  }
  CONCUR_RETURN_IF_ERROR(spec.status());
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("spec.name"), CheckSweepName(spec->name)));
  for (size_t i = 0; i < spec->approaches.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        AtField(FieldPath("spec").Field("approaches", i).Field("hyperparameters").Field("default"),
                CheckHyperparameterVariables(spec->approaches[i].hyperparameters.defaults)));
  }
  if (spec->search && !spec->search->proposals.empty()) {
    return absl::InvalidArgumentError(
        "spec.search.proposals: expected none, since the coordinator chooses them, got some");
  }
  CONCUR_ASSIGN_OR_RETURN(Expansion made, Expansion::Make(*std::move(spec)));
  auto expansion = std::make_shared<const Expansion>(std::move(made));
  if (expansion->job_count() > limits.jobs_per_sweep_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("spec: ", expansion->job_count(), " jobs are more than this coordinator's ",
                     "limits.jobs_per_sweep_max of ", limits.jobs_per_sweep_max));
  }
  return expansion;
}

absl::Status CheckRoomOnDisk(const ServiceLimits& limits, ArtifactStore& artifacts,
                             PartialUploads& partial) {
  return artifacts.directory().empty()
             ? CheckDiskSpace(limits.data_directory, limits.disk_free_min)
             : MakeDiskSpace(limits.data_directory, limits.disk_free_min, partial);
}

absl::Status CheckSweepCount(const Scheduler& scheduler, int64_t sweeps_max) {
  if (static_cast<int64_t>(scheduler.views().sweep_count()) >= sweeps_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this coordinator holds ", scheduler.views().sweep_count(),
                     " sweeps, its limits.sweeps_max; delete some that have ended"));
  }
  return absl::OkStatus();
}

}  // namespace concur
