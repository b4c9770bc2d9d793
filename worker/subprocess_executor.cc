#include "worker/subprocess_executor.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "worker/process_tree.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kTransferBackoffMin = absl::Milliseconds(200);

absl::Status Canceled() { return absl::CancelledError("stopped"); }

// Whether a transfer may work later. Everything but damage and refusals of the request itself: a
// result is not given up for a password that somebody will put right.
bool MayWorkLater(const absl::Status& status) {
  return !absl::IsNotFound(status) && !absl::IsDataLoss(status) &&
         !absl::IsInvalidArgument(status) && !absl::IsFailedPrecondition(status) &&
         !absl::IsOutOfRange(status) && !absl::IsUnimplemented(status);
}

}  // namespace

struct SubprocessExecutor::Entry {
  enum class Stage { kPreparing, kRunning, kEnded };

  // Constant after construction.
  JobOrder order;
  RunPaths paths;
  uint64_t number = 0;
  absl::Time order_time;

  // Asked for by transfers while they run.
  std::atomic<bool> canceled = false;

  // Of the work under way, one thread at a time.
  std::vector<std::string> argv;
  PreparedInputs inputs;
  Scorer::Gold gold;
  absl::Time start_time;

  // Guarded by the executor's mu_.
  Stage stage = Stage::kPreparing;
  std::optional<StopCause> stopped;
  bool stop_at_once = false;
  bool has_slot = false;
};

