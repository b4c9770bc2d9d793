// SPDX-License-Identifier: Apache-2.0
// Values that jobs report step by step while they run, and which of them count.
//
// Reports of one job and name count only if their steps grow: a report that comes again, or that
// a later attempt repeats from its start, counts once. Jobs may report after every example, so
// from kStepsDense reports on one counts only where the step has grown by 1/kStepGrowth: a learning
// curve is drawn as well, and one job has at most kStepsOfJobMax of them however long it trains.
//
// Thread-compatible.
#ifndef CONCUR_CORE_REPORTED_STEP_H_
#define CONCUR_CORE_REPORTED_STEP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/fields.h"

namespace concur {

inline constexpr size_t kStepNamesMax = 4;             // names within one job
inline constexpr size_t kStepNameBytesMax = 64;        // bytes of a report's name
inline constexpr int64_t kStepMax = int64_t{1} << 53;  // exact in JSON
inline constexpr uint32_t kStepsDense = 256;
inline constexpr int64_t kStepGrowth = 64;
// Each name has kStepsDense, and then ln(kStepMax / kStepsDense) / ln(1 + 1/kStepGrowth) = 2,012.
inline constexpr size_t kStepsOfJobMax = kStepNamesMax * 2'300;

// A value of a step.
struct ReportedStep {
  int64_t step = 0;  // 0 to kStepMax
  std::string name;  // "validation_f1"
  double value = 0;  // finite

  friend bool operator==(const ReportedStep&, const ReportedStep&) = default;
};

// InvalidArgument, naming the field within `path`, when a field is beyond its limit.
absl::Status CheckReportedStep(const FieldPath& path, const ReportedStep& step);

// The reports of one job that have counted.
class StepCounts {
 public:
  // Those of one name.
  struct Series {
    std::string name;
    uint32_t count = 0;
    int64_t last = 0;  // the latest step

    friend bool operator==(const Series&, const Series&) = default;
  };

  // Counts the report if it does count. One of a name beyond kStepNamesMax does not.
  bool Count(const ReportedStep& step);
  // Takes over what was counted before a restart. DataLoss when it cannot have been.
  absl::Status Restore(Series series);
  // In the order in which their names came.
  const std::vector<Series>& series() const { return series_; }
  uint32_t total() const;

 private:
  Series* Find(const std::string& name);

  std::vector<Series> series_;
};

}  // namespace concur

#endif  // CONCUR_CORE_REPORTED_STEP_H_
