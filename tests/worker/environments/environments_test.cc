// SPDX-License-Identifier: Apache-2.0
// Jobs in environments, by every sandbox that works on this machine: what they see, how they end,
// and what they cannot do.
#include "worker/environments/environments.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/process/cgroup.h"
#include "core/pools/pool.h"
#include "tests/worker/environments/environment_fixture.h"

namespace concur::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool AnyProcessWith(const std::string& argument) {
  for (const process::ProcessInfo& process : process::ListProcesses()) {
    const auto line = ReadFile(absl::StrCat("/proc/", process.pid, "/cmdline"));
    if (process.state != 'Z' && line.ok() &&
        absl::StrContains(absl::StrReplaceAll(*line, {{absl::string_view("\0", 1), " "}}),
                          absl::StrCat("sleep ", argument))) {
      return true;
    }
  }
  return false;
}

class EnvironmentsTest : public EnvironmentFixture,
                         public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kBusybox)) {
      GTEST_SKIP() << "no " << kBusybox << " for a small root (package busybox-static)";
    }
    Start({GetParam()});
    if (!environments_->labels().contains(kSandboxLabel)) {
      GTEST_SKIP() << environments_->missing()[0];
    }
    MakeRoot();
  }
};

class ImageTest : public EnvironmentFixture {};

// The container is the environment: no sandbox, its variables, and nobody else's jobs.
TEST_F(ImageTest, AWorkerInAContainerRunsTheJobsOfItsImageAsTheyAre) {
  Environment image;
  image.kind = EnvironmentKind::kImage;
  image.reference = absl::StrCat("registry/jobs@sha256:", Sha256Of("image").ToHex());
  environments_ = Environments::Open(
      {.kinds = {"bubblewrap", "venv"},
       .directory = temp_.File("environments"),
       .work_directory = temp_.File("work"),
       .base = process::BaseEnvironment(),
       .image = image.reference,
       .image_variables = {{"PATH", "/opt/none:/bin"}, {"OF_IMAGE", "yes"}, {"LANG", "C"}}});
  EXPECT_EQ(environments_->labels(), (Labels{{kImageLabel, image.reference}}));
  EXPECT_FALSE(std::filesystem::exists(temp_.File("environments")));
  options_.environments = environments_.get();
  Reopen();
  JobOrder order =
      Train("echo $OF_IMAGE $LANG $PATH; test $HOME = $TMPDIR && echo home; pwd; echo m > $2");
  order.environment = image;
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message << LogOf(result);
  EXPECT_THAT(LogOf(result), AllOf(HasSubstr("yes C /opt/none:/bin\nhome\n"),
                                   HasSubstr(temp_.File("work/runs/s1-0-a1"))));
  order = Train("exit 0");
  order.id.job.index = 1;
  order.environment = image;
  order.environment->setup = {"true"};
  EXPECT_THAT(Run(order).message, HasSubstr("this worker has nothing for the environment"));
}

TEST(ImageVariablesTest, TheyAreNeitherConcursNorThePodsUnlessPassed) {
  for (const auto& [name, value] :
       {std::pair("IT_OF_IMAGE", "1"), std::pair("IT_OF_POD", "2"), std::pair("IT_PASSED", "3"),
        std::pair("CONCUR_TOKEN", "4"), std::pair("KUBERNETES_PORT", "5"),
        std::pair(kPodVariables, "IT_OF_POD,IT_PASSED")}) {
    setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe)
  }
  const std::map<std::string, std::string> variables = ImageVariables({"IT_PASS*"});
  EXPECT_EQ(variables.at("IT_OF_IMAGE"), "1");
  EXPECT_EQ(variables.at("IT_PASSED"), "3");
  for (const char* name :
       {"IT_OF_POD", "CONCUR_TOKEN", "KUBERNETES_PORT", kPodVariables, "HOME", "PWD"}) {
    EXPECT_FALSE(variables.contains(name)) << name;
  }
  for (const char* name : {"IT_OF_IMAGE", "IT_OF_POD", "IT_PASSED", "CONCUR_TOKEN",
                           "KUBERNETES_PORT", kPodVariables}) {
    unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
  }
}

TEST_P(EnvironmentsTest, ACommandSeesItsRootItsDirectoryAndItsInputs) {
  const JobResult result = Run(In(Train(
      "test -e /bin/busybox && test ! -e /usr/bin/env && cat $1 && pwd && "
      "echo run $CONCUR_RUN_DIRECTORY && echo made > $2 && echo t > $TMPDIR/t && cat /tmp/t && "
      "echo path $PATH")));
  ASSERT_TRUE(result.succeeded) << result.message << LogOf(result);
  const std::string directory = temp_.File("work/runs/s1-0-a1");
  EXPECT_THAT(LogOf(result),
              AllOf(HasSubstr("Where is Paris?"), HasSubstr(absl::StrCat(directory, "\n")),
                    HasSubstr(absl::StrCat("run ", directory)), HasSubstr("path /usr/local/sbin")));
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "made\n");
}

