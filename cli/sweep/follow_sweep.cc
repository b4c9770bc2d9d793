// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/follow_sweep.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "cli/output/render.h"
#include "cli/output/worker_news.h"
#include "report/json_text.h"

namespace concur::cli {
namespace {

// Draws progress on context.err. Thread-safe: the stream's thread and the timer's both call it.
class Painter {
 public:
  Painter(CommandContext& context, bool quiet)
      : context_(context), quiet_(quiet || IsJson(context)), progress_(Options(context)) {}
  ~Painter() {
    MutexLock lock(mutex_);
    Write(progress_.Close());
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  void Update(const v1::WatchSweepResponse& update) {
    MutexLock lock(mutex_);
    Write(progress_.Update(update, absl::Now(), TerminalWidth(STDERR_FILENO)));
  }
  void Tick() {
    MutexLock lock(mutex_);
    Write(progress_.Tick(absl::Now(), TerminalWidth(STDERR_FILENO)));
  }
  bool quiet() const { return quiet_; }
  void Say(const std::string& line) {
    MutexLock lock(mutex_);
    Write(progress_.Say(line));
  }

 private:
  static ProgressOptions Options(const CommandContext& context) {
    ProgressOptions options;
    options.is_terminal = context.err_is_terminal;
    options.color = context.color;
    options.unicode = LocaleIsUtf8() || !context.err_is_terminal;
    return options;
  }

  void Write(const std::string& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!quiet_ && !bytes.empty()) {
      context_.err << bytes << std::flush;
    }
  }

  CommandContext& context_;
  const bool quiet_;
  Mutex mutex_;
  SweepProgress progress_ ABSL_GUARDED_BY(mutex_);
};

// Says what changes among the workers, with a client of its own; when somebody reads it.
class WorkerReporter {
 public:
  WorkerReporter(Painter& painter, const Client& client)
      : painter_(painter), client_(client.ForAsides(absl::Seconds(2))) {
    Look(absl::Now());
  }

  void Tick() {
    if (const absl::Time now = absl::Now(); now >= next_look_) {
      Look(now);
    }
  }

 private:
  void Look(absl::Time now) {
    next_look_ = painter_.quiet() ? absl::InfiniteFuture() : now + absl::Seconds(5);
    if (painter_.quiet()) {
      return;
    }
    const absl::StatusOr<std::vector<v1::Worker>> workers = client_->ListWorkers();
    if (!workers.ok()) {
      return;  // the stream tells of an outage
    }
    for (const std::string& line : news_.Update(*workers)) {
      painter_.Say(absl::StrCat("concur: ", line));
    }
  }

  Painter& painter_;
  const std::unique_ptr<Client> client_;
  absl::Time next_look_;
  WorkerNews news_;
};

// A timer: ticks twice a second, and ends the streams after the time-out.
class Ticker {
 public:
  Ticker(Painter& painter, WorkerReporter& worker_reporter, Client& client, absl::Duration timeout)
      : deadline_(absl::Now() + timeout), thread_([this, &painter, &worker_reporter, &client] {
          while (!Wait(absl::Milliseconds(500))) {
            painter.Tick();
            worker_reporter.Tick();
            if (absl::Now() >= deadline_ && !expired_.exchange(true)) {
              client.CancelStreams();
            }
          }
        }) {}
  ~Ticker() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    wake_.NotifyAll();
    thread_.join();
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  bool expired() const { return expired_; }

 private:
  // True when it is to end.
  bool Wait(absl::Duration span) {
    MutexLock lock(mutex_);
    if (!stopped_) {
      wake_.WaitWithTimeout(mutex_, span);
    }
    return stopped_;
  }

  const absl::Time deadline_;
  std::atomic<bool> expired_ = false;
  Mutex mutex_;
  CondVar wake_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The last line of a message has the cursor that resumes after it. After a gap, as a restart of the
// coordinator makes one, a line says so: events before it may be missing.
void PrintEvents(CommandContext& context, const v1::WatchSweepResponse& update, bool is_gap) {
  if (is_gap) {
    Json gap = EventJson(v1::JobEvent());
    for (auto& [name, value] : gap.items()) {
      value = nullptr;
    }
    gap["reset"] = true;
    gap["cursor"] = update.cursor();
    context.out << analysis::JsonLine(gap);
  }
  for (int i = 0; i < update.events_size(); ++i) {
    Json event = EventJson(update.events(i));
    event["reset"] = false;
    event["cursor"] = i + 1 == update.events_size() ? Json(update.cursor()) : Json();
    context.out << analysis::JsonLine(event);
  }
  context.out << std::flush;
}

}  // namespace

absl::StatusOr<v1::Sweep> FollowSweep(CommandContext& context, Client& client,
                                      const std::string& sweep, const WatchOptions& options) {
  v1::Sweep last;
  absl::Status status;
  bool expired = false;
  {
    Painter painter(context, options.quiet);
    const InterruptScope interrupt([&client] { client.CancelStreams(); });
    WorkerReporter worker_reporter(painter, client);
    const Ticker ticker(painter, worker_reporter, client, options.timeout);
    bool away = false;
    status = client.WatchSweep(
        sweep, options.after,
        options.print_events ? v1::WatchSweepRequest::EVENTS_ALL
                             : v1::WatchSweepRequest::EVENTS_FAILURES,
        options.outage_max,
        [&](const v1::WatchSweepResponse& update) {
          if (away) {
            painter.Say("concur: the coordinator answers again");
            away = false;
          }
          const bool is_gap = update.reset() && (!last.id().empty() || !options.after.empty());
          last = update.sweep();
          if (options.print_events) {
            PrintEvents(context, update, is_gap);
          }
          painter.Update(update);
          return true;  // the server ends the stream after the last change
        },
        [&](const absl::Status&) {
          if (!away) {
            painter.Say(absl::StrCat("concur: the coordinator at ", client.address(),
                                     " is away; waiting for it (workers go on meanwhile)"));
            away = true;
          }
        });
    expired = ticker.expired();
  }
  if (absl::IsCancelled(status)) {
    const std::string id = last.id().empty() ? sweep : last.id();
    if (expired) {
      return absl::DeadlineExceededError(
          absl::StrCat(id, ": not ended after ", SpanText(options.timeout), "; it goes on"));
    }
    PrintNote(context, options.detach_hint.empty()
                           ? absl::StrCat("detached; the sweep goes on. To watch it again: concur "
                                          "sweep watch ",
                                          id, "   To stop it: concur sweep cancel ", id)
                           : options.detach_hint);
    return absl::CancelledError("interrupted");
  }
  CONCUR_RETURN_IF_ERROR(status);
  if (!HasEnded(last.state())) {
    return absl::UnavailableError(absl::StrCat(
        sweep,
        ": the coordinator ended the stream of changes before the sweep ended; watch it again"));
  }
  return last;
}

std::string RetryHint(const std::string& sweep) {
  return absl::StrCat("run them again as submitted: concur sweep retry ", sweep,
                      "\n  with changed files: concur sweep submit FILE");
}

void ReportEnd(CommandContext& context, const v1::Sweep& sweep) {
  if (sweep.state() == v1::Sweep::STATE_SUCCEEDED) {
    return;
  }
  context.exit_code_override = kExitWorkFailed;
  const v1::StateCounts& counts = sweep.counts();
  PrintWarning(context,
               absl::StrCat(sweep.id(), " ", StateText(sweep.state()),
                            counts.failed() + counts.skipped() == 0
                                ? ""
                                : absl::StrCat("\n  see why: concur sweep failures ", sweep.id(),
                                               "\n  ", RetryHint(sweep.id()))));
}

}  // namespace concur::cli
