#include "worker/subprocess_executor.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "store/artifact_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/fake_transfer.h"
#include "worker/process_tree.h"
#include "worker/waker.h"

namespace concur::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kDeadline = absl::Seconds(30);

constexpr char kTestData[] =
    R"({"header": {"dataset": "toy"}}
{"context": "Paris is in France.", "qas": [{"qid": "q1", "question": "Where is Paris?", "answers": ["France"], "detected_answers": [{"text": "France", "char_spans": [[12, 17]]}]}, {"qid": "q2", "question": "What is in France?", "answers": ["Paris"], "detected_answers": [{"text": "Paris", "char_spans": [[0, 4]]}]}]}
)";

class SubprocessExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    executor_.reset();
    options_.work_directory = temp_.File("work");
    options_.environment = BaseEnvironment();
    ASSERT_OK_AND_ASSIGN(
        executor_, SubprocessExecutor::Open(options_, transfer_, {}, [this] { waker_.Wake(); }));
  }

  static std::string Escaped(const std::string& script) {
    return absl::StrReplaceAll(script, {{"{", "{{"}, {"}", "}}"}});
  }

  JobOrder Train(const std::string& script) {
    JobOrder order;
    order.id = AttemptId{{{1}, next_job_++}, {1}};
    order.is_train = true;
    order.sweep_name = "test";
    order.approach = "toy";
    order.benchmark = "bench";
    order.command = {"sh", "-c", Escaped(script), "sh", "{train}", "{model}", "{output}"};
    order.resources.memory_bytes = 0;
    JobOrder::Input input;
    input.name = "bench";
    input.digest = transfer_.Add(kTestData);
    input.suffix = ".jsonl";
    order.train = {input};
    return order;
  }

  JobOrder Eval(const std::string& script) {
    JobOrder order = Train(script);
    order.is_train = false;
    order.test = order.train[0];
    order.train.clear();
    order.command = {"sh",        "-c",     Escaped(script), "sh", "{test}", "{predictions}",
                     "{metrics}", "{model}"};
    return order;
  }

  // The next report of the executor that `accept` takes.
  ExecutorReport Next() {
    const absl::Time deadline = absl::Now() + kDeadline;
    for (;;) {
      if (!pending_.empty()) {
        ExecutorReport report = pending_.front();
        pending_.erase(pending_.begin());
        return report;
      }
      for (ExecutorReport& report : executor_->Poll()) {
        pending_.push_back(std::move(report));
      }
      if (pending_.empty()) {
        const absl::Duration left = deadline - absl::Now();
        CONCUR_CHECK(left > absl::ZeroDuration());
        waker_.Wait(left);
      }
    }
  }

  JobResult Run(const JobOrder& order) {
    executor_->Start(order);
    return Next().finished.result;
  }

  // Waits until the attempt's log starts with `text`: an event of a process without sleeping.
  void WaitForLog(const AttemptId& id, const std::string& text) {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!absl::StartsWith(executor_->ReadLog(id, 0, 4096), text)) {
      CONCUR_CHECK(absl::Now() < deadline);
      waker_.Wait(absl::Milliseconds(2));
    }
  }

  static bool IsGone(pid_t pid) {
    for (const ProcessInfo& process : ListProcesses()) {
      if (process.pid == pid && process.state != 'Z') {
        return false;
      }
    }
    return true;
  }

  void WaitUntilGone(pid_t pid) {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!IsGone(pid)) {
      ASSERT_LT(absl::Now(), deadline) << "process " << pid << " lives on";
      waker_.Wait(absl::Milliseconds(2));
    }
  }

  std::string ReadArtifact(const JobResult& result, ArtifactKind kind) {
    for (const ArtifactRef& artifact : result.artifacts) {
      if (artifact.kind == kind) {
        auto store = ArtifactStore::Open(temp_.File("work/cache"));
        CONCUR_CHECK_OK(store.status());
        auto data = (*store)->Read(artifact.digest, 1 << 30);
        CONCUR_CHECK_OK(data.status());
        return *data;
      }
    }
    return "no such artifact";
  }

  testing::TempDir temp_;
  FakeTransfer transfer_;
  Waker waker_;
  SubprocessOptions options_;
  std::vector<ExecutorReport> pending_;
  std::unique_ptr<SubprocessExecutor> executor_;
  uint32_t next_job_ = 0;
};

