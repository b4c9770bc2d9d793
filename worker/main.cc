// SPDX-License-Identifier: Apache-2.0
// concur-worker: runs the jobs that a coordinator gives it.
#ifdef CONCUR_STATIC
#include <nss.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/log.h"
#include "base/metrics/metric_set.h"
#include "base/metrics/status_server.h"
#include "base/process/cgroup.h"
#include "base/process/containment.h"
#include "base/process/machine.h"
#include "base/process/waker.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "core/fields.h"
#include "core/pools/pool.h"
#include "core/resources.h"
#include "core/sweep/environment.h"
#include "proto/rpc/coordinators.h"
#include "proto/rpc/credentials.h"
#include "worker/agent/agent.h"
#include "worker/agent/grpc_gateway.h"
#include "worker/agent/identity.h"
#include "worker/agent/spool.h"
#include "worker/agent/worker_metrics.h"
#include "worker/environments/environments.h"
#include "worker/execution/finish.h"
#include "worker/execution/subprocess_executor.h"
#include "yaml/options.h"
#include "yaml/options_yaml.h"
#include "yaml/value.h"

namespace concur::worker {
namespace {

// Short jobs that wait here for others to end, at most.
constexpr uint32_t kQueueMax = 1'000;

struct Flags {
  std::string options_file;
  std::string coordinator;
  std::string metrics_listen;
  std::string name;
  std::string work_directory;
  std::string run_directory;
  std::string cpus;
  std::string memory;
  int gpus = -1;
  int slots = -1;
  std::string containment;
  bool private_tmp = false;
  std::string environments;
  std::string environment_directory;
  std::string image;
  std::string time_limit;
  std::string drain_margin = "1m";
  std::string orphan_timeout;
  std::vector<std::string> labels;
  std::vector<std::string> env_pass;
  rpc::CredentialFiles credentials;
  std::string log_format = "text";
  bool verbose = false;
};

std::string Env(const char* name) {
  // Read before any thread is started.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

void AddFlags(concur::Command& app, Flags& flags) {
  app.AddOption("--coordinator", flags.coordinator,
                "HOST:PORT or unix:PATH of the coordinator, or of several of which one leads, with "
                "commas (default: CONCUR_SERVER, else 127.0.0.1:7447)")
      ->Environment("CONCUR_SERVER");
  app.AddOption("--name", flags.name,
                "unique among the coordinator's workers (default: this host's name)");
  app.AddOption("--work-dir", flags.work_directory,
                "where jobs run and results wait; one worker each (default: ~/.cache/concur/NAME)");
  app.AddOption("--run-dir", flags.run_directory,
                "where jobs run, if not in the work directory: a local disk, or /dev/shm for many "
                "short jobs");
  app.AddOption("--cpus", flags.cpus, "CPUs that jobs may use, e.g. 2 or 0.5 (default: all)");
  app.AddOption("--memory", flags.memory, "memory that jobs may use, e.g. 8GiB (default: all)");
  app.AddOption("--gpus", flags.gpus,
                "GPUs that jobs may use (default: those of CUDA_VISIBLE_DEVICES, else none)");
  app.AddOption("--slots", flags.slots, "jobs at a time (default: as many as fit)");
  app.AddOption("--label", flags.labels,
                "KEY=VALUE that jobs can ask for (resources.labels); repeatable");
  app.AddOption("--env-pass", flags.env_pass,
                "variable of this worker's environment that jobs see as well, e.g. PYTHONPATH or "
                "CUDA_*; repeatable");
  app.AddOption("--containment", flags.containment,
                "auto: a control group for each job where this machine allows it; cgroup: do not "
                "start without; processes: none (default: auto)");
  app.AddFlag("--private-tmp", flags.private_tmp,
              "each job has its own /tmp, /var/tmp and /dev/shm");
  app.AddOption("--environments", flags.environments,
                "what may make and run the environments of approaches, in this order: some of "
                "bubblewrap,podman,apptainer,venv,conda, or none (default: all that work here)");
  app.AddOption("--environment-dir", flags.environment_directory,
                "where environments are built, once for all workers of this user on this machine "
                "(default: ~/.cache/concur/.environments)");
  app.AddOption("--image", flags.image,
                "REGISTRY/NAME@sha256:… of the container that this worker runs in: it takes only "
                "jobs whose environment that is, and runs them without a sandbox; they see all of "
                "this worker's environment but CONCUR_* and KUBERNETES_*");
  app.AddOption("--time-limit", flags.time_limit,
                "how long after its start this machine goes away, e.g. 4h: no job is started that "
                "cannot end before");
  app.AddOption(
      "--drain-margin", flags.drain_margin,
      "how long before that no job is started; at half of it running jobs are handed back "
      "(default: 1m)");
  app.AddOption("--orphan-timeout", flags.orphan_timeout,
                "leave when no coordinator has answered for this long (default: never)");
  app.AddOption("--options", flags.options_file, "options file (kind: WorkerOptions)");
  app.AddOption("--token-file", flags.credentials.token,
                "token with the role worker (default: CONCUR_TOKEN, else that of your own "
                "coordinator on this machine)")
      ->Environment("CONCUR_TOKEN_FILE");
  app.AddOption("--ca", flags.credentials.ca,
                "speak TLS, and trust the coordinator that this CA signed")
      ->Environment("CONCUR_CA");
  app.AddOption("--certificate", flags.credentials.certificate,
                "this worker's certificate, where the coordinator asks for one")
      ->Environment("CONCUR_CERTIFICATE");
  app.AddOption("--key", flags.credentials.key, "the key of that certificate")
      ->Environment("CONCUR_KEY");
  app.AddOption("--metrics-listen", flags.metrics_listen,
                "serve /metrics, /healthz and /readyz over HTTP on HOST:PORT, such as "
                "127.0.0.1:9465 (default: none)");
  app.AddOption("--log-format", flags.log_format, "text or json")->OneOf({"text", "json"});
  app.AddFlag("--verbose", flags.verbose, "log more");
}

// The file's options with the flags over them. InvalidArgument names the flag.
absl::StatusOr<spec::WorkerOptions> MergeOptions(const Flags& flags) {
  spec::WorkerOptions options;
  if (!flags.options_file.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options, spec::LoadWorkerOptions(flags.options_file));
  }
  if (!flags.coordinator.empty()) {
    options.coordinator = flags.coordinator;
  }
  if (!flags.metrics_listen.empty()) {
    options.metrics_listen = flags.metrics_listen;
  }
  if (!flags.name.empty()) {
    options.name = flags.name;
  }
  if (!flags.work_directory.empty()) {
    options.work_directory = flags.work_directory;
  }
  if (!flags.run_directory.empty()) {
    options.run_directory = flags.run_directory;
  }
  if (!flags.cpus.empty()) {
    double cpus = 0;
    if (!absl::SimpleAtod(flags.cpus, &cpus) || !(cpus >= 0.001 && cpus <= 1e6)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--cpus: expected a number from 0.001 to 1000000, got \"", flags.cpus, "\""));
    }
    options.cpu_millis = static_cast<int64_t>(cpus * 1000);
  }
  if (!flags.memory.empty()) {
    const absl::StatusOr<int64_t> bytes = spec::ParseBytesText(flags.memory);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--memory: ", bytes.status().message()));
    }
    options.memory_bytes = *bytes;
  }
  if (flags.gpus > kGpusMax) {
    return absl::InvalidArgumentError(absl::StrCat("--gpus: expected at most ", kGpusMax));
  }
  if (flags.gpus >= 0) {
    options.gpus = flags.gpus;
  }
  if (flags.slots >= 0) {
    options.slots = flags.slots;
  }
  if (!flags.containment.empty()) {
    const absl::StatusOr<spec::Containment> containment =
        spec::ContainmentFromName(flags.containment);
    if (!containment.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--containment: ", containment.status().message()));
    }
    options.containment = *containment;
  }
  options.private_tmp = options.private_tmp || flags.private_tmp;
  if (!flags.environments.empty()) {
    options.environments = absl::StrSplit(flags.environments, ',', absl::SkipEmpty());
    if (options.environments == std::vector<std::string>{"none"}) {
      options.environments.clear();
    }
    if (const absl::Status valid = spec::CheckEnvironmentKinds(options.environments); !valid.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--environments: ", valid.message()));
    }
  }
  if (!flags.environment_directory.empty()) {
    options.environment_directory = flags.environment_directory;
  }
  if (!flags.image.empty()) {
    CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--image"), CheckImageReference(flags.image)));
    CONCUR_RETURN_IF_ERROR(CheckLine(FieldPath("--image"), flags.image));
  }
  for (const std::string& label : flags.labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label: expected KEY=VALUE, got \"", label, "\""));
    }
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  for (const std::string& pattern : flags.env_pass) {
    CONCUR_RETURN_IF_ERROR(CheckEnvPattern(FieldPath("--env-pass"), pattern));
    options.env_pass.push_back(pattern);
  }
  return options;
}

