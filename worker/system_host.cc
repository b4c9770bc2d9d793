// SPDX-License-Identifier: Apache-2.0
#include "worker/system_host.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "worker/environments.h"
#include "worker/inputs.h"
#include "worker/served_system.h"
#include "worker/start_job.h"

namespace concur::worker {

// What a system needs to start, and keeps while it is served.
struct PreparedSystem {
  std::vector<std::string> argv;
  std::optional<ReadyEnvironment> environment;
  PreparedInputs inputs;
};

namespace {

constexpr int64_t kLogBytesMax = int64_t{1} << 20;
constexpr size_t kLogTailBytes = 1000;

// The order of a job that predicts with the system, but for its data.
JobOrder PredictingOrder(const ServeOrder& order) {
  JobOrder job = order.train;
  job.is_train = false;
  job.train.clear();
  job.validation.clear();
  job.checkpoint.reset();
  job.command = order.command;
  job.resources = order.resources;
  job.system = order.system;
  job.system_bytes = order.system_bytes;
  return job;
}

// The end of what a system printed to its standard error, on one line.
std::string TailOf(const std::string& log) {
  const std::string text = ReadFile(log, 2 * kLogBytesMax).value_or("");
  std::string tail = CleanUtf8(text.substr(text.size() - std::min(text.size(), kLogTailBytes)));
  std::replace_if(
      tail.begin(), tail.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  const absl::string_view bare = absl::StripAsciiWhitespace(tail);
  return bare.empty() ? "" : absl::StrCat("; it printed: ", bare);
}

// Removes a run directory and its log at the end.
class RunDirectoryScope {
 public:
  RunDirectoryScope(RunDirectories& directories, const RunPaths& paths)
      : directories_(directories), paths_(paths) {}
  ~RunDirectoryScope() {
    if (const absl::Status removed = directories_.Remove(paths_); !removed.ok()) {
      LogWarning("a served system's directory could not be removed",
                 {{"error", removed.ToString()}});
    }
  }
  RunDirectoryScope(const RunDirectoryScope&) = delete;
  RunDirectoryScope& operator=(const RunDirectoryScope&) = delete;

 private:
  RunDirectories& directories_;
  const RunPaths& paths_;
};

}  // namespace

SystemHost::SystemHost(Clock& clock, ServingGateway& gateway,
                       SubprocessExecutor::Workplace workplace, WorkerInfo worker,
                       const Options& options)
    : clock_(clock),
      gateway_(gateway),
      workplace_(workplace),
      worker_(std::move(worker)),
      options_(options),
      streams_(static_cast<size_t>(options.places), nullptr) {
  for (size_t place = 0; place < streams_.size(); ++place) {
    threads_.emplace_back([this, place] { Run(place); });
  }
}

SystemHost::~SystemHost() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    for (ServingStream* const stream : streams_) {
      if (stream != nullptr) {
        stream->Cancel();
      }
    }
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void SystemHost::SetDraining(bool draining) {
  MutexLock lock(mutex_);
  if (draining_ == draining) {
    return;
  }
  draining_ = draining;
  changed_.NotifyAll();
  // Under the lock, which keeps the streams.
  for (ServingStream* const stream : streams_) {
    if (draining && stream != nullptr) {
      stream->Cancel();
    }
  }
}

bool SystemHost::AwaitTurn() {
  MutexLock lock(mutex_);
  while (draining_ && !stopping_) {
    changed_.Wait(mutex_);
  }
  return !stopping_;
}

void SystemHost::Pause(absl::Duration duration) {
  const absl::Time end = clock_.Now() + duration;
  MutexLock lock(mutex_);
  while (!stopping_ && clock_.Now() < end) {
    changed_.WaitWithTimeout(mutex_, end - clock_.Now());
  }
}

void SystemHost::Run(size_t place) {
  absl::Duration backoff = options_.backoff_min;
  while (AwaitTurn()) {
    const std::unique_ptr<ServingStream> stream = gateway_.Offer(worker_);
    {
      MutexLock lock(mutex_);
      streams_[place] = stream.get();
      if (stopping_ || draining_) {
        stream->Cancel();
      }
    }
    const bool served = Serve(place, *stream);
    {
      MutexLock lock(mutex_);
      streams_[place] = nullptr;
    }
    if (served) {
      backoff = options_.backoff_min;
      continue;
    }
    if (stream->ended()) {
      LogDebug("no system is served", {{"reason", stream->status().ToString()}});
    }
    Pause(backoff);
    backoff = std::min(2 * backoff, options_.backoff_max);
  }
}

uint64_t SystemHost::GpuMask(size_t place, int32_t gpus) const {
  // From the last one down: jobs get the first that are free.
  const auto all = static_cast<size_t>(worker_.capacity.gpus);
  const size_t count = std::min(static_cast<size_t>(gpus), all);
  uint64_t mask = 0;
  for (size_t i = 0; i < count; ++i) {
    mask |= uint64_t{1} << (all - 1 - (place * count + i) % all);
  }
  return mask;
}

absl::Status SystemHost::Prepare(const JobOrder& order, const RunPaths& paths,
                                 ServingStream& stream, PreparedSystem& prepared) {
  const auto is_canceled = [&stream] { return stream.ended(); };
  CONCUR_RETURN_IF_ERROR(workplace_.directories.Make(paths));
  CONCUR_ASSIGN_OR_RETURN(prepared.argv, ExpandOrder(order, paths));
  if (order.environment) {
    CONCUR_ASSIGN_OR_RETURN(
        prepared.environment,
        PrepareEnvironment(order, workplace_.artifacts, workplace_.options, is_canceled));
  }
  CONCUR_ASSIGN_OR_RETURN(prepared.inputs,
                          PrepareCodeAndSystem(order, paths, workplace_.artifacts, is_canceled));
  return absl::OkStatus();
}

bool SystemHost::Serve(size_t place, ServingStream& stream) {
  const std::optional<ServingStream::Message> first = stream.Wait();
  const auto* const order = first ? std::get_if<ServeOrder>(&*first) : nullptr;
  if (order == nullptr) {
    return false;
  }
  JobOrder job = PredictingOrder(*order);
  job.gpu_mask = GpuMask(place, job.resources.GpuCount());
  const RunPaths paths = workplace_.directories.PathsOf(job, absl::StrCat("serve-", place));
  const RunDirectoryScope scope(workplace_.directories, paths);
  const LogFields fields = {{"job", job.id.job.ToString()}, {"owner", job.owner}};
  PreparedSystem prepared;
  absl::Status status = Prepare(job, paths, stream, prepared);
  for (absl::Duration wait = options_.backoff_min; absl::IsUnavailable(status) && !stream.ended();
       wait = std::min(2 * wait, absl::Seconds(5))) {
    Pause(wait);  // an environment that another one builds, or a coordinator that is away
    status = Prepare(job, paths, stream, prepared);
  }
  if (!status.ok()) {
    if (!stream.ended()) {  // else nobody waits for it any more
      LogWarning("a system cannot be served", {{"error", status.ToString()}, fields[0], fields[1]});
    }
    stream.Fail(std::string(status.message()));
    return false;
  }
  LogInfo("a system answers", fields);
  stream.Prepared();

  ServedSystemOptions served;
  served.start = [&](const Streams& streams) {
    return StartJob(job, paths, prepared.argv,
                    prepared.environment ? &*prepared.environment : nullptr, workplace_.options,
                    streams);
  };
  served.directory = paths.directory;
  served.log = paths.log;
  served.log_bytes_max = kLogBytesMax;
  served.memory_bytes_max =
      job.resources.memory_bytes > 0 ? job.resources.memory_bytes : kServedMemoryBytes;
  served.disk_bytes_max = workplace_.options.output_bytes_max;
  served.answer_max = order->answer_max;
  served.is_canceled = [&stream] { return stream.ended(); };
  served.hint = [&paths] { return TailOf(paths.log); };
  ServedSystem system(clock_, workplace_.processes, std::move(served));
  while (const std::optional<ServingStream::Message> message = stream.Wait()) {
    const auto* const question = std::get_if<ServedQuestion>(&*message);
    if (question == nullptr) {
      break;  // a second order
    }
    absl::StatusOr<std::string> answer = system.Answer(question->passage, question->question);
    stream.Answer({question->number, answer.ok(),
                   answer.ok() ? *std::move(answer) : std::string(answer.status().message())});
  }
  LogInfo("a system answers no longer", fields);
  return true;
}

}  // namespace concur::worker
