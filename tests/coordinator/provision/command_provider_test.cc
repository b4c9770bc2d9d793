// SPDX-License-Identifier: Apache-2.0
// The provider with programs of a test's: good ones, bad ones and none.
#include "coordinator/provision/command_provider.h"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "coordinator/provision/command_text.h"
#include "tests/testing/provider_calls.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

using ::concur::testing::CallObserve;
using ::concur::testing::CallStart;
using ::concur::testing::CallStop;
using ::concur::testing::CallTry;

constexpr char kList[] = "cat \"$(dirname \"$0\")/jobs\"";

class CommandProviderTest : public ::testing::Test {
 protected:
  CommandProviderTest() {
    signal(SIGPIPE, SIG_IGN);
    setup_.coordinator_id = "ab12";
    setup_.coordinator = "head:7447";
    setup_.worker_program = "/opt/concur-worker";
    setup_.directory = dir_.File("pilots");
    setup_.token = [] { return std::string("secret"); };
    pool_ = Pool("cpu", "engine");
  }

  // A pool whose programs are in this directory; they start nothing, and list what Jobs wrote.
  PoolSpec Pool(const std::string& name, const std::string& directory) {
    PoolSpec pool;
    pool.name = name;
    pool.provider = ProviderKind::kCommand;
    pool.workers_max = 10;
    pool.resources = {1500, int64_t{3} << 30, 2};
    pool.time_limit = absl::Hours(1);
    pool.command = {dir_.File(directory), {"-q", "short"}, dir_.File("tokens")};
    std::filesystem::create_directory(dir_.File(directory));
    Play("submit", "cat > /dev/null; echo 42", directory);
    Play("list", kList, directory);
    Play("cancel", "cat >> \"$(dirname \"$0\")/canceled\"", directory);
    Jobs("", directory);
    return pool;
  }
  void Play(const std::string& program, const std::string& script,
            const std::string& directory = "engine") {
    const std::string path = dir_.File(absl::StrCat(directory, "/", program));
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  void Jobs(const std::string& lines, const std::string& directory = "engine") {
    std::ofstream(dir_.File(directory + "/jobs")) << lines;
  }
  std::string Read(const std::string& name) { return ReadFile(dir_.File(name)).value_or(""); }

  TempDir dir_;
  PilotSetup setup_;
  PoolSpec pool_;
};

TEST_F(CommandProviderTest, SubmitIsToldWhatAWorkerNeedsAndNoSecret) {
  Play("submit",
       "cd \"$(dirname \"$0\")\"; cat > script; { env | grep CONCUR; echo \"$@\"; } > told; echo "
       "42");
  CommandProvider provider(setup_, "");
  ASSERT_OK_AND_ASSIGN(const auto ids, CallStart(provider, pool_, {"cpu-7"}));
  EXPECT_EQ(ids, (std::vector<std::string>{"42"}));
  EXPECT_THAT(Read("engine/told"),
              AllOf(HasSubstr("CONCUR_PILOT=concur-ab12-cpu-7\n"), HasSubstr("CONCUR_POOL=cpu\n"),
                    HasSubstr("CONCUR_PREFIX=concur-ab12-\n"), HasSubstr("_CPUS=2\n"),
                    HasSubstr("_MEMORY_MIB=3072\n"), HasSubstr("_GPUS=2\n"),
                    HasSubstr("_SECONDS=3600\n"), HasSubstr("-q short\n")));
  EXPECT_THAT(Read("engine/script"), HasSubstr("name=cpu-7\n"));
  EXPECT_THAT(Read("engine/told") + Read("engine/script"), Not(HasSubstr("secret")));
  struct stat info {};
  ASSERT_EQ(stat(dir_.File("tokens/concur-ab12-token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(dir_.File("tokens").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(Read("tokens/concur-ab12-token"), "secret");
}

TEST_F(CommandProviderTest, WithoutADirectoryForTheTokenNothingIsStarted) {
  pool_.command.token_directory = "";
  CommandProvider provider(setup_, "");
  EXPECT_THAT(
      CallStart(provider, pool_, {"cpu-7"}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("command.token_directory")));
}

TEST_F(CommandProviderTest, TheExitCodeOfSubmitTellsARefusalFromAnUnknownEnd) {
  CommandProvider provider(setup_, "");
  Play("submit", "echo 'queue \"short\" is closed' >&2; exit 1");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("engine/submit: queue \"short\" is closed")));
  Play("submit", "echo 'no answer' >&2; exit 75");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-2"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer")));
  Play("submit", "echo 'Your job 42 has been submitted'");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-3"}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("expected a job's id")));
  Play("submit", "case $CONCUR_PILOT in *-5) exit 1;; *) echo 42;; esac");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-4", "cpu-5", "cpu-6"}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("only 1 of 3 workers")));
}

