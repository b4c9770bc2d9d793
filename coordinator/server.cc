// SPDX-License-Identifier: Apache-2.0
#include "coordinator/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics/metric_set.h"
#include "base/metrics/status_server.h"
#include "base/mutex.h"
#include "base/process/machine.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "coordinator/access/access.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/page_access.h"
#include "coordinator/access/pilot_tls.h"
#include "coordinator/access/secrets.h"
#include "coordinator/access/tokens.h"
#include "coordinator/data/data_place.h"
#include "coordinator/engine/collector.h"
#include "coordinator/engine/engine_log.h"
#include "coordinator/engine/fleet_history.h"
#include "coordinator/engine/partial_uploads.h"
#include "coordinator/gate/gate.h"
#include "coordinator/gate/peers.h"
#include "coordinator/page/page_server.h"
#include "coordinator/provision/command_provider.h"
#include "coordinator/provision/kube_config.h"
#include "coordinator/provision/kubernetes_provider.h"
#include "coordinator/provision/local_provider.h"
#include "coordinator/provision/slurm_provider.h"
#include "coordinator/provisioner.h"
#include "coordinator/services/coordinator_metrics.h"
#include "coordinator/services/coordinator_service.h"
#include "coordinator/services/service_front.h"
#include "coordinator/services/views.h"
#include "coordinator/services/worker_service.h"
#include "proto/rpc/callback_threads.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_pool.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/credentials.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/file_blocks.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

// Time for which calls in progress may continue when the server stops.
constexpr std::chrono::seconds kStopGrace{2};
// Interrupted uploads to object storage: each has a part in memory, and takes a call to abort.
constexpr size_t kHeldForObjectStorage = 4;
// Less than the four seconds that Kubernetes waits for /readyz.
constexpr absl::Duration kProbeTimeout = absl::Seconds(2);

// Clients authenticate by tokens; DATA/token has one for the user who runs the coordinator.
absl::StatusOr<std::unique_ptr<Access>> MakeAccess(Clock& clock, const ServerOptions& options) {
  if (options.without_authentication) {
    LogWarning("no authentication: whoever reaches this address may do everything");
    return std::unique_ptr<Access>(new Access(Access::Open(clock, options.user)));
  }
  CONCUR_RETURN_IF_ERROR(EnsureLocalToken(options.data_directory, options.user, clock.Now()));
  return std::make_unique<Access>(clock, options.data_directory);
}

// False when calls cross the network in clear text.
bool IsPrivate(const ServerOptions& options) {
  return rpc::IsLocalAddress(options.listen) || !options.tls.certificate.empty();
}

// InvalidArgument when tokens would cross the network in clear text.
absl::Status CheckListen(const ServerOptions& options) {
  if (IsPrivate(options) || options.without_authentication) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "listening on ", options.listen,
      ", beyond this machine, asks for TLS: make certificates with \"concur-coordinator init-tls\" "
      "and name them under tls: in the options, or with --tls-certificate and --tls-key"));
}

// The pod's limit of memory is the one number of which the kernel's bound and these are.
struct MemoryShares {
  int64_t buffers = 0;  // gRPC's
  int64_t jobs = 0;     // an eighth is left for the rest
};

MemoryShares ShareOutMemory(const ConnectionLimits& limits) {
  const int64_t memory = process::DetectMachine().memory_bytes;
  const int64_t buffers = std::min(static_cast<int64_t>(limits.memory_max), memory / 2);
  return {buffers, memory - memory / 8 - buffers};
}