// In the user's cache; "" when no variable says where that is. No worker's name begins with a dot.
std::string CacheDirectory(const std::string& name) {
  const std::string xdg = Env("XDG_CACHE_HOME");
  const std::string home = Env("HOME");
  if (!xdg.empty() && xdg[0] == '/') {
    return absl::StrCat(xdg, "/concur/", name);
  }
  return home.empty() ? "" : absl::StrCat(home, "/.cache/concur/", name);
}

// Beside those of this user's other workers, or in the work directory.
std::string EnvironmentDirectory(const spec::WorkerOptions& options) {
  if (!options.environment_directory.empty()) {
    return options.environment_directory;
  }
  const std::string cached = CacheDirectory(".environments");
  return cached.empty() ? absl::StrCat(options.work_directory, "/environments") : cached;
}

// The GPUs that jobs may use, as CUDA_VISIBLE_DEVICES calls them.
std::vector<std::string> GpuNames(const spec::WorkerOptions& options, bool stated) {
  std::vector<std::string> names = process::VisibleGpus(Env("CUDA_VISIBLE_DEVICES"));
  if (!stated) {
    names.resize(std::min<size_t>(names.size(), kGpusMax));
    return names;
  }
  for (int i = static_cast<int>(names.size()); i < options.gpus; ++i) {
    names.push_back(absl::StrCat(i));
  }
  names.resize(static_cast<size_t>(options.gpus));
  return names;
}