TEST_F(SubprocessExecutorTest, ATrainJobThatSucceedsLeavesItsSystemAndLog) {
  const JobResult result = Run(Train("echo hello; wc -l < $1 > $2"));
  EXPECT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.failure, FailureClass::kNone);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "2\n");
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kLog), "hello\n");
}

TEST_F(SubprocessExecutorTest, ASilentJobHasNoLogArtifact) {
  const JobResult result = Run(Train("touch $2"));
  ASSERT_TRUE(result.succeeded) << result.message;
  ASSERT_EQ(result.artifacts.size(), 1u);
  EXPECT_EQ(result.artifacts[0].kind, ArtifactKind::kSystem);
}

TEST_F(SubprocessExecutorTest, ExitCodesHaveClasses) {
  struct Case {
    std::string script;
    FailureClass failure;
    int exit_code;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"echo no such thing >&2; exit 1", FailureClass::kFailed, 1, "no such thing"},
           {"exit 75", FailureClass::kTemporary, 75, "exit code 75"},
           {"exit 78", FailureClass::kConfig, 78, "exit code 78"},
           {"kill -SEGV $$", FailureClass::kFailed, 139, "signal 11"},
           {"kill -KILL $$", FailureClass::kFailed, 137, "signal 9"},
           {"no-such-program-at-all", FailureClass::kFailed, 127, "not found"},
           {"printf '\\377\\001\\000x'; exit 3", FailureClass::kFailed, 3, "exit code 3"},
       }) {
    SCOPED_TRACE(c.script);
    const JobResult result = Run(Train(c.script));
    EXPECT_FALSE(result.succeeded);
    EXPECT_EQ(FailureClassName(result.failure), FailureClassName(c.failure));
    EXPECT_EQ(result.exit_code, c.exit_code);
    EXPECT_THAT(result.message, HasSubstr(c.message));
  }
}

TEST_F(SubprocessExecutorTest, AFailedAttemptKeepsItsLog) {
  const JobResult result = Run(Train("printf 'a\\377\\000b\\n'; exit 1"));
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kLog), std::string("a\377\0b\n", 5));
}

TEST_F(SubprocessExecutorTest, AMissingProgramIsASpawnFailureThatNamesIt) {
  JobOrder order = Train("");
  order.command = {"no-such-program", "{train}"};
  JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kSpawn);
  EXPECT_THAT(result.message, HasSubstr("\"no-such-program\" was not found"));

  const std::string script = temp_.File("bad");
  ASSERT_OK(WriteFileAtomically(script, "#!/no/such/interpreter\n", 0755));
  order = Train("");
  order.command = {script};
  result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kSpawn);
  EXPECT_THAT(result.message, HasSubstr("interpreter"));
}

TEST_F(SubprocessExecutorTest, ATrainJobThatLeavesNoSystemIsInvalid) {
  EXPECT_EQ(Run(Train("true")).failure, FailureClass::kInvalidOutput);
  EXPECT_EQ(Run(Train("ln -s /etc/passwd $2")).failure, FailureClass::kInvalidOutput);
  EXPECT_EQ(Run(Train("mkfifo $2")).failure, FailureClass::kInvalidOutput);
  const JobResult link_inside = Run(Train("mkdir $2; ln -s /etc/passwd $2/x"));
  EXPECT_EQ(link_inside.failure, FailureClass::kInvalidOutput);
  EXPECT_THAT(link_inside.message, HasSubstr("symbolic link"));
}

