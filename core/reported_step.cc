// SPDX-License-Identifier: Apache-2.0
#include "core/reported_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {

absl::Status CheckReportedStep(const FieldPath& path, const ReportedStep& step) {
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("step"), step.step, 0, kStepMax));
  if (step.name.empty()) {
    return FieldError(path.Field("name"), "expected a name, got \"\"");
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("name"), step.name, kStepNameBytesMax));
  return CheckFinite(path.Field("value"), step.value);
}

StepCounts::Series* StepCounts::Find(const std::string& name) {
  const auto it = std::find_if(series_.begin(), series_.end(),
                               [&](const Series& series) { return series.name == name; });
  return it == series_.end() ? nullptr : &*it;
}

bool StepCounts::Count(const ReportedStep& step) {
  Series* series = Find(step.name);
  if (series == nullptr) {
    if (series_.size() >= kStepNamesMax) {
      return false;
    }
    series_.push_back({step.name, 1, step.step});
    return true;
  }
  const int64_t grown = step.step - series->last;
  const int64_t wanted =
      series->count < kStepsDense ? 1 : (series->last + kStepGrowth - 1) / kStepGrowth;
  if (grown < wanted) {
    return false;
  }
  ++series->count;
  series->last = step.step;
  return true;
}

absl::Status StepCounts::Restore(Series series) {
  if (Find(series.name) != nullptr || series_.size() >= kStepNamesMax || series.count == 0) {
    return absl::DataLossError(absl::StrCat("its reports of \"", series.name,
                                            "\" stand twice, or are of more than ", kStepNamesMax,
                                            " names, or none"));
  }
  series_.push_back(std::move(series));
  return absl::OkStatus();
}

uint32_t StepCounts::total() const {
  uint32_t total = 0;
  for (const Series& series : series_) {
    total += series.count;
  }
  return total;
}

}  // namespace concur
