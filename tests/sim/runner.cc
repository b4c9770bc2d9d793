// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::sim {
namespace {

constexpr int kPollMilliseconds = 200;

// A child process that writes lines to its parent; its standard error is kept.
class Child {
 public:
  // Runs `work` with the write end of the pipe in a process that ends when it returns.
  static absl::StatusOr<std::unique_ptr<Child>> Start(const std::function<void(int)>& work) {
    int ends[2];
    if (pipe(ends) != 0) {
      return absl::InternalError(ErrnoStatus(errno, "pipe", "make").message());
    }
    auto child = std::unique_ptr<Child>(new Child);
    child->read_end_ = FileDescriptor(ends[0]);
    FileDescriptor write_end(ends[1]);
    child->errors_ = FileDescriptor(memfd_create("chaos", MFD_CLOEXEC));
    std::fflush(nullptr);
    child->pid_ = fork();
    if (child->pid_ < 0) {
      return absl::InternalError(ErrnoStatus(errno, "process", "fork").message());
    }
    if (child->pid_ == 0) {
      const rlimit no_core{0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      if (child->errors_.valid()) {
        dup2(child->errors_.get(), STDERR_FILENO);
      }
      child->read_end_.Reset();
      SetLog(LogLevel::kNone, LogFormat::kText);
      work(write_end.get());
      _exit(EXIT_SUCCESS);
    }
    return child;
  }

  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  int fd() const { return read_end_.get(); }

  // Reads available output and passes complete lines to `use`. False at the end.
  bool Read(const std::function<void(const std::string&)>& use) {
    char buffer[1 << 16];
    const ssize_t got = read(read_end_.get(), buffer, sizeof buffer);
    if (got < 0) {
      return errno == EINTR || errno == EAGAIN;
    }
    rest_.append(buffer, static_cast<size_t>(got));
    for (size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n')) {
      use(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    return got > 0;
  }

  // Waits for the process. "" if it exited normally; else the end of its standard error.
  std::string Wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
      return "";
    }
    std::string words(4096, '\0');
    const ssize_t got = pread(errors_.get(), words.data(), words.size(), 0);
    words.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return absl::StrCat("the process ended by signal ", WTERMSIG(status), ": ",
                        absl::StripAsciiWhitespace(words));
  }

 private:
  Child() = default;

  FileDescriptor read_end_;
  FileDescriptor errors_;
  pid_t pid_ = 0;
  std::string rest_;
};

// A stream into a pipe; ignores that the reader has closed it.
class PipeBuffer : public std::streambuf {
 public:
  explicit PipeBuffer(int fd) : fd_(fd) {}

