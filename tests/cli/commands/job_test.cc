// SPDX-License-Identifier: Apache-2.0
// Lists of jobs, single jobs and their logs.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/app/context.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::cli {
namespace {

using ::concur::testing::Count;
using TestJson = nlohmann::ordered_json;

class JobCommandsTest : public CommandsFixture {};

TEST_F(JobCommandsTest, JobsAreListedWithScoreOrReason) {
  const Output output = Concur({"job", "list", "s12"});
  EXPECT_EQ(output.out,
            "ID     KIND   STATE      APPROACH  TRAIN  TEST  SETTING  SEED  TRY  WORKER   TIME  "
            "NOTE\n"
            "s12/0  train  succeeded  lr        squad              2     1    1  w1      1m30s  f1 "
            "61.25\n"
            "s12/1  eval   failed     lr        squad  news        2     1    1  w1      0.0 s  "
            "failed: exit code 3: \xEF\xBF\xBD[31mno memory\n"
            "s12/2  train  ready      lr        squad              2     1\n"
            "s12/3  eval   succeeded  lr        squad  news        2     1    1  w1      1m30s  f1 "
            "61.25\n");
  EXPECT_EQ(
      TestJson::parse(Concur({"job", "list", "s12", "--state", "failed,ready", "-o", "json"}).out)
          .size(),
      2);
}

// Whoever watches a sweep would choose by them what the sweep is to choose by validation sets.
TEST_F(JobCommandsTest, TestScoresOfUnchosenSettingsAreShownWhereTheyAreAskedFor) {
  v1::SweepSpec& spec = *fake_.sweeps[1].mutable_spec();
  ASSERT_EQ(fake_.sweeps[1].id(), "s12");
  spec.set_select(v1::SweepSpec::SELECTION_BEST);
  spec.set_random_settings(2);
  v1::Approach& approach = *spec.add_approaches();
  approach.set_name("lr");
  (*approach.mutable_space())["lr"].mutable_log_uniform()->set_high(1);
  const auto scores = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"job", "list", "s12", "-o", "json"});
    const Output output = Concur(std::move(more));
    const TestJson eval = TestJson::parse(output.out)[3];
    EXPECT_EQ(eval["id"], "s12/3");
    const bool is_told = absl::StrContains(output.err, "1 test score hidden");
    EXPECT_EQ(is_told, !output.err.empty()) << output.err;
    return absl::StrCat(eval["result"]["metrics"].size(), is_told ? ", told" : "");
  };
  EXPECT_EQ(scores({}), "0, told");
  EXPECT_EQ(scores({"--test-scores"}), "1");
  const Output text = Concur({"job", "list", "s12"});
  EXPECT_THAT(text.out,
              HasSubstr("s12/0  train  succeeded  lr        squad              2     1    "
                        "1  w1      1m30s  f1 61.25\n"));
  EXPECT_EQ(Count(text.out, "61.25"), 1u);
  EXPECT_THAT(text.err + text.out, HasSubstr("all: --test-scores"));
  v1::Benchmark& validation = *spec.add_benchmarks();
  validation.set_name("news");
  validation.set_validation_of(1);
  EXPECT_EQ(scores({}), "1") << "a validation score is what settings are chosen by";
  validation.clear_validation_of();
  EXPECT_EQ(scores({}), "0, told");
  spec.set_select(v1::SweepSpec::SELECTION_EACH);
  EXPECT_EQ(scores({}), "1") << "every setting is shown by the sweep's own rule";
  spec.set_select(v1::SweepSpec::SELECTION_DEFAULT);
  EXPECT_EQ(scores({}), "0, told") << "setting 2 is not the default";
  spec.set_random_settings(0);
  EXPECT_EQ(scores({}), "1");
}

// `-o table` was cut at 60 characters in a pipe.
TEST_F(JobCommandsTest, InAPipeAReasonIsWhole) {
  const std::string reason = std::string(100, 'x') + " END (exit code 3)";
  fake_.jobs[1].mutable_result()->set_message(reason);
  EXPECT_THAT(Concur({"job", "list", "s12"}).out, HasSubstr("failed: " + reason + "\n"));
  fake_.jobs[1].set_approach(std::string(80, 'a'));
  EXPECT_THAT(Concur({"job", "list", "s12"}).out, HasSubstr(std::string(80, 'a')));
}

TEST_F(JobCommandsTest, OneJobIsCanceledUnlessItHasEnded) {
  const Output ready = Concur({"job", "cancel", "s12/2"});
  EXPECT_EQ(ready.out, "id     s12/2\nstate  canceled\n");
  EXPECT_EQ(ready.err, "");
  const Output ended = Concur({"job", "cancel", "s12/0"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("it had already ended: nothing was canceled"));
  EXPECT_EQ(TestJson::parse(Concur({"job", "cancel", "s12/0", "-o", "json"}).out),
            TestJson({{"id", "s12/0"}, {"state", "succeeded"}}));
  EXPECT_EQ(Concur({"job", "cancel", "s12/99"}).code, kExitNotFound);
}

TEST_F(JobCommandsTest, JobsAreFilteredSortedAndSkipped) {
  fake_.jobs[3].set_worker("w2");
  fake_.jobs[3].set_seed(2);
  fake_.jobs[3].mutable_result()->mutable_run_time()->set_seconds(200);
  v1::ListJobsRequest asked;
  const auto ids = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"job", "list", "s12", "-o", "jsonl"});
    std::vector<std::string> found;
    for (const absl::string_view line :
         absl::StrSplit(Concur(std::move(args)).out, '\n', absl::SkipEmpty())) {
      found.push_back(TestJson::parse(line)["id"]);
    }
    asked = fake_.list_requests.back();
    return found;
  };
  EXPECT_THAT(ids({"--worker", "w2"}), ElementsAre("s12/3"));
  EXPECT_EQ(asked.worker(), "w2");
  EXPECT_THAT(ids({"--seed", "2"}), ElementsAre("s12/3"));
  EXPECT_EQ(asked.seed(), 2);
  EXPECT_THAT(ids({"--setting", "2", "--offset", "1", "--limit", "2"}),
              ElementsAre("s12/1", "s12/2"));
  EXPECT_EQ(asked.setting_index(), 2u);
  EXPECT_THAT(ids({"--sort", "-time"}), ElementsAre("s12/3", "s12/0", "s12/1", "s12/2"));
  EXPECT_THAT(ids({"--sort", "-time", "--limit", "1", "--offset", "1"}), ElementsAre("s12/0"));
  const Output bad = Concur({"job", "list", "s12", "--sort", "tme"});
  EXPECT_EQ(bad.code, kExitUsage);
  EXPECT_THAT(bad.err, HasSubstr("got \"tme\" (did you mean \"time\"?)"));
}

