// SPDX-License-Identifier: Apache-2.0
// Pilots through an API server that does what a test says.
#include "coordinator/provision/kubernetes_provider.h"

#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/testing/kube_server.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

using ::concur::testing::KubeServer;

class KubernetesProviderTest : public ::testing::Test {
 protected:
  KubernetesProviderTest() {
    setup_.coordinator_id = "ab12";
    setup_.coordinator = "head:7447";
    setup_.token = [] { return std::string("pilot-token"); };
    setup_.directory = dir_.File("pilots");
    pool_.name = "cpu";
    pool_.provider = ProviderKind::kKubernetes;
    pool_.workers_max = 10;
    pool_.kubernetes.image = "concur:1";
    options_.watch.backoff_min = absl::Milliseconds(5);
    options_.watch.backoff_max = absl::Milliseconds(20);
    WriteKubeconfig(server_.Kubeconfig("good"));
    server_.RequireToken("good");
    provider_ = Make();
  }

  void WriteKubeconfig(const std::string& text) { std::ofstream(dir_.File("config")) << text; }
  std::unique_ptr<KubernetesProvider> Make() {
    return std::make_unique<KubernetesProvider>(
        clock_, setup_, [this] { return LoadKubeConfig(dir_.File("config")); }, options_);
  }
  absl::StatusOr<std::vector<std::string>> Start(const std::vector<std::string>& pilots) {
    std::promise<absl::StatusOr<std::vector<std::string>>> promise;
    provider_->Start(pool_, pilots, [&promise](auto ids) { promise.set_value(std::move(ids)); });
    return promise.get_future().get();
  }
  absl::Status Stop(const std::vector<std::string>& pilots) {
    std::promise<absl::Status> promise;
    provider_->Stop(pilots, [&promise](auto status) { promise.set_value(std::move(status)); });
    return promise.get_future().get();
  }
  absl::StatusOr<std::map<std::string, PilotReport>> Observe() {
    std::promise<absl::StatusOr<std::vector<PilotReport>>> promise;
    provider_->Observe([&promise](auto reports) { promise.set_value(std::move(reports)); });
    absl::StatusOr<std::vector<PilotReport>> reports = promise.get_future().get();
    if (!reports.ok()) {
      return reports.status();
    }
    std::map<std::string, PilotReport> by_name;
    for (PilotReport& report : *reports) {
      by_name[report.name] = std::move(report);
    }
    return by_name;
  }
  // Waits until an observation satisfies the condition: watches take a moment.
  bool Seen(const std::function<bool(const std::map<std::string, PilotReport>&)>& condition) {
    return Eventually([&] {
      const auto reports = Observe();
      return reports.ok() && condition(*reports);
    });
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "waited in vain";
    return false;
  }

  TempDir dir_;
  KubeServer server_;
  testing::SimulatedClock clock_;
  PilotSetup setup_;
  PoolSpec pool_;
  KubernetesOptions options_;
  std::unique_ptr<KubernetesProvider> provider_;
};

// --- the plain way -------------------------------------------------------------------------------

TEST_F(KubernetesProviderTest, PilotsAreStartedWatchedAndStopped) {
  const auto ids = Start({"cpu-1", "cpu-2"});
  ASSERT_OK(ids);
  EXPECT_THAT(*ids, ElementsAre("concur-ab12-cpu-1", "concur-ab12-cpu-2"));
  const nlohmann::json job = server_.Get("jobs", "concur-ab12-cpu-1");
  EXPECT_THAT(job.dump(), Not(HasSubstr("pilot-token")));
  ASSERT_THAT(server_.All("secrets"), SizeIs(1));
  EXPECT_EQ(server_.All("secrets")[0]["stringData"]["token"], "pilot-token");
  auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_THAT(*reports, SizeIs(2)) << "seen at once: the answer of the call counts";
  EXPECT_EQ(reports->at("cpu-1").state, PilotReport::State::kPending);

  server_.PutPod("concur-ab12-cpu-1", {{"phase", "Running"}});
  EXPECT_TRUE(Seen([](const auto& seen) {
    return seen.at("cpu-1").state == PilotReport::State::kRunning &&
           seen.at("cpu-1").external_id == "concur-ab12-cpu-1-abcde";
  }));
  EXPECT_OK(Stop({"cpu-1", "nobody-9"}));
  EXPECT_TRUE(Seen([](const auto& seen) { return !seen.contains("cpu-1"); }));
  EXPECT_TRUE(server_.Get("jobs", "concur-ab12-cpu-1").is_null());
  EXPECT_FALSE(server_.Get("jobs", "concur-ab12-cpu-2").is_null());
}

