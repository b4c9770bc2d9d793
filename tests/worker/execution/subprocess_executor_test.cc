// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/subprocess_executor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
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
#include "base/archive/directory_tar.h"
#include "base/file.h"
#include "base/process/process_tree.h"
#include "base/process/waker.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SubprocessExecutorTest : public ExecutorFixture {};

// Whatever its interval is.
auto IsMetric(const std::string& name, double value, int64_t examples) {
  return AllOf(Field(&Metric::name, name), Field(&Metric::value, value),
               Field(&Metric::examples, examples));
}

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
           {"echo no such thing >&2; exit 1", FailureClass::kFailed, 1,
            "no such thing (exit code 1)"},
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

// The reason stood behind "exit code 1; last output:", where a terminal's line had ended.
TEST_F(SubprocessExecutorTest, AFailureStartsWithTheEndOfTheJobsOwnOutput) {
  EXPECT_EQ(Run(Train("echo training; echo \"KeyError: 'rarity'\" >&2; exit 1")).message,
            "KeyError: 'rarity' (exit code 1)");
  EXPECT_EQ(Run(Train("echo out of ideas; kill -SEGV $$")).message,
            "out of ideas (killed by signal 11, Segmentation fault)");
  EXPECT_EQ(Run(Train("exit 1")).message, "exit code 1") << "it said nothing";
}

TEST_F(SubprocessExecutorTest, AFailedAttemptKeepsItsLog) {
  const JobResult result = Run(Train("printf 'a\\377\\000b\\n'; exit 1"));
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kLog), std::string("a\377\0b\n", 5));
}

TEST_F(SubprocessExecutorTest, OutputsAreKeptWholeWhereTheSweepKeepsThem) {
  const std::string script = "echo model > $2; mkdir $3/a; printf 12 > $3/a/b; printf 3 > $3/c";
  EXPECT_EQ(FindArtifact(Run(Train(script)), ArtifactKind::kOutputs), nullptr);
  JobOrder order = Train(script);
  order.keep.outputs = true;
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  ASSERT_OK(WriteFileAtomically(temp_.File("tar"), ReadArtifact(result, ArtifactKind::kOutputs)));
  ASSERT_OK(ExtractDirectoryTar(temp_.File("tar"), temp_.File("there")));
  EXPECT_EQ(*ReadFile(temp_.File("there/a/b")), "12");
  EXPECT_EQ(*ReadFile(temp_.File("there/c")), "3");
  order = Train(script);
  order.keep.outputs = true;
  EXPECT_EQ(FindArtifact(Run(order), ArtifactKind::kOutputs)->digest,
            FindArtifact(result, ArtifactKind::kOutputs)->digest)
      << "equal files are one artifact";

  order = Train("echo model > $2");
  order.keep.outputs = true;
  EXPECT_EQ(FindArtifact(Run(order), ArtifactKind::kOutputs), nullptr) << "it wrote none";
  order = Train("echo model > $2; printf 1 > $3/a; ln -s /etc/passwd $3/out");
  order.keep.outputs = true;
  const JobResult with_link = Run(order);
  EXPECT_TRUE(with_link.succeeded);
  EXPECT_NE(FindArtifact(with_link, ArtifactKind::kOutputs), nullptr);
  EXPECT_THAT(with_link.message, HasSubstr("not kept: out, a symbolic link to /etc/passwd"));
  order = Train("echo model > $2; rm -r $3; ln -s /etc $3");
  order.keep.outputs = true;
  const JobResult replaced = Run(order);
  EXPECT_TRUE(replaced.succeeded);
  EXPECT_EQ(FindArtifact(replaced, ArtifactKind::kOutputs), nullptr);
  EXPECT_THAT(replaced.message, HasSubstr("{output} was not kept"));
}

