// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/up.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/command/command.h"
#include "base/data_directory.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/app/child_process.h"
#include "cli/app/companion.h"
#include "cli/app/interrupt.h"
#include "cli/client/client.h"
#include "cli/client/server_address.h"
#include "cli/commands/commands.h"
#include "cli/commands/run/up.h"
#include "cli/output/print.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/submit.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(30);
constexpr absl::Duration kWorkersTimeout = absl::Seconds(10);
constexpr absl::Duration kPoll = absl::Milliseconds(50);
// Interval and time limit of asking the coordinator whether a worker that left may come back.
constexpr absl::Duration kDrainPoll = absl::Seconds(1);
constexpr absl::Duration kStopTimeout = absl::Seconds(15);
// A program that ends this many times within a minute of its start is not restarted.
constexpr int kQuickEndsMax = 5;
constexpr absl::Duration kQuickEnd = absl::Minutes(1);
constexpr size_t kLogTailBytes = 2000;
constexpr char kLeft[] = "exit code 0";
constexpr int kWorkersMax = 1000;
constexpr char kPageDefault[] = "127.0.0.1:7449";
constexpr char kListenDefault[] = "127.0.0.1:7447";
constexpr char kListenForNodes[] = "0.0.0.0:7447";
constexpr char kSlurmPool[] = "slurm";

// "http://127.0.0.1:7449/#login=…" → "127.0.0.1:7449".
std::string HostAndPortOf(absl::string_view link) {
  absl::ConsumePrefix(&link, "http://");
  return std::string(link.substr(0, link.find('/')));
}