TEST_F(SubprocessExecutorTest, ASystemThatIsADirectoryComesBackAsOne) {
  const std::string script =
      "mkdir -p $2/b/empty && echo 1 > $2/a && touch $2/$(printf '\\377\\303\\251') &&  echo 2 > "
      "$2/b/c && printf '#!/bin/sh\\n' > $2/x && "
      "chmod +x $2/x";
  const JobResult first = Run(Train(script));
  ASSERT_TRUE(first.succeeded) << first.message;
  const JobResult second = Run(Train(script));
  ASSERT_EQ(first.artifacts[0].digest, second.artifacts[0].digest) << "same contents, same bytes";

  transfer_.Add(ReadArtifact(first, ArtifactKind::kSystem));
  JobOrder eval = Eval(
      "cd $4 && test -x x && test -d b/empty && echo mine > a && "
      "printf '{\"total\": %d}' $(cat b/c) > $3");
  eval.system = first.artifacts[0].digest;
  const JobResult result = Run(eval);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.metrics, (std::vector<Metric>{{"total", 2, 0}}));
}

TEST_F(SubprocessExecutorTest, AnEvalJobReadsTheSystemAndIsScored) {
  JobOrder eval = Eval(
      "test \"$(cat $4)\" = weights && "
      "echo '{\"q1\": \"the France\", \"q2\": \"London\"}' > $2");
  eval.system = transfer_.Add("weights\n");
  const JobResult result = Run(eval);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.metrics, (std::vector<Metric>{{"exact_match", 50, 2}, {"f1", 50, 2}}));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kExamples), HasSubstr("\"q2\""));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kPredictions), HasSubstr("the France"));
}

TEST_F(SubprocessExecutorTest, UselessPredictionsAreInvalidOutput) {
  struct Case {
    std::string script;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"true", "neither {predictions} nor {metrics}"},
           {"echo garbage > $2", "predictions.json"},
           {"head -c 100 /dev/urandom > $2", "predictions.json"},
           {"echo '{\"q1\": NaN}' > $2", "predictions.json"},
           {"echo '{\"other\": \"x\"}' > $2", "none of the 1 predictions"},
           {"mkdir $2", "expected a plain file"},
           {"ln -s /etc/passwd $2", "expected a plain file"},
           {"echo '{\"a\": NaN}' > $3", "finite number"},
           {"echo '{\"a\": 1e400}' > $3", "finite number"},
           {"echo '{\"a\": 1e16}' > $3", "beyond the limit"},
           {"echo '{\"a\": 1, \"a\": 2}' > $3", "twice"},
           {"echo '{}' > $3", "no metric"},
           {"echo '{\"a\": \"1\"}' > $3", "another type"},
           {"echo '[1]' > $3", "expected"},
       }) {
    SCOPED_TRACE(c.script);
    const JobResult result = Run(Eval(c.script));
    EXPECT_EQ(FailureClassName(result.failure), "invalid-output");
    EXPECT_THAT(result.message, HasSubstr(c.message));
    EXPECT_THAT(result.metrics, IsEmpty());
  }
}

TEST_F(SubprocessExecutorTest, MetricsOfAnotherKindOfBenchmarkAreTakenAsTheyAre) {
  JobOrder order = Eval("echo '{\"loss\": 0.25, \"accuracy\": 91}' > $3");
  order.format = DataFormat::kFile;
  order.test.digest = transfer_.Add("not a question");
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.metrics, (std::vector<Metric>{{"accuracy", 91, 0}, {"loss", 0.25, 0}}));
  JobOrder predicts_only = Eval("echo '{}' > $2");
  predicts_only.format = DataFormat::kFile;
  EXPECT_EQ(Run(predicts_only).failure, FailureClass::kInvalidOutput);
}

TEST_F(SubprocessExecutorTest, TestDataThatCannotBeScoredFailsBeforeTheCommandRuns) {
  JobOrder order = Eval("touch " + temp_.File("ran"));
  order.test.digest = transfer_.Add("{ not a data set");
  const JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kConfig);
  EXPECT_NE(access(temp_.File("ran").c_str(), F_OK), 0);
}