WorkerInfo MakeInfo(const spec::WorkerOptions& options, const Identity& identity, int gpus) {
  const process::Machine machine = process::DetectMachine();
  WorkerInfo info;
  info.name = identity.name();
  info.incarnation = identity.incarnation();
  info.previous_incarnation = identity.previous_incarnation();
  info.host = HostName();
  info.version = kVersion;
  info.capacity.cpu_millis = options.cpu_millis > 0 ? options.cpu_millis : machine.cpu_millis;
  info.capacity.memory_bytes =
      options.memory_bytes > 0 ? options.memory_bytes : machine.memory_bytes;
  info.capacity.gpus = gpus;
  info.queue_max = kQueueMax;
  info.slots = static_cast<uint32_t>(options.slots);
  info.takes_services = true;
  info.labels = options.labels;
  std::erase_if(info.labels, [](const auto& label) {  // it finds out itself
    return absl::StartsWith(label.first, kEnvironmentLabelPrefix);
  });
  return info;
}

// Logs what somebody should look after, and returns what the coordinator is told of it.
std::vector<std::string> ShowNotices(std::vector<std::string> notices) {
  for (const std::string& notice : notices) {
    LogWarning(notice);
  }
  if (notices.size() > kNoticesMax) {
    const size_t more = notices.size() - (kNoticesMax - 1);
    notices.resize(kNoticesMax - 1);
    notices.push_back(absl::StrCat(more, " more: see this worker's log"));
  }
  return notices;
}

std::unique_ptr<Environments> OpenEnvironments(const spec::WorkerOptions& options,
                                               const std::string& image) {
  std::error_code error;
  return Environments::Open(
      {.kinds = options.environments,
       .directory = EnvironmentDirectory(options),
       .bytes_max = options.environment_bytes_max,
       .work_directory = std::filesystem::absolute(options.work_directory, error).string(),
       .base = process::BaseEnvironment(),
       .build_only = BuildVariables(),
       .image = image,
       .image_variables = ImageVariables(options.env_pass)});
}

SubprocessOptions MakeExecutorOptions(Clock& clock, const spec::WorkerOptions& options,
                                      const std::vector<std::string>& gpu_names,
                                      const Resources& capacity, process::Cgroups* cgroups,
                                      Environments* environments) {
  SubprocessOptions made;
  made.work_directory = options.work_directory;
  made.run_directory = options.run_directory;
  made.threads = static_cast<int>(std::clamp<int64_t>(capacity.cpu_millis / 500, 4, 32));
  made.watchers = static_cast<int>(std::clamp<int64_t>(2 + capacity.cpu_millis / 500, 4, 34));
  made.grace = options.stop_grace;
  made.slots = options.slots;
  made.capacity = capacity;
  made.log_bytes_max = options.log_bytes_max;
  made.output_bytes_max = options.output_bytes_max;
  made.checkpoint_bytes_max = options.checkpoint_bytes_max;
  made.cache_bytes_max = options.cache_bytes_max;
  made.processes_max = options.processes_max;
  made.private_tmp = options.private_tmp;
  made.cgroups = cgroups;
  made.environments = environments;
  made.environment = process::BaseEnvironment(options.env_pass);
  made.gpu_names = gpu_names;
  made.clock = &clock;
  return made;
}

