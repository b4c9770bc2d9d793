// SPDX-License-Identifier: Apache-2.0
// A Provider starts and stops pilots (worker processes) somewhere: on this machine, through Slurm,
// through Kubernetes, through programs of the user's. It decides nothing: core/pools/pools.h says
// what to start and stop, and keeps account of what became of it.
//
// Rules for a new provider:
//  - Know pilots by name. Names are unique for ever. Ids of the engine behind may be lost and
//  reused,
//    so every query and every stop uses the name (a job's name, a label).
//    PilotSetup::coordinator_id distinguishes one coordinator's names from others'.
//  - Start is asked once for a name. An answer that leaves open whether the pilots were started is
//    Unavailable, DeadlineExceeded or Aborted: then the next Observe settles it. Any other error
//    means that they were not, and its message is shown to people as it is: put the engine's own
//    words into it.
//  - Observe reports every pilot of this coordinator that the engine knows, in one query if it can,
//    or fails. A report from which some are missing is worse than none: they would be given up.
//    An ended pilot is reported as kEnded while the engine remembers it, with why it ended; one
//    that waits, with why it waits.
//  - Stop ends pilots now, whatever they run; unknown names and ended ones are OK. (A worker is
//  asked
//    to finish by its Sync, not by its provider.) It is repeated until Observe reports the end.
//  - The worker's name is the pilot's name. Its command line is WorkerCommand's, its environment
//    holds the token (CONCUR_TOKEN) where others cannot read it; so with the key.
//
// Calls return at once. Callbacks run once each, on any thread, possibly before the call returns;
// none runs after the destructor has returned. Calls may come from any thread.
#ifndef CONCUR_COORDINATOR_PROVISION_PROVIDER_H_
#define CONCUR_COORDINATOR_PROVISION_PROVIDER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/pools/pool.h"
#include "core/pools/pools.h"

namespace concur::provision {

// Where the worker without shared libraries is, in Concur's image and beside a coordinator that
// names no other.
inline constexpr char kStaticWorker[] = "/usr/lib/concur/concur-worker-static";

// A worker without shared libraries that machines without one get from their coordinator.
struct OfferedWorker {
  std::string file;    // on the coordinator's machine; others may have it under the same path
  std::string digest;  // SHA-256 of it, in hexadecimal
  int64_t bytes = 0;
  // Where the coordinator's host serves it over HTTP as OfferedWorkerPage; 0: nowhere.
  int port = 0;
  bool is_local = false;  // only the coordinator's machine reaches that port
};
std::string OfferedWorkerPage(const OfferedWorker& worker);

// Values that pilots of one coordinator have in common.
struct PilotSetup {
  std::string coordinator_id;  // letters and digits
  std::string coordinator;     // its address, where a pool names no other
  // Gives the token of role worker that pilots speak with; "": none is needed.
  std::function<absl::StatusOr<std::string>()> token;
  std::string ca_pem;  // the CA that signed the coordinator's certificate; "": no TLS
  // Certificate that pilots show to a coordinator that asks for one, and its key; "": none. Never
  // one without the other, nor without ca_pem.
  std::string certificate_pem;
  std::string key_pem;
  std::string worker_program;  // beside the coordinator's own, where a pool names no other
  std::optional<OfferedWorker> offered_worker;  // comes before that one
  std::string directory;  // for what the coordinator's machine keeps of pilots
};

class Provider {
 public:
  virtual ~Provider() = default;

  // The engine's ids of the pilots, in their order; "" where one is not known yet.
  using StartDone = std::function<void(absl::StatusOr<std::vector<std::string>>)>;
  // Starts pilots of a pool. Their numbers follow each other: "cpu-17", "cpu-18", ….
  virtual void Start(const PoolSpec& pool, const std::vector<std::string>& pilots,
                     StartDone done) = 0;

  // Answer of the provider about such a pilot, without starting one: a sentence for people, or why
  // it would not start it.
  using TryDone = std::function<void(absl::StatusOr<std::string>)>;
  virtual void Try(const PoolSpec& pool, TryDone done) = 0;

  using StopDone = std::function<void(absl::Status)>;
  virtual void Stop(const std::vector<std::string>& pilots, StopDone done) = 0;

  using ObserveDone = std::function<void(absl::StatusOr<std::vector<PilotReport>>)>;
  virtual void Observe(ObserveDone done) = 0;
};

// The arguments of a pilot's worker after its program, without its name and directories.
std::vector<std::string> WorkerArguments(const PoolSpec& pool, const PilotSetup& setup);
// The program of a pilot's worker.
std::string WorkerProgram(const PoolSpec& pool, const PilotSetup& setup);

// Returns true if the error of a start leaves open what was done.
bool IsOpen(const absl::Status& status);

// One report for each pilot: an engine may know two jobs by one name. A running one counts before
// a waiting one, and a waiting one before one that has ended.
std::vector<PilotReport> OnePerPilot(std::vector<PilotReport> reports);

// 17 of "cpu-17". REQUIRES: it is a pilot's name.
int64_t PilotNumber(const std::string& pilot);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_PROVIDER_H_