TEST_F(SubprocessExecutorTest, AnUnknownPlaceholderIsAConfigurationError) {
  JobOrder order = Train("");
  order.command = {"sh", "{test}"};
  const JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kConfig);
  EXPECT_THAT(result.message, HasSubstr("{test}"));
}

TEST_F(SubprocessExecutorTest, MissingInputIsTheWorkersFailureAndNamesTheArtifact) {
  JobOrder order = Train("true");
  order.train[0].digest = Sha256Of("nobody has this");
  const JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kWorker);
  EXPECT_THAT(result.message, HasSubstr("no such artifact"));
}

TEST_F(SubprocessExecutorTest, ADownloadGoesOnWhereItBrokeOffAndIsChecked) {
  transfer_.Break(3, 5);
  JobResult result = Run(Train("cp $1 $2"));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), kTestData);
  EXPECT_EQ(transfer_.downloads(), 4);

  JobOrder order = Train("cp $1 $2");
  order.train[0].digest = Sha256Of("what was promised");
  transfer_.Corrupt(order.train[0].digest, "what came");
  result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kWorker);
  EXPECT_THAT(result.message, HasSubstr("digest"));
}

TEST_F(SubprocessExecutorTest, AnInputIsDownloadedOnceForManyAttempts) {
  for (int i = 0; i < 8; ++i) {
    executor_->Start(Train("cp $1 $2"));
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(Next().finished.result.succeeded);
  }
  EXPECT_EQ(transfer_.downloads(), 1);
}

TEST_F(SubprocessExecutorTest, PlaceholdersAndEnvironmentReachTheCommand) {
  JobOrder order = Train("");
  order.command = {"sh",
                   "-c",
                   "echo \"$@\"; env | grep -v '^PATH=' | grep -v '^_=' | sort; pwd; cat; touch $1",
                   "sh",
                   "{model}",
                   "seed={seed}",
                   "{hp.lr}",
                   "{{x}}",
                   "a b;c"};
  order.seed = 7;
  order.setting = {{"lr", 0.5}, {"batch-size", int64_t{8}}};
  order.env = {{"MINE", "1"}, {"CONCUR_JOB", "forged"}};
  order.gpu_mask = 0b101;
  ASSERT_EQ(setenv("SECRET_OF_THE_WORKER", "x", 1), 0);
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string log = ReadArtifact(result, ArtifactKind::kLog);
  EXPECT_THAT(log, AllOf(HasSubstr("/model seed=7 0.5 {x} a b;c\n"), HasSubstr("\nMINE=1\n"),
                         HasSubstr("CONCUR_SEED=7\n"), HasSubstr("CONCUR_HP_BATCH_SIZE=8\n"),
                         HasSubstr("CONCUR_HP_LR=0.5\n"), HasSubstr("CONCUR_APPROACH=toy\n"),
                         HasSubstr("CONCUR_BENCHMARK=bench\n"), HasSubstr("CONCUR_SWEEP=s1\n"),
                         HasSubstr("CONCUR_ATTEMPT=1\n"), HasSubstr("CUDA_VISIBLE_DEVICES=0,2\n")));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("CONCUR_JOB=", order.id.job.ToString(), "\n")));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("/runs/", RunName(order.id), "\n")));
  EXPECT_THAT(log, Not(HasSubstr("SECRET_OF_THE_WORKER")));
}

TEST_F(SubprocessExecutorTest, AJobThatClosesItsOutputAndHangsTimesOut) {
  options_.grace = absl::Milliseconds(50);
  Reopen();
  JobOrder order = Train("exec >&- 2>&-; trap '' TERM; while :; do sleep 60; done");
  order.timeout = absl::Milliseconds(100);
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "timeout");
  EXPECT_THAT(result.message, HasSubstr("time-out of 100ms"));
  EXPECT_EQ(result.exit_code, 137);
}