uintmax_t SizeOf(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// Text of an error about a program's log: the last lines, of those after the first `start` bytes.
std::string LogTail(const std::string& path, uintmax_t start) {
  const absl::StatusOr<std::string> log = ReadFile(path);
  if (!log.ok() || log->size() <= start) {
    return absl::StrCat("; it wrote nothing to its log, ", path);
  }
  const absl::string_view lines = absl::string_view(*log).substr(start);
  const size_t begin = lines.size() > kLogTailBytes ? lines.size() - kLogTailBytes : 0;
  return absl::StrCat("; its log, ", path, ", ends:\n", LogText(lines.substr(begin)));
}

// Starts the coordinator and the workers, restarts those that end, and stops all. Everything runs
// on the calling thread; `stop_` may be set from any.
class Local {
 public:
  Local(CommandContext& context, UpFlags flags) : context_(context), flags_(std::move(flags)) {
    if (flags_.listen.empty()) {
      flags_.listen = flags_.slurm.empty() ? kListenDefault : kListenForNodes;
    }
    if (flags_.workers < 0) {
      flags_.workers = flags_.slurm.empty() ? 1 : 0;
    }
  }
  ~Local() { KillAll(); }

  // Starts all; the coordinator answers when this returns OK.
  absl::Status Start();
  // Keeps everything running until `done` or until somebody asked to stop.
  absl::Status Supervise(const std::atomic<bool>& done);
  // Workers finish what runs, then the coordinator ends.
  void Stop();

  // Thread-safe. The second one does not wait for running jobs.
  void AskToStop() { ++stop_; }
  int stop_asked() const { return stop_; }
  const std::string& address() const { return address_; }
  // The page's address, with what logs its reader in; "": there is none.
  std::string PageLink() const { return ReadPageLink(data()).value_or(""); }
  const std::string& data() const { return flags_.data_directory; }
  int workers() const { return flags_.workers; }
  // The token of the coordinator started here, even if the environment names another one's.
  rpc::CredentialFiles credentials() const {
    rpc::CredentialFiles files = context_.credentials;
    files.token = data() + "/token";
    files.ca = flags_.slurm.empty() ? files.ca : data() + "/tls/ca.pem";
    return files;
  }

 private:
  struct Program {
    std::string name;
    std::vector<std::string> argv;
    std::string log;
    uintmax_t log_start = 0;  // the log's size when the process was started
    std::unique_ptr<ChildProcess> process;
    absl::Time started;
    absl::Time start_at = absl::InfinitePast();
    int quick_ends = 0;
    bool left = false;     // a worker that ended with exit code 0 and may be drained
    bool drained = false;  // it is: it stays down
    absl::Time ask_at;     // when to ask next
  };

  absl::Status Prepare();
  absl::Status Clear();
  absl::Status Launch(Program* program);
  absl::Status MakeCertificates();
  absl::Status AwaitAddress();
  absl::Status AddSlurmPool(Client& client);
  void RemoveSlurmPool();
  absl::Status AwaitWorkers();
  absl::Status Check(Program* program);
  absl::Status CheckLeft(Program* worker);
  absl::Status PlanRestart(Program* program, const std::string& ended);
  absl::StatusOr<bool> IsDrained(const Program& worker);
  void KillAll();
  std::string CpusOfEach() const;
  std::string PageListen() const;

  CommandContext& context_;
  UpFlags flags_;
  std::string programs_;  // the directory where they lie
  std::string address_;
  FileDescriptor lock_;
  std::unique_ptr<Client> client_;  // its calls end soon
  Program coordinator_;
  std::vector<Program> workers_;
  std::atomic<int> stop_ = 0;
};

std::string Local::PageListen() const {
  if (flags_.page.empty()) {
    const bool is_default = flags_.listen == kListenDefault || flags_.listen == kListenForNodes;
    return is_default ? kPageDefault : "127.0.0.1:0";
  }
  return flags_.page == "none" ? "" : flags_.page;
}

std::string Local::CpusOfEach() const {
  if (flags_.cpus > 0) {
    return absl::StrFormat("%.3f", flags_.cpus);
  }
  const double all = std::max(1U, std::thread::hardware_concurrency());
  // Whole CPUs where there are enough: a job asks for one by default.
  const double each = std::max(1.0, std::floor(all / flags_.workers));
  return absl::StrFormat("%.0f", each);
}

absl::Status Local::Prepare() {
  if (flags_.data_directory.empty()) {
    flags_.data_directory = DefaultDataDirectory();
  }
  std::error_code error;
  flags_.data_directory = std::filesystem::absolute(flags_.data_directory, error).string();
  CONCUR_RETURN_IF_ERROR(MakePrivateDirectory(data(), {kUpLockFile, "concur.db"}));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(data() + "/logs", 0700));
  CONCUR_ASSIGN_OR_RETURN(programs_, ProgramDirectory());
  for (const char* name : {"concur-coordinator", "concur-worker"}) {
    CONCUR_RETURN_IF_ERROR(CompanionProgram(name).status());
  }
  const std::string lock_path = absl::StrCat(data(), "/", kUpLockFile);
  lock_ = FileDescriptor(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.valid()) {
    return ErrnoStatus(errno, lock_path, "open");
  }
  // A command that looks whether somebody holds the lock has it for a moment.
  int tries = 0;
  while (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (++tries < 5) {
      absl::SleepFor(kPoll);
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("another \"concur up\" runs on ", data(),
                     "; stop it first, or choose another directory with --data-dir"));
  }
  return flags_.fresh ? Clear() : absl::OkStatus();
}

// REQUIRES: the lock is held. Its file stays: another process would lock a new one.
absl::Status Local::Clear() {
  std::error_code error;
  std::filesystem::directory_iterator entries(data(), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (entries->path().filename() != kUpLockFile) {
      std::filesystem::remove_all(entries->path(), error);
      if (error) {
        break;
      }
    }
  }
  return error ? absl::InternalError(absl::StrCat(data(), ": cannot clear: ", error.message()))
               : MakeDirectories(data() + "/logs", 0700);
}