TEST_F(KubernetesProviderTest, ARestartedCoordinatorAdoptsItsOwnAndNobodyElses) {
  ASSERT_OK(Start({"cpu-1"}));
  setup_.coordinator_id = "other";
  provider_ = Make();
  EXPECT_THAT(*Observe(), IsEmpty());
  setup_.coordinator_id = "ab12";
  provider_ = Make();
  const auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_THAT(*reports, SizeIs(1));
  EXPECT_TRUE(reports->contains("cpu-1"));
}

TEST_F(KubernetesProviderTest, PodsThatAreNotConcursAreNobodysBusiness) {
  ASSERT_OK(Start({"cpu-1"}));
  server_.Put("pods", {{"metadata", {{"name", "x"}, {"labels", {{"concur/coordinator", "ab12"}}}}},
                       {"status", {{"phase", "Running"}}}});
  server_.Put("jobs", {{"metadata", {{"name", "y"}, {"labels", {{"concur/coordinator", "ab12"}}}}},
                       {"spec", nlohmann::json::object()}});
  const auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_THAT(*reports, SizeIs(1));
}

TEST_F(KubernetesProviderTest, AnEndedJobIsReportedForAWhileAndThenDeleted) {
  ASSERT_OK(Start({"cpu-1"}));
  server_.PutPod("concur-ab12-cpu-1",
                 {{"phase", "Failed"},
                  {"containerStatuses",
                   {{{"state", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}}}});
  server_.EndJob("concur-ab12-cpu-1", "Failed", "BackoffLimitExceeded");
  EXPECT_TRUE(Seen([](const auto& seen) {
    return seen.at("cpu-1").state == PilotReport::State::kEnded &&
           absl::StrContains(seen.at("cpu-1").message, "OOMKilled");
  }));
  EXPECT_OK(Stop({"cpu-1"}));
  EXPECT_EQ(server_.count("delete jobs"), 0) << "what has ended need not be stopped";
  clock_.Advance(options_.ended_kept + absl::Seconds(1));
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.empty(); }));
  EXPECT_EQ(server_.count("delete jobs"), 1);
}

TEST_F(KubernetesProviderTest, AJobWhosePodsAreRefusedSaysWhy) {
  ASSERT_OK(Start({"cpu-1"}));
  server_.Put("events", {{"metadata", {{"name", "e1"}}},
                         {"involvedObject", {{"kind", "Job"}, {"name", "concur-ab12-cpu-1"}}},
                         {"reason", "FailedCreate"},
                         {"message", "exceeded quota: compute, requested: pods=1"}});
  const auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_EQ(reports->at("cpu-1").message,
            "FailedCreate: exceeded quota: compute, requested: pods=1; wait, lower workers.max, or "
            "have the namespace's quota raised");
}

// --- trouble with calls --------------------------------------------------------------------------

TEST_F(KubernetesProviderTest, AnExpiredTokenIsSaidAndARenewedOneCounts) {
  std::ofstream(dir_.File("token")) << "expired\n";
  WriteKubeconfig(server_.Kubeconfig("", dir_.File("token")));
  provider_ = Make();
  EXPECT_THAT(Start({"cpu-1"}),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("answers 401: Unauthorized"), HasSubstr("renew it"))));
  EXPECT_THAT(Observe(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  std::ofstream(dir_.File("token")) << "good\n";
  EXPECT_OK(Start({"cpu-1"}));
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.contains("cpu-1"); }));
}

TEST_F(KubernetesProviderTest, AForbiddenVerbIsNamed) {
  server_.Refuse("create jobs", 403,
                 "jobs.batch is forbidden: User \"sa\" cannot create resource \"jobs\"");
  EXPECT_THAT(Start({"cpu-1"}), StatusIs(absl::StatusCode::kPermissionDenied,
                                         AllOf(HasSubstr("User \"sa\" cannot create"),
                                               HasSubstr("must have the verb create on jobs"))));
  server_.Refuse("list pods", 403, "pods is forbidden", 1000);
  provider_ = Make();
  EXPECT_THAT(Observe(), StatusIs(absl::StatusCode::kPermissionDenied,
                                  HasSubstr("must have the verb list on pods")));
  server_.Refuse("list pods", 403, "", 0);
  EXPECT_TRUE(Seen([](const auto&) { return true; }));
  server_.Refuse("create secrets", 403, "secrets is forbidden");
  setup_.token = [] { return std::string("another"); };
  provider_ = Make();
  EXPECT_THAT(Start({"cpu-2"}), StatusIs(absl::StatusCode::kPermissionDenied,
                                         HasSubstr("must have the verb create on secrets")));
  EXPECT_THAT(server_.All("jobs"), IsEmpty()) << "no Job without its Secret";
}