TEST_P(EnvironmentsTest, ATrainingSeesItsValidationDataAndItsCheckpoint) {
  JobOrder order = In(Train("cat $4 && echo 7 > $CONCUR_CHECKPOINT/step; exit 1"));
  order.command.push_back("{validation}");
  order.validation = order.train;
  order.validation[0].digest = transfer_.Add("Where is Lima?\n");
  executor_->Start(order);
  const FinishedAttempt finished = Next().finished;
  EXPECT_THAT(LogOf(finished.result), HasSubstr("Where is Lima?"));
  ASSERT_TRUE(finished.checkpoint.has_value()) << finished.result.message;
  executor_->Publish(finished);
  ASSERT_TRUE(Next().published);
  JobOrder next = In(Train("cat $CONCUR_CHECKPOINT/step; touch $2"));
  next.checkpoint = finished.checkpoint;
  const JobResult result = Run(next);
  EXPECT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(LogOf(result), "7\n");
}

TEST_P(EnvironmentsTest, ACommandCannotChangeItsRootOrInputsNorSeeTheMachine) {
  ASSERT_OK(WriteFileAtomically(temp_.File("secret"), "token"));
  JobOrder order = In(Train(absl::StrCat(
      "touch $2; touch /bin/new && echo wrote the root; echo x >> $1 && echo wrote the input; "
      "test -e ",
      temp_.File("secret"),
      " && echo saw the machine; "
      "test -e ",
      temp_.File("work/logs"),
      " && echo saw the logs; "
      "kill -0 ",
      getpid(),
      " && echo saw the worker; "
      "mount -t tmpfs none /mnt && echo mounted; exit 0")));
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(LogOf(result),
              AllOf(Not(HasSubstr("wrote")), Not(HasSubstr("saw")), Not(HasSubstr("mounted"))));
  EXPECT_FALSE(std::filesystem::exists(temp_.File("root/bin/new")));
}

