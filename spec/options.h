// The options of the two servers, as their files state them (docs/options.md).
//
// Values.
#ifndef CONCUR_SPEC_OPTIONS_H_
#define CONCUR_SPEC_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/capacity.h"
#include "core/pool.h"
#include "core/quota.h"
#include "core/resources.h"

namespace concur::spec {

// Object storage for artifacts; without it, they lie in the data directory.
struct S3Options {
  std::string endpoint;  // "https://HOST[:PORT]"
  std::string bucket;
  std::string prefix;  // "": none
  std::string region = "us-east-1";
  std::string credentials_file;  // "": of the environment
  std::string ca;                // PEM file of a private server's CA; "": the system's
};

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7447";  // HOST:PORT; port 0 takes a free one
  std::string metrics_listen;             // HOST:PORT of /metrics, /healthz, /readyz; "": none
  std::string health_listen;              // HOST:PORT of gRPC health checks alone; "": none
  std::string data_directory;             // "": $XDG_DATA_HOME/concur
  std::string owner;                      // of what its own user submits; "": the user's name
  absl::Duration lease = absl::Seconds(30);
  absl::Duration sync_park_max = absl::Seconds(20);  // how long an idle Sync may wait
  absl::Duration lost_worker_kept = absl::Hours(1);  // in lists, for people

  struct Gc {
    absl::Duration interval = absl::Minutes(10);
    absl::Duration grace = absl::Hours(24);  // an artifact that nothing needs is kept so long
  };
  Gc gc;

  std::optional<S3Options> s3;

  struct Limits {
    int64_t sweeps_max = 100'000;
    int64_t jobs_per_sweep_max = 10'000'000;
    int64_t workers_max = 10'000;
    int64_t artifact_bytes_max = int64_t{64} << 30;
    int64_t calls_max = 10'000;  // waiting to be answered; more are told to come again
    // With fewer bytes free on the disk, new sweeps and their data are refused.
    int64_t disk_free_min = int64_t{64} << 20;
    absl::Duration handshake_max = absl::Seconds(10);  // of a connection that was opened
    absl::Duration idle_max = absl::Minutes(30);       // of a connection without a call
    int64_t streams_per_peer_max = 1000;               // that users on one host have open
    // A stream whose other side neither reads nor sends is broken off after so long.
    absl::Duration stalled_max = absl::Minutes(10);
  };
  Limits limits;

  // How much an owner may use at a time.
  QuotaPolicy quotas;

  // A worker that fails what others can do gets nothing new for a while.
  struct Quarantine {
    int64_t failures = 3;  // so many; 0: never
    absl::Duration min = absl::Minutes(10);
    absl::Duration max = absl::Hours(6);  // twice as long every time, up to this
  };
  Quarantine quarantine;

  // Paths of PEM files; "": none.
  struct Tls {
    std::string certificate;  // the server's; turns TLS on
    std::string key;
    std::string client_ca;  // clients must show a certificate that it signed
  };
  Tls tls;

  // The largest workers there will ever be, of pools without a provider. A sweep that fits in none
  // is refused; empty: unknown.
  std::vector<PoolLimit> pool_limits;
  // How workers come to be.
  std::vector<PoolSpec> pools;

  // What workers that pools start are told, where a pool says nothing else.
  struct Pilots {
    std::string coordinator;  // HOST:PORT as they reach it; "": the address that it listens on
    // PEM files: the CA of the coordinator's certificate, and what workers show to it.
    std::string ca;
    std::string certificate;
    std::string key;
  };
  Pilots pilots;
};

struct WorkerOptions {
  std::string name;  // "": the host's name
  std::string coordinator = "127.0.0.1:7447";
  std::string metrics_listen;  // HOST:PORT of /metrics, /healthz, /readyz; "": none
  std::string work_directory;  // "": $XDG_CACHE_HOME/concur/NAME
  std::string run_directory;   // where jobs run; "": in work_directory
  // What jobs may use together. 0: all that the machine has (CPUs, memory); GPUs only when stated.
  int64_t cpu_millis = 0;
  int64_t memory_bytes = 0;
  int32_t gpus = 0;
  int32_t slots = 0;  // jobs at a time; 0: as many as fit
  int64_t log_bytes_max = int64_t{16} << 20;
  int64_t output_bytes_max = int64_t{16} << 30;   // of one attempt's directory
  int64_t cache_bytes_max = int64_t{64} << 30;    // of data and systems kept for later jobs
  absl::Duration stop_grace = absl::Seconds(10);  // between TERM and KILL
  absl::Duration drain_max = absl::Minutes(10);   // running jobs may end so long after SIGTERM
  std::map<std::string, std::string> labels;      // for people and for clusters' own ids

  // Paths of PEM files; "": none.
  struct Tls {
    std::string ca;  // that signed the coordinator's certificate; turns TLS on
    std::string certificate;
    std::string key;
  };
  Tls tls;
  std::string token_file;
};

}  // namespace concur::spec

#endif  // CONCUR_SPEC_OPTIONS_H_