TEST_F(SubprocessExecutorTest, OutputsThatTheCoordinatorRefusesCostTheResultNothing) {
  for (const absl::Status& refusal :
       {absl::ResourceExhaustedError("too large"), absl::InvalidArgumentError("too large")}) {
    JobOrder order = Train("echo model > $2; printf 12 > $3/a");
    order.keep.outputs = true;
    executor_->Start(order);
    const FinishedAttempt finished = Next().finished;
    const ArtifactRef* outputs = FindArtifact(finished.result, ArtifactKind::kOutputs);
    ASSERT_NE(outputs, nullptr);
    transfer_.Refuse(outputs->digest, refusal);
    executor_->Publish(finished);
    const JobResult result = Next().finished.result;
    EXPECT_TRUE(result.succeeded);
    EXPECT_EQ(FindArtifact(result, ArtifactKind::kOutputs), nullptr);
    EXPECT_NE(FindArtifact(result, ArtifactKind::kSystem), nullptr);
    EXPECT_THAT(result.message, HasSubstr("{output} was not kept: too large"));
  }
}

TEST_F(SubprocessExecutorTest, ASecretIsInTheEnvironmentAndMaskedInLogAndMessage) {
  JobOrder order =
      Train("echo \"<$KEY>\"; printf %s \"$KEY\" | wc -c; echo \"bad $KEY\" >&2; exit 1");
  order.secrets["KEY"] = {"openai", "sk-0123456789"};
  const JobResult result = Run(order);
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog),
              AllOf(HasSubstr("<*************>"), HasSubstr("13")));
  EXPECT_EQ(result.message, "bad ************* (exit code 1)");
}

TEST_F(SubprocessExecutorTest, AJobWithoutItsSecretDoesNotRun) {
  JobOrder order = Train("echo model > $2");
  order.owner = "ada";
  order.secrets["KEY"] = {"openai", ""};
  const JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kConfig);
  EXPECT_THAT(result.message, HasSubstr("ada has no secret \"openai\""));
}

TEST_F(SubprocessExecutorTest, AMissingProgramIsASpawnFailureThatNamesIt) {
  const std::string plain = temp_.File("plain");
  const std::string script = temp_.File("script");
  ASSERT_OK(WriteFileAtomically(plain, "printf x", 0644));
  ASSERT_OK(WriteFileAtomically(script, "#!/no/such/interpreter\n", 0755));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no-such-program", "\"no-such-program\" was not found"},
      {plain, "does not exist or is not executable"},
      {script, "interpreter"}};
  for (const auto& [program, message] : cases) {
    JobOrder order = Train("");
    order.command = {program, "{train}"};
    const JobResult result = Run(order);
    EXPECT_EQ(result.failure, FailureClass::kSpawn) << program;
    EXPECT_THAT(result.message, HasSubstr(message));
  }
}

TEST_F(SubprocessExecutorTest, ATrainJobThatLeavesNoSystemIsInvalid) {
  EXPECT_EQ(Run(Train("true")).failure, FailureClass::kInvalidOutput);
  EXPECT_EQ(Run(Train("ln -s /etc/passwd $2")).failure, FailureClass::kInvalidOutput);
  EXPECT_EQ(Run(Train("mkfifo $2")).failure, FailureClass::kInvalidOutput);
  const JobResult link_inside = Run(Train("mkdir $2; ln -s /etc/passwd $2/x"));
  EXPECT_EQ(link_inside.failure, FailureClass::kConfig) << "hours would go into the same link";
  EXPECT_THAT(link_inside.message, HasSubstr("x, a symbolic link to /etc/passwd"));
  EXPECT_THAT(Run(Train("ln -s /etc/passwd $2")).message, HasSubstr(", to /etc/passwd"));
}