TEST_F(KubernetesProviderTest, AQuotaRefusalIsNoMissingRight) {
  server_.Refuse("create jobs", 403,
                 "jobs.batch \"x\" is forbidden: exceeded quota: team, used: count/jobs.batch=5");
  EXPECT_THAT(Start({"cpu-1"}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("exceeded quota: team"), Not(HasSubstr("verb")))));
  EXPECT_THAT(*Observe(), IsEmpty());
}

TEST_F(KubernetesProviderTest, HalfAStartLeavesTheRestToTheNextObservation) {
  server_.Refuse("create jobs", 422, "spec is invalid", 1, /*skip=*/1);
  EXPECT_THAT(Start({"cpu-1", "cpu-2"}),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("only 1 of 2 workers"), HasSubstr("spec is invalid"))));
  const auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_TRUE(reports->contains("cpu-1"));
  EXPECT_FALSE(reports->contains("cpu-2"));
}

TEST_F(KubernetesProviderTest, ALostAnswerIsSettledByALook) {
  server_.LoseAnswer("create jobs");
  EXPECT_THAT(Start({"cpu-1"}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("kubernetes: http")));
  const auto reports = Observe();
  ASSERT_OK(reports);
  EXPECT_TRUE(reports->contains("cpu-1")) << "it was made all the same";
  // Asked again, the Job that is there is the answer.
  EXPECT_OK(Start({"cpu-1"}));
  EXPECT_THAT(server_.All("jobs"), SizeIs(1));
}

TEST_F(KubernetesProviderTest, AServerThatFailsIsTriedAgain) {
  server_.Refuse("create jobs", 500, "etcd is slow");
  EXPECT_THAT(Start({"cpu-1"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("answers 500: etcd is slow")));
  server_.Refuse("create jobs", 429, "too many requests");
  EXPECT_THAT(Start({"cpu-1"}), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("429")));
  EXPECT_OK(Start({"cpu-1"}));
}

// --- trouble with watches ------------------------------------------------------------------------

TEST_F(KubernetesProviderTest, AWatchThatIsTooOldBeginsAnew) {
  ASSERT_OK(Start({"cpu-1"}));
  ASSERT_OK(Observe());
  ASSERT_TRUE(Eventually([&] { return server_.watchers("jobs") == 1; }));
  const int lists = server_.count("list jobs");
  server_.ForgetHistory();  // the old watch cannot tell what follows
  server_.PutPod("concur-ab12-cpu-1", {{"phase", "Running"}});
  EXPECT_TRUE(Seen(
      [](const auto& seen) { return seen.at("cpu-1").state == PilotReport::State::kRunning; }));
  EXPECT_TRUE(Eventually([&] { return server_.count("list jobs") > lists; }));
}

TEST_F(KubernetesProviderTest, WatchesThatEndAtOnceAreNotBegunAgainWithoutAPause) {
  // 9,000 a second, of one version for ever; nothing new was seen.
  ASSERT_OK(Start({"cpu-1"}));
  ASSERT_OK(Observe());
  server_.EndWatchesAtOnce();
  const int lists = server_.count("list jobs");
  EXPECT_TRUE(Eventually([&] { return server_.count("list jobs") > lists + 3; }));
  server_.PutPod("concur-ab12-cpu-1", {{"phase", "Running"}});
  EXPECT_TRUE(Seen(
      [](const auto& seen) { return seen.at("cpu-1").state == PilotReport::State::kRunning; }));
}

TEST_F(KubernetesProviderTest, MalformedEventsAreReadOver) {
  ASSERT_OK(Start({"cpu-1"}));
  for (const char* line :
       {"{", "[]", "null", "{\"type\":\"ADDED\"}", "{\"type\":\"ADDED\",\"object\":{}}",
        "{\"type\":\"ODD\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}}",
        "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"boom\"}}", "\xff\xfe",
        "{\"type\":7,\"object\":[]}"}) {
    ASSERT_TRUE(Eventually([&] { return server_.watchers("pods") == 1; })) << line;
    const int lists = server_.count("list pods");
    server_.SendLine("pods", line);
    ASSERT_TRUE(Eventually([&] { return server_.count("list pods") > lists; })) << line;
  }
  server_.PutPod("concur-ab12-cpu-1", {{"phase", "Running"}});
  EXPECT_TRUE(Seen(
      [](const auto& seen) { return seen.at("cpu-1").state == PilotReport::State::kRunning; }));
}

TEST_F(KubernetesProviderTest, AServerThatGoesAwayMakesNobodyBlind) {
  ASSERT_OK(Start({"cpu-1"}));
  ASSERT_TRUE(Eventually([&] { return server_.watchers("jobs") == 1; }));
  server_.GoAway();
  EXPECT_TRUE(Eventually([&] { return !Observe().ok(); })) << "old news would pass for new";
  EXPECT_THAT(Observe().status().message(), HasSubstr("kubernetes: http"));
  server_.ComeBack();
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.contains("cpu-1"); }));
}

