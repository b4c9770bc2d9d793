// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/process/process.h"
#include "base/process/process_tree.h"
#include "base/process/process_watcher.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "studies/annotation/room.h"

namespace concur::annotation {
namespace {

constexpr absl::Duration kMemoryInterval = absl::Milliseconds(250);
// Between checks for Cancel.
constexpr absl::Duration kCancelInterval = absl::Milliseconds(100);
constexpr int64_t kLogBytesMax = int64_t{8} << 20;
constexpr size_t kLineBytesMax = size_t{64} << 10;
// Between a process that failed and the next one; doubles.
constexpr absl::Duration kBackoffMin = absl::Seconds(1);
constexpr absl::Duration kBackoffMax = absl::Seconds(60);

// A digest of the question: a system that draws by it answers the same when it is asked again.
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
  if (const absl::Status valid =
          CheckText(FieldPath("answer.text"), *answer, kSystemAnswerBytesMax);
      !valid.ok()) {
    return absl::UnavailableError(
        absl::StrCat("printed an answer that cannot be shown: ", valid.message()));
  }
  return *answer;
}

std::string HowItEnded(const process::ProcessEnd& end, int64_t memory_bytes_max) {
  if (end.killed_for == process::KillCause::kMemory) {
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
absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "a system", "make a pipe for");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

absl::StatusOr<process::Process> StartSystemProcess(const SystemOptions& options,
                                                    const process::Streams& streams) {
  process::Command command;
  std::map<std::string, std::string> variables = process::BaseEnvironment();
  CONCUR_ASSIGN_OR_RETURN(
      command.program,
      process::FindProgram(options.command[0], variables["PATH"], options.directory));
  for (const auto& [name, value] : options.env) {
    variables[name] = value;
  }
  variables[process::kRunDirectoryVariable] = options.directory;
  command.argv = options.command;
  for (const auto& [name, value] : variables) {
    command.env.push_back(absl::StrCat(name, "=", value));
  }
  command.directory = options.directory;
  process::JobGroupPtr group;
  if (options.confinement != nullptr && options.confinement->has_sandbox()) {
    CONCUR_ASSIGN_OR_RETURN(command, options.confinement->Wrap(command));
  }
  if (options.confinement != nullptr && options.confinement->cgroups() != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(
        group, options.confinement->cgroups()->Take({.memory_bytes_max = options.memory_bytes_max,
                                                     .processes_max = options.processes_max}));
    command.group = group.get();
  }
  command.file_bytes_max = options.file_bytes_max;
  command.streams = streams;
  CONCUR_ASSIGN_OR_RETURN(process::Process process, process::StartProcess(command));
  process.group = std::move(group);
  return process;
}

// The running process and what is read of its output. A watcher takes its standard error, enforces
// its limits of memory, and ends it with all that it started.
class SystemProcess {
 public:
  static absl::StatusOr<std::unique_ptr<SystemProcess>> Start(const SystemOptions& options,
                                                              process::ProcessWatcher& watcher,
                                                              const std::atomic<bool>& canceled) {
    CONCUR_ASSIGN_OR_RETURN(Pipe input, MakePipe());
    CONCUR_ASSIGN_OR_RETURN(Pipe output, MakePipe());
    fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
    fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
    unlink(options.log.c_str());  // removes the log of the process before
    CONCUR_ASSIGN_OR_RETURN(process::Process process,
                            StartSystemProcess(options, {.input_fd = input.read.get(),
                                                         .output_fd = output.write.get()}));
    std::unique_ptr<SystemProcess> served(new SystemProcess(
        options, watcher, canceled, std::move(input.write), std::move(output.read)));
    process::WatchOptions limits;
    limits.memory_bytes_max = options.memory_bytes_max;
    limits.log_path = options.log;
    limits.log_bytes_max = kLogBytesMax;
    limits.run_directory = options.directory;
    watcher.Watch(kNumber, std::move(process), std::move(limits),
                  [process = served.get()](process::ProcessEnd end) {
                    MutexLock lock(process->mu_);
                    process->end_ = std::move(end);
                    process->ended_.NotifyAll();
                  });
    return served;
  }

  ~SystemProcess() { Stop(absl::ZeroDuration()); }

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
      if (unread_.size() > kLineBytesMax) {
        return absl::UnavailableError(
            absl::StrCat("printed a line of more than ", kLineBytesMax, " bytes"));
      }
      const absl::Duration left = deadline - clock.Now();
      if (left <= absl::ZeroDuration()) {
        return absl::UnavailableError("did not answer in time");
      }
      if (canceled_) {
        return absl::CancelledError("was stopped: nobody asks it any more");
      }
      CONCUR_RETURN_IF_ERROR(Move(line, written, left));
    }
  }