void SetLimits(const ConnectionLimits& limits, grpc::ServerBuilder* builder) {
  const auto set = [builder](const char* argument, absl::Duration span) {
    builder->AddChannelArgument(argument, static_cast<int>(absl::ToInt64Milliseconds(span)));
  };
  // gRPC unpacks a message whole before it compares its size with the limit. No client of ours
  // compresses; a message that is compressed all the same is refused as it came.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder->AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
                              1 << GRPC_COMPRESS_NONE);
  builder->SetMaxReceiveMessageSize(rpc::kMessageBytesLimit);
  builder->SetMaxSendMessageSize(rpc::kMessageBytesLimit);
  // Workers send keepalive pings on connections that carry only a parked Sync.
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, absl::Seconds(2));
  // Sooner than a client notices: its interrupted upload is kept by the time it reconnects.
  set(GRPC_ARG_KEEPALIVE_TIME_MS, absl::Seconds(10));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, absl::Seconds(10));
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, limits.idle_max);
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, limits.age_max);
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, limits.age_grace);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams_max);
  grpc::ResourceQuota quota("coordinator");
  builder->SetResourceQuota(quota.Resize(static_cast<size_t>(ShareOutMemory(limits).buffers)));
}

// "0.0.0.0:7447" is not an address that others can connect to.
std::string ReachableAddress(const std::string& address) {
  for (const char* any : {"0.0.0.0:", "[::]:"}) {
    if (absl::StartsWith(address, any)) {
      char host[256] = "localhost";
      gethostname(host, sizeof host - 1);
      return absl::StrCat(host, ":", address.substr(std::string(any).size()));
    }
  }
  return address;
}

// The address for programs of this machine.
std::string LoopbackAddress(const std::string& address) {
  for (const auto& [any, loopback] :
       {std::pair("0.0.0.0:", "127.0.0.1:"), std::pair("[::]:", "[::1]:")}) {
    if (absl::StartsWith(address, any)) {
      return absl::StrCat(loopback, address.substr(std::string(any).size()));
    }
  }
  return address;
}

// Files that programs of this user on this machine show to the coordinator; what pools' workers
// know it by serves them as well. Copies, since the options may name files that are exchanged.
absl::StatusOr<rpc::CredentialFiles> LocalFiles(const std::string& data, const TlsFiles& server,
                                                const absl::StatusOr<PilotTls>& tls) {
  rpc::CredentialFiles files;
  files.token = LocalTokenPath(data);
  if (server.certificate.empty() || !tls.ok()) {
    return files;
  }
  const std::string directory = data + "/local-tls";
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  const auto write = [&](const char* name, const std::string& pem, std::string* path) {
    *path = pem.empty() ? "" : absl::StrCat(directory, "/", name);
    return pem.empty() ? absl::OkStatus() : WriteFileAtomically(*path, pem, 0600);
  };
  CONCUR_RETURN_IF_ERROR(write("ca.pem", tls->ca(), &files.ca));
  CONCUR_RETURN_IF_ERROR(write("client.pem", tls->certificate(), &files.certificate));
  CONCUR_RETURN_IF_ERROR(write("client.key", tls->key(), &files.key));
  return files;
}

// Checks whether a pool's workers can reach the coordinator, as far as the coordinator can tell.
std::function<absl::Status(const PoolSpec&)> PoolCheck(const ServerOptions& options,
                                                       const absl::StatusOr<PilotTls>& tls) {
  const std::string address = options.pilots_coordinator.empty() ? ReachableAddress(options.listen)
                                                                 : options.pilots_coordinator;
  return [address, tls](const PoolSpec& pool) -> absl::Status {
    CONCUR_RETURN_IF_ERROR(tls.status());
    const std::string& called = pool.coordinator.empty() ? address : pool.coordinator;
    const std::vector<std::string> all = absl::StrSplit(called, ',');
    if (pool.provider == ProviderKind::kKubernetes &&
        std::any_of(all.begin(), all.end(), rpc::IsLocalAddress)) {
      LogWarning("the pool's pods are told an address that is this machine's alone",
                 {{"pool", pool.name}, {"address", called}, {"field", "pilots.coordinator"}});
    }
    return tls->CheckAddress(called);
  };
}

