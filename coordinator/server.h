// A whole coordinator: data directory, engine, services, listening socket.
//
// DATA/concur.db and its companions hold the state, DATA/artifacts the artifacts, DATA/address the
// address that the server listens on while it runs.
//
// Thread-compatible.
#ifndef CONCUR_COORDINATOR_SERVER_H_
#define CONCUR_COORDINATOR_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/engine.h"

namespace concur {

struct ServerOptions {
  std::string listen = "127.0.0.1:7447";  // HOST:PORT or unix:PATH; port 0 takes a free one
  std::string data_directory;
  std::string owner;
  EngineOptions engine;
  ServiceLimits limits;
  absl::Duration gc_interval = absl::Minutes(10);
  absl::Duration gc_grace = absl::Hours(24);
  int pool_threads = 4;
};

class Server {
 public:
  // Opens the data directory and listens. FailedPrecondition when another coordinator has it open;
  // Unavailable when the address is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Clock& clock, ServerOptions options);
  ~Server();

  // Where it listens: the port is the real one.
  const std::string& address() const;
  // Answers what is under way, closes the socket and the store. Idempotent.
  void Stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVER_H_