// A finished training was thrown away for a link to its own last checkpoint.
TEST_F(SubprocessExecutorTest, ASystemMayHaveLinksToItself) {
  const JobResult trained =
      Run(Train("mkdir $2; echo 3 > $2/step9; ln -s step9 $2/last; ln -s $2/step9 $2/best"));
  ASSERT_TRUE(trained.succeeded) << trained.message;
  transfer_.Add(ReadArtifact(trained, ArtifactKind::kSystem));
  JobOrder eval =
      Eval("test -h $4/last && printf '{\"acc\": %d}' $(cat $4/last $4/best | tr -d '\n') > $3");
  eval.system = trained.artifacts[0].digest;
  const JobResult result = Run(eval);
  EXPECT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.metrics, (std::vector<Metric>{{"acc", 33, 0}}));
}

TEST_F(SubprocessExecutorTest, ASystemMayBeALinkToWhatTheJobMade) {
  const JobResult folder = Run(Train("mkdir -p $3/v1; echo 1 > $3/v1/w; ln -s $3/v1 $2"));
  ASSERT_TRUE(folder.succeeded) << folder.message;
  const JobResult file = Run(Train("echo 1 > best.ckpt; ln -s best.ckpt $2"));
  ASSERT_TRUE(file.succeeded) << file.message;
  EXPECT_EQ(ReadArtifact(file, ArtifactKind::kSystem), "1\n");
}

TEST_F(SubprocessExecutorTest, OfASystemWithALinkThatLeadsOutTheRestIsKept) {
  const JobResult failed = Run(Train("mkdir $2; echo 1 > $2/w; ln -s /scratch/w9 $2/last"));
  EXPECT_EQ(failed.failure, FailureClass::kConfig);
  EXPECT_THAT(failed.message, HasSubstr("last, a symbolic link to /scratch/w9"));
  const std::string tar = ReadArtifact(failed, ArtifactKind::kSystem);
  EXPECT_THAT(tar, HasSubstr("concur-directory/w"));
}

// It was said when hours of training were over.
TEST_F(SubprocessExecutorTest, ALinkThatLeadsOutOfASystemIsSaidInTheLogWhileItTrains) {
  options_.memory_interval = absl::Milliseconds(10);
  Reopen();
  const JobOrder order = Train(absl::StrCat(
      "mkdir -p $2/step9; ln -s step9 $2/last; printf 'epoch 1'; until test -e ",
      temp_.File("saves"), "; do :; done; ln -s /scratch/w9 $2/step9/w; until test -e ",
      temp_.File("ends"), "; do :; done; exit 1"));
  executor_->Start(order);
  WaitForLog(order.id, "epoch 1");
  ASSERT_OK(WriteFileAtomically(temp_.File("saves"), ""));
  WaitForLog(order.id,
             "epoch 1\nconcur: warning: {model} has step9/w, a symbolic link to /scratch/w9, which "
             "leads out of it");
  ASSERT_OK(WriteFileAtomically(temp_.File("ends"), ""));
  EXPECT_EQ(Next().finished.result.message, "epoch 1 (exit code 1)") << "its own last words";
}