TEST_F(SubprocessExecutorTest, ATimedOutJobMayCleanUpInItsGrace) {
  JobOrder order = Train("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.01; done");
  order.timeout = absl::Milliseconds(200);
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "timeout");
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("cleaned\n"));
}

TEST_F(SubprocessExecutorTest, ChildrenThatIgnoreTermDieWithTheirJob) {
  const JobOrder order = Train(
      "(trap '' TERM; echo $$; exec sleep 1000) & sh -c 'trap \"\" TERM; echo $PPID; exec "
      "sleep 1000' & echo ready; touch $2; exit 0");
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  for (const ProcessInfo& process : ListProcesses()) {
    std::ifstream cmdline(absl::StrCat("/proc/", process.pid, "/cmdline"));
    std::string text((std::istreambuf_iterator<char>(cmdline)), {});
    if (absl::StartsWith(text, absl::string_view("sleep\0001000", 10))) {
      WaitUntilGone(process.pid);
    }
  }
}

TEST_F(SubprocessExecutorTest, DaemonsThatLeftTheProcessGroupDieWithTheirJob) {
  const JobOrder order = Train(
      "setsid sh -c 'echo $$; exec >/dev/null 2>&1; (setsid sleep 1001 &); exec sleep 1002' & "
      "while ! grep -q . " +
      temp_.File("work/logs/") + "* 2>/dev/null; do sleep 0.01; done; touch $2");
  executor_->Start(order);
  const JobResult result = Next().finished.result;
  ASSERT_TRUE(result.succeeded) << result.message;
  pid_t pid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadArtifact(result, ArtifactKind::kLog)), &pid));
  WaitUntilGone(pid);
}

TEST_F(SubprocessExecutorTest, AStoppedJobIsHandedBackWithItsGroup) {
  const JobOrder order = Train("echo up; sleep 1000 & wait");
  executor_->Start(order);
  WaitForLog(order.id, "up\n");
  executor_->Stop(order.id, StopCause::kCanceled, false);
  executor_->Stop(order.id, StopCause::kPreempted, false);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(result.failure, FailureClass::kPreempted);
  EXPECT_THAT(result.message, HasSubstr("canceled"));
  executor_->Stop(order.id, StopCause::kCanceled, true);  // changes nothing any more
}

TEST_F(SubprocessExecutorTest, AJobThatIgnoresTermIsKilledAtOnceWhenAsked) {
  const JobOrder order = Train("trap '' TERM; echo up; while :; do sleep 1; done");
  executor_->Start(order);
  WaitForLog(order.id, "up\n");
  executor_->Stop(order.id, StopCause::kPreempted, false);
  executor_->Stop(order.id, StopCause::kPreempted, true);
  EXPECT_EQ(Next().finished.result.failure, FailureClass::kPreempted);
}

TEST_F(SubprocessExecutorTest, AStopBeforeTheProcessStartsIsHeeded) {
  transfer_.Break(1'000'000);
  const JobOrder order = Train("touch $2");
  executor_->Start(order);
  executor_->Stop(order.id, StopCause::kFenced, false);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(result.failure, FailureClass::kPreempted);
}

TEST_F(SubprocessExecutorTest, AFloodOfOutputIsCutInTheMiddle) {
  options_.log_bytes_max = 10'000;
  Reopen();
  const JobResult result =
      Run(Train("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; touch $2"));
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string log = ReadArtifact(result, ArtifactKind::kLog);
  EXPECT_LT(log.size(), 10'200u);
  EXPECT_TRUE(absl::StartsWith(log, "first\nxxx"));
  EXPECT_TRUE(absl::EndsWith(log, "xxx\nlast\n"));
  EXPECT_THAT(log, HasSubstr("[2990012 bytes left out: the log is limited to 10000 bytes]"));
}

TEST_F(SubprocessExecutorTest, AJobThatUsesMoreMemoryThanItAskedForIsKilled) {
  options_.memory_interval = absl::Milliseconds(10);
  Reopen();
  JobOrder order = Train("head -c 200000000 /dev/zero | tail -c 200000000 | sleep 1000");
  order.resources.memory_bytes = 50 << 20;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "oom");
  EXPECT_GT(result.memory_bytes_peak, 50 << 20);
  EXPECT_THAT(result.message, HasSubstr("more than the 50 MiB"));
}

