// SPDX-License-Identifier: Apache-2.0
// Jobs of several owners on one worker: what one does to its inputs reaches no other job's result.
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/archive/directory_tar.h"
#include "base/process/remove_tree.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/inputs/code_folders.h"

namespace concur::worker {
namespace {

// Changes the file behind the link $f, in place and of the same size; then gives it back its mode
// and its times.
constexpr char kTamper[] =
    "t=$(readlink -f \"$f\"); touch -r \"$t\" stamp; chmod u+w \"$t\" && "
    "printf X | dd of=\"$t\" conv=notrunc status=none && chmod u-w \"$t\" && touch -r stamp "
    "\"$t\"; ";
// Gives the file its first byte back.
constexpr char kRestore[] =
    "chmod u+w \"$t\" && printf '{' | dd of=\"$t\" conv=notrunc status=none && chmod u-w \"$t\"; ";

constexpr char kShow[] = "head -c1 \"$f\"";

class NeighboursTest : public ExecutorFixture {
 protected:
  void TearDown() override {
    executor_.reset();
    ASSERT_OK(process::RemoveTree(temp_.File("work")));  // with its read-only folders
  }

  // A job that needs no predictions: it writes metrics, and reads whatever it likes.
  JobOrder Reader(const std::string& script) {
    JobOrder order = Eval(absl::StrCat(script, "\necho '{\"m\": 1}' > $3"));
    order.format = DataFormat::kFile;
    return order;
  }
  JobOrder CodeReader(const std::string& script) {
    JobOrder order = Reader(script);
    std::string tar;
    auto writer = DirectoryTarWriter::Open([&tar](absl::string_view data) {
      tar.append(data.data(), data.size());
      return absl::OkStatus();
    });
    CONCUR_CHECK_OK(writer.status());
    const std::string text = "{\"code\": 1}\n";
    CONCUR_CHECK_OK((*writer)->AddFile("run.json", false, static_cast<int64_t>(text.size())));
    CONCUR_CHECK_OK((*writer)->Append(text));
    CONCUR_CHECK_OK((*writer)->Finish());
    order.code = {
        transfer_.Add(tar), static_cast<int64_t>(tar.size()),
        KeyOfCode({{"run.json", Sha256Of(text), static_cast<int64_t>(text.size()), false}})};
    return order;
  }
  // A job whose input, known to the script as "$f", is the one called `input`.
  JobOrder With(const std::string& input, const std::string& script) {
    if (input == "{test}") {
      return Reader(absl::StrCat("f=$1; ", script));
    }
    if (input == "{model}") {
      JobOrder order = Reader(absl::StrCat("f=$4; ", script));
      order.system = transfer_.Add("{a system}\n");
      return order;
    }
    if (input == "{code}") {
      return CodeReader(absl::StrCat("f=$CONCUR_CODE/run.json; ", script));
    }
    JobOrder order = Train(
        absl::StrCat(input == "{train}" ? "f=$1; " : "f=$4; ", script, "\necho trained > $2"));
    if (input == "{validation}") {
      order.validation = order.train;
      order.validation[0].digest = transfer_.Add("{\"validation\": 1}\n");
    } else if (input == "{start}") {
      order.system = transfer_.Add("{a system}\n");
    } else if (input == "mixture") {
      order.is_mixture = true;
      order.train.push_back(order.train[0]);
      order.train[1].name = "other";
      order.train[1].digest = transfer_.Add(absl::StrReplaceAll(kTestData, {{"q1", "p1"}}));
      order.command = {
          "sh", "-c",      Escaped(absl::StrCat("f=$1; ", script, "\necho trained > $2")),
          "sh", "{train}", "{model}"};
      return order;
    }
    if (input != "{train}") {
      order.command.push_back(input);
    }
    return order;
  }
  std::string LogOf(const JobResult& result) { return ReadArtifact(result, ArtifactKind::kLog); }
};

class NeighboursOfInputTest : public NeighboursTest,
                              public ::testing::WithParamInterface<const char*> {};

// A job wrote into its test data, and later jobs succeeded with wrong scores.
TEST_P(NeighboursOfInputTest, AJobThatChangesItsInputFailsAndNoLaterOneReadsTheChange) {
  const std::string input = GetParam();
  const JobResult before = Run(With(input, kShow));
  ASSERT_TRUE(before.succeeded) << before.message;
  const JobResult tampered = Run(With(input, absl::StrCat(kTamper, kShow)));
  ASSERT_EQ(LogOf(tampered), "X") << "it can write there: " << tampered.message;
  EXPECT_FALSE(tampered.succeeded);
  EXPECT_EQ(tampered.failure, FailureClass::kFailed);
  EXPECT_THAT(tampered.message,
              AllOf(HasSubstr(input == "mixture" ? "{train}" : input), HasSubstr("{output}")));
  const JobResult after = Run(With(input, kShow));
  EXPECT_TRUE(after.succeeded) << after.message;
  EXPECT_EQ(LogOf(after), "{");
}

// The change was undone before the job ended; whoever ran beside it has read it.
TEST_P(NeighboursOfInputTest, AttemptsThatRanBesideTheChangeFailAndAreTriedAgain) {
  const std::string input = GetParam();
  const JobOrder victim =
      With(input, absl::StrCat("echo runs; while [ ! -e ", temp_.File("go"), " ]; do :; done"));
  executor_->Start(victim);
  WaitForLog(victim.id, "runs");
  const JobOrder culprit = With(input, absl::StrCat(kTamper, kRestore));
  const JobResult tampered = Run(culprit);
  EXPECT_EQ(tampered.failure, FailureClass::kTemporary) << tampered.message;
  EXPECT_THAT(tampered.message, HasSubstr(victim.id.ToString())) << "it may have been either";
  ASSERT_OK(WriteFileAtomically(temp_.File("go"), ""));
  const JobResult beside = Next().finished.result;
  EXPECT_EQ(beside.failure, FailureClass::kTemporary) << beside.message;
  EXPECT_THAT(beside.message, HasSubstr(culprit.id.ToString()));
  EXPECT_TRUE(Run(With(input, "true")).succeeded);
}

// `find DIR -exec touch {} +` failed every job for good, and took its code away while it ran.
TEST_P(NeighboursOfInputTest, AJobWhoseInputWasOnlyTouchedIsTriedAgain) {
  const std::string input = GetParam();
  // Times advance by ticks: a touch within the tick in which the worker looked leaves no trace.
  const JobResult touched =
      Run(With(input,
               "t=$(readlink -f \"$f\"); z=$(stat -c %z \"$t\"); "
               "while [ \"$(stat -c %z \"$t\")\" = \"$z\" ]; do touch \"$t\"; done; "
               "ls -i \"$t\"; "));
  EXPECT_EQ(touched.failure, FailureClass::kTemporary) << touched.message;
  EXPECT_THAT(touched.message, HasSubstr(" was touched while the job ran, by it"));
  const JobResult after = Run(With(input, "t=$(readlink -f \"$f\"); ls -i \"$t\"; "));
  EXPECT_TRUE(after.succeeded) << after.message;
  EXPECT_EQ(LogOf(after), LogOf(touched)) << "the same file";
}

INSTANTIATE_TEST_SUITE_P(All, NeighboursOfInputTest,
                         ::testing::Values("{test}", "{train}", "{model}", "{code}", "{validation}",
                                           "{start}", "mixture"),
                         [](const ::testing::TestParamInfo<const char*>& input) {
                           return absl::StrReplaceAll(input.param, {{"{", ""}, {"}", ""}});
                         });

// On a shared disk a job's write changed the coordinator's artifact itself.
TEST_F(NeighboursTest, NoInputIsAFileOfTheCoordinatorsStore) {
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("coordinator")));
  executor_->SetCoordinatorStore({store->directory(), store->store_id()});
  const std::string large = absl::StrCat("{", std::string(100'000, 'l'), "}\n");
  for (const std::string& data : {std::string("{small}\n"), large}) {
    JobOrder order = Reader(absl::StrCat("f=$1; ", kTamper));
    ASSERT_OK_AND_ASSIGN(order.test.digest, store->Put(data));
    EXPECT_FALSE(Run(order).succeeded);
    EXPECT_OK(store->Verify(order.test.digest));
    JobOrder next = Reader("cat $1");
    next.test.digest = order.test.digest;
    const JobResult result = Run(next);
    ASSERT_TRUE(result.succeeded) << result.message;
    for (const ArtifactRef& artifact : result.artifacts) {
      if (artifact.kind == ArtifactKind::kLog) {
        EXPECT_EQ(artifact.digest, Sha256Of(data));
      }
    }
  }
}

// A worker's scores of the data that a job had changed would be kept for others.
TEST_F(NeighboursTest, ScoresAreThoseOfTheIntactTestData) {
  const char* answer = "echo '{\"q1\": \"France\", \"q2\": \"Paris\"}' > $2";
  JobResult result = Run(Eval(answer));
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::vector<Metric> metrics = result.metrics;
  EXPECT_FALSE(Run(Eval(absl::StrCat("f=$1; ", kTamper, answer))).succeeded);
  result = Run(Eval(answer));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.metrics, metrics);
}

// A job that is to write a system with the bytes of an input: the cache has both under one name.
TEST_F(NeighboursTest, AResultThatEqualsAnInputDisturbsNobody) {
  const JobOrder reader =
      Reader(absl::StrCat("echo runs; while [ ! -e ", temp_.File("go"), " ]; do :; done"));
  executor_->Start(reader);
  WaitForLog(reader.id, "runs");
  EXPECT_TRUE(Run(Train("cp $1 $2")).succeeded);
  ASSERT_OK(WriteFileAtomically(temp_.File("go"), ""));
  const JobResult result = Next().finished.result;
  EXPECT_TRUE(result.succeeded) << result.message;
}

class OutputLimitTest : public NeighboursTest {
 protected:
  void SetUp() override {
    options_.memory_interval = absl::Milliseconds(10);
    options_.output_bytes_max = 4 << 20;
    Reopen();
  }
};

// Jobs left files there until the worker was started again.
TEST_F(OutputLimitTest, WhatAJobMakesBesideItsDirectoryGoesWhileItRuns) {
  const JobResult result =
      Run(Train("mkdir ../beside; echo x > ../beside/file; echo x > ../file; "
                "while test -e ../beside || test -e ../file; do sleep .01; done; echo gone > $2"));
  EXPECT_TRUE(result.succeeded) << result.message;
  // Directories that are kept for later attempts are none of it.
  EXPECT_TRUE(Run(Train("test $(ls .. | grep -c .) -ge 1 && echo 1 > $2")).succeeded);
}

// 600 MB of 100: what a path did not lead to was not counted.
TEST_F(OutputLimitTest, WhatAJobHidesCountsAllTheSame) {
  const std::string fill =
      "i=0; while :; do i=$((i+1)); head -c 500000 /dev/zero > $i; sleep .01; done";
  const std::map<std::string, std::string> ways = {
      {"in its directory, moved elsewhere",
       absl::StrCat("mv $PWD ", temp_.File("moved"), "; cd ", temp_.File("moved"), "; ", fill)},
      {"in files without a name",
       "for n in 5 6 7 8; do eval \"exec $n> f\"; rm f; head -c 2000000 /dev/zero >&$n; done; "
       "sleep 30"},
      {"in a folder that is closed", absl::StrCat("mkdir c; cd c; chmod 0 .; ", fill)},
  };
  for (const auto& [name, script] : ways) {
    JobOrder order = Train(script);
    order.timeout = kDeadline;
    const JobResult result = Run(order);
    EXPECT_EQ(result.failure, FailureClass::kFailed) << name;
    EXPECT_THAT(result.message, HasSubstr("output_bytes_max")) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(temp_.File("moved")));
}

TEST_F(OutputLimitTest, FoldersThatNestTooDeepToBeCountedAreRefused) {
  const JobResult result =
      Run(Train("i=0; while test $i -lt 200; do mkdir d; cd d; i=$((i+1)); done; sleep 30"));
  EXPECT_EQ(result.failure, FailureClass::kFailed);
  EXPECT_THAT(result.message, HasSubstr("cannot be counted"));
}

// A job left another link under the name from which run directories get theirs.
TEST_F(NeighboursTest, ALinkThatAJobReplacedIsMadeAnew) {
  const JobResult tampered =
      Run(Reader("t=$(readlink $1); echo '{other}' > ../../other; for l in ../../links/*; do "
                 "rm $l; ln -s $PWD/../../other $l; done; cat $1"));
  EXPECT_TRUE(tampered.succeeded) << tampered.message;
  const JobResult result = Run(Reader("cat $1"));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(LogOf(result), kTestData);
}

}  // namespace
}  // namespace concur::worker
