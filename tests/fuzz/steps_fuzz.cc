// SPDX-License-Identifier: Apache-2.0
// Output of a job, searched for reports. The first byte says in pieces of how many bytes it
// comes, which must change nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "core/reported_step.h"
#include "tests/fuzz/fuzz.h"
#include "worker/execution/step_reader.h"
#include "worker/executor.h"

namespace {

std::vector<concur::ReportedStep> StepsIn(absl::string_view text, size_t piece) {
  std::vector<concur::ReportedStep> steps;
  const auto add = [&](const concur::ReportedStep& step) { steps.push_back(step); };
  concur::worker::StepReader reader;
  while (!text.empty()) {
    const size_t size = std::min(piece, text.size());
    reader.Add(text.substr(0, size), concur::worker::StepReader::kOutput, add);
    text.remove_prefix(size);
  }
  reader.Finish(add);
  return steps;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const absl::string_view text = concur::testing::Text(data, size).substr(1);
  const std::vector<concur::ReportedStep> steps = StepsIn(text, 1 + data[0]);
  CONCUR_CHECK(steps == StepsIn(text, text.size() + 1));
  CONCUR_CHECK(steps.size() <= concur::kStepsOfJobMax + concur::worker::kPercentsMax);
  for (const concur::ReportedStep& step : steps) {
    if (step.name == concur::worker::kProgressName) {
      CONCUR_CHECK(step.step >= 0 && static_cast<double>(step.step) <= step.value);
      continue;
    }
    CONCUR_CHECK_OK(concur::CheckReportedStep(concur::FieldPath("step"), step));
  }
  return 0;
}