// Sets the end of this worker as the flags say. InvalidArgument names the flag.
absl::Status SetEnd(const Flags& flags, absl::Time now, AgentOptions* options) {
  const auto parse = [](absl::string_view flag, const std::string& text,
                        absl::Duration* duration) -> absl::Status {
    const absl::StatusOr<absl::Duration> value = spec::ParseDurationText(text);
    if (!value.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(flag, ": ", value.status().message()));
    }
    *duration = *value;
    return absl::OkStatus();
  };
  CONCUR_RETURN_IF_ERROR(parse("--drain-margin", flags.drain_margin, &options->drain_margin));
  if (!flags.time_limit.empty()) {
    absl::Duration limit;
    CONCUR_RETURN_IF_ERROR(parse("--time-limit", flags.time_limit, &limit));
    if (limit <= options->drain_margin) {
      return absl::InvalidArgumentError(
          absl::StrCat("--time-limit: expected more than --drain-margin, ",
                       absl::FormatDuration(options->drain_margin), ", got ", flags.time_limit));
    }
    options->end_time = now + limit;
  }
  if (!flags.orphan_timeout.empty()) {
    CONCUR_RETURN_IF_ERROR(
        parse("--orphan-timeout", flags.orphan_timeout, &options->orphan_timeout));
  }
  return absl::OkStatus();
}

// The options' files with the flags over them.
rpc::CredentialFiles Files(const Flags& flags, const spec::WorkerOptions& options) {
  const auto either = [](const std::string& flag, const std::string& option) {
    return flag.empty() ? option : flag;
  };
  return {either(flags.credentials.ca, options.tls.ca),
          either(flags.credentials.certificate, options.tls.certificate),
          either(flags.credentials.key, options.tls.key),
          either(flags.credentials.token, options.token_file)};
}

// Runs until the agent has left the coordinator.
void Loop(Agent& agent, Clock& clock, process::Waker& waker, int signals, WorkerMetrics& metrics) {
  while (!agent.done()) {
    // Before the step: how a job ended is judged by whether this process was signalled, too.
    signalfd_siginfo info{};
    while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      LogInfo("signal", {{"number", absl::StrCat(info.ssi_signo)}});
      agent.RequestDrain();
    }
    const absl::Time next = agent.Step();
    metrics.Show(agent);
    if (!agent.done()) {
      waker.Wait(next - clock.Now(), signals);
    }
  }
}

