// SPDX-License-Identifier: Apache-2.0
// The options of coordinator and worker, as in their option files (docs/options.md).
//
// Values.
#ifndef CONCUR_YAML_OPTIONS_H_
#define CONCUR_YAML_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/pools/pool.h"
#include "core/quota.h"
#include "core/resources.h"
#include "core/sweep/capacity.h"

namespace concur::spec {

// Object storage for artifacts; without it, artifacts are in the data directory.
struct S3Options {
  std::string endpoint;  // "https://HOST[:PORT]"
  std::string bucket;
  std::string prefix;  // "": none
  std::string region = "us-east-1";
  std::string credentials_file;  // "": from the environment
  std::string ca;                // PEM file of a private server's CA; "": the system's
};

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7447";  // HOST:PORT; port 0 chooses a free one
  std::string metrics_listen;             // HOST:PORT of /metrics, /healthz, /readyz; "": none
  std::string page_listen;                // HOST:PORT of the page, on the loopback device; "": none
  std::string data_directory;             // "": $XDG_DATA_HOME/concur
  std::string database;  // a URI of PostgreSQL, perhaps with a password; "": SQLite's concur.db
  std::string static_worker;  // that pools' machines get; "": kStaticWorker, if there
  std::string owner;          // for sweeps that its own user submits; "": the user's name
  absl::Duration lease = absl::Seconds(30);
  absl::Duration sync_park_max = absl::Seconds(20);  // longest wait of an idle Sync
  absl::Duration overdue_grace = absl::Hours(1);     // after a job's time-out, for its result
  absl::Duration lost_worker_kept = absl::Hours(1);  // time for which lists show lost workers

  struct Gc {
    absl::Duration interval = absl::Minutes(10);
    absl::Duration grace = absl::Hours(24);  // time for which unneeded artifacts are kept
  };
  Gc gc;

  std::optional<S3Options> s3;
  // Small results of workers on this disk share files; never with `s3`.
  bool pack_small_artifacts = true;

  struct Limits {
    int64_t sweeps_max = 100'000;
    int64_t jobs_per_sweep_max = 10'000'000;
    int64_t workers_max = 10'000;
    int64_t artifact_bytes_max = int64_t{64} << 30;
    int64_t calls_max = 10'000;  // unanswered calls; more are refused, to be retried
    // With fewer free bytes on the disk, new sweeps and their data are refused.
    int64_t job_memory_max = 0;  // 0: derived from the machine's memory
    int64_t disk_free_min = int64_t{64} << 20;
    absl::Duration handshake_max = absl::Seconds(10);  // limit for a new connection
    absl::Duration idle_max = absl::Minutes(30);       // limit for a connection without calls
    int64_t streams_per_peer_max = 1000;               // open streams of users on one host
    // A stream whose peer neither reads nor sends for this long is closed.
    absl::Duration stalled_max = absl::Minutes(10);
  };
  Limits limits;

  // Quota of an owner.
  QuotaPolicy quotas;

  // Quarantine: a worker whose jobs fail but succeed elsewhere gets no new jobs for a while.
  struct Quarantine {
    int64_t failures = 3;  // before quarantine; 0: never
    absl::Duration min = absl::Minutes(10);
    absl::Duration max = absl::Hours(6);  // the duration doubles each time, up to this
  };
  Quarantine quarantine;

  // Paths of PEM files; "": none.
  struct Tls {
    std::string certificate;  // the server's; turns TLS on
    std::string key;
    std::string client_ca;  // client certificates must be signed by it
  };
  Tls tls;

  // The largest workers of pools without a provider. A sweep with a job that fits none is refused;
  // empty: unknown.
  std::vector<PoolLimit> pool_limits;
  // Pools with a provider, which starts their workers.
  std::vector<PoolSpec> pools;

  // Defaults for workers that pools start.
  struct Pilots {
    std::string coordinator;  // HOST:PORT for workers; "": the listening address
    // PEM files: the CA of the coordinator's certificate, and the workers' certificate and key.
    std::string ca;
    std::string certificate;
    std::string key;
  };
  Pilots pilots;
};

// Means that keep a job's processes together and in bounds.
enum class Containment {
  kAuto,       // control groups and namespaces, where this machine allows them
  kCgroup,     // as kAuto, but without control groups the worker does not start
  kProcesses,  // neither
};

// InvalidArgument, without the place, unless these are some of WorkerOptions::environments, each
// once.
absl::Status CheckEnvironmentKinds(const std::vector<std::string>& names);

struct WorkerOptions {
  std::string name;  // "": the host's name
  std::string coordinator = "127.0.0.1:7447";
  std::string metrics_listen;  // HOST:PORT of /metrics, /healthz, /readyz; "": none
  std::string work_directory;  // "": $XDG_CACHE_HOME/concur/NAME
  std::string run_directory;   // parent of run directories; "": in work_directory
  // Resources for all jobs together. 0: all CPUs and memory of the machine; no GPUs.
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int32_t gpus = 0;
  int32_t slots = 0;  // concurrent jobs; 0: as many as fit
  int64_t log_bytes_max = int64_t{16} << 20;
  int64_t output_bytes_max = int64_t{16} << 30;     // size of one attempt's directory
  int64_t checkpoint_bytes_max = int64_t{8} << 30;  // left by an attempt for the next one
  Containment containment = Containment::kAuto;
  bool private_tmp = false;                     // each attempt sees a /tmp of its own
  int64_t processes_max = 32'768;               // in one attempt, threads included
  int64_t cache_bytes_max = int64_t{64} << 30;  // cache of data and systems
  // Tools that may build and run environments of approaches, in the order in which they are tried.
  std::vector<std::string> environments = {"bubblewrap", "podman", "apptainer", "venv", "conda"};
  // Where they are built, for all workers of this user on the machine; "": in $XDG_CACHE_HOME.
  std::string environment_directory;
  int64_t environment_bytes_max = int64_t{64} << 30;  // for all that are kept
  absl::Duration stop_grace = absl::Seconds(10);      // between TERM and KILL
  absl::Duration drain_max = absl::Minutes(10);       // for running jobs after SIGTERM
  std::map<std::string, std::string> labels;          // for matching jobs and for display
  std::vector<std::string> env_pass;                  // as PoolSpec::env_pass

  // Paths of PEM files; "": none.
  struct Tls {
    std::string ca;  // CA of the coordinator's certificate; turns TLS on
    std::string certificate;
    std::string key;
  };
  Tls tls;
  std::string token_file;
};

}  // namespace concur::spec

#endif  // CONCUR_YAML_OPTIONS_H_
