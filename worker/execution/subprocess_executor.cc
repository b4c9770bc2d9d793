// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/subprocess_executor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/process/process_tree.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"
#include "worker/execution/start_job.h"
#include "worker/execution/step_reader.h"
#include "worker/execution/subprocess_entry.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kTransferBackoffMin = absl::Milliseconds(200);
// Attempts that wait for room and have their files made ready, beyond twice those that run.
constexpr size_t kPreparedAhead = 2;
constexpr size_t kPreparedAheadMax = 64;
// Results of more bytes are left to the pool.
constexpr int64_t kSmallBytesMax = int64_t{64} << 10;
constexpr int kRenewalsMax = 10;
constexpr size_t kShownAttemptsMax = 10;
constexpr size_t kStrayTextMax = 500;

JobResult StoppedResult(StopCause cause) {
  return FailedResult(
      cause == StopCause::kService ? FailureClass::kService : FailureClass::kPreempted,
      StopCauseText(cause));
}

absl::Duration RetryDelay(const SubprocessOptions& options, int tries) {
  return std::min(options.transfer_backoff_max, kTransferBackoffMin * (1 << std::min(tries, 16)));
}

// Removes the run directory from where its job has moved it.
void RemoveMoved(SubprocessEntry& entry) {
  const std::string place = RunDirectories::MovedTo(entry.paths, entry.directory.get());
  if (!place.empty()) {
    LogWarning("a job has moved its directory",
               {{"attempt", entry.order.id.ToString()},
                {"to", place},
                {"removed", process::RemoveTree(place).ToString()}});
  }
  entry.directory.Reset();
}

absl::Status Canceled() { return absl::CancelledError("stopped"); }