absl::Status Run(const Flags& flags, spec::WorkerOptions options, int signals) {
  if (options.work_directory.empty()) {
    options.work_directory = CacheDirectory(options.name.empty() ? HostName() : options.name);
    if (options.work_directory.empty()) {
      return absl::FailedPreconditionError(
          "neither XDG_CACHE_HOME nor HOME is set: say where to work by --work-dir");
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const Identity identity,
                          Identity::Acquire(options.work_directory, options.name));
  CONCUR_ASSIGN_OR_RETURN(const auto spool,
                          FileSpool::Open(absl::StrCat(options.work_directory, "/spool")));
  std::vector<Digest> live;
  for (const SpooledResult& spooled : spool->recovered()) {
    if (!spooled.published) {
      const std::vector<Digest> digests = DigestsOf(spooled.finished);
      live.insert(live.end(), digests.begin(), digests.end());
    }
  }
  const std::vector<std::string> gpu_names = GpuNames(options, flags.gpus >= 0 || options.gpus > 0);
  AgentOptions agent_options;
  agent_options.info = MakeInfo(options, identity, static_cast<int>(gpu_names.size()));
  agent_options.drain_grace = options.drain_max;
  const Digest seed = Sha256Of(identity.incarnation());  // only keeps workers' retries apart
  for (size_t i = 0; i < 8; ++i) {
    agent_options.seed = agent_options.seed << 8 | seed.bytes[i];
  }

  MetricSet metrics;
  metrics.AddProcess("concur-worker", kVersion);
  WorkerMetrics worker_metrics(metrics, agent_options.info.capacity);
  agent_options.on_ended = [&worker_metrics](const JobResult& result) {
    worker_metrics.OnEnded(result);
  };
  std::unique_ptr<StatusServer> status_server;
  if (!options.metrics_listen.empty()) {
    CONCUR_ASSIGN_OR_RETURN(
        status_server, StatusServer::Start(options.metrics_listen,
                                           {[&metrics] { return metrics.Text(); },
                                            [&worker_metrics] { return worker_metrics.Ready(); }}));
  }

  SystemClock clock;
  CONCUR_RETURN_IF_ERROR(SetEnd(flags, clock.Now(), &agent_options));
  process::Waker waker;
  CONCUR_ASSIGN_OR_RETURN(const auto coordinators,
                          rpc::Coordinators::Make(options.coordinator, Files(flags, options)));
  if (coordinators->several()) {
    agent_options.backoff_max = absl::Seconds(1);  // one takes over within seconds
  }
  GrpcGateway gateway(coordinators, [&waker] { waker.Wake(); });
  CONCUR_ASSIGN_OR_RETURN(
      const process::Containment containment,
      process::SetUpContainment({.groups = options.containment != spec::Containment::kProcesses,
                                 .must_group = options.containment == spec::Containment::kCgroup,
                                 .private_tmp = options.private_tmp,
                                 .work_directory = options.work_directory,
                                 .run_directory = options.run_directory}));
  agent_options.info.containment = containment.names;
  const std::unique_ptr<Environments> environments = OpenEnvironments(options, flags.image);
  for (const auto& [name, value] : environments->labels()) {
    agent_options.info.labels[name] = value;
  }
  CONCUR_ASSIGN_OR_RETURN(
      const auto executor,
      SubprocessExecutor::Open(
          MakeExecutorOptions(clock, options, gpu_names, agent_options.info.capacity,
                              containment.cgroups.get(), environments.get()),
          gateway, live, [&waker] { waker.Wake(); }));
  agent_options.info.notices = ShowNotices(executor->notices());
  LogInfo("worker started", {{"name", identity.name()},
                             {"coordinator", options.coordinator},
                             {"work_dir", options.work_directory},
                             {"capacity", ResourcesText(agent_options.info.capacity)},
                             {"containment", absl::StrJoin(containment.names, " ")},
                             {"metrics", status_server ? status_server->address() : "none"},
                             {"pid", absl::StrCat(getpid())}});
  for (const std::string& missing : environments->missing()) {
    LogDebug("environments that cannot be made here", {{"reason", missing}});
  }
  if (!containment.without.empty()) {
    LogInfo("jobs run without control groups", {{"reason", containment.without}});
  }
  Agent agent(clock, gateway, *executor, *spool, agent_options, spool->recovered());
  Loop(agent, clock, waker, signals, worker_metrics);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  concur::Command app(
      "Concur's worker: runs the jobs that a coordinator gives it. SIGTERM lets running jobs end "
      "and leaves; a second one hands them back at once.",
      "concur-worker");
  Flags flags;
  AddFlags(app, flags);
  app.AddVersion();
  if (const std::optional<int> exit_status = app.Parse(argc, argv)) {
    return *exit_status;
  }
  SetLog(flags.verbose ? LogLevel::kDebug : LogLevel::kInfo,
         flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  absl::StatusOr<spec::WorkerOptions> options = MergeOptions(flags);
  if (!options.ok()) {
    std::cerr << options.status().message() << "\n";
    return 2;
  }
  // Signals are read by the loop: blocked in all threads, which inherit this mask.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  umask(077);  // jobs inherit it
  const FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));

  const absl::Status status = Run(flags, *std::move(options), signals.get());
  if (!status.ok()) {
    LogError("cannot work", {{"error", std::string(status.message())}});
    return absl::IsInvalidArgument(status) ? 2 : 1;
  }
  return 0;
}

}  // namespace
}  // namespace concur::worker

// Nothing but a lack of memory throws past Main.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
#ifdef CONCUR_STATIC
  // Other modules are shared libraries of this machine's C library, which this program has not.
  for (const char* database : {"hosts", "passwd", "group"}) {
    __nss_configure_lookup(database, "files dns");
  }
  // c-ares asks DNS first where nsswitch.conf names systemd's resolver, and gives up without one.
  setenv("GRPC_DNS_RESOLVER", "native", 0);  // NOLINT(concurrency-mt-unsafe): no other thread yet
#endif
  return concur::worker::Main(argc, argv);
}