// Opens a gate before the server; errors say "cannot VERB on ADDRESS" and name the flag.
absl::StatusOr<std::unique_ptr<gate::Gate>> OpenGate(gate::GateOptions options,
                                                     grpc::Server& server, gate::Peers& peers,
                                                     absl::string_view verb,
                                                     absl::string_view flag) {
  const std::string listen = options.listen;
  options.serve = [&server](int fd) { grpc::AddInsecureChannelFromFd(&server, fd); };
  absl::StatusOr<std::unique_ptr<gate::Gate>> gate = gate::Gate::Start(std::move(options), peers);
  if (absl::IsUnavailable(gate.status())) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", verb, " on ", listen,
                     ": the address is taken or not this machine's; choose another with ", flag,
                     " (", gate.status().message(), ")"));
  }
  return gate;
}

// Answers every call with Unavailable, and why.
class RefusingService final : public grpc::CallbackGenericService {
 public:
  void set_reason(std::string reason) {
    const MutexLock lock(mutex_);
    reason_ = std::move(reason);
  }
  std::string reason() {
    const MutexLock lock(mutex_);
    return reason_;
  }
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    class Reactor final : public grpc::ServerGenericBidiReactor {
      void OnDone() override { delete this; }
    };
    auto* reactor = new Reactor;  // deletes itself
    reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, reason()));
    return reactor;
  }

 private:
  Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

// The listeners of a coordinator that does not lead: they refuse calls, and /readyz fails.
class StandBy {
 public:
  static absl::StatusOr<std::unique_ptr<StandBy>> Start(const ServerOptions& options) {
    auto stand_by = std::make_unique<StandBy>();
    grpc::ServerBuilder builder;
    SetLimits(options.connections, &builder);
    builder.RegisterCallbackGenericService(&stand_by->service_);
    stand_by->server_ = builder.BuildAndStart();
    gate::GateOptions gate;  // everybody is a stranger
    gate.listen = options.listen;
    gate.tls = options.tls;
    gate.handshake_max = options.connections.handshake_timeout;
    CONCUR_ASSIGN_OR_RETURN(stand_by->gate_, OpenGate(std::move(gate), *stand_by->server_,
                                                      stand_by->peers_, "listen", "--listen"));
    if (!options.metrics_listen.empty()) {
      CONCUR_ASSIGN_OR_RETURN(
          stand_by->status_server_,
          StatusServer::Start(options.metrics_listen, {[] { return std::string(); },
                                                       [service = &stand_by->service_] {
                                                         return absl::UnavailableError(
                                                             service->reason());
                                                       }}));
    }
    return stand_by;
  }
  StandBy() = default;
  ~StandBy() {
    status_server_.reset();
    gate_.reset();
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now());
      server_->Wait();
    }
  }
  StandBy(const StandBy&) = delete;
  StandBy& operator=(const StandBy&) = delete;

  void set_reason(std::string reason) { service_.set_reason(std::move(reason)); }
  const std::string& address() const { return gate_->address(); }
  std::string metrics_address() const {
    return status_server_ == nullptr ? "" : status_server_->address();
  }

 private:
  RefusingService service_;
  gate::Peers peers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<gate::Gate> gate_;
  std::unique_ptr<StatusServer> status_server_;
};

constexpr absl::Duration kStandByPoll = absl::Milliseconds(250);
constexpr int kPollsUntilRecorded = 20;