TEST_F(SubprocessExecutorTest, AFailureBehindAProgressBarIsItsLastLine) {
  EXPECT_THAT(Run(Train("printf 'a\n\r1/9 files\rerror: quota exceeded\r\n'; exit 1")).message,
              HasSubstr("error: quota exceeded (exit code 1)"));
  // Equal failures were many: each had another bar before it, on the same line.
  for (const char* printed :
       {"\r1/9 fileserror: quota exceeded\n", "\r1/9 files\r12/19 fileserror: quota exceeded\n",
        "a\n\r 50%%|##  | 5/10\r 60%%|### | 6/10error: quota exceeded\n",
        "\r  9%%|█         | 2/20 [00:02<00:18,  6.11it/s]\r"
        "100%%|██████████| 20/20 [00:09<00:00, 12.40it/s]error: quota exceeded\n",
        "\repoch 9error: quota exceeded"}) {
    EXPECT_EQ(Run(Train(absl::StrCat("printf '", printed, "'; exit 1"))).message,
              "error: quota exceeded (exit code 1)")
        << printed;
  }
  EXPECT_EQ(
      Run(Train("printf '\\033[1;31merror 7\\033[0m: \\033]0;t\\007\\033(Bfull\\n\\033[K'; exit 1"))
          .message,
      "error 7: full (exit code 1)");
  EXPECT_EQ(Run(Train("printf '\r1/9 filesValueError: 3'; exit 1")).message,
            "ValueError: 3 (exit code 1)");
  EXPECT_EQ(Run(Train("printf '1/9 fileserror: 3'; exit 1")).message,
            "1/9 fileserror: 3 (exit code 1)")
      << "no bar";
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
  EXPECT_THAT(result.metrics, ElementsAre(IsMetric("exact_match", 50, 2), IsMetric("f1", 50, 2)));
  // Clopper and Pearson's interval of one of two.
  ASSERT_TRUE(result.metrics[0].interval.has_value());
  EXPECT_NEAR(result.metrics[0].interval->low, 100 * (1 - std::sqrt(.975)), 1e-6);
  EXPECT_NEAR(result.metrics[0].interval->high, 100 * std::sqrt(.975), 1e-6);
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kExamples), HasSubstr("\"q2\""));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kPredictions), HasSubstr("the France"));
}

TEST_F(SubprocessExecutorTest, QuestionsWithoutAPredictionAreCounted) {
  JobOrder eval = Eval("echo '{\"q1\": \"the France\"}' > $2");
  eval.system = transfer_.Add("weights\n");
  const JobResult result = Run(eval);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(result.metrics, ElementsAre(IsMetric("exact_match", 50, 2), IsMetric("f1", 50, 2),
                                          IsMetric("unanswered", 1, 2)));
}

TEST_F(SubprocessExecutorTest, AProgramWithItsOwnMetricsMayWriteExamples) {
  const std::string line = R"({"id": "a", "exact_match": 0, "f1": 0.25})";
  JobOrder eval = Eval(absl::StrCat("echo '{\"bleu\": 25}' > $3; echo '", line, "' > $5"));
  eval.format = DataFormat::kFile;
  const JobResult result = Run(eval);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(result.metrics, ElementsAre(IsMetric("bleu", 25, 1)));
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kExamples), line + "\n");
}

TEST_F(SubprocessExecutorTest, ExamplesThatTheWorkerScoredWinOverTheProgramsOwn) {
  const JobResult result =
      Run(Eval("echo '{\"q1\": \"France\"}' > $2; "
               "echo '{\"id\": \"mine\", \"exact_match\": 1, \"f1\": 1}' > $5"));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kExamples),
              AllOf(HasSubstr("\"q1\""), Not(HasSubstr("mine"))));
  const JobResult broken = Run(Eval("echo '{\"q1\": \"France\"}' > $2; echo '{' > $5"));
  EXPECT_TRUE(broken.succeeded) << broken.message;
}

// Accuracy of the answers is not the log loss of the metric: a comparison by it names the worse
// one.
TEST_F(SubprocessExecutorTest, ExamplesWhoseMeanIsNotTheMetricAreSaidAtOnce) {
  const auto run = [&](const std::string& metrics, const std::string& first,
                       const std::string& second) {
    JobOrder eval = Eval(absl::StrCat("echo '{", metrics, "}' > $3; echo '{\"id\": \"a\", ", first,
                                      "}' > $5; echo '{\"id\": \"b\", ", second, "}' >> $5"));
    eval.format = DataFormat::kFile;
    const JobResult result = Run(eval);
    EXPECT_TRUE(result.succeeded) << result.message;
    return result;
  };
  const JobResult loss = run("\"log_loss\": 1.25", "\"log_loss\": 2.1", "\"log_loss\": 0.4");
  EXPECT_EQ(loss.message, "");
  EXPECT_THAT(loss.metrics, ElementsAre(IsMetric("log_loss", 1.25, 2)));
  EXPECT_EQ(run("\"accuracy\": 50", "\"score\": true", "\"score\": false").message, "");
  EXPECT_EQ(run("\"accuracy\": 0.5, \"n\": 7", "\"accuracy\": 1", "\"accuracy\": 0").message, "");
  const JobResult other =
      run("\"log_loss\": 0.29", "\"exact_match\": 1, \"f1\": 1", "\"exact_match\": 1, \"f1\": 0.8");
  EXPECT_EQ(
      other.message,
      "the mean of its per-example scores, 0.9, is not its log_loss, 0.29: they are compared by "
      "nothing");
  EXPECT_THAT(other.metrics, ElementsAre(IsMetric("log_loss", 0.29, 0)));
  EXPECT_EQ(run("\"log_loss\": 1", "\"words\": 3", "\"words\": 4").message,
            "per-example scores have words, not log_loss: they are compared by nothing");
}

