// SPDX-License-Identifier: Apache-2.0
#include "cli/output/progress.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output/estimate.h"
#include "cli/output/failures.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "proto/rpc/progress.h"
#include "report/text.h"

namespace concur::cli {
namespace {

constexpr char kHideCursor[] = "\x1b[?25l";
constexpr char kShowCursor[] = "\x1b[?25h";
constexpr char kEraseLine[] = "\r\x1b[2K";
constexpr size_t kBarWidthMax = 30;
constexpr size_t kBarWidthMin = 8;

std::string Fill(size_t width, double fraction, bool unicode) {
  const auto full = static_cast<size_t>(std::floor(fraction * static_cast<double>(width)));
  std::string bar;
  for (size_t i = 0; i < width; ++i) {
    bar += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : "-");
  }
  return bar;
}

}  // namespace

std::string SweepProgress::Update(const v1::WatchSweepResponse& update, absl::Time now,
                                  size_t width) {
  sweep_ = update.sweep();
  received_ = now;
  const bool ended_now = HasEnded(sweep_.state());
  std::string lines;
  for (const v1::JobEvent& event : update.events()) {
    lines += CountFailure(event);
  }
  if (ended_now) {
    lines += FailuresInTheEnd();
  }
  if (options_.is_terminal) {
    const std::string erase = lines.empty() ? "" : Erase();
    if (!lines.empty() || ended_now || now - last_draw_ >= options_.draw_interval) {
      return absl::StrCat(erase, lines, Draw(now, width));
    }
    return "";
  }
  const std::string text = StatusLine(now, 0);
  if (text != last_text_ && (ended_now || now - last_line_ >= options_.line_interval)) {
    last_line_ = now;
    last_text_ = text;
    absl::StrAppend(&lines, text, "\n");
  }
  return lines;
}

std::string SweepProgress::Tick(absl::Time now, size_t width) {
  if (!options_.is_terminal || !drawn_ || now - last_draw_ < options_.draw_interval) {
    return "";
  }
  return Draw(now, width);
}

std::string SweepProgress::Say(absl::string_view line) {
  return absl::StrCat(Erase(), LineText(line), "\n");
}

std::string SweepProgress::Close() {
  if (!options_.is_terminal) {
    return "";
  }
  return absl::StrCat(Erase(), kShowCursor);
}

std::string SweepProgress::Erase() {
  const bool was_drawn = std::exchange(drawn_, false);
  return was_drawn ? kEraseLine : "";
}

std::string SweepProgress::Draw(absl::Time now, size_t width) {
  std::string bytes = drawn_ ? kEraseLine : kHideCursor;
  // A terminal that became narrower has wrapped the old line: its first part is one line up.
  if (drawn_ && width < drawn_width_ && width > 0) {
    const size_t lines_up = (drawn_width_ - 1) / width;
    if (lines_up > 0) {
      absl::StrAppend(&bytes, "\x1b[", lines_up, "A\r\x1b[J");
    }
  }
  const std::string line = StatusLine(now, width);
  absl::StrAppend(&bytes, line);
  drawn_ = true;
  drawn_width_ = analysis::DisplayWidth(line);
  last_draw_ = now;
  return bytes;
}

std::string SweepProgress::RestText() const {
  const v1::StateCounts& counts = sweep_.counts();
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, absl::string_view word) {
    if (count > 0) {
      parts.push_back(absl::StrCat(CountText(count), " ", word));
    }
  };
  if (RunningCount(counts) > 0) {
    parts.push_back(RunningText(counts) + " running");
  }
  add(counts.queued(), "queued");
  add(counts.failed(), "failed");
  add(counts.skipped(), "skipped");
  add(counts.stopped(), "stopped");
  add(counts.canceled(), "canceled");
  add(counts.backoff(), "to be retried");
  add(sweep_.reused(), "reused");
  return absl::StrJoin(parts, " · ");
}

std::string SweepProgress::StatusLine(absl::Time now, size_t width) const {
  const v1::Progress progress = rpc::ProgressOf(sweep_);
  std::vector<std::string> parts = {
      absl::StrCat(CountText(progress.done()), "/", CountText(progress.jobs()), " jobs")};
  if (sweep_.state() != v1::Sweep::STATE_ACTIVE) {
    parts.push_back(StateText(sweep_.state()));
  }
  const std::string rest = RestText();
  if (!rest.empty()) {
    parts.push_back(rest);
  }
  if (HasEnded(sweep_.state())) {
    const absl::Time end = sweep_.has_end_time() ? TimeOf(sweep_.end_time()) : now;
    parts.push_back(absl::StrCat("took ", SpanText(end - TimeOf(sweep_.create_time()))));
  } else {
    const Estimate estimate = EstimateOf(sweep_, now - received_);
    for (const std::string& part : {RateText(estimate.jobs_per_second),
                                    estimate.left ? absl::StrCat("ETA ", EtaText(estimate)) : ""}) {
      if (!part.empty()) {
        parts.push_back(part);
      }
    }
  }
  const std::string percent = absl::StrFormat("%3d%%", progress.percent());
  const std::string text = absl::StrJoin(parts, options_.unicode ? " · " : ", ");
  if (!options_.is_terminal) {
    return absl::StrCat(LineText(sweep_.id()), "  ", percent, "  ", text);
  }
  const size_t used = analysis::DisplayWidth(sweep_.id()) + analysis::DisplayWidth(percent) +
                      analysis::DisplayWidth(text) + 9;
  const size_t bar_width = used + kBarWidthMin > width ? 0 : std::min(kBarWidthMax, width - used);
  std::string bar;
  if (bar_width > 0) {
    bar = absl::StrCat("[", Fill(bar_width, progress.percent() / 100.0, options_.unicode), "] ");
  }
  // One column is left free, so that no terminal wraps the line.
  return LineText(absl::StrCat(sweep_.id(), "  ", bar, percent, "  ", text),
                  std::max<size_t>(width, 2) - 1);
}

