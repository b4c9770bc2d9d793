// SPDX-License-Identifier: Apache-2.0
// Greatest rate of gRPC on this machine: empty calls a second between two processes over a unix
// socket, the floor under everything that a coordinator answers. Then the same where each call is
// answered once a row of its own is on the disk: the floor under everything that SQLite keeps.
// Calls that wait at the same time share a commit.
//
//   bench_echo DIRECTORY [SECONDS]     prints one JSON object: "empty" and "committed", each with
//                                      calls a second by calls in flight
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

// A table of one's own, synced at each commit.
class Database {
 public:
  explicit Database(const std::string& path) {
    CONCUR_CHECK(sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    for (const char* sql :
         {"pragma locking_mode=exclusive", "pragma journal_mode=wal", "pragma synchronous=full",
          "create table t (a integer primary key, b blob)"}) {
      CONCUR_CHECK(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    }
    Prepare("begin", &begin_);
    Prepare("insert into t (b) values (randomblob(100))", &insert_);
    Prepare("commit", &commit_);
  }

  void CommitRows(size_t rows) {
    Run(begin_);
    for (size_t i = 0; i < rows; ++i) {
      Run(insert_);
    }
    Run(commit_);
  }

 private:
  void Prepare(const char* sql, sqlite3_stmt** statement) {
    CONCUR_CHECK(sqlite3_prepare_v2(db_, sql, -1, statement, nullptr) == SQLITE_OK);
  }
  static void Run(sqlite3_stmt* statement) {
    CONCUR_CHECK(sqlite3_step(statement) == SQLITE_DONE);
    CONCUR_CHECK(sqlite3_reset(statement) == SQLITE_OK);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
};

class CommittedEcho final : public v1::WorkerGateway::CallbackService {
 public:
  explicit CommittedEcho(const std::string& path)
      : database_(path), thread_([this] { Answer(); }) {}

  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context,
                                 const v1::SyncRequest* /*request*/,
                                 v1::SyncResponse* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    MutexLock lock(mu_);
    waiting_.push_back(reactor);
    arrived_.NotifyAll();
    return reactor;
  }

 private:
  [[noreturn]] void Answer() {
    for (;;) {
      std::vector<grpc::ServerUnaryReactor*> calls;
      {
        MutexLock lock(mu_);
        while (waiting_.empty()) {
          arrived_.Wait(mu_);
        }
        calls.swap(waiting_);
      }
      database_.CommitRows(calls.size());
      for (grpc::ServerUnaryReactor* call : calls) {
        call->Finish(grpc::Status::OK);
      }
    }
  }

  Database database_;
  Mutex mu_;
  CondVar arrived_;
  std::vector<grpc::ServerUnaryReactor*> waiting_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// Until it is killed. Writes a byte to `ready` when it listens.
[[noreturn]] void Serve(grpc::Service& service, const std::string& address, int ready) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
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

// `serve`, given the address and where to say that it listens, in a process of its own.
class Server {
 public:
  template <typename Serve>
  Server(const std::string& address, Serve serve) {
    int ready[2];
    CONCUR_CHECK(pipe(ready) == 0);
    process_ = fork();  // before gRPC has any thread
    CONCUR_CHECK(process_ >= 0);
    if (process_ == 0) {
      serve(address, ready[1]);
    }
    close(ready[1]);  // so that a server that cannot start is noticed
    char byte = 0;
    CONCUR_CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  ~Server() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  pid_t process_ = 0;
};

nlohmann::json Rates(const std::string& address, double seconds) {
  nlohmann::json rates;
  Client client(address);
  for (const int in_flight : {1, 2, 16, 64}) {
    rates[std::to_string(in_flight)] = client.Rate(in_flight, seconds);
  }
  return rates;
}

int Main(const std::string& directory, double seconds) {
  const std::string base = absl::StrCat(directory, "/echo-", getpid());
  const std::string empty = absl::StrCat("unix:", base, "-empty");
  const std::string committed = absl::StrCat("unix:", base, "-committed");
  nlohmann::json rates;
  {
    const Server empty_server(empty, [](const std::string& address, int ready) {
      Echo echo;
      Serve(echo, address, ready);
    });
    const Server committed_server(committed, [&](const std::string& address, int ready) {
      CommittedEcho echo(base + ".db");
      Serve(echo, address, ready);
    });
    rates["empty"] = Rates(empty, seconds);
    rates["committed"] = Rates(committed, seconds);
  }
  std::cout << rates.dump() << "\n" << std::flush;
  for (const char* suffix : {"-empty", "-committed", ".db", ".db-wal", ".db-shm"}) {
    unlink((base + suffix).c_str());
  }
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