TEST_F(SubprocessExecutorTest, BrokenExamplesAreInvalidOutput) {
  for (const auto& [script, message] : std::vector<std::pair<std::string, std::string>>{
           {"echo '{\"id\": \"a\"}' > $5", "{examples}:1: expected a number named by the metric"},
           {"echo '{\"id\": \"a\", \"exact_match\": 2}' > $5",
            "exact_match of \"a\": expected 0 or 1"},
           {"echo '{\"id\": \"a\", \"bleu\": \"x\"}' > $5", "expected a number"},
           {"printf '{\"id\": \"a\", \"bleu\": 1}\\n{\"id\": \"b\", \"f1\": 1}\\n' > $5",
            "{examples}:2: bleu of \"b\": expected a number"},
           {"echo '{\"id\": \"a\", \"exact_match\": 1, \"f1\": 2}' > $5", "f1 of \"a\": expected"},
           {": > $5", "{examples}: expected one example a line, got none"},
           {"ln -s /etc/passwd $5", "{examples} is a link"},
           {"truncate -s 257M $5", "examples.jsonl"},
           {"yes '' | head -n 1000001 > $5", "{examples}: expected at most 1000000 lines"}}) {
    JobOrder eval = Eval(absl::StrCat("echo '{\"bleu\": 25}' > $3; ", script));
    eval.format = DataFormat::kFile;
    const JobResult result = Run(eval);
    EXPECT_EQ(result.failure, FailureClass::kInvalidOutput) << script;
    EXPECT_THAT(result.message, HasSubstr(message)) << script;
  }
}