// InvalidArgument for a secret that the owner does not have.
absl::Status CheckSecretsOf(const JobOrder& order) {
  for (const auto& [variable, secret] : order.secrets) {
    if (secret.value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          order.owner, " has no secret \"", secret.name, "\", which is to be ", variable,
          ": set it with \"concur secret set ", secret.name, "\", then retry"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SubprocessExecutor>> SubprocessExecutor::Open(
    SubprocessOptions options, ArtifactTransfer& transfer, const std::vector<Digest>& live,
    std::function<void()> on_report) {
  CONCUR_ASSIGN_OR_RETURN(auto directories,
                          RunDirectories::Open(options.work_directory, options.run_directory));
  std::vector<std::string> notices = directories->notices();
  CONCUR_ASSIGN_OR_RETURN(
      auto artifacts,
      Artifacts::Open(options.work_directory, directories->links(),
                      {options.cache_bytes_max, absl::Now() - options.cache_age_max}, live,
                      transfer, notices));
  if (options.environment.contains("PYTHONPATH")) {
    notices.emplace_back(
        "jobs see this worker's PYTHONPATH: when a module there changes, finished results are "
        "still reused; list it in the approach's field code");
  }
  process::AdoptOrphans();
  return std::unique_ptr<SubprocessExecutor>(
      new SubprocessExecutor(std::move(options), std::move(directories), std::move(artifacts),
                             std::move(notices), std::move(on_report)));
}

SubprocessExecutor::SubprocessExecutor(SubprocessOptions options,
                                       std::unique_ptr<RunDirectories> directories,
                                       std::unique_ptr<Artifacts> artifacts,
                                       std::vector<std::string> notices,
                                       std::function<void()> on_report)
    : options_(std::move(options)),
      notices_(std::move(notices)),
      on_report_(std::move(on_report)),
      directories_(std::move(directories)),
      artifacts_(std::move(artifacts)),
      pool_(options_.threads),
      loads_(static_cast<size_t>(std::max(1, options_.watchers))) {
  for (int i = 0; i < std::max(1, options_.watchers); ++i) {
    watchers_.push_back(
        std::make_unique<process::ProcessWatcher>(options_.memory_interval, table_));
  }
}

SubprocessExecutor::~SubprocessExecutor() {
  {
    MutexLock lock(mu_);
    closing_ = true;
    for (const auto& [id, entry] : entries_) {
      entry->canceled = true;
    }
  }
  directories_->StopRemoving();
  // The pool's threads and those of all watchers start processes and hand them to watchers: the
  // threads end first, then the watchers with what still runs.
  pool_.Close();
  for (const auto& watcher : watchers_) {
    watcher->Close();
  }
  watchers_.clear();
}

void SubprocessExecutor::SetCoordinatorStore(const CoordinatorStore& store) {
  artifacts_->SetCoordinatorStore(store);
}

void SubprocessExecutor::SetLeaseEnd(absl::Time end) {
  std::vector<EntryPtr> held;
  {
    MutexLock lock(mu_);
    lease_end_ = end;
    if (!closing_) {
      held.swap(held_);
    }
  }
  for (const EntryPtr& entry : held) {
    pool_.Submit([this, entry] { Launch(entry); });
  }
}

bool SubprocessExecutor::HoldWithoutLease(const EntryPtr& entry) {
  if (options_.clock == nullptr) {
    return false;
  }
  MutexLock lock(mu_);
  if (options_.clock->Now() < lease_end_ || entry->stopped.has_value()) {
    return false;
  }
  held_.push_back(entry);
  return true;
}

void SubprocessExecutor::Start(const JobOrder& order) {
  auto entry = std::make_shared<Entry>();
  entry->order = order;
  entry->paths = directories_->PathsOf(order);
  entry->order_time = absl::Now();
  Work work;
  {
    MutexLock lock(mu_);
    entry->number = next_number_++;
    entries_[order.id] = entry;
    if (order.id.job.IsService()) {  // the coordinator has made room
      waiting_.push_front(entry);
    } else {
      waiting_.push_back(entry);
    }
    work = Advance();
  }
  Submit(work);
}

// --- room ----------------------------------------------------------------------------------------

bool SubprocessExecutor::HasRoom(const Entry& entry) const {
  if (slots_used_ == 0 || entry.order.id.job.IsService()) {
    return true;  // anything too large for this worker alone would wait for ever
  }
  if (options_.slots > 0 && slots_used_ >= options_.slots) {
    return false;
  }
  return !options_.capacity.has_value() ||
         entry.order.resources.FitsIn(
             {.cpu_millis = options_.capacity->cpu_millis - used_.cpu_millis,
              .memory_bytes = options_.capacity->memory_bytes - used_.memory_bytes,
              .gpus = options_.capacity->gpus - used_.gpus});
}

void SubprocessExecutor::Occupy(Entry& entry) {
  entry.has_room = true;
  slots_used_ += entry.order.id.job.IsService() ? 0 : 1;
  used_.cpu_millis += entry.order.resources.cpu_millis;
  used_.memory_bytes += entry.order.resources.memory_bytes;
  used_.gpus += entry.order.resources.gpus;
}

void SubprocessExecutor::Vacate(Entry& entry) {
  if (!entry.has_room) {
    return;
  }
  entry.has_room = false;
  slots_used_ -= entry.order.id.job.IsService() ? 0 : 1;
  used_.cpu_millis -= entry.order.resources.cpu_millis;
  used_.memory_bytes -= entry.order.resources.memory_bytes;
  used_.gpus -= entry.order.resources.gpus;
}

SubprocessExecutor::Work SubprocessExecutor::Advance() {
  Work work;
  if (closing_) {
    return work;
  }
  while (!waiting_.empty() && HasRoom(*waiting_.front())) {
    const EntryPtr entry = std::move(waiting_.front());
    waiting_.pop_front();
    Occupy(*entry);
    if (entry->prepared) {
      work.launch.push_back(entry);
    } else if (!entry->preparing) {
      entry->preparing = true;
      work.prepare.push_back(entry);  // launched when that is done, as is one that is at it
    }
  }
  const size_t ahead =
      std::min({waiting_.size(), kPreparedAheadMax,
                kPreparedAhead + 2 * static_cast<size_t>(std::max(0, slots_used_))});
  for (size_t i = 0; i < ahead; ++i) {
    if (!waiting_[i]->prepared && !waiting_[i]->preparing) {
      waiting_[i]->preparing = true;
      work.prepare.push_back(waiting_[i]);
    }
  }
  return work;
}

void SubprocessExecutor::Submit(const Work& work) {
  for (const EntryPtr& entry : work.launch) {
    pool_.Submit([this, entry] { Launch(entry); });
  }
  for (const EntryPtr& entry : work.prepare) {
    pool_.Submit([this, entry] { Prepare(entry, 0); });
  }
}

size_t SubprocessExecutor::waiting() const {
  MutexLock lock(mu_);
  return waiting_.size();
}

void SubprocessExecutor::Stop(const AttemptId& id, StopCause cause, bool at_once) {
  EntryPtr entry;
  process::ProcessWatcher* watcher = nullptr;
  bool idle = false;
  {
    MutexLock lock(mu_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) {
      return;
    }
    entry = it->second;
    entry->unwanted =
        entry->unwanted || cause == StopCause::kCanceled || cause == StopCause::kFenced;
    if (entry->stage == Entry::Stage::kEnded) {
      return;
    }
    entry->stopped = entry->stopped.value_or(cause);
    entry->stop_at_once = entry->stop_at_once || at_once;
    if (entry->stage == Entry::Stage::kRunning) {
      watcher = watchers_[entry->watcher].get();
    }
    // Whoever is preparing it sees that it is stopped; nobody else is at one that waits.
    idle = (std::erase(waiting_, entry) > 0 && !entry->preparing) || std::erase(held_, entry) > 0;
  }
  entry->canceled = true;
  if (idle) {
    pool_.Submit([this, entry] { Launch(entry); });  // which ends it as stopped
  }
  if (watcher != nullptr) {
    watcher->Stop(entry->number, at_once);
  }
}

std::optional<StopCause> SubprocessExecutor::StopCauseOf(const Entry& entry) {
  MutexLock lock(mu_);
  return entry.stopped;
}

absl::Status SubprocessExecutor::PrepareFiles(Entry& entry) {
  CONCUR_RETURN_IF_ERROR(CheckSecretsOf(entry.order));
  CONCUR_RETURN_IF_ERROR(directories_->Make(entry.paths));
  CONCUR_RETURN_IF_ERROR(PrepareService(entry));
  CONCUR_ASSIGN_OR_RETURN(entry.argv, ExpandOrder(entry.order, entry.paths));
  const auto is_canceled = [&entry] { return entry.canceled.load(); };
  if (entry.order.environment && !entry.environment) {
    entry.lacks_environment = true;
    CONCUR_ASSIGN_OR_RETURN(entry.environment,
                            PrepareEnvironment(entry.order, *artifacts_, options_, is_canceled));
    entry.lacks_environment = false;
  }
  CONCUR_ASSIGN_OR_RETURN(entry.inputs,
                          PrepareInputs(entry.order, entry.paths, *artifacts_, is_canceled));
  // Test data that nobody can score against is found before the command runs for hours.
  if (!entry.order.is_train && !entry.order.id.job.IsService() && IsQa(entry.order.format)) {
    const HeldFile& test = entry.inputs.files.back();
    CONCUR_ASSIGN_OR_RETURN(entry.gold, scorer_.Load(test.generation, test.path));
  }
  return entry.canceled ? Canceled() : absl::OkStatus();
}

void SubprocessExecutor::FailBeforeStart(const EntryPtr& entry, JobResult result) {
  Work work;
  {
    MutexLock lock(mu_);
    entry->stage = Entry::Stage::kEnded;
    entry->preparing = false;
    Vacate(*entry);
    std::erase(waiting_, entry);
    work = Advance();
  }
  Submit(work);
  result.start_time = entry->order_time;
  Report({{entry->order.id, std::move(result)}, /*published=*/true});
}

void SubprocessExecutor::Prepare(const EntryPtr& entry, int tries) {
  const absl::Status prepared = entry->canceled ? Canceled() : PrepareFiles(*entry);
  if (const std::optional<StopCause> cause = StopCauseOf(*entry)) {
    FailBeforeStart(entry, StoppedResult(*cause));
    return;
  }
  if (absl::IsUnavailable(prepared) || absl::IsDeadlineExceeded(prepared)) {
    LogDebug("inputs cannot be fetched now",
             {{"attempt", entry->order.id.ToString()}, {"error", prepared.ToString()}});
    pool_.SubmitAfter(RetryDelay(options_, tries),
                      [this, entry, tries] { Prepare(entry, tries + 1); });
    return;
  }
  if (!prepared.ok()) {
    FailBeforeStart(entry, FailedResult(entry->lacks_environment ? ClassOfBuildError(prepared)
                                                                 : ClassOfWorkerError(prepared),
                                        prepared.message()));
    return;
  }
  bool goes_on = false;
  {
    MutexLock lock(mu_);
    entry->preparing = false;
    entry->prepared = true;
    // Without room, whoever makes some launches it. Launch also ends what was stopped meanwhile.
    goes_on = entry->has_room || entry->stopped.has_value();
  }
  if (goes_on) {
    Launch(entry);
  }
}

void SubprocessExecutor::PrepareAgain(const EntryPtr& entry) {
  if (entry->renewals == kRenewalsMax) {
    FailBeforeStart(entry, FailedResult(FailureClass::kTemporary,
                                        absl::StrCat("its inputs were changed ", kRenewalsMax,
                                                     " times before it could start: some other "
                                                     "job writes to them")));
    return;
  }
  pool_.SubmitAfter(RetryDelay(options_, entry->renewals++), [this, entry] { Prepare(entry, 0); });
}

void SubprocessExecutor::AssignWatcher(Entry& entry) {
  MutexLock lock(mu_);
  size_t least = 0;  // never busy; an equal one that may be is better
  for (size_t i = 1; i < loads_.size(); ++i) {
    if (!loads_[i].busy && loads_[i].processes <= loads_[least].processes) {
      least = i;
    }
  }
  ++loads_[least].processes;
  entry.watcher = least;
}

void SubprocessExecutor::Launch(const EntryPtr& entry) {
  if (const std::optional<StopCause> cause = StopCauseOf(*entry)) {
    FailBeforeStart(entry, StoppedResult(*cause));
    return;
  }
  // Last: this process may have been stopped, and its machine suspended, at any moment before.
  if (HoldWithoutLease(entry)) {
    LogInfo("not started before the coordinator answers: this worker's lease may have ended",
            {{"attempt", entry->order.id.ToString()}});
    return;
  }
  if (!HasServices(*entry, /*asks=*/false)) {
    FailBeforeStart(entry, FailedResult(FailureClass::kService, "its service has ended"));
    return;
  }
  if (!artifacts_->AreLatest(entry->inputs.files)) {
    PrepareAgain(entry);
    return;
  }
  if (options_.output_bytes_max > 0) {
    const std::string& directory = entry->paths.directory;
    entry->directory = FileDescriptor(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!entry->directory.valid()) {
      FailBeforeStart(entry, FailedResult(FailureClass::kWorker,
                                          ErrnoStatus(errno, directory, "open").message()));
      return;
    }
  }
  artifacts_->BeginUse(entry->inputs.files, entry->order.id);
  entry->start_time = absl::Now();
  const ReadyEnvironment* environment = entry->environment ? &*entry->environment : nullptr;
  absl::StatusOr<process::Process> process =
      StartJob(entry->order, entry->paths, entry->argv, environment, options_);
  if (!process.ok()) {
    artifacts_->EndUse(entry->inputs.files, entry->order.id);
    const bool machine = absl::IsResourceExhausted(process.status());
    FailBeforeStart(entry, FailedResult(machine ? FailureClass::kWorker : FailureClass::kSpawn,
                                        process.status().message()));
    return;
  }
  LogDebug("started",
           {{"attempt", entry->order.id.ToString()}, {"pid", absl::StrCat(process->pid)}});
  process::WatchOptions watch;
  watch.timeout = entry->order.timeout;
  watch.grace = options_.grace;
  watch.memory_bytes_max = entry->order.resources.memory_bytes;
  watch.disk_bytes_max = options_.output_bytes_max;
  watch.directory = entry->directory.get();
  watch.log_path = entry->paths.log;
  watch.log_bytes_max = options_.log_bytes_max;
  for (const auto& [variable, secret] : entry->order.secrets) {
    watch.secrets.push_back(secret.value);
  }
  entry->on_step = [this, id = entry->order.id](const ReportedStep& s) { ReportStep({id, s}); };
  watch.on_output = [entry](absl::string_view data, bool is_error) {
    entry->steps.Add(data, is_error ? StepReader::kError : StepReader::kOutput, entry->on_step);
  };
  watch.tail_path = entry->paths.reports;
  watch.on_tail = [entry](absl::string_view data) {
    entry->steps.Add(data, StepReader::kFile, entry->on_step);
  };
  watch.on_close = [entry] { return entry->steps.Finish(entry->on_step); };
  if (entry->order.is_train) {
    watch.on_measure = [model = entry->paths.model] { return WarningOfModel(model); };
  }
  watch.run_directory = entry->paths.directory;
  watch.spares_leader =
      environment != nullptr && options_.environments->SparesLauncher(*environment);
  AssignWatcher(*entry);
  process::ProcessWatcher& watcher = *watchers_[entry->watcher];
  watcher.Watch(entry->number, *std::move(process), std::move(watch),
                [this, entry](process::ProcessEnd end) { OnEnd(entry, std::move(end)); });
  bool stop = false;
  bool at_once = false;
  bool starts_look = false;
  {
    MutexLock lock(mu_);
    if (entry->stage == Entry::Stage::kPreparing) {
      entry->stage = Entry::Stage::kRunning;
    }
    starts_look = !std::exchange(looks_for_strays_, true) && !closing_;
    // A Stop that came while the process was being started has reached nobody.
    stop = entry->stopped.has_value();
    at_once = entry->stop_at_once;
  }
  if (starts_look) {
    pool_.SubmitAfter(4 * options_.memory_interval, [this] { RemoveStrays(); });
  }
  if (stop) {
    watcher.Stop(entry->number, at_once);
  } else if (entry->order.id.job.IsService()) {
    pool_.Submit([this, entry] { ProbeService(entry, 0); });
  }
}

void SubprocessExecutor::OnEnd(const EntryPtr& entry, process::ProcessEnd end) {
  std::optional<StopCause> stopped;
  Work work;
  const size_t own = entry->watcher;
  bool alone = false;
  {
    MutexLock lock(mu_);
    --loads_[own].processes;
    if (closing_) {
      return;  // it was killed when the thread that started it ended
    }
    entry->stage = Entry::Stage::kEnded;
    stopped = entry->stopped;
    entry->has_log = end.log_bytes > 0;
    Vacate(*entry);
    work = Advance();
    alone = own != 0 && loads_[own].processes == 0;
    loads_[own].busy = alone;
  }
  if (alone && !work.launch.empty()) {
    // The next process first, and by this thread: its room is empty, this one's result can wait,
    // and to wake another thread takes longer than to start a process.
    Launch(work.launch.front());
    work.launch.erase(work.launch.begin());
  }
  Submit(work);
  if (entry->order.id.job.IsService()) {
    StopUsersOf(entry->order.id);
  }
  std::optional<Outputs> outputs;
  if (alone && entry->gold == nullptr) {
    outputs = LookAtOutputs(entry->order, entry->paths);
  }
  if (outputs.has_value() && outputs->AreSmall(end, kSmallBytesMax)) {
    Finish(entry, *outputs, end, stopped);
  } else {
    pool_.Submit([this, entry, end = std::move(end), stopped] {
      Finish(entry, LookAtOutputs(entry->order, entry->paths), end, stopped);
    });
  }
  if (alone) {
    MutexLock lock(mu_);
    loads_[own].busy = false;
  }
}

void SubprocessExecutor::Finish(const EntryPtr& entry, const Outputs& outputs,
                                const process::ProcessEnd& end, std::optional<StopCause> stopped) {
  const bool is_service = entry->order.id.job.IsService();
  JobResult result = is_service ? ClassifyServiceEnd(entry->order, end, stopped)
                                : ClassifyEnd(entry->order, end, stopped);
  // A job notices first that a service is gone.
  if (!result.succeeded &&
      (stopped == StopCause::kService || (!stopped && !HasServices(*entry, /*asks=*/true)))) {
    result.failure = FailureClass::kService;
    result.message = absl::StrCat("its service has ended; ", result.message);
  }
  result.start_time = entry->start_time;
  const std::optional<ChangedInput> changed =
      artifacts_->EndUse(entry->inputs.files, entry->order.id);
  if (changed) {
    result = WithChangedInput(*changed, std::move(result));
  }
  const Artifacts::PutStart start = artifacts_->StartPut();
  result = CollectOutputs(entry->order, entry->paths, outputs, end, options_.output_bytes_max,
                          std::move(result), entry->gold, *artifacts_);
  result.resumed_from = entry->inputs.resumed_from;
  FinishedAttempt finished{entry->order.id, std::move(result)};
  if (outputs.has_checkpoint && !finished.result.succeeded && !entry->unwanted && !changed &&
      !is_service) {
    finished.checkpoint = CollectCheckpoint(
        entry->order, entry->paths, options_.checkpoint_bytes_max, *artifacts_, finished.result);
  }
  entry->gold = nullptr;
  entry->environment.reset();
  RemoveMoved(*entry);
  std::vector<Digest> kept = DigestsOf(finished);
  // If the store is another one meanwhile, whoever publishes sees what is where.
  const bool published = kept.empty() || artifacts_->Holds(start);
  if (!published) {
    MutexLock lock(mu_);
    entry->kept = std::move(kept);
  }
  Report({std::move(finished), published}, start);
}

void SubprocessExecutor::RemoveStrays() {
  const std::vector<std::string> strays = directories_->RemoveStrays();
  bool goes_on = false;
  std::vector<std::string> running;
  {
    MutexLock lock(mu_);
    for (auto it = entries_.begin();
         it != entries_.end() && !strays.empty() && running.size() < kShownAttemptsMax; ++it) {
      if (it->second->stage == Entry::Stage::kRunning) {
        running.push_back(it->first.ToString());
      }
    }
    goes_on = slots_used_ > 0 && !closing_;
    looks_for_strays_ = goes_on;
  }
  if (!strays.empty()) {
    LogWarning("removed what a job has made beside its directory",
               {{"names", absl::StrJoin(strays, ", ").substr(0, kStrayTextMax)},
                {"running", absl::StrJoin(running, ", ")}});
  }
  if (goes_on) {
    pool_.SubmitAfter(4 * options_.memory_interval, [this] { RemoveStrays(); });
  }
}

void SubprocessExecutor::Publish(const FinishedAttempt& finished) {
  EntryPtr entry;
  {
    MutexLock lock(mu_);
    EntryPtr& slot = entries_[finished.id];
    if (slot == nullptr) {
      // An attempt of an earlier incarnation: only its artifacts are left.
      slot = std::make_shared<Entry>();
      slot->order.id = finished.id;
      slot->paths = directories_->PathsOf(slot->order);
      slot->stage = Entry::Stage::kEnded;
    }
    entry = slot;
    entry->kept = DigestsOf(finished);
    // A canceled attempt is published all the same: the coordinator wants to hear of its end.
    entry->canceled = false;
  }
  pool_.Submit([this, entry, finished] { TryPublish(entry, finished, 0); });
}

void SubprocessExecutor::TryPublish(const EntryPtr& entry, const FinishedAttempt& finished,
                                    int tries) {
  absl::Status status;
  FinishedAttempt published = finished;
  for (const ArtifactRef& artifact : finished.result.artifacts) {
    status = artifacts_->Publish(artifact.digest, [&entry] { return entry->canceled.load(); });
    // The coordinator refuses what is too large, and would again.
    if (artifact.kind == ArtifactKind::kOutputs && !status.ok() &&
        (!MayWorkLater(status) || absl::IsResourceExhausted(status))) {
      std::erase(published.result.artifacts, artifact);
      AddLoss("{output} was", std::exchange(status, absl::OkStatus()), published.result);
    }
    if (!status.ok()) {
      break;
    }
  }
  if (!status.ok() && !MayWorkLater(status)) {
    published.result = WithoutArtifacts(finished.result, "handed in", status);
    status = absl::OkStatus();  // the next attempt may go on from its checkpoint all the same
  }
  if (status.ok() && published.checkpoint) {
    const auto ends = [&entry] { return entry->canceled || entry->unwanted; };
    status = ends() ? Canceled() : artifacts_->Publish(published.checkpoint->digest, ends);
    if (entry->unwanted) {
      published.checkpoint.reset();
      status = absl::OkStatus();
    } else if (!status.ok() && !MayWorkLater(status)) {
      AddLoss("its checkpoint was", std::exchange(status, absl::OkStatus()), published.result);
      published.checkpoint.reset();
    }
  }
  if (entry->canceled) {
    return;  // forgotten
  }
  if (status.ok()) {
    Report({std::move(published), /*published=*/true});
  } else {
    LogDebug("artifacts cannot be handed in now",
             {{"attempt", finished.id.ToString()}, {"error", status.ToString()}});
    pool_.SubmitAfter(RetryDelay(options_, tries),
                      [this, entry, finished, tries] { TryPublish(entry, finished, tries + 1); });
  }
}

void SubprocessExecutor::Forget(const AttemptId& id) {
  EntryPtr entry;
  std::vector<Digest> kept;
  {
    MutexLock lock(mu_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) {
      return;
    }
    entry = std::move(it->second);
    entries_.erase(it);
    kept.swap(entry->kept);
  }
  entry->canceled = true;
  for (const Digest& digest : kept) {
    artifacts_->Withdraw(digest);
  }
  {
    MutexLock lock(mu_);
    forgotten_.push_back(std::move(entry));
    if (forgotten_.size() > 1) {
      return;  // those that come together are removed together
    }
  }
  pool_.Submit([this] { RemoveForgotten(); });
}

void SubprocessExecutor::RemoveForgotten() {
  std::vector<EntryPtr> forgotten;  // they have ended: nobody else uses them
  {
    MutexLock lock(mu_);
    forgotten.swap(forgotten_);
  }
  for (const EntryPtr& entry : forgotten) {
    const absl::Status status = directories_->Remove(entry->paths, entry->has_log);
    if (!status.ok() && !absl::IsCancelled(status)) {
      LogWarning("a run directory could not be removed", {{"error", status.ToString()}});
    }
  }
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
  return process::ReadLogFile(path, offset, bytes_max);
}

}  // namespace concur::worker
