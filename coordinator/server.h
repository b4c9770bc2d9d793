// SPDX-License-Identifier: Apache-2.0
// A whole coordinator: data directory, engine, services, listening socket.
//
// DATA/concur.db and its companions hold the state, DATA/artifacts the artifacts, DATA/tokens.json
// the hashes of tokens, DATA/token the token of the user who runs it, DATA/audit the audit log, and
// DATA/secrets.json users' secrets, DATA/address the address that the server listens on while it
// runs.
//
// Thread-compatible.
#ifndef CONCUR_COORDINATOR_SERVER_H_
#define CONCUR_COORDINATOR_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "coordinator/access/access.h"
#include "coordinator/access/pilot_tls.h"
#include "coordinator/engine/engine.h"
#include "coordinator/services/service_limits.h"
#include "coordinator/services/stream_watch.h"
#include "store/artifacts/s3_client.h"

namespace concur {

// Limits of connections. They also close what unauthenticated clients leave open.
struct ConnectionLimits {
  absl::Duration handshake_timeout = absl::Seconds(10);
  absl::Duration idle_max = absl::Minutes(30);  // without a call
  // A connection is replaced after this time, and its calls are canceled an hour later: that ends
  // the stream of a client that never reads.
  absl::Duration age_max = absl::Hours(12);
  absl::Duration age_grace = absl::Hours(1);
  int streams_max = 1000;  // concurrent calls on one connection
  StreamLimits streams;
  // Bounds gRPC's buffers, all connections together; half of the memory of the machine or the
  // control group bounds them, too.
  size_t memory_max = size_t{2} << 30;
};

struct ServerOptions {
  std::string listen = "127.0.0.1:7447";  // HOST:PORT or unix:PATH; port 0 takes a free one
  // HOST:PORT of /metrics, /healthz and /readyz, in clear text; "": none.
  std::string metrics_listen;
  // HOST:PORT of the page, on the loopback device; "": none.
  std::string page_listen;
  // A worker without shared libraries, which pools' machines get from here; "": none.
  std::string static_worker;
  std::string version;  // this program's
  std::string data_directory;
  std::string database;  // as DataPlace::database
  // Waits while another coordinator of the database leads; false: the process is to end. Null:
  // Start fails then.
  std::function<bool(absl::Duration)> wait_as_stand_by;
  std::optional<s3::Options> s3;      // where artifacts are kept; unless set: in the data directory
  bool pack_small_artifacts = false;  // as DataPlace::makes_packs
  std::string user;                   // owner of the token in DATA/token
  // Lets everybody do everything, without a token and on any address. For tests.
  bool without_authentication = false;
  TlsFiles tls;
  ConnectionLimits connections;
  EngineOptions engine;
  ServiceLimits limits;
  // The address for workers of pools; "": the one that the server listens on.
  std::string pilots_coordinator;
  PilotFiles pilots;
  absl::Duration gc_interval = absl::Minutes(10);
  absl::Duration gc_grace = absl::Hours(24);
  int pool_threads = 4;
  // Threads for transfers to and from object storage, which wait for the network.
  int transfer_threads = 16;
};

class Server {
 public:
  // Opens the data directory and listens. FailedPrecondition when another coordinator has it open;
  // Unavailable when the address is taken. While another coordinator leads in PostgreSQL, waits as
  // a stand-by, which refuses calls; Cancelled when it is to end.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Clock& clock, ServerOptions options);
  ~Server();

  // The address that it listens on, with the actual port.
  const std::string& address() const;
  // "": there are no metrics.
  const std::string& metrics_address() const;
  // "http://127.0.0.1:7449/"; "": there is no page.
  std::string page_address() const;
  // Answers calls in progress, closes the socket and the store. Idempotent.
  void Stop();

  const Access& access_for_test() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  static absl::Status StartPools(Clock& clock, Parts& parts);
  // Opens what is kept and makes what answers calls; starts nothing.
  static absl::Status Assemble(Clock& clock, Parts& parts);
  static absl::Status OfferWorker(Parts& parts);
  static absl::Status StartStatus(Parts& parts);
  static absl::Status StartPage(Clock& clock, Parts& parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVER_H_
