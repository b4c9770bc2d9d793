// SPDX-License-Identifier: Apache-2.0
// Coordinators whose rows are in PostgreSQL, as real processes with a real server.
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/daemons.h"
#include "tests/testing/http_client.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kPairs = 60;  // a train job and an eval job each
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: load}
spec:
  approaches:
    - metadata: {name: shell}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo t{seed} >> RUNS; echo {seed} > {model}; : {train}"]}
        predict: {command: [/bin/sh, -c, "echo p{seed} >> RUNS; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  seeds: {from: 1, to: 60}
)";

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::Programs().empty()) {
      GTEST_SKIP() << "/usr/lib/postgresql has no server: scripts/install-packages "
                      "scripts/packages/postgresql.txt installs one";
    }
    server_ = std::make_unique<PostgresServer>();
    uri_ = server_->Uri("postgres");
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("runs", "");
    cluster_.Write("sweep.yaml", absl::StrReplaceAll(kSweep, {{"RUNS", cluster_.File("runs")}}));
    cluster_.Write("options.yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n",
                                "  database: ", uri_, "\n"));
    options_ = {"--options", cluster_.File("options.yaml")};
  }

  // The first column of the first row.
  std::string Query(const std::string& sql) {
    const Output output =
        Cluster::Run({PostgresServer::Programs() + "/psql", uri_, "--no-psqlrc", "-At", "-c", sql},
                     cluster_.File("psql"));
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return std::string(absl::StripAsciiWhitespace(output.out));
  }

  bool Expired() { return Query("SELECT expiry < clock_timestamp() FROM concur.leader") == "t"; }

  int Succeeded() {
    const auto json = nlohmann::json::parse(
        cluster_.Concur({"-o", "json", "sweep", "get", "s1"}).out, nullptr, false);
    return json.is_object() ? json["counts"].value("succeeded", 0) : 0;
  }

  // concur-coordinator on a data directory, to its end.
  Output Admin(const std::vector<std::string>& arguments, const std::string& data = "data") {
    std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                     cluster_.File(data)};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("admin"));
  }

  // A process logged this.
  bool Said(const std::string& process, const std::string& text) {
    return absl::StrContains(
        ReadFile(cluster_.File(absl::StrCat("logs/", process, ".err"))).value_or(""), text);
  }

  // Lines that jobs wrote when they ran.
  std::vector<std::string> Runs() {
    return absl::StrSplit(ReadFile(cluster_.File("runs")).value_or(""), '\n', absl::SkipEmpty());
  }

  std::unique_ptr<PostgresServer> server_;
  Cluster cluster_;
  std::string uri_;
  std::vector<std::string> options_;
};

TEST_F(PostgresTest, AKilledCoordinatorLosesNothing) {
  cluster_.StartCoordinator(options_);
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);

  int acknowledged = 0;
  ASSERT_TRUE(Eventually([&] { return (acknowledged = Succeeded()) >= 20; }));
  cluster_.KillCoordinator(SIGKILL);
  ASSERT_TRUE(Eventually([&] { return Expired(); }));
  cluster_.StartCoordinator(options_);
  EXPECT_GE(Succeeded(), acknowledged);
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(Succeeded(), 2 * kPairs);
  const std::vector<std::string> runs = Runs();
  EXPECT_EQ(runs.size(), size_t{2 * kPairs}) << "a job ran twice, or never";
  EXPECT_EQ(std::set<std::string>(runs.begin(), runs.end()).size(), runs.size());
  const Output check = Admin({"--options", cluster_.File("options.yaml"), "check"});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_THAT(check.err, HasSubstr("1 sweep, 120 results"));

  cluster_.KillCoordinator(SIGTERM);
  EXPECT_EQ(Query("SELECT holder IS NULL FROM concur.leader"), "t") << "handed over at once";
  EXPECT_THAT(Admin({"check"}).err, HasSubstr("holds no concur.db"));
  EXPECT_THAT(Admin({"--listen", cluster_.server()}).err,
              HasSubstr("name it under database in the options"));
}