TEST_F(SubprocessExecutorTest, AJobThatFillsTheDiskIsStopped) {
  options_.memory_interval = absl::Milliseconds(10);
  options_.output_bytes_max = 4 << 20;
  Reopen();
  JobResult result = Run(Train("head -c 50000000 /dev/zero > $3/big; echo code $?; exit 1"));
  EXPECT_EQ(FailureClassName(result.failure), "failed");
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("File"));
  result = Run(
      Train("i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > $3/$i; sleep 0.01; done"));
  EXPECT_EQ(FailureClassName(result.failure), "failed");
  EXPECT_THAT(result.message, HasSubstr("into its run directory"));
}

TEST_F(SubprocessExecutorTest, AttemptsBeyondTheSlotsWaitAndCanBeStopped) {
  options_.slots = 1;
  Reopen();
  const JobOrder first = Train("echo up; while ! test -e $3/go; do sleep 0.01; done; touch $2");
  const JobOrder second = Train("touch $2");
  const JobOrder third = Train("touch $2");
  executor_->Start(first);
  executor_->Start(second);
  executor_->Start(third);
  WaitForLog(first.id, "up\n");
  executor_->Stop(second.id, StopCause::kCanceled, false);
  ExecutorReport report = Next();
  EXPECT_EQ(report.finished.id, second.id);
  EXPECT_EQ(report.finished.result.failure, FailureClass::kPreempted);
  ASSERT_OK(WriteFileAtomically(temp_.File("work/runs/") + RunName(first.id) + "/output/go", ""));
  // The slot is free when the process has ended, before its outputs are taken in.
  const ExecutorReport one = Next();
  const ExecutorReport other = Next();
  EXPECT_THAT((std::vector<AttemptId>{one.finished.id, other.finished.id}),
              ::testing::UnorderedElementsAre(first.id, third.id));
  EXPECT_TRUE(one.finished.result.succeeded && other.finished.result.succeeded);
}

TEST_F(SubprocessExecutorTest, TheLogCanBeReadWhileTheJobRuns) {
  const JobOrder order = Train("echo one; sleep 1000");
  executor_->Start(order);
  WaitForLog(order.id, "one\n");
  EXPECT_EQ(executor_->ReadLog(order.id, 2, 100), "e\n");
  EXPECT_EQ(executor_->ReadLog(order.id, 4, 100), "");
  executor_->Stop(order.id, StopCause::kCanceled, true);
  Next();
}

TEST_F(SubprocessExecutorTest, ArtifactsArePublishedByUploadThroughAnOutage) {
  options_.transfer_backoff_max = absl::Milliseconds(1);
  Reopen();
  executor_->Start(Train("echo 1 > $2"));
  ExecutorReport report = Next();
  EXPECT_FALSE(report.published);
  const Digest system = report.finished.result.artifacts.at(0).digest;
  EXPECT_FALSE(transfer_.Has(system));
  transfer_.Break(3);
  executor_->Publish(report.finished);
  report = Next();
  EXPECT_TRUE(report.published);
  EXPECT_TRUE(report.finished.result.succeeded);
  EXPECT_EQ(transfer_.Get(system), "1\n");
}

TEST_F(SubprocessExecutorTest, AResultWhoseArtifactIsLostBecomesAFailure) {
  executor_->Start(Train("echo 1 > $2"));
  ExecutorReport report = Next();
  report.finished.result.artifacts[0].digest = Sha256Of("never stored");
  executor_->Publish(report.finished);
  report = Next();
  EXPECT_TRUE(report.published);
  EXPECT_EQ(report.finished.result.failure, FailureClass::kWorker);
}

