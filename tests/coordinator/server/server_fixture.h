// SPDX-License-Identifier: Apache-2.0
// A server on a socket of its own, one client, and a worker that runs nothing.
//
// The methods that the server answered are recorded over all tests of the program.
#ifndef CONCUR_TESTS_COORDINATOR_SERVER_SERVER_FIXTURE_H_
#define CONCUR_TESTS_COORDINATOR_SERVER_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "concur/v1/worker.grpc.pb.h"
#include "coordinator/server.h"
#include "core/sweep/sweep.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

class ServerTest : public ::testing::Test {
 public:
  // "concur.v1.Coordinator/GetSweep" and others that a server answered with OK, in any test that
  // has ended.
  static std::set<std::string>& methods_answered();

 protected:
  void SetUp() override;
  void TearDown() override;

  void Start();
  // Stops the server and starts it again with the same data.
  void Restart();
  std::unique_ptr<v1::Coordinator::Stub> Connect() const;
  v1::Coordinator::Stub& client() { return *client_; }
  v1::WorkerGateway::Stub& gateway() { return *gateway_; }
  const Server& server() const { return *server_; }

  // One approach that is not trained, on benchmarks x and y; seeds 1 to `seeds`. Its data is with
  // the server.
  SweepSpec Spec(const std::string& approach, int seeds);
  // With the server's data.
  Digest Upload(const std::string& contents);
  // Returns its id.
  std::string Submit(const SweepSpec& spec);
  v1::Sweep GetSweep(const std::string& sweep);
  // One Sync: hands in results of all that was started, each after `run_time` and with what
  // `result_` has, and takes orders.
  void Sync(absl::Duration run_time, absl::Duration wait = absl::ZeroDuration());
  // Runs everything there is; every job takes `run_time`.
  void RunAll(absl::Duration run_time);
  // Number of jobs that the worker has been told to start and has not handed in.
  size_t running() const { return started_.size(); }

  ServerOptions options_;
  v1::JobResult result_;

 private:
  void RecordAnsweredMethods() const;

  TempDir dir_;
  SystemClock clock_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::Coordinator::Stub> client_;
  std::unique_ptr<v1::WorkerGateway::Stub> gateway_;
  uint64_t sequence_ = 0;
  std::vector<v1::JobOrder> started_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_COORDINATOR_SERVER_SERVER_FIXTURE_H_
