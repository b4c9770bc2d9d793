// SPDX-License-Identifier: Apache-2.0
// Finds a job's reports, step by step, in its output and in its file of reports.
//
// Thread-compatible.
#ifndef CONCUR_WORKER_EXECUTION_STEP_READER_H_
#define CONCUR_WORKER_EXECUTION_STEP_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/reported_step.h"

namespace concur::worker {

// A line ends with a report: kStepMark {"step": 3, "name": "f1", "value": 71.5}. Without a name it
// is "value". {"step": 120, "of": 1000} reports progress, with or without a value. Any text may
// stand before it. Any control character but a tab ends a line.
inline constexpr char kStepMark[] = "concur-metric ";
inline constexpr size_t kStepLineBytesMax = 4096;

inline constexpr int kPercentsMax = 1'000;  // that are told of one attempt

class StepReader {
 public:
  using Sink = std::function<void(const ReportedStep&)>;
  enum Source { kOutput, kError, kFile };  // lines of the file of reports may lack the mark

  // Reads the next piece of the output, and gives the reports in it that count
  // (core/reported_step.h), and progress (kProgressName) when its percent changes. Other text, and
  // reports beyond the limits, are passed over. A line of one source goes on after pieces of the
  // others.
  void Add(absl::string_view data, Source source, const Sink& sink);
  // Output and file have ended: their last lines may lack a line feed. A warning for the job's log
  // on the first report that is malformed, whose name found no room beside kStepNamesMax others, or
  // that is no amount that can be spent; "" when there was none.
  std::string Finish(const Sink& sink);

 private:
  // An attempt's amounts (core/spent.h), as running totals: these need not be of growing steps, and
  // are no names of its steps. Beyond kStepsDense reports of a name only those count that have
  // grown by 1/kStepGrowth, and the last one.
  struct Amount {
    ReportedStep latest;
    int64_t number = 0;  // the latest one's, as kept
    int64_t sent = 0;
    uint32_t count = 0;
  };

  struct Report {
    std::optional<ReportedStep> step;
    std::optional<int64_t> of;  // with `done`
    int64_t done = 0;
  };
  static std::optional<Report> ReportOfJson(absl::string_view text);
  void Emit(absl::string_view line, const Sink& sink);
  void TellProgress(const Report& report, const Sink& sink);
  void Spend(const ReportedStep& step, const Sink& sink);

  std::array<std::string, 3> lines_;  // each source's, that has not ended
  StepCounts counts_;
  int64_t percent_ = -1;  // that was told last
  int percents_ = 0;      // that were told
  std::map<std::string, Amount> spent_;
  std::string warning_;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_STEP_READER_H_