// A library of the approach's `env` was loaded into the launcher, which runs outside.
TEST_P(EnvironmentsTest, VariablesOfTheApproachReachItsCommandAndNotTheLauncher) {
  JobOrder order =
      In(Train("echo saw $LD_PRELOAD $LD_AUDIT $OTHER \"$LINES\" \"$ODD\" ${#LONG}; echo m > $2"));
  const std::string library = temp_.File("absent.so");  // the linker complains about it
  order.env = {{"LD_PRELOAD", library},  {"LD_AUDIT", library},
               {"OTHER", "a b"},         {"LINES", "1\n2"},
               {"ODD", " #*'\"$x\\ \r"}, {"LONG", std::string(100'000, 'x')}};
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message << LogOf(result);
  EXPECT_EQ(LogOf(result),
            absl::StrCat("saw ", library, " ", library, " a b 1\n2  #*'\"$x\\ \r 100000\n"));
}

// `ps` showed them to all users.
TEST_P(EnvironmentsTest, NoCommandLineShowsTheVariablesOfTheApproach) {
  JobOrder order = In(Train("echo on $TOKEN; while :; do sleep 0.05; done"));
  order.env = {{"TOKEN", "for-no-other-user"}};
  executor_->Start(order);
  WaitForLog(order.id, "on for-no-other-user");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string path = entry.path().string() + "/cmdline";
    const std::string arguments = ReadFile(path).value_or("");
    EXPECT_THAT(arguments, Not(HasSubstr("for-no-other-user"))) << path;
    seen += absl::StrContains(arguments, "echo on $TOKEN") ? 1 : 0;
  }
  EXPECT_GE(seen, 1);
  executor_->Stop(order.id, StopCause::kCanceled, /*at_once=*/true);
  Next();
}

TEST_P(EnvironmentsTest, ExitCodesMeanWhatTheyMeanOutside) {
  const auto end = [&](int code) {
    const JobResult result = Run(In(Train(absl::StrCat("echo because; exit ", code))));
    EXPECT_EQ(result.exit_code, code) << result.message;
    EXPECT_THAT(result.message, HasSubstr("because"));
    return std::string(FailureClassName(result.failure));
  };
  EXPECT_EQ(end(3), "failed");
  EXPECT_EQ(end(75), "temporary");
  EXPECT_EQ(end(78), "config");
  const JobResult killed = Run(In(Train("kill -9 $$")));
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(FailureClassName(killed.failure), "failed");
  JobOrder missing = In(Train("exit 0"));
  missing.command = {"no-such-program"};
  const JobResult result = Run(missing);
  EXPECT_EQ(FailureClassName(result.failure), "spawn");
  EXPECT_THAT(result.message, HasSubstr("was not found in the approach's environment"));
}

TEST_P(EnvironmentsTest, ACommandThatIsStoppedMayCleanUpInItsGrace) {
  JobOrder order =
      In(Train("trap 'echo cleaned; exit 0' TERM; echo on; while :; do sleep 0.05; done"));
  executor_->Start(order);
  WaitForLog(order.id, "on");
  executor_->Stop(order.id, StopCause::kCanceled, /*at_once=*/false);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(FailureClassName(result.failure), "preempted");
  EXPECT_THAT(LogOf(result), HasSubstr("cleaned\n"));
}

TEST_P(EnvironmentsTest, ACommandThatIgnoresItsTimeOutIsKilled) {
  options_.grace = absl::Milliseconds(50);
  Reopen();
  JobOrder order = In(Train("trap '' TERM; while :; do sleep 60; done"));
  order.timeout = absl::Milliseconds(100);
  EXPECT_EQ(FailureClassName(Run(order).failure), "timeout");
}

TEST_P(EnvironmentsTest, NothingOutlivesItsJob) {
  const std::string daemon = absl::StrCat(7'000'000 + getpid(), "1");
  const std::string child = absl::StrCat(7'000'000 + getpid(), "2");
  JobOrder order =
      In(Train(absl::StrCat("(setsid env -i /bin/sleep ", daemon, " &) ; echo on; sleep ", child)));
  executor_->Start(order);
  WaitForLog(order.id, "on");
  executor_->Stop(order.id, StopCause::kCanceled, /*at_once=*/true);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(FailureClassName(result.failure), "preempted");
  const absl::Time deadline = absl::Now() + kDeadline;
  while (AnyProcessWith(daemon) || AnyProcessWith(child)) {
    ASSERT_LT(absl::Now(), deadline) << "a process lives on";
    waker_.Wait(absl::Milliseconds(5));
  }
}

TEST_P(EnvironmentsTest, MemoryIsLimitedInside) {
  absl::StatusOr<std::unique_ptr<process::Cgroups>> cgroups =
      process::Cgroups::Open({.work_directory = temp_.File("work")});
  options_.cgroups = cgroups.ok() ? cgroups->get() : nullptr;
  Reopen();
  JobOrder order = In(Train("x=$(head -c 400000000 /dev/zero | tr '\\0' x); sleep 60"));
  order.resources.memory_bytes = 96 << 20;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "oom") << result.message;
  executor_.reset();  // before its groups
}

TEST_P(EnvironmentsTest, WhateverAJobLeavesItsDirectoryIsCleaned) {
  JobOrder order = In(Train(
      "mkdir $3/locked && touch $3/locked/f && chmod 000 $3/locked; chown 12345 $3; touch $2"));
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  executor_->Forget(order.id);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (std::filesystem::exists(temp_.File("work/runs/s1-0-a1"))) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(5));
  }
}

TEST_P(EnvironmentsTest, SetupLinesCompleteTheRootOnce) {
  const std::vector<std::string> setup = {"echo one > /bin/made", "echo two >> /bin/made; id"};
  for (int i = 0; i < 2; ++i) {
    const JobResult result = Run(In(Train("cat /bin/made; touch $2"), setup));
    ASSERT_TRUE(result.succeeded) << result.message;
    EXPECT_EQ(LogOf(result), "one\ntwo\n");
  }
  const auto fails = [&](const std::string& line) {
    const JobResult result = Run(In(Train("touch $2"), {"true", line}));
    EXPECT_THAT(result.message, AllOf(HasSubstr("environment could not be built: setup line"),
                                      HasSubstr("said so")));
    return std::string(FailureClassName(result.failure));
  };
  EXPECT_EQ(fails("echo said so; exit 4"), "failed");
  EXPECT_EQ(fails("echo said so; exit 75"), "temporary");
  EXPECT_EQ(fails("echo said so; exit 78"), "config");
}

TEST_P(EnvironmentsTest, ATarThatCannotBeUnpackedIsTheSweepsFault) {
  root_tar_ = root_tar_.substr(0, root_tar_.size() / 2);
  const JobResult result = Run(In(Train("touch $2")));
  EXPECT_EQ(FailureClassName(result.failure), "config") << result.message;
}

INSTANTIATE_TEST_SUITE_P(Sandboxes, EnvironmentsTest, ::testing::Values("bubblewrap", "podman"),
                         [](const auto& sandbox) { return sandbox.param; });

}  // namespace
}  // namespace concur::worker
