// SPDX-License-Identifier: Apache-2.0
// Reads {metrics} of a job: if it is accepted, its metrics make a valid result, and the database
// returns them unchanged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "core/result.h"
#include "store/row_codec.h"
#include "tests/fuzz/fuzz.h"
#include "worker/execution/scorer.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<std::vector<concur::Metric>> metrics =
      concur::worker::ParseMetrics(std::string(concur::testing::Text(data, size)));
  if (!metrics.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(metrics.status()));
    return 0;
  }
  concur::JobResult result;
  result.succeeded = true;
  result.metrics = *metrics;
  CONCUR_CHECK_OK(concur::ValidateJobResult(result, concur::FieldPath("result")));
  std::vector<concur::Metric> read;
  CONCUR_CHECK(concur::MetricsOfJson(concur::MetricsToJson(*metrics), read));
  CONCUR_CHECK(read == *metrics);
  return 0;
}