TEST_F(KubernetesProviderTest, AListThatIsNoneIsAnError) {
  server_.Refuse("list jobs", 200, "not a list", 1000);
  provider_ = Make();
  EXPECT_THAT(Observe(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a list")));
}

// --- where the cluster is ------------------------------------------------------------------------

TEST_F(KubernetesProviderTest, AKubeconfigThatPointsNowhereIsExplained) {
  // A port that nobody listens on: that of a server that has just ended.
  std::string nowhere;
  {
    const KubeServer gone;
    nowhere = gone.Kubeconfig("t");
  }
  WriteKubeconfig(nowhere);
  provider_ = Make();
  EXPECT_THAT(Start({"cpu-1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("kubernetes: http://127.0.0.1:"), HasSubstr("config"))));
  EXPECT_THAT(Observe(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("127.0.0.1")));
}

TEST_F(KubernetesProviderTest, AClusterThatIsFoundLaterIsUsedThen) {
  const std::string good = server_.Kubeconfig("good");
  WriteKubeconfig("not: a kubeconfig\n");
  provider_ = Make();
  EXPECT_THAT(Start({"cpu-1"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("contexts: expected one with the name")));
  WriteKubeconfig(good);
  EXPECT_OK(Start({"cpu-1"}));
}

TEST_F(KubernetesProviderTest, ANamespaceThatRefusesStopsNoOtherPool) {
  ASSERT_OK(Start({"cpu-1"}));
  const PoolSpec other = pool_;
  pool_.kubernetes.name_space = "elsewhere";  // the server refuses all but "lab"
  EXPECT_THAT(Start({"other-1"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is one namespace, lab")));
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.contains("cpu-1"); }));
  EXPECT_FALSE(ReadFile(dir_.File("pilots/namespaces")).ok()) << "nothing was made there";
  provider_ = Make();
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.contains("cpu-1"); })) << "after a restart";
  pool_ = other;
  EXPECT_OK(Start({"cpu-2"}));
  EXPECT_OK(Stop({"cpu-1"}));
  EXPECT_TRUE(Seen([](const auto& seen) {
    return seen.count("cpu-1") == 0 || seen.at("cpu-1").state == PilotReport::State::kEnded;
  }));
}

TEST_F(KubernetesProviderTest, ANamespaceIsRememberedBeforeAnythingIsMadeThere) {
  // The coordinator's own namespace refuses; the pool's does not.
  WriteKubeconfig(absl::StrReplaceAll(server_.Kubeconfig("good"), {{"lab", "own"}}));
  provider_ = Make();
  pool_.kubernetes.name_space = "lab";
  server_.Refuse("create secrets", 500, "out of order");
  EXPECT_THAT(Start({"cpu-1"}), Not(IsOk()));
  EXPECT_EQ(*ReadFile(dir_.File("pilots/namespaces")), "lab\n");
  EXPECT_OK(Start({"cpu-1"}));
  provider_ = Make();
  EXPECT_TRUE(Seen([](const auto& seen) { return seen.contains("cpu-1"); }));
}

TEST_F(KubernetesProviderTest, APoolIsTriedWithoutBeingStarted) {
  const auto try_pool = [this] {
    std::promise<absl::StatusOr<std::string>> promise;
    provider_->Try(pool_, [&promise](auto said) { promise.set_value(std::move(said)); });
    return promise.get_future().get();
  };
  ASSERT_OK_AND_ASSIGN(const std::string said, try_pool());
  EXPECT_THAT(said, HasSubstr("takes its Jobs in namespace lab"));
  EXPECT_TRUE(server_.All("jobs").empty()) << "a dry run";
  EXPECT_EQ(server_.count("create jobs"), 1);
  server_.Refuse("create jobs", 403, "jobs.batch is forbidden: exceeded quota");
  EXPECT_THAT(try_pool(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("quota")));
  pool_.kubernetes.image.clear();
  EXPECT_THAT(try_pool(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("image")));
}

// --- rights --------------------------------------------------------------------------------------

TEST_F(KubernetesProviderTest, WhatIsAskedIsWhatTheListOfRightsSays) {
  ASSERT_OK(Start({"cpu-1"}));
  ASSERT_OK(Observe());
  ASSERT_OK(Stop({"cpu-1"}));
  ASSERT_TRUE(Eventually(
      [&] { return server_.count("watch jobs") > 0 && server_.count("watch pods") > 0; }));
  std::set<std::string> listed;
  for (const KubeRight& right : KubeRights()) {
    listed.insert(absl::StrCat(right.name, " ", right.resource));
  }
  EXPECT_EQ(server_.verbs(), listed);
}

}  // namespace
}  // namespace concur::provision
