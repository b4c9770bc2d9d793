// SPDX-License-Identifier: Apache-2.0
#include "annotation/system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "annotation/room.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "worker/process.h"
#include "worker/process_tree.h"
#include "worker/process_watcher.h"

namespace concur::annotation {
namespace {

constexpr absl::Duration kMemoryInterval = absl::Milliseconds(250);

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
  if (answer->size() > kSystemAnswerBytesMax) {
    return absl::UnavailableError(
        absl::StrCat("answered with more than ", kSystemAnswerBytesMax, " bytes"));
  }
  return *answer;
}

std::string HowItEnded(const worker::ProcessEnd& end, int64_t memory_bytes_max) {
  if (end.killed_for == worker::KillCause::kMemory) {
    return absl::StrCat("took more than the ", memory_bytes_max >> 20,
                        " MiB of memory that it may have, and was stopped");
  }
  if (end.kernel_oom) {
    return absl::StrCat("was stopped by the kernel for memory, of which it may have ",
                        memory_bytes_max >> 20, " MiB");
  }
  return WIFSIGNALED(end.wait_status)
             ? absl::StrCat("was ended by signal ", WTERMSIG(end.wait_status))
             : absl::StrCat("ended with exit code ", WEXITSTATUS(end.wait_status));
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
absl::StatusOr<Pipe> MakePipe(const std::string& whose) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, whose, "make a pipe");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

absl::StatusOr<worker::Command> CommandOf(const SystemOptions& options) {
  worker::Command command;
  std::map<std::string, std::string> variables = worker::BaseEnvironment();
  CONCUR_ASSIGN_OR_RETURN(
      command.program,
      worker::FindProgram(options.command[0], variables["PATH"], options.directory));
  for (const auto& [name, value] : options.env) {
    variables[name] = value;
  }
  variables[worker::kRunDirectoryVariable] = options.directory;
  command.argv = options.command;
  for (const auto& [name, value] : variables) {
    command.env.push_back(absl::StrCat(name, "=", value));
  }
  command.directory = options.directory;
  return options.confinement != nullptr && options.confinement->has_sandbox()
             ? options.confinement->Wrap(command)
             : command;
}

// The running process and what is read of its output. A watcher takes its standard error, enforces
// its limits of memory, and ends it with all that it started.
class ServedProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ServedProcess>> Start(const SystemOptions& options,
                                                              worker::ProcessWatcher& watcher) {
    CONCUR_ASSIGN_OR_RETURN(Pipe input, MakePipe(options.command[0]));
    CONCUR_ASSIGN_OR_RETURN(Pipe output, MakePipe(options.command[0]));
    fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
    fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
    unlink(options.log.c_str());  // of the one before
    CONCUR_ASSIGN_OR_RETURN(worker::Command command, CommandOf(options));
    command.file_bytes_max = options.file_bytes_max;
    command.input_fd = input.read.get();
    command.output_fd = output.write.get();
    worker::JobGroupPtr group;
    if (options.confinement != nullptr && options.confinement->cgroups() != nullptr) {
      CONCUR_ASSIGN_OR_RETURN(
          group, options.confinement->cgroups()->Take({.memory_bytes_max = options.memory_bytes_max,
                                                       .processes_max = options.processes_max}));
      command.group = group.get();
    }
    CONCUR_ASSIGN_OR_RETURN(worker::Process process, worker::StartProcess(command));
    process.group = std::move(group);
    std::unique_ptr<ServedProcess> served(
        new ServedProcess(options, watcher, std::move(input.write), std::move(output.read)));
    worker::WatchOptions limits;
    limits.memory_bytes_max = options.memory_bytes_max;
    limits.log_path = options.log;
    limits.log_bytes_max = options.log_bytes_max;
    limits.run_directory = options.directory;
    watcher.Watch(kNumber, std::move(process), std::move(limits),
                  [process = served.get()](worker::ProcessEnd end) {
                    process->end_ = std::move(end);
                    process->ended_.Notify();
                  });
    return served;
  }

  ~ServedProcess() { Stop(); }

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
      CONCUR_RETURN_IF_ERROR(Move(line, written, left));
    }
  }

 private:
  static constexpr uint64_t kNumber = 1;  // for the watcher: there is one at a time

  ServedProcess(const SystemOptions& options, worker::ProcessWatcher& watcher, FileDescriptor input,
                FileDescriptor output)
      : options_(options),
        watcher_(watcher),
        input_(std::move(input)),
        output_(std::move(output)) {}

  // Waits for a change, up to `left`; writes and reads what is possible.
  absl::Status Move(const std::string& line, size_t& written, absl::Duration left) {
    std::array<pollfd, 2> polled = {pollfd{output_.get(), POLLIN, 0},
                                    pollfd{written < line.size() ? input_.get() : -1, POLLOUT, 0}};
    const int64_t wait = absl::ToInt64Milliseconds(std::min(left, absl::Seconds(60))) + 1;
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
    // It may be about to end: how says why.
    ended_.WaitForNotificationWithTimeout(absl::Milliseconds(100));
    Stop();
    return end_.killed_for == worker::KillCause::kStop
               ? "closed its standard output"
               : HowItEnded(end_, options_.memory_bytes_max);
  }

  // Kills it with all that it started, unless it has ended by itself.
  void Stop() {
    if (!ended_.HasBeenNotified()) {
      watcher_.Stop(kNumber, /*at_once=*/true);
      ended_.WaitForNotification();
    }
  }

  const SystemOptions& options_;  // of the system, which lives longer
  worker::ProcessWatcher& watcher_;
  FileDescriptor input_;
  FileDescriptor output_;
  std::string unread_;  // of its output
  absl::Notification ended_;
  worker::ProcessEnd end_;  // once ended_
};

class ServedSystem final : public System {
 public:
  ServedSystem(Clock& clock, SystemOptions options)
      : clock_(clock), options_(std::move(options)), backoff_(options_.backoff_min) {
    CONCUR_CHECK(!options_.command.empty());
  }

  absl::StatusOr<std::string> Answer(const std::string& passage,
                                     const std::string& question) override {
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
      return Failed(absl::StrCat(line.status().message(), " (its log: ", options_.log, ")"));
    }
    backoff_ = options_.backoff_min;
    return line;
  }

 private:
  absl::Status Failed(const std::string& what) {
    process_.reset();
    not_before_ = clock_.Now() + backoff_;
    backoff_ = std::min(2 * backoff_, options_.backoff_max);
    last_end_ = what;
    return absl::UnavailableError(absl::StrCat("the system ", what));
  }

  Clock& clock_;
  const SystemOptions options_;
  worker::ProcessTable processes_;
  worker::ProcessWatcher watcher_{kMemoryInterval, processes_};
  std::unique_ptr<ServedProcess> process_;  // null: none runs
  absl::Time not_before_ = absl::InfinitePast();
  absl::Duration backoff_;
  std::string last_end_;
};

}  // namespace

std::unique_ptr<System> MakeServedSystem(Clock& clock, SystemOptions options) {
  return std::make_unique<ServedSystem>(clock, std::move(options));
}

}  // namespace concur::annotation