absl::Status Local::Start() {
  CONCUR_RETURN_IF_ERROR(Prepare());
  coordinator_.name = "the coordinator";
  coordinator_.log = data() + "/logs/coordinator.log";
  coordinator_.argv = {programs_ + "/concur-coordinator", "--data-dir", data(), "--listen",
                       flags_.listen};
  if (const std::string page = PageListen(); !page.empty()) {
    coordinator_.argv.insert(coordinator_.argv.end(), {"--page-listen", page});
  }
  if (!flags_.options.empty()) {
    coordinator_.argv.insert(coordinator_.argv.end(), {"--options", flags_.options});
  }
  if (!flags_.slurm.empty()) {
    CONCUR_RETURN_IF_ERROR(MakeCertificates());
    coordinator_.argv.insert(
        coordinator_.argv.end(),
        {"--tls-certificate", data() + "/tls/server.pem", "--tls-key", data() + "/tls/server.key"});
  }
  for (const char* of_killed : {"/address", "/page"}) {
    unlink((data() + of_killed).c_str());
  }
  CONCUR_RETURN_IF_ERROR(Launch(&coordinator_));
  CONCUR_RETURN_IF_ERROR(AwaitAddress());
  // After a restart it listens on the same ports, even if they were chosen as any free ones.
  coordinator_.argv[4] = absl::StrCat(flags_.listen.substr(0, flags_.listen.rfind(':')),
                                      address_.substr(address_.rfind(':')));
  if (const std::string page = PageLink(); !page.empty()) {
    coordinator_.argv[6] = HostAndPortOf(page);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                          Client::Connect(address_, credentials()));
  client_ = client->ForAsides(kDrainPoll);
  if (!flags_.slurm.empty()) {
    CONCUR_RETURN_IF_ERROR(AddSlurmPool(*client));
  }
  for (int i = 1; i <= flags_.workers; ++i) {
    Program worker;
    worker.name = absl::StrCat("local-", i);
    worker.log = absl::StrCat(data(), "/logs/", worker.name, ".log");
    worker.argv = {programs_ + "/concur-worker",
                   "--coordinator",
                   address_,
                   "--name",
                   worker.name,
                   "--work-dir",
                   absl::StrCat(data(), "/workers/", worker.name),
                   "--cpus",
                   CpusOfEach(),
                   "--token-file",
                   credentials().token};
    if (!flags_.slurm.empty()) {
      worker.argv.insert(worker.argv.end(), {"--ca", credentials().ca});
    }
    for (const std::string& pattern : flags_.env_pass) {
      worker.argv.insert(worker.argv.end(), {"--env-pass", pattern});
    }
    CONCUR_RETURN_IF_ERROR(MakeDirectories(worker.argv[6], 0700));
    workers_.push_back(std::move(worker));
    CONCUR_RETURN_IF_ERROR(Launch(&workers_.back()));
  }
  return AwaitWorkers();
}

// For this host's name, by which nodes reach the coordinator; those that are there stay.
absl::Status Local::MakeCertificates() {
  const std::string directory = data() + "/tls";
  if (std::filesystem::exists(directory + "/server.pem")) {
    return absl::OkStatus();
  }
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) {
    return ErrnoStatus(errno, "the host", "gethostname");
  }
  const uintmax_t log_start = SizeOf(coordinator_.log);
  CONCUR_ASSIGN_OR_RETURN(
      ChildProcess process,
      ChildProcess::Start({coordinator_.argv[0], "init-tls", "--host", host, "--out", directory},
                          coordinator_.log, programs_));
  process.WaitUntil(absl::Now() + kStartTimeout);
  return std::filesystem::exists(directory + "/server.pem")
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat(directory, ": no certificates were made",
                                                LogTail(coordinator_.log, log_start)));
}