// Waits once; starts the stand-by when there is none. False: `*failed` says why, or the process is
// to end.
bool WaitAsStandBy(ServerOptions& options, const std::string& leader,
                   std::unique_ptr<StandBy>& stand_by, absl::Status* failed) {
  if (stand_by == nullptr) {
    absl::StatusOr<std::unique_ptr<StandBy>> started = StandBy::Start(options);
    if (!started.ok()) {
      *failed = started.status();
      return false;
    }
    stand_by = *std::move(started);
    options.listen = stand_by->address();  // the same ports when it leads
    options.metrics_listen = stand_by->metrics_address();
    LogInfo("stand-by: another coordinator leads",
            {{"leader", leader}, {"address", options.listen}});
  }
  stand_by->set_reason(absl::StrCat("this coordinator is a stand-by; ", leader, " leads"));
  return options.wait_as_stand_by(kStandByPoll);
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(ServerOptions& options,
                                                 std::unique_ptr<StandBy>& stand_by) {
  const std::string& data = options.data_directory;
  CONCUR_RETURN_IF_ERROR(CheckDatabasePlace({data, std::nullopt, false, options.database}));
  if (options.database.empty()) {
    return SqliteStore::Open(data + kDatabaseFile);
  }
  LeadershipOptions leadership;
  leadership.address = options.listen;
  leadership.on_lost = [](const absl::Status& why) {
    LogError("this coordinator leads no more: the process ends",
             {{"error", std::string(why.message())}});
    std::_Exit(1);
  };
  // Before the tables are migrated, which may take minutes.
  leadership.on_acquired = [&data](const std::string& leader) {
    return RecordLeader(data, leader);
  };
  absl::Status failed;
  int polls = 0;  // while this is not the leader's data directory
  if (options.wait_as_stand_by) {
    leadership.wait = [&](const std::string& leader) {
      polls = options.s3.has_value() || IsDirectoryOf(data, leader) ? 0 : polls + 1;
      if (polls > kPollsUntilRecorded) {
        failed = absl::FailedPreconditionError(absl::StrCat(
            data, " is not the data directory of ", leader, ", which leads: give both one ",
            "directory, or keep artifacts in object storage (artifacts.s3)"));
        return false;
      }
      return WaitAsStandBy(options, leader, stand_by, &failed);
    };
  }
  absl::StatusOr<std::unique_ptr<PostgresStore>> store =
      PostgresStore::Open(options.database, std::move(leadership));
  CONCUR_RETURN_IF_ERROR(failed);
  CONCUR_RETURN_IF_ERROR(store.status());
  if (stand_by != nullptr) {
    LogInfo("taking over: this coordinator leads, and loads");
    stand_by->set_reason("this coordinator is taking over, and loads: try again");
  }
  CONCUR_RETURN_IF_ERROR(RecordDatabase(data, (*store)->id(), (*store)->address()));
  (*store)->WarnIfUnsynced();
  return store;
}

constexpr absl::Duration kStoreCheckInterval = absl::Seconds(2);

// Also an idle coordinator notices when its database is deleted.
void WatchStore(ThreadPool& pool, Engine& engine) {
  pool.SubmitAfter(kStoreCheckInterval, [&pool, &engine] {
    engine.CheckStore();
    WatchStore(pool, engine);
  });
}

constexpr absl::Duration kGateCheckInterval = absl::Seconds(10);
constexpr int kGateChecksMax = 6;

// Ends the process when the gate is deaf for a minute, so that it is started anew: systemd and
// Kubernetes do. Nothing is lost, since what was acknowledged is on the disk.
void WatchGate(ThreadPool& pool, gate::Gate& gate, int failed) {
  pool.SubmitAfter(kGateCheckInterval, [&pool, &gate, failed] {
    const absl::Status answers = gate.Probe(kProbeTimeout);
    if (!answers.ok() && failed + 1 >= kGateChecksMax) {
      LogError("nobody can connect any more: the process ends, to be started anew",
               {{"error", std::string(answers.message())}});
      std::_Exit(1);
    }
    WatchGate(pool, gate, answers.ok() ? 0 : failed + 1);
  });
}

constexpr absl::Duration kFleetSampleInterval = FleetHistoryOptions().interval;

// Counts workers and jobs now and again. A stalled engine leaves a gap.
void WatchFleet(Clock& clock, ThreadPool& pool, Engine& engine, FleetHistory& fleet) {
  engine.Read<FleetSample>(
      [&clock, &engine](const Scheduler& scheduler) -> absl::StatusOr<FleetSample> {
        return FleetHistory::Take(scheduler, engine.pools(), clock.Now());
      },
      [&fleet](absl::StatusOr<FleetSample> sample) {
        if (sample.ok()) {
          fleet.Add(*std::move(sample));
        }
      });
  pool.SubmitAfter(kFleetSampleInterval,
                   [&clock, &pool, &engine, &fleet] { WatchFleet(clock, pool, engine, fleet); });
}

// REQUIRES: the engine has not started.
void StartFleetHistory(Clock& clock, ThreadPool& pool, Engine& engine, FleetHistory& fleet) {
  engine.AddObserver(fleet);
  using Workers = std::vector<WorkerView>;
  engine.Read<Workers>(
      [](const Scheduler& scheduler) -> absl::StatusOr<Workers> {
        return scheduler.views().ListWorkers();
      },
      [&fleet](const absl::StatusOr<Workers>& workers) {
        if (workers.ok()) {
          fleet.Begin(*workers);
        }
      });
  WatchFleet(clock, pool, engine, fleet);
}

}  // namespace