TEST_F(SubprocessExecutorTest, OnASharedDiskArtifactsGoStraightToTheCoordinator) {
  ASSERT_OK_AND_ASSIGN(auto store, ArtifactStore::Open(temp_.File("coordinator")));
  executor_->SetCoordinatorStore({store->directory(), store->store_id()});
  JobOrder order = Train("cp $1 $2");
  ASSERT_OK_AND_ASSIGN(order.train[0].digest, store->Put("shared data"));
  executor_->Start(order);
  const ExecutorReport report = Next();
  ASSERT_TRUE(report.finished.result.succeeded) << report.finished.result.message;
  EXPECT_TRUE(report.published);
  EXPECT_TRUE(store->Has(report.finished.result.artifacts[0].digest));
  EXPECT_EQ(transfer_.downloads(), 0);
}

TEST_F(SubprocessExecutorTest, AStoreWithAnotherIdIsNotTheCoordinators) {
  ASSERT_OK_AND_ASSIGN(auto store, ArtifactStore::Open(temp_.File("another")));
  executor_->SetCoordinatorStore({store->directory(), "0123456789abcdef0123456789abcdef"});
  executor_->Start(Train("cp $1 $2"));
  EXPECT_FALSE(Next().published);
  executor_->SetCoordinatorStore({temp_.File("nowhere"), "x"});
  EXPECT_NE(access(temp_.File("nowhere").c_str(), F_OK), 0) << "looking must not make a store";
}

TEST_F(SubprocessExecutorTest, ForgettingRemovesTheRunDirectoryWhateverTheCommandDidToIt) {
  const JobOrder order = Train("mkdir -p d/e; touch d/e/f; chmod 000 d/e d; echo x; touch $2");
  executor_->Start(order);
  const JobResult result = Next().finished.result;
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string directory = temp_.File("work/runs/") + RunName(order.id);
  EXPECT_EQ(access(directory.c_str(), F_OK), 0);
  executor_->Forget(order.id);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (access(directory.c_str(), F_OK) == 0) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
}

TEST_F(SubprocessExecutorTest, ANewWorkerKillsWhatACrashedOneLeftRunning) {
  const std::string runs = temp_.File("work/runs/s9-1-a1");
  executor_.reset();
  ASSERT_OK(MakeDirectories(runs));
  // As after a crash: a process of an attempt whose worker is gone; this one is not killed by the
  // death of its parent thread, as a child of a job would not be.
  Command command;
  command.program = "/bin/sh";
  command.argv = {"sh", "-c", "env -i sleep 1003 & echo $!; exec sleep 1004"};
  command.env = {absl::StrCat(kRunDirectoryVariable, "=", runs)};
  command.directory = runs;
  ASSERT_OK_AND_ASSIGN(const Process process, StartProcess(command));
  std::string text;
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::EndsWith(text, "\n")) {
    ASSERT_LT(absl::Now(), deadline);
    char buffer[64];
    const ssize_t got = read(process.output.get(), buffer, sizeof buffer);
    text.append(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  }
  pid_t child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &child));
  Reopen();
  EXPECT_TRUE(IsGone(process.pid));
  EXPECT_TRUE(IsGone(child));
  EXPECT_NE(access(runs.c_str(), F_OK), 0);
}

TEST_F(SubprocessExecutorTest, MixturesAreBuiltFromTheirParts) {
  JobOrder order = Train("grep -c context $1 > $2");
  order.is_mixture = true;
  order.mixture_seed = 3;
  JobOrder::Input other = order.train[0];
  other.name = "other";
  order.train.push_back(other);
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "2\n");
}

TEST_F(SubprocessExecutorTest, DestructionKillsWhatRuns) {
  const JobOrder order = Train("echo $$; sleep 1005");
  executor_->Start(order);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::EndsWith(executor_->ReadLog(order.id, 0, 100), "\n")) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  pid_t pid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(absl::StripAsciiWhitespace(executor_->ReadLog(order.id, 0, 100)), &pid));
  executor_.reset();
  WaitUntilGone(pid);
}

}  // namespace
}  // namespace concur::worker