// Two coordinators on one data directory: the stand-by waits, refuses calls and takes over.
TEST_F(PostgresTest, AStandByTakesOver) {
  cluster_.StartCoordinator(options_);
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  const Output taken =
      Admin({"--options", cluster_.File("options.yaml"), "--listen", cluster_.server()});
  EXPECT_EQ(taken.exit_code, 1) << "its address is the leader's";
  EXPECT_THAT(taken.err, HasSubstr("choose another with --listen"));

  const std::string address = "unix:" + cluster_.File("socket2");
  std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                   cluster_.File("data"), "--listen", address};
  argv.insert(argv.end(), options_.begin(), options_.end());
  const std::string status = absl::StrCat("127.0.0.1:", FreePort());
  argv.insert(argv.end(), {"--metrics-listen", status});
  const auto call = [&] {
    return Cluster::Run({Cluster::Binary("concur"), "--server", address, "--token-file",
                         cluster_.File("data/token"), "sweep", "list"},
                        cluster_.File("call"));
  };
  {
    Process ended(argv, cluster_.File("logs/ended"));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("socket2")); }));
    const Output refused = call();
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("this coordinator is a stand-by; "),
                                   HasSubstr(cluster_.server() + " leads")));
    ended.Signal(SIGTERM);
    EXPECT_EQ(ended.Wait(), 0);
  }
  Process successor(argv, cluster_.File("logs/successor"));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("socket2")); }));
  ASSERT_TRUE(Eventually([&] { return Said("successor", "stand-by: another"); }));
  EXPECT_EQ(HttpGet(status, "/healthz").status, 200);
  const HttpAnswer not_ready = HttpGet(status, "/readyz");
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_THAT(not_ready.body, HasSubstr("is a stand-by"));
  cluster_.KillCoordinator(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return call().exit_code == 0; }));
  EXPECT_EQ(HttpGet(status, "/readyz").status, 200);
  const std::string log = ReadFile(cluster_.File("logs/successor.err")).value_or("");
  EXPECT_THAT(log, AllOf(HasSubstr("taking over"), HasSubstr("listening on " + address)));

  // The first one is the stand-by now.
  cluster_.LaunchCoordinator(options_);
  ASSERT_TRUE(Eventually([&] { return Said("coordinator", "stand-by: another"); }));
  const absl::Time killed = absl::Now();
  successor.Signal(SIGKILL);
  successor.Wait();
  ASSERT_TRUE(Eventually([&] { return Said("coordinator", "taking over"); }));
  EXPECT_LT(absl::Now() - killed, absl::Seconds(10));
  // Programs find its token once its address is written.
  ASSERT_TRUE(Eventually([&] { return cluster_.Concur({"sweep", "list"}).exit_code == 0; }));
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(Succeeded(), 2 * kPairs);
  EXPECT_EQ(Runs().size(), size_t{2 * kPairs}) << "a job ran twice, or never";
  cluster_.KillCoordinator(SIGTERM);
  EXPECT_EQ(Query("SELECT holder IS NULL FROM concur.leader"), "t");
}

// It would lack the artifacts that the leader has.
TEST_F(PostgresTest, AStandByWithADirectoryOfItsOwnIsRefused) {
  cluster_.StartCoordinator(options_);
  const Output refused = Cluster::Run(
      {"/usr/bin/env", "CONCUR_DATABASE=" + uri_, Cluster::Binary("concur-coordinator"),
       "--data-dir", cluster_.File("data2"), "--listen", "unix:" + cluster_.File("socket2")},
      cluster_.File("own"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(
      refused.err,
      AllOf(HasSubstr(cluster_.File("data2") + " is not the data directory of"),
            HasSubstr(" on " + cluster_.server() + ", which leads"), HasSubstr("artifacts.s3")));
  EXPECT_EQ(Succeeded(), 0) << "the leader goes on";
}

TEST_F(PostgresTest, ACoordinatorThatWasStoppedPastItsTimeWritesNothingAndEnds) {
  cluster_.StartCoordinator(options_);
  cluster_.SignalCoordinator(SIGSTOP);
  // Waits for the coordinator that is stopped.
  Process submit({Cluster::Binary("concur"), "--server", cluster_.server(), "sweep", "submit",
                  cluster_.File("sweep.yaml")},
                 cluster_.File("submit"));
  ASSERT_TRUE(Eventually([&] { return Expired(); }));
  std::filesystem::create_directory(cluster_.File("data2"));
  std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                   cluster_.File("data2"), "--listen",
                                   "unix:" + cluster_.File("socket2")};
  argv.insert(argv.end(), options_.begin(), options_.end());
  Process successor(argv, cluster_.File("logs/successor"));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("data2/address")); }));
  const std::string turn = Query("SELECT turn, epoch FROM concur.leader");
  cluster_.KillCoordinator(SIGCONT);  // waits for its end
  EXPECT_THAT(
      ReadFile(cluster_.File("logs/coordinator.err")).value_or(""),
      AnyOf(HasSubstr("could not be renewed in time"), HasSubstr("another coordinator leads")));
  submit.Signal(SIGKILL);
  EXPECT_EQ(Query("SELECT turn, epoch FROM concur.leader"), turn);
  EXPECT_EQ(Query("SELECT count(*) FROM concur.sweep"), "0");
  successor.Signal(SIGTERM);
  EXPECT_EQ(successor.Wait(), 0);
}