// Declared in the order in which they must be built; destroyed in reverse.
struct Server::Parts {
  ServerOptions options;
  absl::StatusOr<PilotTls> pilot_tls;
  std::string address;
  std::string metrics_address;
  std::unique_ptr<MetricSet> metrics;
  EngineLog log;
  std::unique_ptr<CoordinatorMetrics> coordinator_metrics;
  std::unique_ptr<FleetHistory> fleet;
  std::unique_ptr<Store> store;
  std::unique_ptr<ArtifactStore> artifacts;
  std::unique_ptr<PartialUploads> partial_uploads;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Collector> collector;
  std::unique_ptr<ThreadPool> pool;       // ends before what its work uses
  std::unique_ptr<ThreadPool> transfers;  // artifact transfers; null: the pool does them
  std::unique_ptr<ThreadPool> answers;
  std::unique_ptr<Access> access;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<Secrets> secrets;
  gate::Peers peers;
  std::unique_ptr<StreamWatch> streams;
  std::unique_ptr<CoordinatorService> coordinator_service;
  std::unique_ptr<WorkerService> worker_service;
  std::unique_ptr<ServiceFront> front;
  rpc::CallbackThreads callback_threads;
  std::unique_ptr<StandBy> stand_by;  // null while this coordinator serves
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<gate::Gate> gate;        // hands connections to the server
  std::unique_ptr<page::PageServer> page;  // a client of the server
  std::unique_ptr<Provisioner> provisioner;
  std::unique_ptr<StatusServer> status_server;
  std::optional<provision::OfferedWorker> offered_worker;
};