TEST_F(CommandProviderTest, StatesAreReportedWithTheirReasons) {
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  Jobs(
      "concur-ab12-cpu-1\tpending\t41\tin its queue\nconcur-ab12-cpu-2\timpossible\t42\theld\n"
      "concur-ab12-cpu-3\trunning\t43\nconcur-ab12-cpu-4\tended\t44\texit code 1\n"
      "concur-ab12-cpu-5\tcanceled\t45\t\nconcur-ab12-cpu-3\tended\t40\t\n");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 5u);
  EXPECT_EQ(reports[0].state, PilotReport::State::kPending);
  EXPECT_EQ(reports[0].message, "in its queue");
  EXPECT_TRUE(reports[1].impossible);
  EXPECT_EQ(reports[2].state, PilotReport::State::kRunning) << "of two jobs the living one";
  EXPECT_EQ(reports[2].external_id, "43");
  EXPECT_EQ(reports[3].message, "exit code 1");
  EXPECT_FALSE(reports[3].taken_back);
  EXPECT_TRUE(reports[4].taken_back);
}

TEST_F(CommandProviderTest, AnObservationIsWholeOrNone) {
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  const std::string good = "concur-ab12-cpu-1\trunning\t41\t\n";
  for (const auto& [bad, expected] : std::vector<std::pair<std::string, std::string>>{
           {"concur-ab12-cpu-2\trunn", "expected a line that ends"},
           {"concur-ab12-cpu-2\trunning\n", "with tabs between them"},
           {"concur-ab12-cpu-2\tzombie\t42\t\n", "pending, impossible, running"},
           {"concur-ab12-cpu\trunning\t42\t\n", "a name such as concur-ab12-POOL-1"},
           {"concur-ffff-cpu-1\trunning\t42\t\n", "a name such as concur-ab12-POOL-1"},
           {"concur-ab12-cpu-2\trunning\t\t\n", "a job's id"},
           {"concur-ab12-cpu-2\trunning\t4 2\t\n", "a job's id"}}) {
    Jobs(good + bad);
    EXPECT_THAT(CallObserve(provider),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(expected), HasSubstr("engine/list: "))))
        << bad;
  }
  Jobs(good);
  Play("list", absl::StrCat(kList, "; echo 'master is away' >&2; exit 1"));
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("master is away")));
  Play("list", "yes 'concur-ab12-cpu-1\trunning\t41\t'");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("printed more than")));
  Play("list", kList);
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  EXPECT_EQ(reports.size(), 1u);
}

TEST_F(CommandProviderTest, OneListThatFailsStopsNoOtherPool) {
  const PoolSpec other = Pool("other", "second");
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  ASSERT_OK(CallStart(provider, other, {"other-2"}));
  Jobs("concur-ab12-other-2\trunning\t8\t\n", "second");
  Play("list", "exit 1");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].name, "cpu-1");
  EXPECT_EQ(reports[0].state, PilotReport::State::kPending) << "as it was known";
  EXPECT_EQ(reports[1].state, PilotReport::State::kRunning);
}

TEST_F(CommandProviderTest, ProgramsThatNeverListedStartNothingAndAreNotAskedAgain) {
  Play("list", "echo 'no such cluster' >&2; exit 1");
  CommandProvider provider(setup_, "");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no such cluster")));
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  EXPECT_THAT(reports, IsEmpty());
}

TEST_F(CommandProviderTest, ACoordinatorThatStartsAgainFindsItsPilots) {
  {
    CommandProvider provider(setup_, "");
    ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  }
  Jobs("concur-ab12-cpu-1\trunning\t41\t\n");
  {
    CommandProvider again(setup_, "");
    Play("list", "exit 1");
    EXPECT_FALSE(CallObserve(again).ok()) << "what it has is not known yet";
    Play("list", kList);
    ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(again));
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].external_id, "41");
  }
  // Nothing lives there any more: the programs may go.
  Jobs("");
  CommandProvider once_more(setup_, "");
  ASSERT_OK(CallObserve(once_more));
  Play("list", "exit 1");
  EXPECT_OK(CallObserve(once_more));
  EXPECT_EQ(Read("pilots/commands"), "");
}

TEST_F(CommandProviderTest, ProgramsThatWereRemovedStopNobodyAfterARestart) {
  const PoolSpec other = Pool("other", "second");
  {
    CommandProvider provider(setup_, "");
    ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
    ASSERT_OK(CallStart(provider, other, {"other-1"}));
  }
  Jobs("concur-ab12-cpu-1\trunning\t41\t\n");
  std::filesystem::remove_all(dir_.File("second"));
  CommandProvider again(setup_, "");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(again));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "cpu-1");
}

