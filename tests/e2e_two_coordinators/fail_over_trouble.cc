// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e_two_coordinators/fail_over_trouble.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/file.h"

namespace concur::testing {
namespace {

constexpr std::array<const char*, FailOverTrouble::kKinds> kKindNames = {
    "SIGTERM to the leader",
    "`kill -9` of the leader",
    "the leader stopped past its time",
    "the leader's network cut",
    "PostgreSQL restarted",
    "PostgreSQL killed, its replica promoted"};
constexpr int kFewest = 10;  // acknowledgements between two faults
constexpr int kMost = 20;
constexpr uint64_t kMomentMicros = 20'000;
constexpr std::chrono::milliseconds kLook(20);  // for processes that ended
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr absl::Duration kRestartWait = absl::Seconds(1);  // as systemd does

std::string Seconds(absl::Duration time) {
  return absl::StrFormat("%.2f s", absl::ToDoubleSeconds(time));
}

std::vector<absl::Duration> Join(
    const std::array<std::vector<absl::Duration>, FailOverTrouble::kKinds>& kinds) {
  std::vector<absl::Duration> all;
  for (const auto& times : kinds) {
    all.insert(all.end(), times.begin(), times.end());
  }
  return all;
}

}  // namespace

struct FailOverTrouble::Coordinator {
  bool Said(const std::string& text) const {
    return absl::StrContains(ReadFile(log + ".err").value_or(""), text);
  }

  std::string name;
  std::unique_ptr<Process> process;
  absl::Time launched = absl::InfinitePast();
  std::string log;
  std::vector<std::unique_ptr<StallProxy>> ways;  // users' to it, and its own to each server
};

FailOverTrouble::FailOverTrouble(Cluster& cluster, uint64_t seed, int workers, int faults)
    : cluster_(cluster), random_(seed, "fail-over"), workers_(workers), faults_(faults) {}

FailOverTrouble::~FailOverTrouble() = default;

void FailOverTrouble::Start() {
  for (auto& server : servers_) {
    server = std::make_unique<PostgresServer>();
  }
  replica().Follow(primary());
  SetSynchronous("*");
  cluster_.Write("long", "");
  std::string addresses;
  for (size_t i = 0; i < coordinators_.size(); ++i) {
    Coordinator& one = *(coordinators_[i] = std::make_unique<Coordinator>());
    one.name = i == 0 ? "a" : "b";
    const std::string socket = cluster_.File("to-" + one.name);
    one.ways.push_back(std::make_unique<StallProxy>(socket, cluster_.File(one.name)));
    absl::StrAppend(&addresses, i == 0 ? "" : ",", "unix:", socket);
    std::string hosts;
    for (size_t s = 0; s < servers_.size(); ++s) {
      const std::string host = cluster_.File(absl::StrCat("db-", one.name, s));
      std::filesystem::create_directory(host);
      one.ways.push_back(std::make_unique<StallProxy>(
          absl::StrCat(host, "/", PostgresServer::kSocketName), servers_[s]->socket()));
      absl::StrAppend(&hosts, s == 0 ? "" : ",", host);
    }
    cluster_.Write(one.name + ".yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n",
                                "  database: postgresql://concur@/postgres?host=", hosts,
                                "&target_session_attrs=read-write\n"));
    Launch(one);
  }
  Settle();
  cluster_.SetServerOfUsers(addresses);
  cluster_.SetServerOfWorkers(addresses);
  cluster_.SetWorkerEnvironment({{"CONCUR_TOKEN_FILE", cluster_.File("data/token")}});
  for (int worker = 0; worker < workers_; ++worker) {
    cluster_.StartWorker(absl::StrCat("w", worker + 1), 4);
  }
}

