// concur-coordinator: keeps sweeps, gives jobs to workers, answers the concur program.
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "coordinator/server.h"
#include "spec/options.h"
#include "spec/options_yaml.h"

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

std::string DefaultDataDirectory() {
  // Read before any thread is started.
  const char* xdg = std::getenv("XDG_DATA_HOME");  // NOLINT(concurrency-mt-unsafe)
  const char* home = std::getenv("HOME");          // NOLINT(concurrency-mt-unsafe)
  if (xdg != nullptr && *xdg == '/') {
    return std::string(xdg) + "/concur";
  }
  return std::string(home == nullptr ? "." : home) + "/.local/share/concur";
}

ServerOptions FromSpec(const spec::CoordinatorOptions& from) {
  ServerOptions options;
  options.listen = from.listen;
  options.data_directory =
      from.data_directory.empty() ? DefaultDataDirectory() : from.data_directory;
  options.owner = from.owner.empty() ? UserName() : from.owner;
  options.engine.policy.lease = from.lease;
  options.engine.policy.lost_worker_kept = from.lost_worker_kept;
  options.engine.park_max = from.sync_park_max;
  options.engine.inbox_max = static_cast<size_t>(from.limits.calls_max);
  options.engine.policy.workers_max = static_cast<size_t>(from.limits.workers_max);
  options.limits.sweeps_max = from.limits.sweeps_max;
  options.limits.jobs_per_sweep_max = from.limits.jobs_per_sweep_max;
  options.limits.artifact_bytes_max = from.limits.artifact_bytes_max;
  options.limits.pools = from.pools;
  options.gc_interval = from.gc.interval;
  options.gc_grace = from.gc.grace;
  return options;
}

int Main(int argc, char** argv) {
  CLI::App app("Concur's coordinator: keeps sweeps, gives jobs to workers.", "concur-coordinator");
  std::string options_file;
  std::string data_directory;
  std::string listen;
  std::string log_format = "text";
  app.add_option("--options", options_file, "options file (kind: CoordinatorOptions)");
  app.add_option("--data-dir", data_directory,
                 "where everything is kept (default: ~/.local/share/concur)");
  app.add_option("--listen", listen,
                 "HOST:PORT or unix:PATH; port 0 takes a free one (default: 127.0.0.1:7447)");
  app.add_option("--log-format", log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.set_version_flag("--version", CONCUR_VERSION);
  CLI11_PARSE(app, argc, argv);
  SetLog(LogLevel::kInfo, log_format == "json" ? LogFormat::kJson : LogFormat::kText);

  spec::CoordinatorOptions from_file;
  if (!options_file.empty()) {
    absl::StatusOr<spec::CoordinatorOptions> loaded = spec::LoadCoordinatorOptions(options_file);
    if (!loaded.ok()) {
      std::cerr << loaded.status().message() << "\n";
      return 2;
    }
    from_file = *std::move(loaded);
  }
  if (!data_directory.empty()) {
    from_file.data_directory = data_directory;
  }
  if (!listen.empty()) {
    from_file.listen = listen;
  }

  // Signals are waited for, not handled: blocked in all threads, which inherit this mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  SystemClock clock;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(clock, FromSpec(from_file));
  if (!server.ok()) {
    LogError("cannot start", {{"error", std::string(server.status().message())}});
    return 1;
  }
  int received = 0;
  sigwait(&signals, &received);
  LogInfo("stopping", {{"signal", std::to_string(received)}});
  (*server)->Stop();
  return 0;
}

}  // namespace
}  // namespace concur

// Nothing but a lack of memory throws past Main.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) { return concur::Main(argc, argv); }