// "No such jobs." and exit 0 were said of a worker that does not exist.
TEST_F(JobCommandsTest, AWorkerThatDoesNotExistIsAnErrorWithTheNearest) {
  fake_.workers.emplace_back().set_name("local-1");
  const Output output = Concur({"job", "list", "s12", "--worker", "locl-1"});
  EXPECT_EQ(output.code, kExitNotFound);
  EXPECT_THAT(output.err, HasSubstr("--worker: no worker \"locl-1\" (did you mean \"local-1\"?)"));
  EXPECT_EQ(Concur({"job", "list", "s12", "--worker", "local-1"}).code, 0) << "it ran nothing";
}

TEST_F(JobCommandsTest, ALongListIsWrittenWhileItComes) {
  fake_.jobs.clear();
  for (uint32_t i = 0; i < 2500; ++i) {
    fake_.jobs.push_back(TheJob(i, v1::Job::STATE_READY));
  }
  const Output table = Concur({"job", "list", "s12", "--limit", "0"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 2501) << "one heading";
  const TestJson json =
      TestJson::parse(Concur({"job", "list", "s12", "--limit", "0", "-o", "json"}).out);
  EXPECT_THAT(json, SizeIs(2500));
  EXPECT_EQ(Concur({"job", "list", "s12", "--state", "canceled", "-o", "json"}).out, "[]\n");
}

TEST_F(JobCommandsTest, AnUnknownStateIsRefusedWithTheNearest) {
  const Output output = Concur({"job", "list", "s12", "--state", "faild"});
  EXPECT_EQ(output.code, kExitUsage);
  EXPECT_THAT(output.err, HasSubstr("got \"faild\" (did you mean \"failed\"?)"));
}

TEST_F(JobCommandsTest, AJobAsTextCsvAndExplained) {
  v1::Metric& whole = *fake_.jobs[0].mutable_result()->add_metrics();
  whole.set_name("perplexity");
  whole.set_value(12.5);
  fake_.jobs[0].set_failure(v1::FAILURE_CLASS_LOST);  // failure of an attempt before the last
  const std::string text = Concur({"job", "get", "s12/0"}).out;
  EXPECT_THAT(text, StartsWith("id          s12/0\nkind        train\nstate       succeeded\n"));
  EXPECT_THAT(text, HasSubstr("setting     2  epochs=3 lr=0.1\n"));
  EXPECT_THAT(text, HasSubstr("f1          61.2500 over 1,000 examples\n"));
  EXPECT_THAT(text, HasSubstr("perplexity  12.5000\n")) << "was \"over 0 examples\"";
  EXPECT_THAT(text, Not(HasSubstr("failure")));
  const std::string csv = Concur({"-o", "csv", "job", "list", "s12", "--limit", "1"}).out;
  EXPECT_THAT(csv, StartsWith("id,kind,state,attempt,failures,lost,approach,train_set,"
                              "test_benchmark,setting_index,setting,seed,worker,failure,"));
  EXPECT_EQ(Concur({"job", "explain", "s12/1"}).out, "s12/1: failed\nit failed 3 of 3 times\n");
  EXPECT_EQ(Concur({"job", "get", "s12/9"}).code, kExitNotFound);
}

// The one message of three equal attempts stood there five times.
TEST_F(JobCommandsTest, AMessageThatTheReasonHasIsNotRepeated) {
  v1::Job& job = fake_.jobs[1];
  job.mutable_result()->set_message("no memory");
  job.set_explanation("given up after attempt 2: no memory; what it printed: …");
  for (const char* message : {"no disk", "no memory"}) {
    v1::AttemptRecord& attempt = *job.add_attempts();
    attempt.set_attempt(static_cast<uint32_t>(job.attempts_size()));
    attempt.mutable_result()->set_message(message);
  }
  const std::string text = Concur({"job", "get", "s12/1"}).out;
  EXPECT_EQ(Count(text, "no memory"), 1u) << text;
  EXPECT_EQ(Count(text, "no disk"), 1u) << "another one stays";
}

TEST_F(JobCommandsTest, ALogIsReadOnWhereTheServerWentAway) {
  fake_.log = "first line\nsecond \x1b line\n";
  fake_.unavailable_calls = 1;
  EXPECT_EQ(Concur({"job", "logs", "s12/0"}).out, fake_.log) << "a pipe gets the bytes";
  const TestJson json = TestJson::parse(Concur({"job", "logs", "s12/0", "-o", "json"}).out);
  EXPECT_EQ(json["log"], fake_.log);
}

}  // namespace
}  // namespace concur::cli