TEST_F(SubprocessExecutorTest, TheWorstOfAQuestionsVariantsCounts) {
  JobOrder eval = Eval("echo '{\"q\": \"France\", \"q-1\": \"France\", \"q-2\": \"Spain\"}' > $2");
  std::string lines;
  for (const char* id : {"q", "q-1", "q-2"}) {
    absl::StrAppend(&lines, "{\"context\": \"In France.\", \"qas\": [{\"qid\": \"", id,
                    "\", \"question\": \"?\", \"answers\": [\"France\"]}]}\n");
  }
  eval.test.digest = transfer_.Add(lines);
  const JobResult each = Run(eval);
  ASSERT_TRUE(each.succeeded) << each.message;
  EXPECT_EQ(each.metrics[0].examples, 3);
  eval.format = DataFormat::kQaVariants;
  const JobResult worst = Run(eval);
  ASSERT_TRUE(worst.succeeded) << worst.message;
  EXPECT_THAT(worst.metrics, ElementsAre(IsMetric("exact_match", 0, 1), IsMetric("f1", 0, 1)));
  EXPECT_EQ(worst.metrics[1].interval, worst.metrics[0].interval) << "of one wrong answer";
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
           {"echo '{\"a\": NaN}' > $3",
            "{metrics}: expected {\"name\": finite number, ...}, got nan"},
           {"echo '{\"b\": 1, \"mae\" : -Infinity}' > $3", "got -inf for \"mae\""},
           {"echo '{mae: 1}' > $3", "got a name without double quotes"},
           {"echo '{\"a\" 1}' > $3", "{metrics}: expected"},
           {"echo '{\"a\": 1e400}' > $3", "finite number"},
           {"echo '{\"a\": 1e16}' > $3", "at most 1e+15"},
           {"printf %s '{\"a\\u0007\": 1}' > $3", "one line without control characters"},
           {"echo '{\"a\": 1, \"a\": 2}' > $3", "twice"},
           {"echo '{}' > $3", "no metric"},
           {"echo '{\"a\": \"1\"}' > $3", "got a string for \"a\""},
           {"echo '[1]' > $3", "expected"},
           {": > $3", "got no JSON: line 1, column 1: an empty text"},
           {"echo '{\"a\": 1,}' > $3", "column 9: a comma before \"}\""},
           {"echo '{\"a\": .5}' > $3", "column 7: \".5\" is no JSON value"},
           {"printf %s '{\"a\": 1' > $3", "the text ends within a value"},
           {"echo '{\"a\": 1e999}' > $3", ": the number \"1e999\" is too large"},
           {"echo '{\"a\": 1} {\"a\": 2}' > $3", "column 10: more text behind the value"},
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
  order.resources.gpu_share = 25;
  ASSERT_EQ(setenv("SECRET_OF_THE_WORKER", "x", 1), 0);
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string log = ReadArtifact(result, ArtifactKind::kLog);
  EXPECT_THAT(log, AllOf(HasSubstr("/model seed=7 0.5 {x} a b;c\n"), HasSubstr("\nMINE=1\n"),
                         HasSubstr("CONCUR_SEED=7\n"), HasSubstr("CONCUR_HP_BATCH_SIZE=8\n"),
                         HasSubstr("CONCUR_HP_LR=0.5\n"), HasSubstr("CONCUR_APPROACH=toy\n"),
                         HasSubstr("CONCUR_BENCHMARK=bench\n"), HasSubstr("CONCUR_SWEEP=s1\n"),
                         HasSubstr("CONCUR_ATTEMPT=1\n"), HasSubstr("CUDA_VISIBLE_DEVICES=0,2\n"),
                         HasSubstr("CONCUR_GPU_SHARE=0.25\n")));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("CONCUR_JOB=", order.id.job.ToString(), "\n")));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("/runs/", RunName(order.id), "\n")));
  EXPECT_THAT(log, Not(HasSubstr("SECRET_OF_THE_WORKER")));
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