TEST_F(CommandProviderTest, WhatCouldNotBeRememberedIsNotStarted) {
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallObserve(provider));
  std::ofstream(dir_.File("pilots")) << "no directory";
  EXPECT_FALSE(CallStart(provider, pool_, {"cpu-1"}).ok());
  EXPECT_FALSE(CallStart(provider, pool_, {"cpu-1"}).ok()) << "it is still not on the disk";
  std::filesystem::remove(dir_.File("pilots"));
  EXPECT_OK(CallStart(provider, pool_, {"cpu-1"}));
}

TEST_F(CommandProviderTest, AProgramThatClosesItsOutputAndGoesOnIsEnded) {
  Play("list", "exec >&- 2>&-; sleep 1000");
  CommandRequest request;
  request.argv = {dir_.File("engine/list")};
  request.timeout = absl::Milliseconds(100);
  EXPECT_THAT(RunCommand(request),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer within")));
}

TEST_F(CommandProviderTest, OnlyLivingPilotsOfTheirOwnProgramsAreCanceled) {
  const PoolSpec other = Pool("other", "second");
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  ASSERT_OK(CallStart(provider, other, {"other-9"}));
  Jobs(
      "concur-ab12-cpu-1\trunning\t41\t\nconcur-ab12-cpu-2\tpending\t42\t\n"
      "concur-ab12-cpu-3\tended\t43\t\nconcur-ab12-cpu-4\trunning\t44\t\n");
  EXPECT_OK(CallStop(provider, {"cpu-1", "cpu-2", "cpu-3", "cpu-99"}));
  EXPECT_EQ(Read("engine/canceled"), "concur-ab12-cpu-1\t41\nconcur-ab12-cpu-2\t42\n");
  EXPECT_EQ(Read("second/canceled"), "");
  Play("cancel", "echo 'not yours' >&2; exit 1");
  EXPECT_THAT(CallStop(provider, {"cpu-1"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("engine/cancel: not yours")));
}

TEST_F(CommandProviderTest, APoolIsTriedWithoutBeingStarted) {
  Play("submit", "cat > /dev/null; echo \"dry: $CONCUR_DRY_RUN\"");
  CommandProvider provider(setup_, "");
  EXPECT_EQ(*CallTry(provider, pool_), "dry: 1");
  Play("submit", "echo 'no such queue' >&2; exit 1");
  EXPECT_THAT(CallTry(provider, pool_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no such queue")));
  std::filesystem::remove(dir_.File("engine/cancel"));
  EXPECT_THAT(CallTry(provider, pool_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("engine/cancel that may")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("tokens"))) << "nothing was started";
}

// The script runs where the node's worker is a script, too.
TEST_F(CommandProviderTest, ThePilotReadsTheTokenAndLeavesWhyItsSetupFailed) {
  std::ofstream(dir_.File("worker")) << "#!/bin/sh\necho \"$CONCUR_TOKEN $*\"\n";
  chmod(dir_.File("worker").c_str(), 0755);
  pool_.worker_program = dir_.File("worker");
  pool_.work_directory = dir_.File("work");
  Play("submit", "cat > \"$(dirname \"$0\")/$CONCUR_PILOT\"; echo 42");
  CommandProvider provider(setup_, "");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  pool_.setup = {"module-of-mine load cuda"};
  ASSERT_OK(CallStart(provider, pool_, {"cpu-2"}));
  const auto run = [&](const std::string& pilot) {
    CommandRequest request;
    request.argv = {"/bin/bash", dir_.File("engine/concur-ab12-" + pilot)};
    request.env = {{"HOME", dir_.path()}};
    return *RunCommand(request);
  };
  EXPECT_THAT(run("cpu-1").out, HasSubstr("secret --name cpu-1"));
  Jobs("concur-ab12-cpu-2\trunning\t42\t\n");
  EXPECT_EQ(run("cpu-2").exit_code, 78);
  ASSERT_OK_AND_ASSIGN(auto reports, CallObserve(provider));
  EXPECT_EQ(reports[0].state, PilotReport::State::kRunning) << "its engine says that it lives";
  Jobs("");
  ASSERT_OK_AND_ASSIGN(reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].state, PilotReport::State::kEnded);
  EXPECT_THAT(reports[0].message, HasSubstr("setup failed: line 1, module-of-mine load cuda"));

  std::filesystem::remove_all(dir_.File("tokens"));
  const CommandResult blind = run("cpu-1");
  EXPECT_EQ(blind.exit_code, 72);
  EXPECT_THAT(blind.err, HasSubstr("command.token_directory must be one that nodes have"));
}

}  // namespace
}  // namespace concur::provision
