// SPDX-License-Identifier: Apache-2.0
// Finds what a job reports step by step among the lines that it prints.
//
// Thread-compatible.
#ifndef CONCUR_WORKER_STEP_READER_H_
#define CONCUR_WORKER_STEP_READER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/reported_step.h"

namespace concur::worker {

// What a line begins with that reports a value: kStepMark {"step": 3, "name": "f1",
// "value": 71.5}. Without a name it is "value".
inline constexpr char kStepMark[] = "concur-metric ";
inline constexpr size_t kStepLineBytesMax = 4096;

class StepReader {
 public:
  using Sink = std::function<void(const ReportedStep&)>;

  // The next piece of the output. Gives the reports in it that count (core/reported_step.h). Other
  // lines, and those that are no report within its limits, are passed over; of a line too long only
  // its end is looked for.
  void Add(absl::string_view data, const Sink& sink);
  // The output has ended: its last line may lack a line feed.
  void Finish(const Sink& sink);
  // The first name that found no room beside kStepNamesMax others; "" when all have.
  const std::string& refused_name() const { return refused_name_; }

 private:
  void Emit(absl::string_view line, const Sink& sink);

  std::string line_;  // whose end has not come
  bool too_long_ = false;
  StepCounts counts_;
  std::string refused_name_;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_STEP_READER_H_