 protected:
  int overflow(int c) override {
    const char byte = static_cast<char>(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    return WriteAll(fd_, {data, static_cast<size_t>(size)}, "pipe").ok() ? size : 0;
  }

 private:
  const int fd_;
};

// "begin SEED" and "end SEED STEPS JOBS COUNTED ACKNOWLEDGED GIVEN-UP QUARANTINES READS
// IMPORTS REPORTED-STEPS STOPPED RESUMED STAGED CHOSEN USED-UP FAULTS… VIOLATION".
constexpr size_t kFieldsBeforeFaults = 17;

std::string EndLine(uint64_t seed, const SimulationReport& report) {
  return absl::StrCat("end ", seed, " ", report.steps, " ", report.jobs, " ", report.counted, " ",
                      report.acknowledged, " ", report.given_up, " ", report.quarantines, " ",
                      report.reads, " ", report.imports, " ", report.reported_steps, " ",
                      report.stopped, " ", report.resumed, " ", report.staged, " ", report.chosen,
                      " ", report.used_up, " ", report.over_budget, " ",
                      absl::StrJoin(report.faults, " "), " ",
                      absl::StrReplaceAll(report.violation, {{"\n", " "}}), "\n");
}

void AddEnd(const std::string& line, SeedsReport& report) {
  const std::vector<std::string> fields =
      absl::StrSplit(line, absl::MaxSplits(' ', kFieldsBeforeFaults + kFaults));
  if (fields.size() != kFieldsBeforeFaults + kFaults + 1) {
    return;
  }
  const auto number = [&](size_t at) {
    uint64_t value = 0;
    return absl::SimpleAtoi(fields[at], &value) ? value : 0;
  };
  ++report.seeds;
  report.steps += number(2);
  report.jobs += number(3);
  report.counted += number(4);
  report.acknowledged += number(5);
  report.given_up += number(6);
  report.quarantines += number(7);
  report.reads += number(8);
  report.imports += number(9);
  report.reported_steps += number(10);
  report.stopped += number(11);
  report.resumed += number(12);
  report.staged += number(13);
  report.chosen += number(14);
  report.used_up += number(15);
  report.over_budget += number(16);
  for (size_t i = 0; i < kFaults; ++i) {
    report.faults[i] += number(kFieldsBeforeFaults + i);
  }
  if (!fields.back().empty()) {
    report.failures.push_back({number(1), fields.back()});
  }
}

// Runs the seeds `first`, `first + stride`, … below `end`.
void RunSome(const SimulationOptions& options, uint64_t first, uint64_t end, uint64_t stride,
             int fd) {
  for (uint64_t seed = first; seed < end; seed += stride) {
    SimulationOptions one = options;
    one.seed = seed;
    one.trace = nullptr;
    if (!WriteAll(fd, absl::StrCat("begin ", seed, "\n"), "pipe").ok() ||
        !WriteAll(fd, EndLine(seed, Simulate(one)), "pipe").ok()) {
      return;  // the parent has closed the pipe
    }
  }
}

}  // namespace

absl::StatusOr<SeedsReport> RunSeeds(const SeedsOptions& options) {
  const uint64_t end = options.first_seed + options.seeds;
  const auto stride = static_cast<uint64_t>(std::max(options.processes, 1));
  struct Lane {
    std::unique_ptr<Child> child;
    uint64_t seed = 0;  // the current one
  };
  std::vector<Lane> lanes(std::min(stride, options.seeds));
  const auto start = [&](Lane& lane, uint64_t first) -> absl::Status {
    lane.child.reset();
    if (first >= end) {
      return absl::OkStatus();
    }
    lane.seed = first;
    CONCUR_ASSIGN_OR_RETURN(lane.child, Child::Start([&](int fd) {
                              RunSome(options.simulation, first, end, stride, fd);
                            }));
    return absl::OkStatus();
  };
  for (size_t i = 0; i < lanes.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(start(lanes[i], options.first_seed + i));
  }
  SeedsReport report;
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<Lane*> open;
    for (Lane& lane : lanes) {
      if (lane.child != nullptr) {
        fds.push_back({lane.child->fd(), POLLIN, 0});
        open.push_back(&lane);
      }
    }
    const bool go_on = options.progress == nullptr || options.progress(report.seeds);
    if (fds.empty() || !go_on || report.failures.size() >= options.failures_max) {
      break;
    }
    poll(fds.data(), fds.size(), kPollMilliseconds);
    for (size_t i = 0; i < fds.size(); ++i) {
      Lane& lane = *open[i];
      if (fds[i].revents == 0 || lane.child->Read([&](const std::string& line) {
            const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 2));
            if (fields[0] == "end") {
              AddEnd(line, report);
            } else if (fields.size() > 1 && !absl::SimpleAtoi(fields[1], &lane.seed)) {
              lane.seed = end;
            }
          })) {
        continue;
      }
      const std::string words = lane.child->Wait();
      if (words.empty()) {
        lane.child.reset();
        continue;
      }
      ++report.seeds;
      report.failures.push_back({lane.seed, words});
      CONCUR_RETURN_IF_ERROR(start(lane, lane.seed + stride));
    }
  }
  std::sort(report.failures.begin(), report.failures.end(),
            [](const SeedFailure& a, const SeedFailure& b) { return a.seed < b.seed; });
  return report;
}

absl::StatusOr<std::vector<std::string>> TraceOf(const SimulationOptions& options,
                                                 size_t lines_max) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Child> child, Child::Start([&](int fd) {
                            PipeBuffer buffer(fd);
                            std::ostream stream(&buffer);
                            SimulationOptions traced = options;
                            traced.trace = &stream;
                            Simulate(traced);
                          }));
  std::deque<std::string> lines;
  const auto add = [&](const std::string& line) {
    lines.push_back(line);
    if (lines.size() > lines_max) {
      lines.pop_front();
    }
  };
  while (child->Read(add)) {
  }
  if (const std::string words = child->Wait(); !words.empty()) {
    add(absl::StrCat("BROKEN: ", words));
  }
  return std::vector<std::string>(lines.begin(), lines.end());
}

}  // namespace concur::sim