// Sets the worker program that pilots get from here besides their jobs.
absl::Status Server::OfferWorker(Parts& parts) {
  const std::string& file = parts.options.static_worker;
  if (file.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<FileDigest> digest = DigestFile(file);
  if (!digest.ok()) {
    return absl::Status(digest.status().code(),
                        absl::StrCat("static_worker: ", digest.status().message()));
  }
  parts.offered_worker = provision::OfferedWorker{file, digest->digest.ToHex(), digest->bytes};
  return absl::OkStatus();
}

// Starts the endpoints for monitoring.
absl::Status Server::StartStatus(Parts& parts) {
  if (parts.coordinator_metrics != nullptr) {
    CoordinatorMetrics& metrics = *parts.coordinator_metrics;
    StatusPages pages = {[&metrics] { return metrics.Text(); },
                         [&metrics, gate = parts.gate.get()] {
                           const absl::Status answers = gate->Probe(kProbeTimeout);
                           return answers.ok() ? metrics.Ready() : answers;
                         }};
    if (parts.offered_worker.has_value()) {
      pages.files[OfferedWorkerPage(*parts.offered_worker)] = parts.offered_worker->file;
    }
    CONCUR_ASSIGN_OR_RETURN(parts.status_server,
                            StatusServer::Start(parts.options.metrics_listen, std::move(pages)));
    parts.metrics_address = parts.status_server->address();
  }
  return absl::OkStatus();
}

// An address that is taken is no reason to start nothing: the page is an extra.
absl::Status Server::StartPage(Clock& clock, Parts& parts) {
  if (parts.options.page_listen.empty()) {
    return absl::OkStatus();
  }
  page::PageOptions options;
  options.listen = parts.options.page_listen;
  options.data_directory = parts.options.data_directory;
  options.without_authentication = parts.options.without_authentication;
  options.version = parts.options.version;
  options.methods = PageMethods();
  options.authenticate = [access = parts.access.get(),
                          audit = parts.audit.get()](const page::ApiCaller& caller) {
    return AuthenticateViewer(*access, *audit, caller);
  };
  options.local_token =
      [path = LocalTokenPath(parts.options.data_directory)]() -> absl::StatusOr<std::string> {
    CONCUR_ASSIGN_OR_RETURN(const std::string token, ReadFile(path, 4096));
    return std::string(absl::StripAsciiWhitespace(token));
  };
  absl::StatusOr<std::unique_ptr<page::PageServer>> page = page::PageServer::Start(
      clock, std::move(options), parts.server->InProcessChannel(grpc::ChannelArguments()));
  if (absl::IsUnavailable(page.status())) {
    LogWarning("there is no page", {{"error", std::string(page.status().message())}});
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(page.status());
  parts.page = *std::move(page);
  return absl::OkStatus();
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Stop(); }

const std::string& Server::address() const { return parts_->address; }
const Access& Server::access_for_test() const { return *parts_->access; }

// Lets pools start workers, now that their coordinator's address is known.
absl::Status Server::StartPools(Clock& clock, Parts& parts) {
  const ServerOptions& options = parts.options;
  for (const PoolSpec& pool : options.engine.pools) {
    if (!options.limits.providers.contains(pool.provider)) {
      return absl::InvalidArgumentError(absl::StrCat("pool ", pool.name, ": this coordinator has ",
                                                     "no provider \"",
                                                     ProviderKindName(pool.provider), "\""));
    }
    CONCUR_RETURN_IF_ERROR(options.limits.check_pool(pool));
  }
  provision::PilotSetup setup;
  for (const char c : parts.artifacts->store_id()) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) && setup.coordinator_id.size() < 8) {
      setup.coordinator_id.push_back(c);
    }
  }
  setup.coordinator = options.pilots_coordinator.empty() ? ReachableAddress(parts.address)
                                                         : options.pilots_coordinator;
  if (!options.without_authentication) {
    setup.token = [data = options.data_directory, &clock] {
      return EnsurePilotToken(data, clock.Now());
    };
  } else {
    setup.token = [] { return std::string(); };
  }
  if (parts.pilot_tls.ok()) {
    setup.ca_pem = parts.pilot_tls->ca();
    setup.certificate_pem = parts.pilot_tls->certificate();
    setup.key_pem = parts.pilot_tls->key();
  } else {
    // Pools that were added before start nothing, and give this reason.
    setup.token = [status = parts.pilot_tls.status()] { return status; };
  }
  std::error_code error;
  setup.worker_program = std::filesystem::read_symlink("/proc/self/exe", error)
                             .replace_filename("concur-worker")
                             .string();
  setup.offered_worker = parts.offered_worker;
  if (setup.offered_worker.has_value() && !parts.metrics_address.empty()) {
    setup.offered_worker->is_local = rpc::IsLocalAddress(parts.metrics_address);
    CONCUR_CHECK(
        absl::SimpleAtoi(parts.metrics_address.substr(parts.metrics_address.rfind(':') + 1),
                         &setup.offered_worker->port));
  }
  setup.directory = options.data_directory + "/pilots";
  Provisioner::Providers providers;
  providers[ProviderKind::kLocal] = std::make_unique<provision::LocalProvider>(setup);
  providers[ProviderKind::kSlurm] = std::make_unique<provision::SlurmProvider>(setup);
  providers[ProviderKind::kKubernetes] = std::make_unique<provision::KubernetesProvider>(
      clock, setup,
      [env = provision::KubeEnvironment()] { return provision::FindKubeConfig(env); });
  const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): never set here
  providers[ProviderKind::kCommand] = std::make_unique<provision::CommandProvider>(
      setup, home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.concur"));
  parts.provisioner = std::make_unique<Provisioner>(clock, *parts.engine, std::move(providers));
  return absl::OkStatus();
}