// A coordinator that was killed has the pool of before.
absl::Status Local::AddSlurmPool(Client& client) {
  v1::CreatePoolRequest request;
  v1::PoolSpec& spec = *request.mutable_spec();
  spec.set_name(kSlurmPool);
  spec.set_provider(v1::PoolSpec::PROVIDER_SLURM);
  spec.set_workers_max(flags_.slurm_max);
  spec.mutable_resources()->set_cpu_millis(flags_.cpus > 0 ? std::lround(flags_.cpus * 1000)
                                                           : 1000);
  if (flags_.slurm != "default") {
    spec.mutable_slurm()->set_partition(flags_.slurm);
  }
  if (absl::IsNotFound(client.GetPool(kSlurmPool).status())) {
    // Else a mistake would show only when jobs wait.
    request.set_validate_only(true);
    const absl::Status tried = client.Call<v1::Pool>(request).status();
    if (!tried.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("--slurm ", flags_.slurm, ": Slurm would start no worker: ", tried.message(),
                       "; expected a partition that sinfo lists, on a host where sbatch works"));
    }
  }
  request.set_validate_only(false);
  absl::Status added = client.Call<v1::Pool>(request).status();
  if (absl::IsAlreadyExists(added)) {
    added = absl::AlreadyExistsError(
        absl::StrCat("the pool \"", kSlurmPool, "\" has other settings; repeat --slurm, --max and ",
                     "--cpus, or remove it: concur up -n 0 --data-dir ", data(),
                     ", and concur pool remove ", kSlurmPool));
  }
  return added;
}

// Waits until the workers have joined, so that a sweep submitted at once is not warned that nobody
// can run it. Those of an earlier run are listed as live, too, but without CPUs until they call. A
// worker that takes too long is no error: it may come yet.
absl::Status Local::AwaitWorkers() {
  const absl::Time end = absl::Now() + kWorkersTimeout;
  while (absl::Now() < end && stop_ == 0) {
    const absl::StatusOr<std::vector<v1::Worker>> known = client_->ListWorkers();
    const auto has_joined = [&known](const Program& program) {
      return std::any_of(known->begin(), known->end(), [&program](const v1::Worker& worker) {
        return worker.name() == program.name && worker.capacity().cpu_millis() > 0;
      });
    };
    if (known.ok() && std::all_of(workers_.begin(), workers_.end(), has_joined)) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(Check(&coordinator_));
    for (Program& worker : workers_) {
      CONCUR_RETURN_IF_ERROR(Check(&worker));
    }
    absl::SleepFor(kPoll);
  }
  return absl::OkStatus();
}

absl::Status Local::Launch(Program* program) {
  program->log_start = SizeOf(program->log);
  CONCUR_ASSIGN_OR_RETURN(ChildProcess process,
                          ChildProcess::Start(program->argv, program->log, programs_));
  program->process = std::make_unique<ChildProcess>(std::move(process));
  program->started = absl::Now();
  return absl::OkStatus();
}

absl::Status Local::AwaitAddress() {
  const absl::Time end = absl::Now() + kStartTimeout;
  while (absl::Now() < end && stop_ == 0) {
    const absl::StatusOr<std::string> written = ReadFile(data() + "/address", 4096);
    if (written.ok() && absl::EndsWith(*written, "\n")) {
      address_ = std::string(absl::StripAsciiWhitespace(*written));
      return absl::OkStatus();
    }
    if (const auto ended = coordinator_.process->Ended()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the coordinator did not start: ", *ended,
                       LogTail(coordinator_.log, coordinator_.log_start)));
    }
    absl::SleepFor(kPoll);
  }
  return stop_ > 0 ? absl::CancelledError("interrupted")
                   : absl::DeadlineExceededError(
                         absl::StrCat("the coordinator does not answer after ",
                                      SpanText(kStartTimeout), "; see ", coordinator_.log));
}

// Restarts a program that has ended, unless it is a drained worker.
absl::Status Local::Check(Program* program) {
  if (program->process != nullptr) {
    const std::optional<std::string> ended = program->process->Ended();
    if (!ended) {
      return absl::OkStatus();
    }
    program->process = nullptr;
    program->left = program != &coordinator_ && *ended == kLeft;
    program->ask_at = absl::InfinitePast();
    if (!program->left) {
      CONCUR_RETURN_IF_ERROR(PlanRestart(program, *ended));
    }
  }
  if (program->left) {
    CONCUR_RETURN_IF_ERROR(CheckLeft(program));
  }
  return program->left || absl::Now() < program->start_at ? absl::OkStatus() : Launch(program);
}

