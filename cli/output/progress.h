// SPDX-License-Identifier: Apache-2.0
// Live progress of a sweep: what to write to standard error as updates come in.
//
// On a terminal: a status line that is drawn over, and above it what failed, as it happens.
// Elsewhere: a line now and then, and the failures. Equal failures are one line: the first as it
// happens, and their number when there are ten, a hundred, … and in the end. Pure: bytes out, time
// in.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_PROGRESS_H_
#define CONCUR_CLI_OUTPUT_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {

struct ProgressOptions {
  bool is_terminal = false;
  bool color = false;
  bool unicode = true;  // the terminal shows UTF-8
  // Plain lines come at most so often.
  absl::Duration line_interval = absl::Seconds(10);
  // The status line is drawn at most so often.
  absl::Duration draw_interval = absl::Milliseconds(100);
  // Kinds of failures that are shown.
  size_t failures_max = 20;
};

class SweepProgress {
 public:
  explicit SweepProgress(ProgressOptions options) : options_(options) {}

  // Text to write after an update. `width` is that of the terminal now.
  std::string Update(const v1::WatchSweepResponse& update, absl::Time now, size_t width);
  // Text to write when time has passed without one: the ETA moves on.
  std::string Tick(absl::Time now, size_t width);
  // A line of its own, above the status line.
  std::string Say(absl::string_view line);
  // Takes the status line away and gives the cursor back.
  std::string Close();

 private:
  // Failures that are alike.
  struct Failures {
    v1::JobEvent first;
    uint64_t count = 0;
    uint64_t count_shown = 0;  // by the latest line
    uint64_t count_next = 1;   // which the next line waits for
  };

  std::string Erase();
  std::string Draw(absl::Time now, size_t width);
  std::string StatusLine(absl::Time now, size_t width) const;
  std::string CountFailure(const v1::JobEvent& event);
  std::string FailuresInTheEnd();
  std::string FailureLine(Failures& failures) const;
  std::string RestText() const;

  const ProgressOptions options_;
  v1::Sweep sweep_;
  absl::Time received_;
  bool drawn_ = false;
  size_t drawn_width_ = 0;
  std::map<std::pair<bool, uint64_t>, Failures> failures_;  // by finality and group
  bool more_failures_ = false;
  absl::Time last_draw_ = absl::InfinitePast();
  absl::Time last_line_ = absl::InfinitePast();
  std::string last_text_;
};

// One bar for bytes on their way, e.g. of an upload: "squad.json  [####----]  12.0 MiB of 40.0
// MiB".
std::string BytesBar(absl::string_view name, int64_t done, int64_t total, size_t width,
                     bool unicode);

// The width of the terminal behind `fd` now; 80 when it is none.
size_t TerminalWidth(int fd);
// True if the locale's characters are UTF-8.
bool LocaleIsUtf8();

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_PROGRESS_H_