void FailOverTrouble::Launch(Coordinator& coordinator) {
  coordinator.launched = absl::Now();
  coordinator.log = cluster_.File(absl::StrCat("logs/", coordinator.name, "-", launches_++));
  coordinator.process = std::make_unique<Process>(
      std::vector<std::string>{Cluster::Binary("concur-coordinator"), "--data-dir",
                               cluster_.File("data"), "--listen",
                               "unix:" + cluster_.File(coordinator.name), "--options",
                               cluster_.File(coordinator.name + ".yaml")},
      coordinator.log);
}

void FailOverTrouble::StartAgainWhatEnded() {
  for (const auto& coordinator : coordinators_) {
    const bool is_there = coordinator->process->running() && !coordinator->process->Ended();
    if (!is_there && absl::Now() - coordinator->launched > kRestartWait) {
      Launch(*coordinator);
    }
  }
}

std::string FailOverTrouble::Query(const std::vector<std::string>& statements) {
  std::vector<std::string> argv = {PostgresServer::Programs() + "/psql", primary().Uri("postgres"),
                                   "--no-psqlrc", "-At"};
  for (const std::string& statement : statements) {
    argv.insert(argv.end(), {"-c", statement});
  }
  return std::string(absl::StripAsciiWhitespace(Cluster::Run(argv, cluster_.File("psql")).out));
}

void FailOverTrouble::SetSynchronous(const std::string& names) {
  Query({absl::StrCat("ALTER SYSTEM SET synchronous_standby_names = '", names, "'"),
         "SELECT pg_reload_conf()"});
}

FailOverTrouble::Coordinator* FailOverTrouble::Leader() {
  const std::string leader =
      Query({"SELECT address FROM concur.leader WHERE holder IS NOT NULL AND expiry > "
             "clock_timestamp()"});
  for (const auto& coordinator : coordinators_) {
    if (absl::StrContains(leader, absl::StrCat(" process ", coordinator->process->pid(), " on "))) {
      return coordinator.get();
    }
  }
  return nullptr;
}

void FailOverTrouble::Settle() {
  Eventually([&] {
    StartAgainWhatEnded();
    const Coordinator* leader = Leader();
    if (leader == nullptr || !leader->Said("listening on") ||
        Query({"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"}) != "1") {
      return false;
    }
    return coordinators_[leader == coordinators_[0].get() ? 1 : 0]->Said("stand-by: another");
  });
}

void FailOverTrouble::Cut(Coordinator& coordinator, bool cut) {
  for (const auto& way : coordinator.ways) {
    way->Stall(StallProxy::kToTarget, cut);
    way->Stall(StallProxy::kFromTarget, cut);
  }
}

void FailOverTrouble::Refuse(size_t server, bool refused) {
  for (const auto& coordinator : coordinators_) {
    const std::string host = cluster_.File(absl::StrCat("db-", coordinator->name, server));
    const std::string way = absl::StrCat(host, "/", PostgresServer::kSocketName);
    refused ? std::filesystem::rename(way, host + "/down")
            : std::filesystem::rename(host + "/down", way);
  }
}

void FailOverTrouble::Strike(Kind kind, Coordinator& leader) {
  switch (kind) {
    case kTerminate:
      leader.process->Signal(SIGTERM);
      EXPECT_EQ(leader.process->Wait(), 0);
      break;
    case kKill:
      leader.process->Signal(SIGKILL);
      leader.process->Wait();
      break;
    case kPause:
      leader.process->Signal(SIGSTOP);
      break;
    case kCut:
      Cut(leader, true);
      break;
    case kRestart:
      Refuse(primary_, true);
      primary().Stop(SIGINT);
      primary().Start();
      Refuse(primary_, false);
      break;
    case kPromote:
      Refuse(primary_, true);
      primary().Stop(SIGQUIT);
      replica().Promote();
      primary_ = 1 - primary_;
      break;
  }
}

