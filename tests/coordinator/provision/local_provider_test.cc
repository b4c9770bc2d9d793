// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/local_provider.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

class LocalProviderTest : public ::testing::Test {
 protected:
  LocalProviderTest() {
    setup_.coordinator = "127.0.0.1:1";
    setup_.token = [] { return std::string("secret"); };
    setup_.worker_program = dir_.File("worker");
    setup_.directory = dir_.File("pilots");
    pool_.name = "here";
  }
  ~LocalProviderTest() override {
    LocalProvider provider(setup_);
    Stop(provider, {"here-1", "here-2"});
    Stop(provider, {"here-1", "here-2"});  // and again: SIGKILL
  }

  void Play(const std::string& script) {
    std::ofstream(setup_.worker_program) << "#!/bin/sh\n" << script << "\n";
    chmod(setup_.worker_program.c_str(), 0755);
  }
  absl::StatusOr<std::vector<std::string>> Start(LocalProvider& provider,
                                                 const std::vector<std::string>& pilots) {
    std::promise<absl::StatusOr<std::vector<std::string>>> promise;
    provider.Start(pool_, pilots, [&promise](auto ids) { promise.set_value(std::move(ids)); });
    return promise.get_future().get();
  }
  PilotReport ReportOf(LocalProvider& provider, const std::string& pilot) {
    std::promise<absl::StatusOr<std::vector<PilotReport>>> promise;
    provider.Observe([&promise](auto reports) { promise.set_value(std::move(reports)); });
    const auto reports = promise.get_future().get();
    EXPECT_OK(reports);
    for (const PilotReport& report : *reports) {
      if (report.name == pilot) {
        return report;
      }
    }
    ADD_FAILURE() << pilot << " is not reported";
    return {};
  }
  static void Stop(LocalProvider& provider, const std::vector<std::string>& pilots) {
    std::promise<void> promise;
    provider.Stop(pilots, [&promise](const absl::Status&) { promise.set_value(); });
    promise.get_future().get();
  }
  // The end that is waited for happens in another process.
  bool EndsAsSoonAsItCan(LocalProvider& provider, const std::string& pilot) {
    for (int i = 0; i < 2000; ++i) {
      if (ReportOf(provider, pilot).state == PilotReport::State::kEnded) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  TempDir dir_;
  PilotSetup setup_;
  PoolSpec pool_;
};

TEST_F(LocalProviderTest, AWorkerIsStartedWithItsNameAndToken) {
  Play("echo \"$CONCUR_TOKEN $*\" > " + dir_.File("told") + "; exit 3");
  LocalProvider provider(setup_);
  ASSERT_OK(Start(provider, {"here-1"}));
  ASSERT_TRUE(EndsAsSoonAsItCan(provider, "here-1"));
  EXPECT_THAT(*ReadFile(dir_.File("told")), HasSubstr("secret --name here-1 --work-dir "));
  EXPECT_THAT(ReportOf(provider, "here-1").message, HasSubstr("ended with exit code 3"));
}

TEST_F(LocalProviderTest, WhatAFailedWorkerSaidIsPassedOn) {
  Play("echo no such coordinator >&2; exit 1");
  LocalProvider provider(setup_);
  ASSERT_OK(Start(provider, {"here-1"}));
  ASSERT_TRUE(EndsAsSoonAsItCan(provider, "here-1"));
  EXPECT_THAT(ReportOf(provider, "here-1").message, HasSubstr("no such coordinator"));
}

// A line of setup that failed was ignored.
TEST_F(LocalProviderTest, ASetupLineThatFailsEndsTheWorker) {
  Play("echo started > " + dir_.File("told"));
  pool_.setup = {"if false; then exit 1; fi", "no-such-program --load cuda"};
  LocalProvider provider(setup_);
  ASSERT_OK(Start(provider, {"here-1"}));
  ASSERT_TRUE(EndsAsSoonAsItCan(provider, "here-1"));
  EXPECT_THAT(ReportOf(provider, "here-1").message, HasSubstr("no-such-program: not found"));
  EXPECT_FALSE(ReadFile(dir_.File("told")).ok());
}

TEST_F(LocalProviderTest, ANewCoordinatorFindsTheWorkersOfTheOld) {
  Play("exec sleep 1000");
  {
    LocalProvider old(setup_);
    ASSERT_OK(Start(old, {"here-1"}));
  }
  LocalProvider provider(setup_);
  EXPECT_EQ(ReportOf(provider, "here-1").state, PilotReport::State::kRunning);
  Stop(provider, {"here-1"});
  EXPECT_TRUE(EndsAsSoonAsItCan(provider, "here-1"));
}

TEST_F(LocalProviderTest, AnotherProcessWithItsPidIsNotMistakenForIt) {
  Play("exec sleep 1000");
  LocalProvider provider(setup_);
  ASSERT_OK(Start(provider, {"here-1"}));
  ASSERT_OK_AND_ASSIGN(const std::string identity, ReadFile(setup_.directory + "/here-1/pid"));
  // As if the worker had ended and its pid had been handed out again, later.
  ASSERT_OK(WriteFileAtomically(setup_.directory + "/here-1/pid",
                                identity.substr(0, identity.find(' ')) + " 1\n"));
  EXPECT_EQ(ReportOf(provider, "here-1").state, PilotReport::State::kEnded);
  ASSERT_OK(WriteFileAtomically(setup_.directory + "/here-1/pid", identity));
}

TEST_F(LocalProviderTest, ADamagedPidFileIsNoWorker) {
  ASSERT_OK(MakeDirectories(setup_.directory + "/here-1"));
  ASSERT_OK(WriteFileAtomically(setup_.directory + "/here-1/pid", "-1 x\n"));
  LocalProvider provider(setup_);
  EXPECT_EQ(ReportOf(provider, "here-1").state, PilotReport::State::kEnded);
}

TEST_F(LocalProviderTest, AWorkerThatIgnoresSigtermIsKilled) {
  Play("trap '' TERM; while :; do sleep 0.05; done");
  LocalProvider provider(setup_);
  ASSERT_OK(Start(provider, {"here-1", "here-2"}));
  Stop(provider, {"here-1"});
  Stop(provider, {"here-1"});
  EXPECT_TRUE(EndsAsSoonAsItCan(provider, "here-1"));
  EXPECT_EQ(ReportOf(provider, "here-2").state, PilotReport::State::kRunning);
}

// The list of Kubernetes namespaces was taken for an ended worker, and removed after a day.
TEST_F(LocalProviderTest, FilesOfOtherProvidersAreLeftAlone) {
  ASSERT_OK(MakeDirectories(setup_.directory + "/here-1"));
  const std::string file = setup_.directory + "/namespaces";
  ASSERT_OK(WriteFileAtomically(file, "lab\n"));
  std::filesystem::last_write_time(
      file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  LocalProvider provider(setup_);
  std::promise<size_t> reported;
  provider.Observe([&reported](const auto& reports) { reported.set_value(reports->size()); });
  EXPECT_EQ(reported.get_future().get(), 1u);
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace concur::provision
