// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/command/command.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "cli/output/top_screen.h"

namespace concur::cli {
namespace {

// Number of sweeps that a refresh asks for: older ones are rarely running, and a coordinator
// keeps 100,000.
constexpr size_t kSweepsMax = 200;
// The terminal's alternate screen, without a cursor; the destructor restores the normal screen.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kTopEraseLine[] = "\x1b[K";
constexpr char kEraseBelow[] = "\x1b[J";

struct TopFlags {
  double interval_seconds = 2;
  int64_t count = 0;     // 0: until interrupted
  bool goes_on = false;  // --interval was given
  bool once = false;
};

// The time between refreshes, which Ctrl-C cuts short.
class Pause {
 public:
  // False when it was interrupted.
  bool Wait(absl::Duration span) {
    const absl::Time end = absl::Now() + span;
    MutexLock lock(mutex_);
    while (!over_ && absl::Now() < end) {
      wake_.WaitWithTimeout(mutex_, end - absl::Now());
    }
    return !over_;
  }
  void Interrupt() {
    MutexLock lock(mutex_);
    over_ = true;
    wake_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar wake_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<TopLook> Look(Client& client) {
  TopLook look;
  look.server = client.address();
  CONCUR_ASSIGN_OR_RETURN(look.sweeps, client.ListSweeps("", kSweepsMax + 1));
  look.more_sweeps = look.sweeps.size() > kSweepsMax;
  if (look.more_sweeps) {
    look.sweeps.resize(kSweepsMax);
  }
  CONCUR_ASSIGN_OR_RETURN(look.workers, client.ListWorkers());
  CONCUR_ASSIGN_OR_RETURN(const v1::ListResourcesResponse listed, client.ListResources());
  look.resources.assign(listed.resources().begin(), listed.resources().end());
  look.time = absl::Now();
  return look;
}

size_t TerminalHeight(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

// Redraws the screen on a terminal; elsewhere writes a line, or a JSON value, for each refresh.
class Screen {
 public:
  Screen(CommandContext& context, bool live) : context_(context), live_(live) {
    if (live_) {
      context_.out << kEnter << std::flush;
    }
  }
  ~Screen() {
    if (live_) {
      context_.out << kLeave << std::flush;
    }
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Show(const TopLook& look, const TopRates& rates, bool whole) {
    if (IsJson(context_)) {
      PrintJson(context_, TopJson(look, rates));
    } else if (live_) {
      frame_ = TopFrame(look, rates, Options(TerminalHeight(STDOUT_FILENO) - 1));
      Draw("");
    } else if (whole) {
      context_.out << TopFrame(look, rates, Options(0));
    } else {
      context_.out << TopLine(look);
    }
    context_.out << std::flush;
  }

  // The previous screen stays, under a line that says why it is out of date.
  void ShowTrouble(const absl::Status& status) {
    const std::string line = absl::StrCat(
        "the coordinator does not answer: ",
        LineText(status.message(), TerminalWidth(live_ ? STDOUT_FILENO : STDERR_FILENO)));
    if (live_) {
      Draw(line);
    } else if (!away_) {
      PrintNote(context_, line);
    }
    away_ = true;
  }
  void ShowAgain() {
    if (away_ && !live_) {
      PrintNote(context_, "the coordinator answers again");
    }
    away_ = false;
  }

 private:
  TopFrameOptions Options(size_t height) const {
    TopFrameOptions options;
    options.width = context_.out_is_terminal ? TerminalWidth(STDOUT_FILENO) : 0;
    options.height = height;
    options.color = context_.color && context_.out_is_terminal;
    options.unicode = LocaleIsUtf8() || !context_.out_is_terminal;
    return options;
  }

  void Draw(const std::string& trouble) {
    std::string bytes = kHome;
    for (const char c : frame_) {
      if (c == '\n') {
        bytes += kTopEraseLine;
        bytes += "\r";
      }
      bytes += c;
    }
    absl::StrAppend(&bytes, kEraseBelow, trouble);
    context_.out << bytes << std::flush;
  }

  CommandContext& context_;
  const bool live_;
  std::string frame_;
  bool away_ = false;
};

absl::Status CheckFlags(const CommandContext& context, const TopFlags& flags) {
  if (context.output == OutputMode::kCsv) {
    return absl::InvalidArgumentError("top: expected --output table, json or jsonl, got csv");
  }
  if (!(flags.interval_seconds >= 0.1 && flags.interval_seconds <= 3600)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--interval: expected seconds from 0.1 to 3600, got ", flags.interval_seconds));
  }
  if (flags.count < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--count: expected a number of updates, at least 1, got ", flags.count));
  }
  if (context.output == OutputMode::kJson && (flags.goes_on || flags.count > 1)) {
    return absl::InvalidArgumentError(
        "top: JSON is one value: --interval and --count go with --output jsonl");
  }
  return absl::OkStatus();
}

absl::Status Top(CommandContext& context, const TopFlags& flags) {
  CONCUR_RETURN_IF_ERROR(CheckFlags(context, flags));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  const bool once = flags.once || (!context.out_is_terminal && !flags.goes_on && flags.count == 0);
  Pause pause;
  // Without a coordinator the first refresh ends the program; later ones wait for it.
  CONCUR_ASSIGN_OR_RETURN(TopLook look, Look(*client));
  const InterruptScope interrupt([&pause] { pause.Interrupt(); });
  TopRates rates;
  Screen screen(context, context.out_is_terminal && !once && !IsJson(context));
  for (int64_t shown = 1;; ++shown) {
    rates.Add(look);
    screen.Show(look, rates, once);
    if (once || shown == flags.count) {
      return absl::OkStatus();
    }
    for (;;) {
      if (!pause.Wait(absl::Seconds(flags.interval_seconds))) {
        return absl::OkStatus();  // Ctrl-C is the usual way to end it
      }
      absl::StatusOr<TopLook> next = Look(*client);
      if (next.ok()) {
        screen.ShowAgain();
        look = *std::move(next);
        break;
      }
      if (!absl::IsUnavailable(next.status()) && !absl::IsDeadlineExceeded(next.status())) {
        return next.status();
      }
      screen.ShowTrouble(next.status());
    }
  }
}

}  // namespace

void AddTopCommand(Command& app, CommandContext& context) {
  const auto flags = std::make_shared<TopFlags>();
  Command* top =
      app.AddSubcommand("top", "Workers, queue and rates: live on a terminal, once elsewhere");
  Option* const interval =
      top->AddOption(
             "--interval", flags->interval_seconds,
             "Seconds between updates (default: 2); without a terminal, print again each time")
          ->TypeName("SECONDS");
  top->AddOption("--count", flags->count, "Stop after this many updates")->TypeName("N");
  top->AddFlag("--once", flags->once, "Show everything once, as it is now");
  top->Footer(
      "Counts are those of the newest 200 sweeps; rates are over the last minute.\n"
      "Examples:\n  concur top\n  concur top --interval 60 -o jsonl");
  OnRun(top, context, [flags, interval, &context] {
    flags->goes_on = interval->Count() > 0;
    return Top(context, *flags);
  });
}

}  // namespace concur::cli