// The delay is longer after each end.
absl::Status Local::PlanRestart(Program* program, const std::string& ended) {
  const bool quick = absl::Now() - program->started < kQuickEnd;
  program->quick_ends = quick ? program->quick_ends + 1 : 1;
  if (program->quick_ends > kQuickEndsMax) {
    return absl::InternalError(absl::StrCat(program->name, " ended ", program->quick_ends,
                                            " times in a row, last with ", ended,
                                            LogTail(program->log, program->log_start)));
  }
  PrintWarning(context_, absl::StrCat(program->name, " ended with ", ended,
                                      "; it is started again (log: ", program->log, ")"));
  program->start_at = absl::Now() + absl::Milliseconds(100) * (1 << (program->quick_ends - 1));
  if (program == &coordinator_) {
    // It no longer knows that drained workers took their leave, and would list them for an hour
    // after an undo. Started again, they take their leave again.
    for (Program& worker : workers_) {
      worker.left = worker.drained = false;
    }
  }
  return absl::OkStatus();
}

// Ends the wait of a worker that is not drained, or no longer.
absl::Status Local::CheckLeft(Program* worker) {
  if (absl::Now() < worker->ask_at) {
    return absl::OkStatus();
  }
  const absl::StatusOr<bool> is_drained = IsDrained(*worker);
  worker->ask_at = absl::Now() + kDrainPoll;
  if (!is_drained.ok()) {
    return absl::OkStatus();  // the coordinator does not answer now
  }
  if (*is_drained) {
    if (!std::exchange(worker->drained, true)) {
      PrintNote(context_, absl::StrCat(worker->name, " is drained and stays down; \"concur worker ",
                                       "drain ", worker->name, " --undo\" brings it back"));
    }
    return absl::OkStatus();
  }
  worker->left = false;
  if (!std::exchange(worker->drained, false)) {
    return PlanRestart(worker, kLeft);
  }
  worker->quick_ends = 0;
  worker->start_at = absl::InfinitePast();
  PrintNote(context_, absl::StrCat(worker->name, " is no longer drained; it is started again"));
  return absl::OkStatus();
}

// The coordinator lists a worker that took its leave only if a user drained it.
absl::StatusOr<bool> Local::IsDrained(const Program& worker) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> known, client_->ListWorkers());
  return std::any_of(known.begin(), known.end(), [&worker](const v1::Worker& each) {
    return each.name() == worker.name &&
           (each.state() == v1::Worker::STATE_DRAINING || each.state() == v1::Worker::STATE_LOST);
  });
}

absl::Status Local::Supervise(const std::atomic<bool>& done) {
  while (!done && stop_ == 0) {
    CONCUR_RETURN_IF_ERROR(Check(&coordinator_));
    for (Program& worker : workers_) {
      CONCUR_RETURN_IF_ERROR(Check(&worker));
    }
    absl::SleepFor(kPoll);
  }
  return absl::OkStatus();
}

// Its workers finish what they run, or leave it when asked again: Slurm keeps none for nobody.
void Local::RemoveSlurmPool() {
  const int asked = stop_;
  v1::DeletePoolRequest request;
  request.set_pool(kSlurmPool);
  absl::Time end = absl::InfiniteFuture();
  const absl::Time start = absl::Now();
  bool noted = false;
  (void)client_->CallOnce<v1::DeletePoolResponse>(request);
  while (absl::Now() < end && client_->GetPool(kSlurmPool).ok()) {
    if (stop_ > asked && !request.at_once()) {
      request.set_at_once(true);
      end = absl::Now() + kStopTimeout;
      (void)client_->CallOnce<v1::DeletePoolResponse>(request);
    }
    if (!noted && absl::Now() - start > absl::Seconds(1)) {
      PrintNote(context_, "waiting for the workers of Slurm to leave; Ctrl-C again stops them");
      noted = true;
    }
    absl::SleepFor(kPoll);
  }
}