 private:
  static constexpr uint64_t kNumber = 1;  // for the watcher: there is one at a time
  static constexpr absl::Duration kEndGrace = absl::Milliseconds(100);

  SystemProcess(const SystemOptions& options, process::ProcessWatcher& watcher,
                const std::atomic<bool>& canceled, FileDescriptor input, FileDescriptor output)
      : options_(options),
        watcher_(watcher),
        canceled_(canceled),
        input_(std::move(input)),
        output_(std::move(output)) {}

  // Waits for a change, up to `left`; writes and reads what is possible.
  absl::Status Move(const std::string& line, size_t& written, absl::Duration left) {
    std::array<pollfd, 2> polled = {pollfd{output_.get(), POLLIN, 0},
                                    pollfd{written < line.size() ? input_.get() : -1, POLLOUT, 0}};
    const int64_t wait = absl::ToInt64Milliseconds(std::min(left, kCancelInterval)) + 1;
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

  // Says "did this or that" of a process that has closed its standard output.
  std::string WhyItClosed() {
    const process::ProcessEnd end = Stop(kEndGrace);  // it may be about to end: how says why
    return end.killed_for == process::KillCause::kStop ? "closed its standard output"
                                                       : HowItEnded(end, options_.memory_bytes_max);
  }

  // Kills it with all that it started, unless it ends by itself within `grace`.
  process::ProcessEnd Stop(absl::Duration grace) {
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

  const SystemOptions& options_;  // the system's, which lives longer
  process::ProcessWatcher& watcher_;
  const std::atomic<bool>& canceled_;  // the system's: nobody waits for an answer any more
  FileDescriptor input_;
  FileDescriptor output_;
  std::string unread_;  // part of its output
  Mutex mu_;
  CondVar ended_;
  std::optional<process::ProcessEnd> end_ ABSL_GUARDED_BY(mu_);
};

class LocalSystem final : public System {
 public:
  LocalSystem(Clock& clock, SystemOptions options) : clock_(clock), options_(std::move(options)) {
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
      absl::StatusOr<std::unique_ptr<SystemProcess>> started =
          SystemProcess::Start(options_, watcher_, canceled_);
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
    backoff_ = kBackoffMin;
    return line;
  }
  void Cancel() override { canceled_ = true; }

 private:
  absl::Status Failed(const std::string& what) {
    process_.reset();
    not_before_ = clock_.Now() + backoff_;
    backoff_ = std::min(2 * backoff_, kBackoffMax);
    last_end_ = absl::StrCat(what, " (its log: ", options_.log, ")");
    return absl::UnavailableError(absl::StrCat("the system ", last_end_));
  }

  Clock& clock_;
  const SystemOptions options_;
  std::atomic<bool> canceled_ = false;
  process::ProcessTable processes_;
  process::ProcessWatcher watcher_{kMemoryInterval, processes_};
  std::unique_ptr<SystemProcess> process_;  // null: none runs
  absl::Time not_before_ = absl::InfinitePast();
  absl::Duration backoff_ = kBackoffMin;
  std::string last_end_;
};

}  // namespace

std::unique_ptr<System> MakeLocalSystem(Clock& clock, const SystemOptions& options) {
  return std::make_unique<LocalSystem>(clock, options);
}

}  // namespace concur::annotation
