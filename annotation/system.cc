// SPDX-License-Identifier: Apache-2.0
#include "annotation/system.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "annotation/room.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "worker/process.h"

namespace concur::annotation {
namespace {

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

std::string HowItEnded(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("was ended by signal ", WTERMSIG(status))
                             : absl::StrCat("ended with exit code ", WEXITSTATUS(status));
}

// The running process and what is read of its output.
class ServedProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ServedProcess>> Start(const SystemOptions& options) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return ErrnoStatus(errno, options.command[0], "make a pipe");
    }
    const FileDescriptor read_end(ends[0]);
    FileDescriptor write_end(ends[1]);
    fcntl(write_end.get(), F_SETFL, O_NONBLOCK);
    const FileDescriptor log(open(options.log.c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                                  0600));
    if (!log.valid()) {
      return ErrnoStatus(errno, options.log, "open");
    }
    worker::Command command;
    std::map<std::string, std::string> variables = worker::BaseEnvironment();
    CONCUR_ASSIGN_OR_RETURN(
        command.program,
        worker::FindProgram(options.command[0], variables["PATH"], options.directory));
    command.argv = options.command;
    for (const auto& [name, value] : variables) {
      command.env.push_back(absl::StrCat(name, "=", value));
    }
    command.env.insert(command.env.end(), options.env.begin(), options.env.end());
    command.directory = options.directory;
    command.file_bytes_max = options.file_bytes_max;
    command.input_fd = read_end.get();
    command.error_fd = log.get();
    CONCUR_ASSIGN_OR_RETURN(worker::Process process, worker::StartProcess(command));
    return std::unique_ptr<ServedProcess>(
        new ServedProcess(std::move(process), std::move(write_end), options.line_bytes_max));
  }

  ~ServedProcess() { End(); }

  // Writes `line` and reads one. Unavailable, "did this or that".
  absl::StatusOr<std::string> Ask(const std::string& line, Clock& clock, absl::Time deadline) {
    if (!output_.empty()) {
      return absl::UnavailableError("printed more than one line for a question");
    }
    size_t written = 0;
    for (;;) {
      const size_t end = output_.find('\n');
      if (end != std::string::npos) {
        std::string answer = output_.substr(0, end);
        output_.erase(0, end + 1);
        return answer;
      }
      if (output_.size() > line_bytes_max_) {
        return absl::UnavailableError(
            absl::StrCat("printed a line of more than ", line_bytes_max_, " bytes"));
      }
      const absl::Duration left = deadline - clock.Now();
      if (left <= absl::ZeroDuration()) {
        return absl::UnavailableError("did not answer in time");
      }
      CONCUR_RETURN_IF_ERROR(Move(line, written, left));
    }
  }

 private:
  ServedProcess(worker::Process process, FileDescriptor input, size_t line_bytes_max)
      : process_(std::move(process)), input_(std::move(input)), line_bytes_max_(line_bytes_max) {}

  // Waits for a change, up to `left`; writes and reads what is possible.
  absl::Status Move(const std::string& line, size_t& written, absl::Duration left) {
    std::array<pollfd, 2> polled = {pollfd{process_.output.get(), POLLIN, 0},
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
      const ssize_t count = read(process_.output.get(), buffer.data(), buffer.size());
      if (count > 0) {
        output_.append(buffer.data(), static_cast<size_t>(count));
      } else if (count == 0) {
        return absl::UnavailableError(End());
      }
    }
    return absl::OkStatus();
  }

  // Kills the process with its group, unless it has ended by itself: "did this or that".
  std::string End() {
    if (process_.pid < 0) {
      return "has ended";
    }
    int status = 0;
    // One that has closed its output may be about to end: how says why.
    pollfd ended = {process_.pidfd.get(), POLLIN, 0};
    const bool has_ended = poll(&ended, 1, output_.empty() ? 100 : 0) > 0;
    kill(-process_.pid, SIGKILL);
    kill(process_.pid, SIGKILL);  // it may have left its group
    while (waitpid(process_.pid, &status, 0) < 0 && errno == EINTR) {
    }
    process_.pid = -1;
    // Else it lived until it was killed here.
    return has_ended || !WIFSIGNALED(status) ? HowItEnded(status) : "closed its standard output";
  }

  worker::Process process_;
  FileDescriptor input_;
  const size_t line_bytes_max_;
  std::string output_;  // not yet taken
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
      absl::StatusOr<std::unique_ptr<ServedProcess>> started = ServedProcess::Start(options_);
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
