// SPDX-License-Identifier: Apache-2.0
// The gate: accepts connections in gRPC's place, ends TLS, and passes bytes on to gRPC by a socket
// pair. Until a client has shown a valid token it is a stranger, of whom there are few, whose
// frames and bytes are counted (StrangerMeter), and who is closed after a minute. When there are
// too many strangers the oldest is closed for the newest, so that a client with a token, which
// shows it at once, always gets in. Descriptors are kept back for everything else.
//
// One thread moves all bytes and waits for nobody. Thread-safe.
#ifndef CONCUR_COORDINATOR_GATE_GATE_H_
#define CONCUR_COORDINATOR_GATE_GATE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/access/pilot_tls.h"
#include "coordinator/gate/peers.h"
#include "coordinator/gate/stranger_meter.h"

namespace concur::gate {

struct GateOptions {
  std::string listen;  // HOST:PORT or unix:PATH
  TlsFiles tls;
  StrangerMeter::Authenticate authenticate;  // null: there are only strangers
  // Takes over one end of a socket pair, on which a client's HTTP/2 begins.
  std::function<void(int fd)> serve;
  // A connection that has not begun HTTP/2 after the first is closed, a stranger's after the
  // second.
  absl::Duration handshake_max = absl::Seconds(10);
  absl::Duration stranger_max = absl::Minutes(1);
};

class Gate {
 public:
  // As ListenOn and MakeTlsContext. `peers` outlives it.
  static absl::StatusOr<std::unique_ptr<Gate>> Start(GateOptions options, Peers& peers);
  // Closes all connections.
  ~Gate();

  // With the actual port.
  const std::string& address() const;
  // Connects and hangs up: OK when the gate has noticed, Unavailable after `timeout`.
  absl::Status Probe(absl::Duration timeout);

 private:
  class Loop;
  explicit Gate(std::unique_ptr<Loop> loop);
  const std::unique_ptr<Loop> loop_;
};

}  // namespace concur::gate

#endif  // CONCUR_COORDINATOR_GATE_GATE_H_
