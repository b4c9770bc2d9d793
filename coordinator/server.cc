#include "coordinator/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "coordinator/collector.h"
#include "coordinator/worker_service.h"
#include "rpc/channel.h"
#include "rpc/convert_sweep.h"
#include "store/artifact_store.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

// Calls that are still under way when the server stops are broken off after so long.
constexpr std::chrono::seconds kStopGrace{2};

std::string HostOf(const std::string& listen) { return listen.substr(0, listen.rfind(':')); }

}  // namespace

// Declared in the order in which they must be built; destroyed in reverse.
struct Server::Parts {
  ServerOptions options;
  std::string address;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<ArtifactStore> artifacts;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Collector> collector;
  std::unique_ptr<ThreadPool> pool;  // ends before what its work uses
  std::unique_ptr<CoordinatorService> coordinator_service;
  std::unique_ptr<WorkerService> worker_service;
  std::unique_ptr<grpc::Server> server;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Stop(); }

const std::string& Server::address() const { return parts_->address; }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Clock& clock, ServerOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  const std::string& data = parts->options.data_directory;
  CONCUR_RETURN_IF_ERROR(MakeDirectories(data, 0700));
  CONCUR_ASSIGN_OR_RETURN(parts->store, SqliteStore::Open(data + "/concur.db"));
  CONCUR_ASSIGN_OR_RETURN(parts->artifacts, ArtifactStore::Open(data + "/artifacts"));
  EngineOptions engine_options = parts->options.engine;
  engine_options.artifact_directory = parts->artifacts->directory();
  engine_options.artifact_store_id = parts->artifacts->store_id();
  CONCUR_ASSIGN_OR_RETURN(parts->engine, Engine::Create(clock, *parts->store, rpc::DecodeSpec,
                                                        std::move(engine_options)));
  parts->pool = std::make_unique<ThreadPool>(parts->options.pool_threads);
  parts->collector = std::make_unique<Collector>(
      clock, *parts->engine, *parts->store, *parts->artifacts, *parts->pool,
      CollectorOptions{parts->options.gc_interval, parts->options.gc_grace});
  parts->coordinator_service = std::make_unique<CoordinatorService>(
      *parts->engine, *parts->artifacts, *parts->pool, parts->options.owner, parts->options.limits);
  parts->worker_service = std::make_unique<WorkerService>(
      *parts->engine, *parts->artifacts, *parts->pool, parts->options.limits.artifact_bytes_max);

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(parts->options.listen, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(rpc::kMessageBytesLimit);
  builder.SetMaxSendMessageSize(rpc::kMessageBytesLimit);
  // Workers send keepalive pings on connections that carry only a parked Sync.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.RegisterService(parts->coordinator_service.get());
  builder.RegisterService(parts->worker_service.get());
  parts->engine->Start();
  parts->server = builder.BuildAndStart();
  const bool is_unix = absl::StartsWith(parts->options.listen, "unix:");
  if (parts->server == nullptr || (!is_unix && port == 0)) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", parts->options.listen,
                     ": the address is taken or not this machine's; choose another with --listen"));
  }
  parts->address =
      is_unix ? parts->options.listen : absl::StrCat(HostOf(parts->options.listen), ":", port);
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(data + "/address", parts->address + "\n"));
  parts->collector->Start();
  LogInfo(absl::StrCat("listening on ", parts->address), {{"data", data}});
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::Stop() {
  if (parts_->server == nullptr) {
    return;
  }
  unlink((parts_->options.data_directory + "/address").c_str());
  // Parked calls are answered by the engine's end, so that the server has nothing to wait for.
  parts_->engine->Stop();
  parts_->server->Shutdown(std::chrono::system_clock::now() + kStopGrace);
  parts_->server->Wait();
  parts_->server.reset();
}

}  // namespace concur
