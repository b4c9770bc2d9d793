// SPDX-License-Identifier: Apache-2.0
// What jobs report step by step, as lines of their logs, and the learning curves made of it.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_LEARNING_CURVES_H_
#define CONCUR_CLI_STUDY_LEARNING_CURVES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/early_stop_replay.h"

namespace concur::cli {

// What a line of a log begins with that reports a value: kStepMark {"step": 3, "name": "f1",
// "value": 71.5}. Without a name it is "value".
inline constexpr char kStepMark[] = "concur-metric ";
inline constexpr size_t kStepLineBytesMax = 4096;

struct ReportedStep {
  int64_t step = 0;
  std::string name;
  double value = 0;
};

// Finds the reports in a log that comes in pieces. Other lines, and lines that are no report of a
// finite value at a step, are passed over; of a line too long only its end is looked for.
class StepReader {
 public:
  using Sink = std::function<void(const ReportedStep&)>;

  // The next piece of the log.
  void Add(absl::string_view data, const Sink& sink);
  // The log has ended: its last line may lack a line feed.
  void Finish(const Sink& sink);

 private:
  std::string line_;
  bool too_long_ = false;
};

// The learning curves of one cell: an approach on a benchmark with a seed.
struct CellCurves {
  std::string approach;
  std::string benchmark;
  std::string seed;
  std::vector<int64_t> settings;  // their numbers, growing
  std::vector<LearningCurve> curves;
};

// Reads what `concur sweep steps -o csv` writes: the columns setting, step and value, and where
// they are there approach, benchmark, seed, name and seconds (of the whole training; else a step
// costs 1). Of several names only `metric` counts, which must then be stated. Steps from 0 on are
// counted from 1. In the order of the names. InvalidArgument, naming file and line.
absl::StatusOr<std::vector<CellCurves>> ParseCurves(absl::string_view text, const std::string& file,
                                                    const std::string& metric);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_LEARNING_CURVES_H_