TEST_F(SubprocessExecutorTest, TheCacheDropsWhatWasUsedLongestAgoButNotWhatJobsRead) {
  options_.cache_bytes_max = 2'500;
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto cache, DirectoryStore::Open(temp_.File("work/cache")));
  const auto run = [this](char content) {
    JobOrder order = Train("cat $1 > $2");
    order.train[0].digest = transfer_.Add(std::string(1'000, content));
    EXPECT_TRUE(Run(order).succeeded);
    return order;
  };
  const JobOrder held = run('a');  // its attempt is not forgotten yet
  const JobOrder old = run('b');
  executor_->Forget(old.id);
  const Digest b = old.train[0].digest;
  // The attempt lets go when the last work for it has ended, a moment after its report. Each of
  // these reads and leaves the same bytes.
  const absl::Time deadline = absl::Now() + kDeadline;
  while (cache->Has(b)) {
    ASSERT_LT(absl::Now(), deadline);
    ExecutorReport report{.finished = {old.id, {}}};
    report.finished.result.artifacts = {{ArtifactKind::kSystem, b, 1'000}};
    executor_->Publish(report.finished);  // which also lets go of its system
    Next();
    executor_->Forget(old.id);
    executor_->Forget(run('c').id);
  }
  EXPECT_TRUE(cache->Has(held.train[0].digest));
  EXPECT_TRUE(cache->Has(Sha256Of(std::string(1'000, 'c'))));
  const int before = transfer_.downloads();
  run('a');
  EXPECT_EQ(transfer_.downloads(), before);
  run('b');
  EXPECT_EQ(transfer_.downloads(), before + 1);
}

TEST_F(SubprocessExecutorTest, WhatIsNotHandedInStaysHoweverSmallTheCache) {
  options_.cache_bytes_max = 1;
  Reopen();
  executor_->Start(Train("echo precious > $2"));
  const ExecutorReport report = Next();
  ASSERT_FALSE(report.published);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Run(Train(absl::StrCat("echo ", i, " > $2"))).succeeded);
  }
  executor_->Publish(report.finished);
  EXPECT_TRUE(Next().finished.result.succeeded);
  EXPECT_EQ(transfer_.Get(report.finished.result.artifacts[0].digest), "precious\n");
}

// A worker that died after an upload, and before its spool said so, had dropped the artifact from
// its cache: the next one turned the success into a failure, and the job ran again.
TEST_F(SubprocessExecutorTest, AResultWhoseArtifactsWereUploadedIsPublishedByTheNextWorker) {
  options_.cache_bytes_max = 1;
  Reopen();
  executor_->Start(Train("echo precious > $2"));
  const FinishedAttempt finished = Next().finished;
  executor_->Publish(finished);
  EXPECT_TRUE(Next().published);
  executor_.reset();
  ASSERT_OK_AND_ASSIGN(executor_, SubprocessExecutor::Open(options_, transfer_,
                                                           {finished.result.artifacts[0].digest},
                                                           [this] { waker_.Wake(); }));
  executor_->Publish(finished);
  const JobResult result = Next().finished.result;
  EXPECT_TRUE(result.succeeded) << result.message;
  // It goes with its result.
  executor_->Forget(finished.id);
  ASSERT_OK_AND_ASSIGN(const auto cache, DirectoryStore::Open(temp_.File("work/cache")));
  EXPECT_FALSE(cache->Has(finished.result.artifacts[0].digest));
}

// A library on it was edited, and the old score stood.
TEST_F(SubprocessExecutorTest, APythonPathThatJobsSeeIsANotice) {
  EXPECT_TRUE(executor_->notices().empty());
  executor_.reset();
  options_.environment["PYTHONPATH"] = temp_.path();
  ASSERT_OK_AND_ASSIGN(
      executor_, SubprocessExecutor::Open(options_, transfer_, {}, [this] { waker_.Wake(); }));
  ASSERT_EQ(executor_->notices().size(), 1u);
  EXPECT_THAT(executor_->notices()[0], HasSubstr("jobs see this worker's PYTHONPATH"));
}

TEST_F(SubprocessExecutorTest, TwoResultsWithOneArtifactAreBothPublishedByTheNextWorker) {
  options_.cache_bytes_max = 1;
  Reopen();
  std::vector<FinishedAttempt> finished;
  std::vector<Digest> live;
  for (int i = 0; i < 2; ++i) {
    executor_->Start(Train("echo the same > $2"));
    finished.push_back(Next().finished);
    live.push_back(finished.back().result.artifacts[0].digest);
  }
  executor_.reset();
  ASSERT_OK_AND_ASSIGN(
      executor_, SubprocessExecutor::Open(options_, transfer_, live, [this] { waker_.Wake(); }));
  for (const FinishedAttempt& each : finished) {
    executor_->Publish(each);
    EXPECT_TRUE(Next().finished.result.succeeded);
    executor_->Forget(each.id);
  }
}

TEST_F(SubprocessExecutorTest, WhatAnEarlierWorkerLeftCountsByItsAge) {
  ASSERT_OK_AND_ASSIGN(const auto cache, DirectoryStore::Open(temp_.File("work/cache")));
  std::vector<Digest> put;
  for (const char content : {'a', 'b', 'c'}) {
    ASSERT_OK_AND_ASSIGN(const Digest digest, cache->Put(std::string(1'000, content)));
    const timespec used = absl::ToTimespec(absl::Now() - absl::Minutes(content == 'b' ? 3 : 1));
    const timespec times[2] = {used, used};
    ASSERT_EQ(utimensat(AT_FDCWD, cache->PathOf(digest)->c_str(), times, 0), 0);
    put.push_back(digest);
  }
  options_.cache_bytes_max = 2'000;
  Reopen();
  EXPECT_TRUE(cache->Has(put[0]));
  EXPECT_FALSE(cache->Has(put[1]));
  EXPECT_TRUE(cache->Has(put[2]));
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

TEST_F(SubprocessExecutorTest, ATrainCommandFindsItsValidationData) {
  JobOrder order = Train("grep -c context $4 > $2");
  order.command.emplace_back("{validation}");
  order.validation = order.train;
  JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "1\n");
  JobOrder several = Train("grep -c context $4 > $2");
  several.command.emplace_back("{validation}");
  several.validation = {several.train[0], several.train[0]};
  several.validation[1].name = "other";
  result = Run(several);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "2\n") << "of several, all";
}

TEST_F(SubprocessExecutorTest, WhatDoesNotFitWaitsForRoomInTheOrderOfItsOrder) {
  options_.capacity = Resources{.cpu_millis = 2000};
  Reopen();
  std::vector<JobOrder> orders;
  for (int i = 0; i < 12; ++i) {
    // Each notes its start and its end in a file that all share.
    orders.push_back(Train(absl::StrCat("echo s >> ", temp_.File("seen"),
                                        "; printf x > \"$2\"; echo e >> ", temp_.File("seen"))));
    orders.back().resources.cpu_millis = 2000;
    executor_->Start(orders.back());
  }
  EXPECT_GE(executor_->waiting(), 10u);
  std::vector<AttemptId> ended;
  for (size_t i = 0; i < orders.size(); ++i) {
    const ExecutorReport report = Next();
    EXPECT_TRUE(report.finished.result.succeeded) << report.finished.result.message;
  }
  EXPECT_EQ(executor_->waiting(), 0u);
  std::string expected;
  for (size_t i = 0; i < orders.size(); ++i) {
    expected += "s\ne\n";
  }
  ASSERT_OK_AND_ASSIGN(const std::string seen, ReadFile(temp_.File("seen"), 1000));
  EXPECT_EQ(seen, expected) << "two ran at a time";
}

TEST_F(SubprocessExecutorTest, AnAttemptThatIsTooLargeForThisWorkerRunsAlone) {
  options_.capacity = Resources{.cpu_millis = 500};
  Reopen();
  EXPECT_TRUE(Run(Train("printf x > \"$2\"")).succeeded);
}

TEST_F(SubprocessExecutorTest, AnAttemptThatIsStoppedWhileItWaitsNeverStarts) {
  options_.capacity = Resources{.cpu_millis = 1000};
  Reopen();
  const JobOrder first = Train("echo up; sleep 1000");
  executor_->Start(first);
  WaitForLog(first.id, "up");
  std::vector<JobOrder> later;
  for (int i = 0; i < 20; ++i) {
    later.push_back(Train(absl::StrCat("touch ", temp_.File("started"))));
    executor_->Start(later.back());
  }
  for (const JobOrder& order : later) {
    executor_->Stop(order.id, StopCause::kCanceled, false);
  }
  for (size_t i = 0; i < later.size(); ++i) {
    EXPECT_EQ(Next().finished.result.failure, FailureClass::kPreempted);
  }
  executor_->Stop(first.id, StopCause::kCanceled, true);
  EXPECT_EQ(Next().finished.id, first.id);
  EXPECT_NE(access(temp_.File("started").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace concur::worker
