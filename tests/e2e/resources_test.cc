// SPDX-License-Identifier: Apache-2.0
// Named resources with real programs: a server that jobs call sees how many do at a time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kAmount = 4;
constexpr int kJobs = 64;
constexpr absl::Duration kCallTime = absl::Seconds(1);

// Answers every caller with a line after kCallTime. A caller that dies hangs up.
class SlowServer {
 public:
  SlowServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    CONCUR_CHECK(bind(listener_.get(), raw, size) == 0 && listen(listener_.get(), 128) == 0);
    CONCUR_CHECK(getsockname(listener_.get(), raw, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~SlowServer() { Stop(); }

  int port() const { return port_; }
  int served() const { return served_; }
  // The time until now is that of TimeWith.
  void EndMeasurement() { is_measured_ = true; }
  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  // After Stop: the most callers at a time, and the time from the first caller on during which
  // there were so many.
  int most() const { return times_.empty() ? 0 : times_.rbegin()->first; }
  absl::Duration TimeWith(int callers) const {
    const auto it = times_.find(callers);
    return it == times_.end() ? absl::ZeroDuration() : it->second;
  }
  absl::Duration time() const {
    absl::Duration time;
    for (const auto& [callers, part] : times_) {
      time += part;
    }
    return time;
  }

 private:
  struct Caller {
    FileDescriptor connection;
    absl::Time end;
  };

  void Serve() {
    absl::Time last = absl::Now();
    while (!stopping_) {
      std::vector<pollfd> watched = {{listener_.get(), POLLIN, 0}};
      for (const Caller& caller : callers_) {
        watched.push_back({caller.connection.get(), POLLIN, 0});
      }
      poll(watched.data(), watched.size(), /*timeout, in ms=*/5);
      const absl::Time now = absl::Now();
      if (total_ > 0 && !is_measured_) {
        times_[static_cast<int>(callers_.size())] += now - last;
      }
      last = now;
      for (size_t i = callers_.size(); i > 0; --i) {
        const bool hung_up = watched[i].revents != 0;
        if (hung_up || callers_[i - 1].end <= now) {
          if (!hung_up) {
            CONCUR_CHECK(write(callers_[i - 1].connection.get(), "ok\n", 3) == 3);
            ++served_;
          }
          callers_.erase(callers_.begin() + static_cast<int64_t>(i) - 1);
        }
      }
      if ((watched[0].revents & POLLIN) != 0) {
        callers_.push_back(
            {FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
             now + kCallTime});
        ++total_;
        times_.try_emplace(static_cast<int>(callers_.size()));
      }
    }
  }

  const FileDescriptor listener_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> is_measured_ = false;
  std::atomic<int> served_ = 0;
  // The thread's own, until it has ended:
  std::vector<Caller> callers_;
  int total_ = 0;
  std::map<int, absl::Duration> times_;  // by callers at a time
  std::thread thread_;
};

constexpr char kCallingSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: calls}
spec:
  approaches:
    - metadata: {name: asks}
      spec:
        version: "1"
        predict:
          command: [/bin/bash, -c, "exec 3<>/dev/tcp/127.0.0.1/PORT && read -r -u 3 line && printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {test}"]
        resources: {cpus: 0.1, uses: {api: 1}}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: data.jsonl, metric: accuracy}
  seeds: {from: 1, to: JOBS}
)";

TEST(ResourcesTest, AServerIsCalledByAsManyJobsAsThereAreUnitsAndNeverByMore) {
  SlowServer server;
  Cluster cluster;
  cluster.Write("data.jsonl", "{}\n");
  cluster.Write("calls.yaml",
                absl::StrReplaceAll(kCallingSweep, {{"PORT", absl::StrCat(server.port())},
                                                    {"JOBS", absl::StrCat(kJobs)}}));
  cluster.StartCoordinator();
  for (const char* name : {"w1", "w2", "w3"}) {
    cluster.StartWorker(name, 4);
  }
  Output refused = cluster.Concur({"sweep", "submit", cluster.File("calls.yaml")});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("`concur resource set api N`"));
  EXPECT_EQ(cluster.Concur({"resource", "set", "api", absl::StrCat(kAmount)}).exit_code, 0);
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("calls.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return server.served() >= kJobs / 4; }));
  EXPECT_THAT(cluster.Concur({"job", "explain", absl::StrCat("s1/", kJobs - 1)}).out,
              HasSubstr("waits for api: 4 of 4 in use"));
  cluster.KillWorker("w1", SIGKILL);
  cluster.StartWorker("w1", 4);
  EXPECT_TRUE(Eventually([&] { return server.served() >= 3 * kJobs / 4; }));
  server.EndMeasurement();
  cluster.KillCoordinator(SIGKILL);
  cluster.StartCoordinator();
  const Output waited = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(cluster.Concur({"resource", "delete", "api"}).exit_code, 0);
  server.Stop();
  EXPECT_EQ(server.most(), kAmount);
  // For people: a busy machine has less.
  std::cout << kAmount << " callers in "
            << 100 * absl::FDivDuration(server.TimeWith(kAmount), server.time()) << " % of "
            << server.time() << "\n";
}

}  // namespace
}  // namespace concur::testing
