// SPDX-License-Identifier: Apache-2.0
#include "worker/served_system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "core/serve_order.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kMemoryInterval = absl::Milliseconds(250);
// How soon it is noticed that nobody waits for an answer any more.
constexpr absl::Duration kCancelInterval = absl::Milliseconds(100);

// Of what is asked, so that a system that draws by it answers the same when it is asked again.
std::string QuestionId(const std::string& passage, const std::string& question) {
  Sha256 hash;
  hash.UpdateField(passage);
  hash.UpdateField(question);
  return hash.Finish().ToHex();
}

std::string QuestionLine(const std::string& id, const std::string& passage,
                         const std::string& question) {
  const nlohmann::ordered_json json = {{"id", id}, {"passage", passage}, {"question", question}};
  return json.dump() + "\n";
}

absl::StatusOr<std::string> AnswerIn(const std::string& line, const std::string& id) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto text = [&json](const char* name) -> std::optional<std::string> {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return json.is_object() && found != json.end() && found->is_string()
               ? std::make_optional(found->get<std::string>())
               : std::nullopt;
  };
  const std::optional<std::string> answer = text("answer");
  if (!answer.has_value() || text("id") != id) {
    return absl::UnavailableError(
        absl::StrCat(R"(printed a line that is not {"id": ")", id, R"(", "answer": "…"})"));
  }
  // What the coordinator would refuse is the system's failure, not the worker's.
  if (const absl::Status valid = ValidateServedAnswer({0, true, *answer}, FieldPath("answer"));
      !valid.ok()) {
    return absl::UnavailableError(
        absl::StrCat("printed an answer that cannot be shown: ", valid.message()));
  }
  return *answer;
}

std::string HowSystemEnded(const ProcessEnd& end, const ServedSystemOptions& options) {
  if (end.killed_for == KillCause::kMemory) {
    return absl::StrCat("took more than the ", options.memory_bytes_max >> 20,
                        " MiB of memory that it may have, and was stopped");
  }
  if (end.killed_for == KillCause::kDisk) {
    return absl::StrCat("wrote more than the ", options.disk_bytes_max >> 20,
                        " MiB that it may have on disk, and was stopped");
  }
  if (end.kernel_oom) {
    return absl::StrCat("was stopped by the kernel for memory, of which it may have ",
                        options.memory_bytes_max >> 20, " MiB");
  }
  return WIFSIGNALED(end.wait_status)
             ? absl::StrCat("was ended by signal ", WTERMSIG(end.wait_status))
             : absl::StrCat("ended with exit code ", WEXITSTATUS(end.wait_status));
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "a system", "make a pipe for");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace

// The running process and what is read of its output. A watcher takes its standard error, enforces
// its limits of memory, and ends it with all that it started.
class ServedSystem::ServedProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ServedProcess>> Start(const ServedSystemOptions& options,
                                                              ProcessWatcher& watcher) {
    CONCUR_ASSIGN_OR_RETURN(Pipe input, MakePipe());
    CONCUR_ASSIGN_OR_RETURN(Pipe output, MakePipe());
    fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
    fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
    unlink(options.log.c_str());  // of the one before
    CONCUR_ASSIGN_OR_RETURN(Process process, options.start({.input_fd = input.read.get(),
                                                            .output_fd = output.write.get()}));
    std::unique_ptr<ServedProcess> served(
        new ServedProcess(options, watcher, std::move(input.write), std::move(output.read)));
    WatchOptions limits;
    limits.memory_bytes_max = options.memory_bytes_max;
    limits.disk_bytes_max = options.disk_bytes_max;
    limits.log_path = options.log;
    limits.log_bytes_max = options.log_bytes_max;
    limits.run_directory = options.directory;
    watcher.Watch(kNumber, std::move(process), std::move(limits),
                  [process = served.get()](ProcessEnd end) {
                    MutexLock lock(process->mu_);
                    process->end_ = std::move(end);
                    process->ended_.NotifyAll();
                  });
    return served;
  }

  ~ServedProcess() { Stop(absl::ZeroDuration()); }

  // Writes `line` and reads one. Unavailable, "did this or that".
  absl::StatusOr<std::string> Ask(const std::string& line, Clock& clock, absl::Time deadline) {
    if (!unread_.empty()) {
      return absl::UnavailableError("printed more than one line for a question");
    }
    size_t written = 0;
    for (;;) {
      const size_t end = unread_.find('\n');
      if (end != std::string::npos) {
        std::string answer = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return answer;
      }
      if (unread_.size() > options_.line_bytes_max) {
        return absl::UnavailableError(
            absl::StrCat("printed a line of more than ", options_.line_bytes_max, " bytes"));
      }
      const absl::Duration left = deadline - clock.Now();
      if (left <= absl::ZeroDuration()) {
        return absl::UnavailableError("did not answer in time");
      }
      if (options_.is_canceled != nullptr && options_.is_canceled()) {
        return absl::CancelledError("was stopped: nobody asks it any more");
      }
      CONCUR_RETURN_IF_ERROR(Move(line, written, left));
    }
  }

 private:
  static constexpr uint64_t kNumber = 1;  // for the watcher: there is one at a time
  static constexpr absl::Duration kEndGrace = absl::Milliseconds(100);

  ServedProcess(const ServedSystemOptions& options, ProcessWatcher& watcher, FileDescriptor input,
                FileDescriptor output)
      : options_(options),
        watcher_(watcher),
        input_(std::move(input)),
        output_(std::move(output)) {}

  // Waits for a change, up to `left`; writes and reads what is possible.
  absl::Status Move(const std::string& line, size_t& written, absl::Duration left) {
    std::array<pollfd, 2> polled = {pollfd{output_.get(), POLLIN, 0},
                                    pollfd{written < line.size() ? input_.get() : -1, POLLOUT, 0}};
    const absl::Duration look =
        options_.is_canceled != nullptr ? kCancelInterval : absl::Seconds(60);
    const int64_t wait = absl::ToInt64Milliseconds(std::min(left, look)) + 1;
    poll(polled.data(), polled.size(), static_cast<int>(wait));
    if (polled[1].revents != 0) {
      const ssize_t count = write(input_.get(), line.data() + written, line.size() - written);
      if (count > 0) {
        written += static_cast<size_t>(count);
      } else if (errno != EAGAIN && errno != EINTR && polled[0].revents == 0) {
        return absl::UnavailableError("closed its standard input");
      }
    }
    if (polled[0].revents != 0) {
      std::array<char, 16384> buffer;
      const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
      if (count > 0) {
        unread_.append(buffer.data(), static_cast<size_t>(count));
      } else if (count == 0) {
        return absl::UnavailableError(WhyItClosed());
      }
    }
    return absl::OkStatus();
  }

  // Of one that has closed its standard output: "did this or that".
  std::string WhyItClosed() {
    const ProcessEnd end = Stop(kEndGrace);  // it may be about to end: how says why
    return end.killed_for == KillCause::kStop ? "closed its standard output"
                                              : HowSystemEnded(end, options_);
  }

  // Kills it with all that it started, unless it ends by itself within `grace`.
  ProcessEnd Stop(absl::Duration grace) {
    MutexLock lock(mu_);
    const absl::Time deadline = absl::Now() + grace;
    while (!end_.has_value() && absl::Now() < deadline) {
      ended_.WaitWithTimeout(mu_, deadline - absl::Now());
    }
    if (!end_.has_value()) {
      watcher_.Stop(kNumber, /*at_once=*/true);
    }
    while (!end_.has_value()) {
      ended_.Wait(mu_);
    }
    return *end_;
  }

  const ServedSystemOptions& options_;  // of the system, which lives longer
  ProcessWatcher& watcher_;
  FileDescriptor input_;
  FileDescriptor output_;
  std::string unread_;  // of its output
  Mutex mu_;
  CondVar ended_;
  std::optional<ProcessEnd> end_ ABSL_GUARDED_BY(mu_);
};

ServedSystem::ServedSystem(Clock& clock, ProcessTable& processes, ServedSystemOptions options)
    : clock_(clock),
      options_(std::move(options)),
      watcher_(kMemoryInterval, processes),
      backoff_(options_.backoff_min) {}

ServedSystem::~ServedSystem() = default;

absl::StatusOr<std::string> ServedSystem::Answer(const std::string& passage,
                                                 const std::string& question) {
  const bool is_new = process_ == nullptr;
  if (is_new) {
    const absl::Duration wait = not_before_ - clock_.Now();
    if (wait > absl::ZeroDuration()) {
      return absl::UnavailableError(
          absl::StrCat("the system ", last_end_, "; it is started again in ",
                       absl::FormatDuration(absl::Ceil(wait, absl::Seconds(1)))));
    }
    absl::StatusOr<std::unique_ptr<ServedProcess>> started =
        ServedProcess::Start(options_, watcher_);
    if (!started.ok()) {
      return Failed(absl::StrCat("cannot be started: ", started.status().message()));
    }
    process_ = *std::move(started);
  }
  const std::string id = QuestionId(passage, question);
  SystemClock real;  // the process runs in real time
  absl::StatusOr<std::string> line =
      process_->Ask(QuestionLine(id, passage, question), real,
                    real.Now() + (is_new ? std::max(options_.start_max, options_.answer_max)
                                         : options_.answer_max));
  if (line.ok()) {
    line = AnswerIn(*line, id);
  }
  if (!line.ok()) {
    return Failed(std::string(line.status().message()));
  }
  backoff_ = options_.backoff_min;
  return line;
}

absl::Status ServedSystem::Failed(const std::string& what) {
  process_.reset();
  not_before_ = clock_.Now() + backoff_;
  backoff_ = std::min(2 * backoff_, options_.backoff_max);
  last_end_ = absl::StrCat(what, options_.hint == nullptr ? "" : options_.hint());
  return absl::UnavailableError(absl::StrCat("the system ", last_end_));
}

}  // namespace concur::worker