std::map<std::string, std::string> BaseEnvironment() {
  std::map<std::string, std::string> environment;
  // Read once at the start, before there are other threads.
  for (const char* name : {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) {  // NOLINT(concurrency-mt-unsafe)
      environment[name] = value;
    }
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  environment["PATH"] =
      absl::StrCat(error ? "" : absl::StrCat(self.parent_path().string(), ":"),
                   path == nullptr || *path == '\0' ? "/usr/local/bin:/usr/bin:/bin" : path);
  return environment;
}

absl::StatusOr<std::unique_ptr<SubprocessExecutor>> SubprocessExecutor::Open(
    SubprocessOptions options, ArtifactTransfer& transfer, const absl::flat_hash_set<Digest>& live,
    std::function<void()> on_report) {
  CONCUR_ASSIGN_OR_RETURN(RunDirectories directories, RunDirectories::Open(options.work_directory));
  CONCUR_ASSIGN_OR_RETURN(auto artifacts, Artifacts::Open(options.work_directory, transfer));
  CONCUR_RETURN_IF_ERROR(artifacts->Collect(live, absl::Now() - options.cache_age_max));
  AdoptOrphans();
  return std::unique_ptr<SubprocessExecutor>(new SubprocessExecutor(
      std::move(options), std::move(directories), std::move(artifacts), std::move(on_report)));
}

SubprocessExecutor::SubprocessExecutor(SubprocessOptions options, RunDirectories directories,
                                       std::unique_ptr<Artifacts> artifacts,
                                       std::function<void()> on_report)
    : options_(std::move(options)),
      directories_(std::move(directories)),
      on_report_(std::move(on_report)),
      artifacts_(std::move(artifacts)),
      pool_(options_.threads),
      watcher_(options_.memory_interval) {}

SubprocessExecutor::~SubprocessExecutor() {
  {
    MutexLock lock(mu_);
    for (const auto& [id, entry] : entries_) {
      entry->canceled = true;
    }
  }
  // The pool's threads start processes and hand them to the watcher, which hands them back: the
  // threads end first, then the watcher with what still runs.
  pool_.Close();
}

void SubprocessExecutor::SetCoordinatorStore(const CoordinatorStore& store) {
  artifacts_->SetCoordinatorStore(store);
}

void SubprocessExecutor::Start(const JobOrder& order) {
  auto entry = std::make_shared<Entry>();
  entry->order = order;
  entry->paths = directories_.PathsOf(order);
  entry->order_time = absl::Now();
  {
    MutexLock lock(mu_);
    entry->number = next_number_++;
    entries_[order.id] = entry;
    if (options_.slots > 0 && slots_used_ >= options_.slots) {
      waiting_.push_back(entry);
      return;
    }
    ++slots_used_;
    entry->has_slot = true;
  }
  pool_.Submit([this, entry] { Prepare(entry, 0); });
}

void SubprocessExecutor::Stop(const AttemptId& id, StopCause cause, bool at_once) {
  EntryPtr entry;
  bool running = false;
  bool waited = false;
  {
    MutexLock lock(mu_);
    const auto it = entries_.find(id);
    if (it == entries_.end() || it->second->stage == Entry::Stage::kEnded) {
      return;
    }
    entry = it->second;
    if (!entry->stopped.has_value()) {
      entry->stopped = cause;
    }
    entry->stop_at_once = entry->stop_at_once || at_once;
    running = entry->stage == Entry::Stage::kRunning;
    waited = std::erase(waiting_, entry) > 0;
  }
  entry->canceled = true;
  if (waited) {
    pool_.Submit([this, entry] { Prepare(entry, 0); });  // which sees that it is stopped
  }
  if (running) {
    watcher_.Stop(entry->number, at_once);
  }
}

std::optional<StopCause> SubprocessExecutor::StopCauseOf(const Entry& entry) {
  MutexLock lock(mu_);
  return entry.stopped;
}

absl::Duration SubprocessExecutor::RetryDelay(int tries) const {
  return std::min(options_.transfer_backoff_max, kTransferBackoffMin * (1 << std::min(tries, 16)));
}

absl::Status SubprocessExecutor::PrepareFiles(Entry& entry) {
  // A second try after a transfer that did not come through starts from an empty directory.
  CONCUR_RETURN_IF_ERROR(directories_.Remove(entry.paths));
  CONCUR_RETURN_IF_ERROR(directories_.Make(entry.paths));
  CONCUR_ASSIGN_OR_RETURN(entry.argv, ExpandOrder(entry.order, entry.paths));
  CONCUR_ASSIGN_OR_RETURN(entry.inputs, PrepareInputs(entry.order, entry.paths, *artifacts_,
                                                      [&entry] { return entry.canceled.load(); }));
  // Test data that nobody can score against is found before the command runs for hours.
  if (!entry.order.is_train && entry.order.format == DataFormat::kQa) {
    CONCUR_ASSIGN_OR_RETURN(entry.gold,
                            scorer_.Load(entry.order.test.digest, entry.inputs.test_path));
  }
  return entry.canceled ? Canceled() : absl::OkStatus();
}

absl::StatusOr<Process> SubprocessExecutor::Launch(const Entry& entry) {
  Command command;
  command.env =
      BuildEnvironment(entry.order, entry.paths, options_.environment, options_.gpu_names);
  command.directory = entry.paths.directory;
  command.file_bytes_max = options_.output_bytes_max;
  command.argv = entry.argv;
  const auto own_path = entry.order.env.find("PATH");
  const auto base_path = options_.environment.find("PATH");
  const std::string path = own_path != entry.order.env.end()         ? own_path->second
                           : base_path != options_.environment.end() ? base_path->second
                                                                     : "";
  CONCUR_ASSIGN_OR_RETURN(command.program,
                          FindProgram(command.argv[0], path, entry.paths.directory));
  return StartProcess(command);
}

void SubprocessExecutor::FailBeforeStart(const EntryPtr& entry, JobResult result) {
  {
    MutexLock lock(mu_);
    entry->stage = Entry::Stage::kEnded;
    ReleaseSlot(*entry);
  }
  result.start_time = entry->order_time;
  Report({{entry->order.id, std::move(result)}, /*published=*/true});
}

void SubprocessExecutor::Prepare(const EntryPtr& entry, int tries) {
  const absl::Status prepared = entry->canceled ? Canceled() : PrepareFiles(*entry);
  if (const std::optional<StopCause> cause = StopCauseOf(*entry)) {
    FailBeforeStart(entry, FailedResult(FailureClass::kPreempted, StopCauseText(*cause)));
    return;
  }
  if (absl::IsUnavailable(prepared) || absl::IsDeadlineExceeded(prepared)) {
    LogDebug("inputs cannot be fetched now",
             {{"attempt", entry->order.id.ToString()}, {"error", prepared.ToString()}});
    pool_.SubmitAfter(RetryDelay(tries), [this, entry, tries] { Prepare(entry, tries + 1); });
    return;
  }
  if (!prepared.ok()) {
    FailBeforeStart(entry, FailedResult(ClassOfWorkerError(prepared), prepared.message()));
    return;
  }
  entry->start_time = absl::Now();
  absl::StatusOr<Process> process = Launch(*entry);
  if (!process.ok()) {
    const bool machine = absl::IsResourceExhausted(process.status());
    FailBeforeStart(entry, FailedResult(machine ? FailureClass::kWorker : FailureClass::kSpawn,
                                        process.status().message()));
    return;
  }
  LogDebug("started",
           {{"attempt", entry->order.id.ToString()}, {"pid", absl::StrCat(process->pid)}});
  WatchOptions watch;
  watch.timeout = entry->order.timeout;
  watch.grace = options_.grace;
  watch.memory_bytes_max = entry->order.resources.memory_bytes;
  watch.disk_bytes_max = options_.output_bytes_max;
  watch.log_path = entry->paths.log;
  watch.log_bytes_max = options_.log_bytes_max;
  watch.run_directory = entry->paths.directory;
  watcher_.Watch(entry->number, *std::move(process), std::move(watch),
                 [this, entry](ProcessEnd end) {
                   pool_.Submit([this, entry, end = std::move(end)] { Finish(entry, end); });
                 });
  bool stop = false;
  bool at_once = false;
  {
    MutexLock lock(mu_);
    if (entry->stage == Entry::Stage::kPreparing) {
      entry->stage = Entry::Stage::kRunning;
    }
    // A Stop that came while the process was being started has reached nobody.
    stop = entry->stopped.has_value();
    at_once = entry->stop_at_once;
  }
  if (stop) {
    watcher_.Stop(entry->number, at_once);
  }
}

void SubprocessExecutor::Finish(const EntryPtr& entry, const ProcessEnd& end) {
  std::optional<StopCause> stopped;
  {
    MutexLock lock(mu_);
    entry->stage = Entry::Stage::kEnded;
    stopped = entry->stopped;
    ReleaseSlot(*entry);
  }
  JobResult result = ClassifyEnd(entry->order, end, stopped);
  result.start_time = entry->start_time;
  result =
      CollectOutputs(entry->order, entry->paths, end, std::move(result), entry->gold, *artifacts_);
  entry->gold = nullptr;
  const bool published = result.artifacts.empty() || artifacts_->IsShared();
  Report({{entry->order.id, std::move(result)}, published});
}

void SubprocessExecutor::Publish(const FinishedAttempt& finished) {
  EntryPtr entry;
  {
    MutexLock lock(mu_);
    EntryPtr& slot = entries_[finished.id];
    if (slot == nullptr) {
      // Of an earlier incarnation: only its artifacts are left.
      slot = std::make_shared<Entry>();
      slot->order.id = finished.id;
      slot->paths = directories_.PathsOf(slot->order);
      slot->stage = Entry::Stage::kEnded;
    }
    entry = slot;
    // What was canceled is published all the same: the coordinator wants to hear of its end.
    entry->canceled = false;
  }
  pool_.Submit([this, entry, finished] { TryPublish(entry, finished, 0); });
}

void SubprocessExecutor::TryPublish(const EntryPtr& entry, const FinishedAttempt& finished,
                                    int tries) {
  absl::Status status;
  for (const ArtifactRef& artifact : finished.result.artifacts) {
    status = artifacts_->Publish(artifact.digest, [&entry] { return entry->canceled.load(); });
    if (!status.ok()) {
      break;
    }
  }
  if (entry->canceled) {
    return;  // forgotten meanwhile
  }
  if (status.ok()) {
    Report({finished, /*published=*/true});
  } else if (MayWorkLater(status)) {
    LogDebug("artifacts cannot be handed in now",
             {{"attempt", finished.id.ToString()}, {"error", status.ToString()}});
    pool_.SubmitAfter(RetryDelay(tries),
                      [this, entry, finished, tries] { TryPublish(entry, finished, tries + 1); });
  } else {
    JobResult failed = FailedResult(
        FailureClass::kWorker,
        absl::StrCat("the attempt's artifacts could not be handed in: ", status.message()));
    failed.start_time = finished.result.start_time;
    failed.run_time = finished.result.run_time;
    Report({{finished.id, std::move(failed)}, /*published=*/true});
  }
}

void SubprocessExecutor::Forget(const AttemptId& id) {
  EntryPtr entry;
  {
    MutexLock lock(mu_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) {
      return;
    }
    entry = std::move(it->second);
    entries_.erase(it);
  }
  entry->canceled = true;
  pool_.Submit([this, entry] {
    const absl::Status status = directories_.Remove(entry->paths);
    if (!status.ok()) {
      LogWarning("a run directory could not be removed", {{"error", status.ToString()}});
    }
  });
}

void SubprocessExecutor::ReleaseSlot(Entry& entry) {
  if (!entry.has_slot) {
    return;
  }
  entry.has_slot = false;
  --slots_used_;
  if (!waiting_.empty()) {
    EntryPtr next = std::move(waiting_.front());
    waiting_.pop_front();
    next->has_slot = true;
    ++slots_used_;
    pool_.Submit([this, next] { Prepare(next, 0); });
  }
}

void SubprocessExecutor::Report(ExecutorReport report) {
  {
    MutexLock lock(mu_);
    reports_.push_back(std::move(report));
  }
  on_report_();
}

std::vector<ExecutorReport> SubprocessExecutor::Poll() {
  std::vector<ExecutorReport> reports;
  MutexLock lock(mu_);
  reports.swap(reports_);
  return reports;
}

std::string SubprocessExecutor::ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) {
  std::string path;
  {
    MutexLock lock(mu_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) {
      return "";
    }
    path = it->second->paths.log;
  }
  return ReadLogFile(path, offset, bytes_max);
}

}  // namespace concur::worker