std::string SweepProgress::CountFailure(const v1::JobEvent& event) {
  // A failure that will be retried is news as well: waiting for it may be in vain.
  const bool is_final = event.state() == v1::Job::STATE_FAILED;
  const bool is_retry =
      event.state() == v1::Job::STATE_BACKOFF && event.failure() != v1::FAILURE_CLASS_UNSPECIFIED;
  if (!is_final && !is_retry) {
    return "";
  }
  const std::pair<bool, uint64_t> key = {is_final, rpc::FailureGroupOf(event, event.message())};
  auto it = failures_.find(key);
  if (it == failures_.end()) {
    if (failures_.size() >= options_.failures_max) {
      return std::exchange(more_failures_, true)
                 ? ""
                 : absl::StrCat("… more kinds of failures: concur sweep failures ",
                                LineText(sweep_.id()), "\n");
    }
    it = failures_.emplace(key, Failures()).first;
    it->second.first = event;
  }
  Failures& failures = it->second;
  ++failures.count;
  // An error is told once, retried or not.
  const bool is_told = failures_.count({!is_final, key.second}) > 0 && failures.count_shown == 0;
  // The first; of those that are final also the tenth, the hundredth, …
  if (is_told || (is_retry && failures.count > 1) || failures.count < failures.count_next) {
    return "";
  }
  failures.count_next *= 10;
  return FailureLine(failures);
}

std::string SweepProgress::FailuresInTheEnd() {
  std::string lines;
  for (auto& [key, failures] : failures_) {
    if (key.first && failures.count != failures.count_shown &&
        !failures_.contains({false, key.second})) {
      lines += FailureLine(failures);
    }
  }
  return lines;
}

// Never cut: a terminal shows what does not fit below.
std::string SweepProgress::FailureLine(Failures& failures) const {
  failures.count_shown = failures.count;
  const v1::JobEvent& event = failures.first;
  const bool is_final = event.state() == v1::Job::STATE_FAILED;
  const std::string mark = options_.unicode ? (is_final ? "✗" : "↻") : (is_final ? "x" : "~");
  const uint64_t others = failures.count - 1;
  std::string line = absl::StrCat(mark, " ", event.job());
  if (others > 0) {
    absl::StrAppend(&line, " and ", CountText(others), " more");
  }
  absl::StrAppend(&line, is_final ? " failed" : " to be retried");
  if (event.failure() != v1::FAILURE_CLASS_FAILED) {
    absl::StrAppend(&line, " (", FailureText(event.failure()), ")");
  }
  const std::string message = event.message().substr(0, event.message().find('\n'));
  if (!message.empty()) {
    absl::StrAppend(&line, ": ", message);
  }
  if (others == 0) {
    absl::StrAppend(&line, " · ", event.description(), " [",
                    event.worker().empty() ? "" : absl::StrCat(event.worker(), ", "), "attempt ",
                    event.attempt(), "]");
  }
  line = LineText(line);
  return options_.color && options_.is_terminal
             ? absl::StrCat(is_final ? "\x1b[31m" : "\x1b[33m", line, "\x1b[0m\n")
             : absl::StrCat(line, "\n");
}

std::string BytesBar(absl::string_view name, int64_t done, int64_t total, size_t width,
                     bool unicode) {
  const std::string sizes = absl::StrCat(BytesText(done), " of ", BytesText(total));
  const std::string shown = LineText(name, std::max<size_t>(width / 3, 8));
  const size_t used = analysis::DisplayWidth(shown) + sizes.size() + 7;
  const double fraction =
      total <= 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string bar =
      used + kBarWidthMin > width
          ? ""
          : absl::StrCat("[", Fill(std::min(kBarWidthMax, width - used), fraction, unicode), "]  ");
  return LineText(absl::StrCat(shown, "  ", bar, sizes), std::max<size_t>(width, 2) - 1);
}

size_t TerminalWidth(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return 80;
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
    if (value != nullptr && *value != '\0') {
      const std::string lower = absl::AsciiStrToLower(value);
      return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
    }
  }
  return false;
}

}  // namespace concur::cli