const std::string& Server::metrics_address() const { return parts_->metrics_address; }
std::string Server::page_address() const {
  return parts_->page == nullptr ? "" : parts_->page->address();
}

absl::Status Server::Assemble(Clock& clock, Parts& parts) {
  CONCUR_RETURN_IF_ERROR(CheckListen(parts.options));
  const std::string& data = parts.options.data_directory;
  CONCUR_RETURN_IF_ERROR(MakeDataDirectory(data));
  CONCUR_ASSIGN_OR_RETURN(parts.store, OpenStore(parts.options, parts.stand_by));
  CONCUR_ASSIGN_OR_RETURN(
      parts.artifacts,
      OpenArtifacts(clock, {data, parts.options.s3, parts.options.pack_small_artifacts}));
  PartialUploadLimits held;
  if (parts.options.s3.has_value()) {
    held.count_max = kHeldForObjectStorage;
  }
  parts.partial_uploads = std::make_unique<PartialUploads>(clock, held);
  EngineOptions engine_options = parts.options.engine;
  engine_options.artifact_directory = parts.artifacts->directory();
  engine_options.artifact_store_id = parts.artifacts->store_id();
  engine_options.decode_pool = rpc::DecodePool;
  engine_options.policy.encode_spec = rpc::EncodeSpec;
  if (engine_options.policy.job_memory_max == 0) {
    engine_options.policy.job_memory_max = ShareOutMemory(parts.options.connections).jobs;
  }
  CONCUR_ASSIGN_OR_RETURN(parts.engine, Engine::Create(clock, *parts.store, rpc::DecodeSpec,
                                                       std::move(engine_options)));
  parts.engine->AddObserver(parts.log);
  parts.fleet = std::make_unique<FleetHistory>(clock);
  if (!parts.options.metrics_listen.empty()) {
    parts.metrics = std::make_unique<MetricSet>();
    parts.metrics->AddProcess("concur-coordinator", parts.options.version);
    parts.coordinator_metrics =
        std::make_unique<CoordinatorMetrics>(*parts.metrics, *parts.engine, clock, data);
    parts.engine->AddObserver(*parts.coordinator_metrics);
  }
  parts.pool = std::make_unique<ThreadPool>(parts.options.pool_threads);
  parts.answers = std::make_unique<ThreadPool>(1);
  if (parts.options.s3.has_value()) {
    parts.transfers = std::make_unique<ThreadPool>(parts.options.transfer_threads);
  }
  ThreadPool& transfers = parts.transfers != nullptr ? *parts.transfers : *parts.pool;
  // Made here, so that it is this user's whoever runs the first backup.
  CONCUR_RETURN_IF_ERROR(LockFile(data + kCollectLock, LOCK_SH).status());
  parts.collector = std::make_unique<Collector>(
      clock, *parts.engine, *parts.store, *parts.artifacts, transfers,
      CollectorOptions{parts.options.gc_interval, parts.options.gc_grace, data + kCollectLock});
  CONCUR_ASSIGN_OR_RETURN(parts.access, MakeAccess(clock, parts.options));
  CONCUR_ASSIGN_OR_RETURN(parts.audit, AuditLog::Open(clock, data + "/audit"));
  CONCUR_ASSIGN_OR_RETURN(parts.secrets, Secrets::Open(clock, data, IsPrivate(parts.options)));
  parts.options.limits.data_directory = data;
  parts.options.limits.uploads_kept = parts.options.gc_grace;
  parts.options.limits.providers = {ProviderKind::kLocal, ProviderKind::kSlurm,
                                    ProviderKind::kKubernetes, ProviderKind::kCommand};
  parts.pilot_tls = PilotTls::Load(parts.options.tls, parts.options.pilots);
  parts.options.limits.check_pool = PoolCheck(parts.options, parts.pilot_tls);
  parts.coordinator_service = std::make_unique<CoordinatorService>(
      clock, *parts.engine, *parts.artifacts, *parts.partial_uploads, *parts.audit, *parts.secrets,
      *parts.fleet, *parts.pool, transfers, *parts.answers, parts.options.limits);
  parts.worker_service = std::make_unique<WorkerService>(
      *parts.engine, *parts.artifacts, *parts.partial_uploads, *parts.secrets, transfers,
      parts.options.limits.artifact_bytes_max);
  parts.streams =
      std::make_unique<StreamWatch>(clock, parts.options.connections.streams,
                                    [access = parts.access.get()](const Digest& sender) {
                                      return access->CheckStillValid(sender);
                                    });
  parts.front =
      std::make_unique<ServiceFront>(ServiceFrontParts{*parts.access, *parts.audit, *parts.streams,
                                                       parts.peers, parts.metrics.get()},
                                     *parts.coordinator_service, *parts.worker_service);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Clock& clock, ServerOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  CONCUR_RETURN_IF_ERROR(Assemble(clock, *parts));
  const std::string& data = parts->options.data_directory;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(parts->options.connections, &builder);
  parts->front->AddTo(builder);
  StartFleetHistory(clock, *parts->pool, *parts->engine, *parts->fleet);
  parts->engine->Start();
  parts->engine->board().Start(MakeWatchEncoder());
  parts->access->set_admits(false);
  parts->server = builder.BuildAndStart();
  gate::GateOptions gate_options;
  gate_options.listen = parts->options.listen;
  gate_options.tls = parts->options.tls;
  gate_options.handshake_max = parts->options.connections.handshake_timeout;
  gate_options.authenticate = [access = parts->access.get()](absl::string_view authorization) {
    return access->CallerOf(authorization).ok();
  };
  parts->stand_by.reset();  // frees the addresses
  CONCUR_ASSIGN_OR_RETURN(parts->gate, OpenGate(std::move(gate_options), *parts->server,
                                                parts->peers, "listen", "--listen"));
  parts->address = parts->gate->address();
  CONCUR_RETURN_IF_ERROR(OfferWorker(*parts));
  CONCUR_RETURN_IF_ERROR(StartStatus(*parts));
  // Before the address file, which tells the user's programs that the server is ready.
  const absl::StatusOr<rpc::CredentialFiles> files =
      LocalFiles(data, parts->options.tls, parts->pilot_tls);
  if (absl::Status status = files.ok() ? rpc::RecordServer(parts->address, *files) : files.status();
      !status.ok()) {
    LogWarning("clients must be given a token: where it lies could not be recorded",
               {{"error", std::string(status.message())}, {"token", LocalTokenPath(data)}});
  }
  // Before anybody is admitted, who may add a pool.
  CONCUR_RETURN_IF_ERROR(StartPools(clock, *parts));
  parts->access->set_admits(true);
  CONCUR_RETURN_IF_ERROR(StartPage(clock, *parts));
  CONCUR_RETURN_IF_ERROR(
      WriteFileAtomically(data + "/address", LoopbackAddress(parts->address) + "\n"));
  parts->collector->Start();
  WatchStore(*parts->pool, *parts->engine);
  WatchGate(*parts->pool, *parts->gate, 0);
  LogFields fields = {{"data", data}};
  if (!parts->metrics_address.empty()) {
    fields.push_back({"metrics", parts->metrics_address});
  }
  if (parts->page != nullptr) {
    fields.push_back({"page", parts->page->address()});
  }
  LogInfo(absl::StrCat("listening on ", parts->address), fields);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::Stop() {
  if (parts_->server == nullptr) {
    return;
  }
  parts_->access->set_admits(false);
  unlink((parts_->options.data_directory + "/address").c_str());
  rpc::ForgetServer(parts_->address);
  // Health checks fail first, and stop asking the engine.
  parts_->status_server.reset();
  parts_->page.reset();
  // The engine answers parked calls when it stops, so that the server need not wait for them.
  parts_->engine->Stop();
  parts_->provisioner.reset();
  // The gate passes on the last answers, until the server has closed its connections.
  parts_->server->Shutdown(std::chrono::system_clock::now() + kStopGrace);
  parts_->server->Wait();
  parts_->gate.reset();
  parts_->server.reset();
}

}  // namespace concur