void FailOverTrouble::Mend(Kind kind, Coordinator& leader) {
  if (kind == kPause || kind == kCut) {
    // The late leader still sends what it had, which changes nothing, and ends.
    const std::string epoch = Query({"SELECT epoch FROM concur.leader"});
    kind == kPause ? leader.process->Signal(SIGCONT) : Cut(leader, false);
    Eventually([&] { return leader.process->Ended(); });
    EXPECT_NE(leader.process->Wait(), 0);
    EXPECT_EQ(Query({"SELECT epoch FROM concur.leader"}), epoch);
  }
  if (kind == kPromote) {
    replica().Follow(primary());
    Refuse(1 - primary_, false);
    SetSynchronous("*");
  }
}

void FailOverTrouble::WaitForClients(Kind kind, absl::Time begun, CampaignProgress& progress) {
  const absl::Time effective = absl::Now();
  std::optional<absl::Time> written;
  bool each = false;
  while (!(written && each) && absl::Now() - begun < kPatience) {
    if (kind == kRestart || kind == kPromote) {
      StartAgainWhatEnded();
    }
    if (!written) {
      written = progress.WaitForWrite(effective, kLook);
    } else {
      each = progress.WaitForEach(effective, kLook);
    }
  }
  EXPECT_TRUE(written && each) << kKindNames[kind];
  resumed_[kind].push_back(written.value_or(absl::InfiniteFuture()) - begun);
  each_answered_[kind].push_back(absl::Now() - begun);
  std::cerr << kKindNames[kind] << ": " << Seconds(resumed_[kind].back()) << ", each client "
            << Seconds(each_answered_[kind].back()) << std::endl;
}

void FailOverTrouble::Run(CampaignProgress& progress) {
  for (int fault = 0; fault < faults_; ++fault) {
    progress.WaitForMore(static_cast<int>(random_.Between(kFewest, kMost)));
    std::this_thread::sleep_for(std::chrono::microseconds(random_.Below(kMomentMicros)));
    const Kind kind = static_cast<Kind>(static_cast<size_t>(fault) % kKinds);
    Coordinator* const leader = Leader();
    ASSERT_NE(leader, nullptr);
    const absl::Time begun = absl::Now();
    Strike(kind, *leader);
    WaitForClients(kind, begun, progress);
    Mend(kind, *leader);
    Settle();
    progress.AskForChecks();
  }
  std::filesystem::remove(cluster_.File("long"));
}

std::string FailOverTrouble::AttemptsLost() {
  return Query(
      {"SELECT (SELECT count(*) FROM concur.attempt WHERE failure = 4) + "
       "(SELECT coalesce(sum(lost), 0) FROM concur.job)"});
}

std::vector<absl::Duration> FailOverTrouble::Resumed() const { return Join(resumed_); }

std::vector<absl::Duration> FailOverTrouble::EachAnswered() const { return Join(each_answered_); }

absl::Duration FailOverTrouble::Quantile(std::vector<absl::Duration> times, double share) {
  if (times.empty()) {
    return absl::ZeroDuration();
  }
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(std::ceil(share * static_cast<double>(times.size()))) - 1];
}

std::string FailOverTrouble::ToString() const {
  std::string text =
      "| fault | times | first write: median | p99 | each client: median | p99 |\n"
      "|---|---|---|---|---|---|\n";
  const auto add = [&](const char* name, const std::vector<absl::Duration>& resumed,
                       const std::vector<absl::Duration>& answered) {
    absl::StrAppend(&text, "| ", name, " | ", resumed.size());
    for (const auto* times : {&resumed, &answered}) {
      absl::StrAppend(&text, " | ", Seconds(Quantile(*times, 0.5)), " | ",
                      Seconds(Quantile(*times, 0.99)));
    }
    absl::StrAppend(&text, " |\n");
  };
  for (size_t kind = 0; kind < kKinds; ++kind) {
    add(kKindNames[kind], resumed_[kind], each_answered_[kind]);
  }
  add("all", Resumed(), EachAnswered());
  absl::StrAppend(&text, "coordinators started: ", launches_, "\n");
  return text;
}

}  // namespace concur::testing