void Local::Stop() {
  if (client_ != nullptr && !flags_.slurm.empty()) {
    RemoveSlurmPool();
  }
  client_ = nullptr;  // the coordinator's end waits 2 s for open connections
  const int asked = stop_;
  for (Program& worker : workers_) {
    if (worker.process != nullptr) {
      worker.process->Signal(SIGTERM);
    }
  }
  bool noted = false;
  const absl::Time start = absl::Now();
  for (Program& worker : workers_) {
    while (worker.process != nullptr && worker.process->running() && stop_ <= asked) {
      if (!noted && absl::Now() - start > absl::Seconds(1)) {
        PrintNote(context_, "waiting for running jobs to end; Ctrl-C again stops them");
        noted = true;
      }
      absl::SleepFor(kPoll);
    }
  }
  // Kills those that did not end when asked twice.
  for (Program& worker : workers_) {
    if (worker.process != nullptr) {
      worker.process->Signal(SIGTERM);
    }
  }
  const absl::Time end = absl::Now() + kStopTimeout;
  for (Program& worker : workers_) {
    if (worker.process != nullptr) {
      worker.process->WaitUntil(end);
    }
  }
  if (coordinator_.process != nullptr) {
    coordinator_.process->Signal(SIGTERM);
    coordinator_.process->WaitUntil(absl::Now() + kStopTimeout);
  }
}

void Local::KillAll() {
  for (Program& worker : workers_) {
    if (worker.process != nullptr) {
      worker.process->Signal(SIGKILL);
    }
  }
  if (coordinator_.process != nullptr) {
    coordinator_.process->Signal(SIGKILL);
  }
}

void Announce(CommandContext& context, const Local& local, const UpFlags& flags) {
  const std::string workers = flags.slurm.empty()
                                  ? absl::StrCat(local.workers())
                                  : absl::StrCat(local.workers(), " here, up to ", flags.slurm_max,
                                                 " through Slurm when jobs wait");
  Json record = Json::object();
  record["address"] = local.address();
  record["data_directory"] = local.data();
  record["workers"] = local.workers();
  const std::string page = local.PageLink();
  if (!page.empty()) {
    record["page"] = page;
  }
  if (flags.run.empty()) {
    std::vector<std::pair<std::string, std::string>> details = {{"address", local.address()},
                                                                {"data", local.data()},
                                                                {"workers", workers},
                                                                {"logs", local.data() + "/logs"}};
    if (!page.empty()) {
      details.emplace_back("page", page);
    }
    PrintDetails(context, details, record);
    context.out << std::flush;
    if (local.data() != DefaultDataDirectory()) {
      PrintNote(context, absl::StrCat("reach it by --server ", local.address()));
    }
    PrintNote(context, "ready; Ctrl-C stops it when running jobs have ended");
  } else {
    PrintNote(context, absl::StrCat("coordinator at ", local.address(), "; workers: ", workers,
                                    "; everything is kept in ", local.data()));
    if (!page.empty()) {
      PrintNote(context, absl::StrCat("page: ", page));
    }
  }
}

