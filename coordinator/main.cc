// SPDX-License-Identifier: Apache-2.0
// concur-coordinator: stores sweeps, assigns jobs to workers, and answers the concur program.
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/data_directory.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "coordinator/admin_commands.h"
#include "coordinator/provision/provider.h"
#include "coordinator/server.h"
#include "proto/rpc/channel.h"
#include "yaml/options.h"
#include "yaml/options_yaml.h"

// Options of jemalloc: unused memory is returned to the kernel after one second instead of ten.
extern "C" const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:1000";

namespace concur {
namespace {

std::string UserName() {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(getuid());
}

// The variable's value. Removes it from the environment of this process and its children.
std::string TakeFromEnvironment(const char* name) {
  // Read before any thread is started.
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  std::string taken = value == nullptr ? "" : value;
  unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  return taken;
}

s3::Options FromSpec(const spec::S3Options& from, int64_t artifact_bytes_max,
                     absl::Duration gc_grace) {
  s3::Options options;
  options.endpoint = from.endpoint;
  options.bucket = from.bucket;
  options.prefix = from.prefix;
  options.region = from.region;
  options.ca_file = from.ca;
  options.credentials_file = from.credentials_file;
  if (from.credentials_file.empty()) {
    options.credentials = {TakeFromEnvironment("AWS_ACCESS_KEY_ID"),
                           TakeFromEnvironment("AWS_SECRET_ACCESS_KEY"),
                           TakeFromEnvironment("AWS_SESSION_TOKEN")};
  }
  // An object has 10,000 parts at most.
  options.part_bytes = std::max(options.part_bytes, artifact_bytes_max / 10'000 + 1);
  options.touched_for = std::min(options.touched_for, gc_grace / 2);
  return options;
}

ServerOptions FromSpec(const spec::CoordinatorOptions& from) {
  ServerOptions options;
  options.listen = from.listen;
  options.metrics_listen = from.metrics_listen;
  options.page_listen = from.page_listen;
  options.static_worker = from.static_worker;
  if (options.static_worker.empty() && access(provision::kStaticWorker, R_OK) == 0) {
    options.static_worker = provision::kStaticWorker;
  }
  options.version = kVersion;
  // Absolute, because other programs get paths of files in it.
  std::error_code error;
  options.data_directory =
      std::filesystem::absolute(
          from.data_directory.empty() ? DefaultDataDirectory() : from.data_directory, error)
          .string();
  options.database = TakeFromEnvironment("CONCUR_DATABASE");
  if (options.database.empty()) {
    options.database = from.database;
  }
  options.user = from.owner.empty() ? UserName() : from.owner;
  options.engine.policy.lease = from.lease;
  options.engine.policy.overdue_grace = from.overdue_grace;
  options.engine.policy.lost_worker_kept = from.lost_worker_kept;
  options.engine.park_max = from.sync_park_max;
  options.engine.inbox_max = static_cast<size_t>(from.limits.calls_max);
  options.engine.policy.workers_max = static_cast<size_t>(from.limits.workers_max);
  options.engine.policy.job_memory_max = from.limits.job_memory_max;
  options.engine.policy.quotas = from.quotas;
  options.engine.policy.quarantine_failures = static_cast<uint32_t>(from.quarantine.failures);
  options.engine.policy.quarantine_min = from.quarantine.min;
  options.engine.policy.quarantine_max = from.quarantine.max;
  options.limits.sweeps_max = from.limits.sweeps_max;
  options.limits.jobs_per_sweep_max = from.limits.jobs_per_sweep_max;
  options.limits.artifact_bytes_max = from.limits.artifact_bytes_max;
  options.limits.disk_free_min = from.limits.disk_free_min;
  options.limits.pools = from.pool_limits;
  options.connections.handshake_timeout = from.limits.handshake_max;
  options.connections.idle_max = from.limits.idle_max;
  options.connections.streams = {static_cast<size_t>(from.limits.streams_per_peer_max),
                                 from.limits.stalled_max};
  options.engine.pools = from.pools;
  options.pilots_coordinator = from.pilots.coordinator;
  options.pilots = {from.pilots.ca, from.pilots.certificate, from.pilots.key};
  options.tls = {from.tls.certificate, from.tls.key, from.tls.client_ca};
  options.gc_interval = from.gc.interval;
  options.gc_grace = from.gc.grace;
  options.pack_small_artifacts = from.pack_small_artifacts;
  if (from.s3.has_value()) {
    options.s3 = FromSpec(*from.s3, from.limits.artifact_bytes_max, from.gc.grace);
  }
  return options;
}

// Serves until SIGINT or SIGTERM.
int Serve(ServerOptions options) {
  // sigwait receives the signals, so they are blocked in all threads, which inherit this mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  umask(077);

  options.wait_as_stand_by = [&signals](absl::Duration span) {
    const timespec wait = absl::ToTimespec(span);
    return sigtimedwait(&signals, nullptr, &wait) < 0;
  };
  SystemClock clock;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock, std::move(options));
  if (absl::IsCancelled(server.status())) {
    LogInfo("stopping", {{"because", std::string(server.status().message())}});
    return 0;
  }
  if (!server.ok()) {
    LogError("cannot start", {{"error", std::string(server.status().message())}});
    return absl::IsInvalidArgument(server.status()) ? 2 : 1;
  }
  int received = 0;
  sigwait(&signals, &received);
  LogInfo("stopping", {{"signal", std::to_string(received)}});
  (*server)->Stop();
  return 0;
}

// "": not given.
struct Flags {
  std::string options_file;
  std::string data_directory;
  std::string listen;
  std::string metrics_listen;
  std::string page_listen;
  std::string static_worker;
  std::string log_format = "text";
  bool verbose = false;
  TlsFiles tls;
  bool without_authentication = false;
};

void AddFlags(Command& app, Flags& flags) {
  app.AddOption("--options", flags.options_file, "options file (kind: CoordinatorOptions)");
  app.AddOption("--data-dir", flags.data_directory,
                "where everything is kept (default: ~/.local/share/concur)");
  app.AddOption("--listen", flags.listen,
                "HOST:PORT or unix:PATH; port 0 takes a free one (default: 127.0.0.1:7447)");
  app.AddOption("--metrics-listen", flags.metrics_listen,
                "serve /metrics, /healthz and /readyz over HTTP on HOST:PORT, such as "
                "127.0.0.1:9464 (default: none)");
  app.AddOption("--page-listen", flags.page_listen,
                "serve the page for browsers of this machine on HOST:PORT, such as 127.0.0.1:7449 "
                "(default: none)");
  app.AddOption("--static-worker", flags.static_worker,
                absl::StrCat("the worker without shared libraries that machines of Slurm and of "
                             "other schedulers get from here (default: ",
                             provision::kStaticWorker, ", where it is)"))
      ->TypeName("FILE");
  app.AddOption("--log-format", flags.log_format, "text or json")->OneOf({"text", "json"});
  app.AddFlag("--verbose", flags.verbose, "log more: every job");
  app.AddOption("--tls-certificate", flags.tls.certificate, "the server's certificate: speak TLS")
      ->TypeName("FILE");
  app.AddOption("--tls-key", flags.tls.key, "the key of that certificate")->TypeName("FILE");
  app.AddOption("--tls-client-ca", flags.tls.client_ca,
                "ask clients for a certificate that this CA signed")
      ->TypeName("FILE");
  app.AddFlag("--insecure-listen-without-authentication", flags.without_authentication,
              "let whoever reaches the address do everything, in clear text; never do this on a "
              "network that others use");
}

// Flags take precedence over the options file.
absl::StatusOr<spec::CoordinatorOptions> OptionsOf(const Flags& flags) {
  spec::CoordinatorOptions options;
  if (!flags.options_file.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options, spec::LoadCoordinatorOptions(flags.options_file));
  }
  std::string static_worker;
  if (!flags.static_worker.empty()) {
    std::error_code error;
    static_worker = std::filesystem::absolute(flags.static_worker, error).string();
  }
  const std::pair<const std::string&, std::string&> given[] = {
      {flags.data_directory, options.data_directory}, {flags.listen, options.listen},
      {flags.metrics_listen, options.metrics_listen}, {flags.page_listen, options.page_listen},
      {static_worker, options.static_worker},
  };
  for (const auto& [name, address] :
       {std::pair("--listen", flags.listen), std::pair("--metrics-listen", flags.metrics_listen),
        std::pair("--page-listen", flags.page_listen)}) {
    if (!address.empty() && !absl::StartsWith(address, "unix:")) {
      if (const absl::Status valid = rpc::ParseAddress(address).status(); !valid.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": ", valid.message()));
      }
    }
  }
  for (const auto& [flag, option] : given) {
    if (!flag.empty()) {
      option = flag;
    }
  }
  if (!flags.tls.certificate.empty()) {
    options.tls = {flags.tls.certificate, flags.tls.key, flags.tls.client_ca};
  }
  return options;
}

