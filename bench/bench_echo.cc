// SPDX-License-Identifier: Apache-2.0
// What gRPC gives at most on this machine: empty calls a second between two processes over a unix
// socket, the floor under everything that a coordinator answers.
//
//   bench_echo DIRECTORY [SECONDS]     prints one JSON object: calls in flight → calls a second
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "concur/v1/worker.grpc.pb.h"

namespace concur {
namespace {

class Echo final : public v1::WorkerGateway::CallbackService {
 public:
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context,
                                 const v1::SyncRequest* /*request*/,
                                 v1::SyncResponse* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// Until it is killed. Writes a byte to `ready` when it listens.
[[noreturn]] void Serve(const std::string& address, int ready) {
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  CONCUR_CHECK(server != nullptr && write(ready, "x", 1) == 1);
  server->Wait();
  std::abort();
}

class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(v1::WorkerGateway::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  double Rate(int in_flight, double seconds) {
    done_ = 0;
    stop_ = false;
    {
      MutexLock lock(mu_);
      under_way_ = in_flight;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (int i = 0; i < in_flight; ++i) {
      Begin();
    }
    while (elapsed() < seconds) {
      usleep(10'000);
    }
    stop_ = true;
    const double rate = static_cast<double>(done_.load()) / elapsed();
    MutexLock lock(mu_);
    while (under_way_ > 0) {
      ended_.Wait(mu_);
    }
    return rate;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::SyncRequest request;
    v1::SyncResponse response;
  };

  void Begin() {
    auto* call = new Call;
    stub_->async()->Sync(&call->context, &call->request, &call->response,
                         [this, call](const grpc::Status& status) {
                           CONCUR_CHECK(status.ok());
                           delete call;
                           ++done_;
                           if (!stop_) {
                             Begin();
                             return;
                           }
                           MutexLock lock(mu_);
                           if (--under_way_ == 0) {
                             ended_.NotifyAll();
                           }
                         });
  }

  const std::unique_ptr<v1::WorkerGateway::Stub> stub_;
  std::atomic<int64_t> done_{0};
  std::atomic<bool> stop_{false};
  Mutex mu_;
  CondVar ended_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;
};

int Main(const std::string& directory, double seconds) {
  const std::string address = absl::StrCat("unix:", directory, "/echo-", getpid());
  int ready[2];
  CONCUR_CHECK(pipe(ready) == 0);
  const pid_t server = fork();  // before gRPC has any thread
  CONCUR_CHECK(server >= 0);
  if (server == 0) {
    Serve(address, ready[1]);
  }
  close(ready[1]);  // so that a server that cannot start is noticed
  char byte = 0;
  CONCUR_CHECK(read(ready[0], &byte, 1) == 1);
  close(ready[0]);
  nlohmann::json rates;
  Client client(address);
  for (const int in_flight : {1, 2, 16, 64}) {
    rates[std::to_string(in_flight)] = client.Rate(in_flight, seconds);
  }
  std::cout << rates.dump() << "\n" << std::flush;
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  unlink(address.substr(5).c_str());
  return 0;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: bench_echo DIRECTORY [SECONDS]\n";
    return 2;
  }
  return concur::Main(argv[1], argc > 2 ? std::atof(argv[2]) : 1.0);
}