// Submits the sweep of --run and follows it.
absl::Status RunSweep(CommandContext& context, const Local& local, const UpFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                          Client::Connect(local.address(), local.credentials()));
  SubmitFlags submit;
  submit.file = flags.run;
  submit.variables = flags.variables;
  submit.no_check = flags.no_check;
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          SubmitSweep(context, *client, submit));
  PrintNote(context, SubmittedText(response.sweep()));
  WatchOptions options;
  options.detach_hint = absl::StrCat("stopping; \"concur up\" with the same --data-dir continues ",
                                     response.sweep().id());
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, response.sweep().id(), options));
  PrintSweep(context, sweep, {}, true);
  ReportEnd(context, sweep);
  if (flags.then) {
    flags.then(local.address(), local.credentials().token);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintLink(CommandContext& context, const UpFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(
      const std::string link,
      ReadPageLink(flags.data_directory.empty() ? DefaultDataDirectory() : flags.data_directory));
  Json record = Json::object();
  record["page"] = link;
  PrintDetails(context, {{"page", link}}, record);
  PrintNote(context,
            "the link logs in once; each \"concur up --link\" after that prints a new one");
  return absl::OkStatus();
}

absl::Status Up(CommandContext& context, const UpFlags& flags) {
  if (flags.link) {
    return PrintLink(context, flags);
  }
  Local local(context, flags);
  absl::Status status;
  if (flags.run.empty()) {
    const InterruptScope interrupt([&local] { local.AskToStop(); }, /*second_ends=*/false);
    status = local.Start();
    if (status.ok()) {
      Announce(context, local, flags);
      const std::atomic<bool> never = false;
      status = local.Supervise(never);
    }
    local.Stop();
    return status;
  }
  CONCUR_RETURN_IF_ERROR(local.Start());
  Announce(context, local, flags);
  // The sweep is followed on a thread of its own: children die with the thread that started them.
  std::atomic<bool> done = false;
  absl::Status run_status;
  std::thread runner([&] {
    run_status = RunSweep(context, local, flags);
    done = true;
  });
  status = local.Supervise(done);
  if (!status.ok()) {
    local.Stop();
  }
  runner.join();
  const InterruptScope interrupt([&local] { local.AskToStop(); }, /*second_ends=*/false);
  local.Stop();
  return status.ok() ? run_status : status;
}

void AddUpCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("up", "Run a coordinator and workers on this machine, until Ctrl-C");
  const auto flags = std::make_shared<UpFlags>();
  command
      ->AddOption("-n,--workers", flags->workers,
                  "Number of workers on this machine (default: 1, with --slurm 0)")
      ->TypeName("N")
      ->InRange(0, kWorkersMax);
  Option* const slurm =
      command
          ->AddOption("--slurm", flags->slurm,
                      "Start workers through Slurm when jobs wait, in this partition, or Slurm's "
                      "own: default")
          ->TypeName("PARTITION");
  command->AddOption("--max", flags->slurm_max, "Workers through --slurm at a time")
      ->Needs(slurm)
      ->ShowDefault()
      ->TypeName("N")
      ->InRange(1, 10000);
  command
      ->AddOption("--cpus", flags->cpus,
                  "CPUs of each worker (default: the machine's, shared out; through Slurm 1)")
      ->TypeName("CPUS")
      ->Positive();
  command
      ->AddOption("--data-dir", flags->data_directory,
                  "Where everything is kept (default: $XDG_DATA_HOME/concur or "
                  "~/.local/share/concur)")
      ->TypeName("DIR");
  command
      ->AddOption("--listen", flags->listen,
                  "Where the coordinator listens; port 0 takes a free one (default: "
                  "127.0.0.1:7447, with --slurm 0.0.0.0:7447 and TLS)")
      ->TypeName("HOST:PORT");
  command
      ->AddOption("--page", flags->page,
                  "Where to serve the page for browsers of this machine; none: nowhere (default: "
                  "127.0.0.1:7449, or any port when --listen is given)")
      ->TypeName("HOST:PORT");
  command->AddFlag("--link", flags->link,
                   "Run nothing; print a link that logs in to the page of the coordinator that "
                   "runs here");
  command
      ->AddOption("--env-pass", flags->env_pass,
                  "A variable of this environment that jobs of this machine's workers see as well, "
                  "e.g. PYTHONPATH or CUDA_*")
      ->TypeName("NAME")
      ->OneValueEach();
  command->AddOption("--options", flags->options, "Options of the coordinator (a YAML file)")
      ->TypeName("FILE");
  Option* const run = command
                          ->AddOption("--run", flags->run,
                                      "Submit this sweep file, watch it, and stop when it has "
                                      "ended; exit 5 unless all jobs succeeded")
                          ->TypeName("FILE");
  command->AddOption("--var", flags->variables, "Sets a variable of that file")
      ->TypeName("NAME=VALUE")
      ->OneValueEach()
      ->Needs(run);
  command->AddFlag("--no-check", flags->no_check, "Do not read its data sets before it runs")
      ->Needs(run);
  command->Footer(
      "Finished jobs are kept: after a restart they do not run again.\n"
      "Examples:\n"
      "  concur up --workers 2\n"
      "  concur up --link\n"
      "  concur up --slurm batch --max 20 --cpus 8\n"
      "  concur up -n 2 --listen 127.0.0.1:0 --data-dir /tmp/demo --run study.yaml");
  OnRun(command, context, [flags, &context] { return Up(context, *flags); });
}

}  // namespace concur::cli