int Main(int argc, char** argv) {
  // Debian's Abseil keeps a graph of all locks held, including gRPC's, which takes 2 % of a busy
  // coordinator's time.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Command app("Concur's coordinator: keeps sweeps, gives jobs to workers.", "concur-coordinator");
  Flags flags;
  AddFlags(app, flags);
  app.AddVersion();
  app.Fallthrough();
  AdminWork admin_work;
  AddTokenCommands(app, &admin_work);
  AddInitTlsCommand(app, &admin_work);
  AddDataCommands(app, &admin_work);
  if (const std::optional<int> exit_status = app.Parse(argc, argv)) {
    return *exit_status;
  }
  SetLog(flags.verbose ? LogLevel::kDebug : LogLevel::kInfo,
         flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);

  const absl::StatusOr<spec::CoordinatorOptions> from_flags = OptionsOf(flags);
  if (!from_flags.ok()) {
    std::cerr << from_flags.status().message() << "\n";
    return 2;
  }
  ServerOptions options = FromSpec(*from_flags);
  if (options.s3.has_value() && options.s3->credentials_file.empty() &&
      (options.s3->credentials.access_key.empty() || options.s3->credentials.secret_key.empty())) {
    std::cerr << "artifacts.s3 asks for AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
                 "environment, or for credentials_file in the options\n";
    return 2;
  }
  options.without_authentication = flags.without_authentication;
  if (admin_work) {
    const absl::Status status =
        admin_work({options.data_directory, options.s3, false, options.database});
    if (!status.ok()) {
      std::cerr << "concur-coordinator: error: " << status.message() << "\n";
    }
    return status.ok() ? 0 : absl::IsInvalidArgument(status) ? 2 : 1;
  }
  return Serve(std::move(options));
}

}  // namespace
}  // namespace concur

// Main throws only when memory runs out.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) { return concur::Main(argc, argv); }