TEST_F(PostgresTest, RowsAreTakenThereAndBack) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  const std::string data = cluster_.File("data");
  const Output running = Admin({"migrate", "--from", data, "--to", uri_});
  EXPECT_EQ(running.exit_code, 1);
  EXPECT_THAT(running.err, HasSubstr("concur.db"));
  cluster_.KillCoordinator(SIGTERM);

  const Output there = Admin({"migrate", "--from", data, "--to", uri_});
  EXPECT_EQ(there.exit_code, 0) << there.err;
  EXPECT_THAT(there.err, HasSubstr("migrated: 1 sweep, 120 results"));
  EXPECT_FALSE(std::filesystem::exists(data + "/concur.db"));
  EXPECT_THAT(Admin({"--listen", cluster_.server()}).err,
              HasSubstr("name it under database in the options"));
  cluster_.StartCoordinator(options_);
  EXPECT_EQ(Succeeded(), 2 * kPairs);
  EXPECT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  EXPECT_EQ(Runs().size(), size_t{2 * kPairs}) << "a repeat reuses every result";
  EXPECT_THAT(Admin({"migrate", "--from", uri_, "--to", data}).err,
              HasSubstr("another coordinator leads"));
  EXPECT_THAT(Admin({"--options", cluster_.File("options.yaml"), "backup", data + "2"}).err,
              HasSubstr("pg_dump"));
  cluster_.KillCoordinator(SIGTERM);

  const Output back = Admin({"migrate", "--from", uri_, "--to", data});
  EXPECT_EQ(back.exit_code, 0) << back.err;
  EXPECT_THAT(back.err, HasSubstr("migrated: 2 sweeps"));
  EXPECT_EQ(Admin({"check"}).exit_code, 0);
  EXPECT_THAT(Admin({"migrate", "--from", data, "--to", uri_}).err,
              HasSubstr("holds rows already"));
  cluster_.StartCoordinator();
  EXPECT_EQ(Succeeded(), 2 * kPairs);
}

// Programs and a worker that know both coordinators: neither they nor a job notice who leads.
TEST_F(PostgresTest, ProgramsFindTheLeaderAndAJobNoticesNothing) {
  const std::string second = "unix:" + cluster_.File("socket2");
  const std::string both = absl::StrCat(second, ",", cluster_.server());
  const auto concur = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {Cluster::Binary("concur"), "--server", both, "--token-file",
                                     cluster_.File("data/token")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
  };
  const auto call = [&](const std::vector<std::string>& arguments) {
    return Cluster::Run(concur(arguments), cluster_.File("call"));
  };
  const std::string sweep = absl::StrReplaceAll(
      kSweep,
      {{"to: 60", "to: 1"},
       {"echo t{seed} >> RUNS;", "echo t{seed} >> RUNS; until [ -e GO ]; do sleep 0.1; done;"}});
  cluster_.Write("sweep.yaml", absl::StrReplaceAll(sweep, {{"RUNS", cluster_.File("runs")},
                                                           {"GO", cluster_.File("go")}}));
  std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                   cluster_.File("data"), "--listen", second};
  argv.insert(argv.end(), options_.begin(), options_.end());

  cluster_.StartCoordinator(options_);
  Process successor(argv, cluster_.File("logs/successor"));
  ASSERT_TRUE(Eventually([&] { return Said("successor", "stand-by: another"); }));
  cluster_.SetServerOfWorkers(both);
  cluster_.StartWorker("w1", 2);
  const Output submitted = call({"sweep", "submit", cluster_.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_THAT(submitted.err, Not(HasSubstr("stand-by"))) << "the first of the two";
  ASSERT_TRUE(Eventually([&] { return Runs().size() == 1; }));
  EXPECT_FALSE(Said("worker-w1", "does not answer")) << "nor does the worker say so";
  Process watch(concur({"sweep", "watch", "s1"}), cluster_.File("logs/watch"));
  Process wait(concur({"sweep", "wait", "s1"}), cluster_.File("logs/wait"));
  ASSERT_TRUE(Eventually([&] {
    return absl::StrContains(ReadFile(cluster_.File("logs/watch.err")).value_or(""), "1 running");
  }));

  cluster_.KillCoordinator(SIGKILL);
  const Output after_kill = call({"-o", "json", "worker", "list"});
  EXPECT_EQ(after_kill.exit_code, 0) << after_kill.err;
  EXPECT_TRUE(Said("successor", "taking over"));

  cluster_.LaunchCoordinator(options_);
  ASSERT_TRUE(Eventually([&] { return Said("coordinator", "stand-by: another"); }));
  successor.Signal(SIGTERM);
  EXPECT_EQ(successor.Wait(), 0);
  const Output after_term = call({"-o", "json", "job", "get", "s1/0"});
  ASSERT_EQ(after_term.exit_code, 0) << after_term.err;
  const auto job = nlohmann::json::parse(after_term.out, nullptr, false);
  EXPECT_EQ(job.value("state", ""), "running") << after_term.out;

  cluster_.Write("go", "");
  EXPECT_EQ(wait.Wait(), 0);
  EXPECT_EQ(watch.Wait(), 0);
  EXPECT_EQ(Runs().size(), size_t{2}) << "the job was started anew";
  EXPECT_EQ(Succeeded(), 2);
  EXPECT_FALSE(Said("worker-w1", "refused a result"));
}

}  // namespace
}  // namespace concur::testing
