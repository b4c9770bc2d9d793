// SPDX-License-Identifier: Apache-2.0
// The YAML reader and everything that is read with it. What is wrong must be InvalidArgument, with
// a place; a sweep that was accepted must expand the same way twice.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "base/check.h"
#include "core/sweep/expansion.h"
#include "tests/fuzz/fuzz.h"
#include "yaml/approach_yaml.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/options_yaml.h"
#include "yaml/sweep_yaml.h"

namespace {

// Sweeps of more jobs are right, but slow.
constexpr uint32_t kJobsLookedAt = 10'000;

void CheckRefusal(const absl::Status& status) {
  if (!status.ok()) {
    CONCUR_CHECK(!status.message().empty());
    CONCUR_CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  CheckRefusal(concur::spec::LoadApproach(path).status());
  CheckRefusal(concur::spec::LoadBenchmark(path).status());
  CheckRefusal(concur::spec::LoadCoordinatorOptions(path).status());
  CheckRefusal(concur::spec::LoadWorkerOptions(path).status());
  const absl::StatusOr<concur::spec::LoadedSweep> sweep = concur::spec::LoadSweep(path);
  CheckRefusal(sweep.status());
  if (sweep.ok()) {
    concur::spec::LoadedSweep resolved = *sweep;
    CheckRefusal(concur::spec::ResolveCode(&resolved));
    const absl::StatusOr<concur::Expansion> first = concur::Expansion::Make(sweep->spec);
    const absl::StatusOr<concur::Expansion> second = concur::Expansion::Make(sweep->spec);
    CONCUR_CHECK_OK(first.status());
    CONCUR_CHECK_OK(second.status());
    CONCUR_CHECK(first->job_count() == second->job_count());
    for (uint32_t job = 0; job < std::min(first->job_count(), kJobsLookedAt); ++job) {
      CONCUR_CHECK(first->Locate(job).setting == second->Locate(job).setting);
      const std::optional<uint32_t> source = first->SourceOf(job);
      CONCUR_CHECK(!source || first->Locate(*source).is_train);
      CONCUR_CHECK(!source || !first->Locate(job).is_train ||
                   first->StageOf(job) == first->StageOf(*source) + 1);
    }
  }
  return 0;
}
