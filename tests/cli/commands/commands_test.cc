// SPDX-License-Identifier: Apache-2.0
// The program against a fake coordinator: what people and programs get to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/text.h"
#include "base/check.h"
#include "base/file.h"
#include "core/sweep.h"
#include "rpc/convert_sweep.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"
#include "tests/core/sweep_builder.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::cli {
namespace {

using ::concur::testing::FakeCoordinator;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using TestJson = nlohmann::ordered_json;

v1::Sweep TheSweep(const std::string& id, const std::string& name, v1::Sweep::State state) {
  v1::Sweep sweep;
  sweep.set_id(id);
  sweep.set_name(name);
  sweep.set_owner("ada");
  sweep.set_state(state);
  sweep.set_cell_count(4);
  sweep.set_reused(6);
  sweep.mutable_counts()->set_succeeded(1230);
  sweep.mutable_counts()->set_failed(2);
  sweep.mutable_counts()->set_running(state == v1::Sweep::STATE_ACTIVE ? 3 : 0);
  sweep.mutable_create_time()->set_seconds(1'700'000'000);
  sweep.mutable_create_time()->set_nanos(5'000'000);
  if (state != v1::Sweep::STATE_ACTIVE) {
    sweep.mutable_end_time()->set_seconds(1'700'000'125);
  }
  return sweep;
}

v1::Job TheJob(uint32_t index, v1::Job::State state) {
  v1::Job job;
  job.set_id(absl::StrCat("s12/", index));
  job.set_kind(index % 2 == 0 ? v1::Job::KIND_TRAIN : v1::Job::KIND_EVAL);
  job.set_state(state);
  job.set_approach("lr");
  job.set_train_set("squad");
  if (index % 2 == 1) {
    job.set_test_benchmark("news");
  }
  job.set_setting_index(2);
  (*job.mutable_setting())["lr"].set_double_value(0.1);
  (*job.mutable_setting())["epochs"].set_int_value(3);
  job.set_seed(1);
  if (state != v1::Job::STATE_READY) {
    job.set_attempt(1);
    job.set_worker("w1");
  }
  if (state == v1::Job::STATE_SUCCEEDED) {
    job.mutable_result()->set_succeeded(true);
    job.mutable_result()->mutable_run_time()->set_seconds(90);
    v1::Metric& metric = *job.mutable_result()->add_metrics();
    metric.set_name("f1");
    metric.set_value(61.25);
    metric.set_examples(1000);
  }
  if (state == v1::Job::STATE_FAILED) {
    job.set_failure(v1::FAILURE_CLASS_FAILED);
    job.mutable_result()->set_failure(v1::FAILURE_CLASS_FAILED);
    job.mutable_result()->set_exit_code(3);
    job.mutable_result()->set_message("exit code 3: \x1b[31mno memory\nsecond line");
    job.set_explanation("it failed 3 of 3 times");
  }
  return job;
}

class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() {
    fake_.sweeps = {TheSweep("s13", "next", v1::Sweep::STATE_ACTIVE),
                    TheSweep("s12", "demo", v1::Sweep::STATE_FAILED),
                    TheSweep("s11", "demo", v1::Sweep::STATE_SUCCEEDED)};
    fake_.jobs = {TheJob(0, v1::Job::STATE_SUCCEEDED), TheJob(1, v1::Job::STATE_FAILED),
                  TheJob(2, v1::Job::STATE_READY), TheJob(3, v1::Job::STATE_SUCCEEDED)};
  }

  Output Concur(std::vector<std::string> args) {
    args.insert(args.begin(), {"--server", fake_.address()});
    return RunConcur(std::move(args));
  }

  FakeCoordinator fake_;
};

TEST_F(CommandsTest, SweepsAreListedFromEveryPage) {
  const Output output = Concur({"sweep", "list"});
  EXPECT_EQ(output.code, 0);
  EXPECT_EQ(output.out,
            "ID   NAME  STATE       DONE   JOBS  FAILED  SKIPPED  REUSED  RATE  ETA  OWNER  "
            "CREATED        "
            "        TOOK\n"
            "s13  next  active     1,232  1,235       2        0       6             ada    "
            "2023-11-14T22:13:20Z\n"
            "s12  demo  failed     1,232  1,232       2        0       6             ada    "
            "2023-11-14T22:13:20Z  2m05s\n"
            "s11  demo  succeeded  1,232  1,232       2        0       6             ada    "
            "2023-11-14T22:13:20Z  2m05s\n");
  EXPECT_EQ(output.err, "");
  EXPECT_THAT(fake_.page_tokens, ElementsAre("", "2"));
}

TEST_F(CommandsTest, ALimitSaysThatThereIsMore) {
  const Output output = Concur({"sweep", "list", "--limit", "1"});
  EXPECT_THAT(output.out, HasSubstr("s13"));
  EXPECT_THAT(output.out, Not(HasSubstr("s12")));
  EXPECT_THAT(output.err, HasSubstr("only the newest 1 are shown"));
}

TEST_F(CommandsTest, ASweepAsTextAndAsJson) {
  EXPECT_EQ(Concur({"sweep", "get", "demo"}).out,
            "id       s12\n"
            "name     demo\n"
            "owner    ada\n"
            "state    failed\n"
            "jobs     1,232 in 4 cells\n"
            "counts   1,230 succeeded, 2 failed\n"
            "reused   6 of 1,232\n"
            "created  2023-11-14T22:13:20Z\n"
            "ended    2023-11-14T22:15:25Z\n"
            "took     2m05s\n");
  EXPECT_EQ(Concur({"sweep", "get", "s12", "-o", "json"}).out,
            "{\n"
            "  \"id\": \"s12\",\n"
            "  \"name\": \"demo\",\n"
            "  \"owner\": \"ada\",\n"
            "  \"state\": \"failed\",\n"
            "  \"priority\": 0,\n"
            "  \"jobs\": 1232,\n"
            "  \"cells\": 4,\n"
            "  \"reused\": 6,\n"
            "  \"counts\": {\n"
            "    \"blocked\": 0,\n"
            "    \"ready\": 0,\n"
            "    \"backoff\": 0,\n"
            "    \"queued\": 0,\n"
            "    \"running\": 0,\n"
            "    \"succeeded\": 1230,\n"
            "    \"failed\": 2,\n"
            "    \"canceled\": 0,\n"
            "    \"skipped\": 0\n"
            "  },\n"
            "  \"jobs_per_second\": 0.0,\n"
            "  \"eta_seconds\": null,\n"
            "  \"owner_use\": {\n"
            "    \"running_jobs\": 0,\n"
            "    \"running_jobs_max\": 0,\n"
            "    \"stored_bytes\": 0,\n"
            "    \"stored_bytes_max\": 0\n"
            "  },\n"
            "  \"create_time\": \"2023-11-14T22:13:20.005Z\",\n"
            "  \"end_time\": \"2023-11-14T22:15:25Z\",\n"
            "  \"forecast_seconds\": null,\n"
            "  \"took_seconds\": 124.995,\n"
            "  \"forecast_error\": null\n"
            "}\n");
}

TEST_F(CommandsTest, JobsAreListedWithScoreOrReason) {
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

// `-o table` was cut at 60 characters in a pipe.
TEST_F(CommandsTest, InAPipeAReasonIsWhole) {
  const std::string reason = std::string(100, 'x') + " END (exit code 3)";
  fake_.jobs[1].mutable_result()->set_message(reason);
  EXPECT_THAT(Concur({"job", "list", "s12"}).out, HasSubstr("failed: " + reason + "\n"));
  fake_.jobs[1].set_approach(std::string(80, 'a'));
  EXPECT_THAT(Concur({"job", "list", "s12"}).out, HasSubstr(std::string(80, 'a')));
}

TEST_F(CommandsTest, JobsAreFilteredSortedAndSkipped) {
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
TEST_F(CommandsTest, AWorkerThatDoesNotExistIsAnErrorWithTheNearest) {
  fake_.workers.emplace_back().set_name("local-1");
  const Output output = Concur({"job", "list", "s12", "--worker", "locl-1"});
  EXPECT_EQ(output.code, kExitNotFound);
  EXPECT_THAT(output.err, HasSubstr("--worker: no worker \"locl-1\" (did you mean \"local-1\"?)"));
  EXPECT_EQ(Concur({"job", "list", "s12", "--worker", "local-1"}).code, 0) << "it ran nothing";
}

TEST_F(CommandsTest, ALongListIsWrittenWhileItComes) {
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

TEST_F(CommandsTest, EqualFailuresOfASweepAreOneLine) {
  fake_.jobs = {TheJob(1, v1::Job::STATE_FAILED), TheJob(3, v1::Job::STATE_FAILED),
                TheJob(5, v1::Job::STATE_FAILED)};
  fake_.jobs[2].mutable_result()->set_message("another");
  const Output output = Concur({"sweep", "failures", "s12"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out,
              HasSubstr("   2  lr        news       eval  failed   s12/1    exit code"));
  EXPECT_THAT(output.out,
              HasSubstr("   1  lr        news       eval  failed   s12/5    another\n"));
  EXPECT_THAT(output.err, HasSubstr("concur job logs s12/"));
  const TestJson json = TestJson::parse(Concur({"sweep", "failures", "s12", "-o", "json"}).out);
  EXPECT_EQ(json[0]["jobs"], 2);
  EXPECT_EQ(json[1]["example"], "s12/5");
  // Not only "run them again": a retry runs what was submitted.
  EXPECT_THAT(output.err, HasSubstr("again as submitted: concur sweep retry s12   with changed "
                                    "files: concur sweep submit FILE"));
  fake_.jobs = {TheJob(6, v1::Job::STATE_SKIPPED)};
  fake_.sweeps[1].mutable_counts()->set_skipped(1);
  const std::string skipped = Concur({"sweep", "failures", "s12"}).err;
  EXPECT_THAT(skipped, HasSubstr("1 job was skipped: what they need failed, or so much like them"));
  EXPECT_THAT(skipped, HasSubstr("why: concur job explain s12/6"));
  fake_.jobs.clear();
  EXPECT_THAT(Concur({"sweep", "failures", "s12"}).err, HasSubstr("no job of s12 has failed"));
}

// A name of 40 columns, owner and times made lines of 130 columns.
TEST_F(CommandsTest, ListsOfSweepsAndWorkersFitEightyColumns) {
  fake_.sweeps[0].set_name(std::string(60, 'n'));
  fake_.sweeps[0].mutable_counts()->set_ready(100'000);
  fake_.sweeps[0].mutable_recent_span()->set_seconds(10);
  fake_.sweeps[0].set_recent_jobs(20);
  v1::Worker& worker = fake_.workers.emplace_back();
  worker.set_name("pool-a-" + std::string(40, 'w'));
  worker.set_state(v1::Worker::STATE_QUARANTINED);
  worker.set_host("node-17.cluster.example.org");
  worker.mutable_capacity()->set_cpu_millis(64'000);
  worker.mutable_capacity()->set_memory_bytes(int64_t{512} << 30);
  worker.mutable_capacity()->set_gpus(8);
  worker.set_succeeded(1'234'567);
  for (const char* what : {"sweep", "worker"}) {
    const std::string out =
        RunConcur({"--server", fake_.address(), what, "list"}, /*out_is_terminal=*/true).out;
    for (const absl::string_view line : absl::StrSplit(out, '\n')) {
      EXPECT_LE(analysis::DisplayWidth(line), 80u) << line;
    }
    EXPECT_THAT(out, HasSubstr("STATE"));
  }
}

TEST_F(CommandsTest, AnUnknownStateIsRefusedWithTheNearest) {
  const Output output = Concur({"job", "list", "s12", "--state", "faild"});
  EXPECT_EQ(output.code, kExitUsage);
  EXPECT_THAT(output.err, HasSubstr("got \"faild\" (did you mean \"failed\"?)"));
}

TEST_F(CommandsTest, AJobAsTextCsvAndExplained) {
  v1::Metric& whole = *fake_.jobs[0].mutable_result()->add_metrics();
  whole.set_name("perplexity");
  whole.set_value(12.5);
  const std::string text = Concur({"job", "get", "s12/0"}).out;
  EXPECT_THAT(text, StartsWith("id          s12/0\nkind        train\nstate       succeeded\n"));
  EXPECT_THAT(text, HasSubstr("setting     2  epochs=3 lr=0.1\n"));
  EXPECT_THAT(text, HasSubstr("f1          61.2500 over 1,000 examples\n"));
  EXPECT_THAT(text, HasSubstr("perplexity  12.5000\n")) << "was \"over 0 examples\"";
  const std::string csv = Concur({"-o", "csv", "job", "list", "s12", "--limit", "1"}).out;
  EXPECT_THAT(csv, StartsWith("id,kind,state,attempt,failures,lost,approach,train_set,"
                              "test_benchmark,setting_index,setting,seed,worker,failure,"));
  EXPECT_EQ(Concur({"job", "explain", "s12/1"}).out, "s12/1 is failed\nit failed 3 of 3 times\n");
  EXPECT_EQ(Concur({"job", "get", "s12/9"}).code, kExitNotFound);
}

TEST_F(CommandsTest, ALogIsReadOnWhereTheServerWentAway) {
  fake_.log = "first line\nsecond \x1b line\n";
  fake_.unavailable_calls = 1;
  EXPECT_EQ(Concur({"job", "logs", "s12/0"}).out, fake_.log) << "a pipe gets the bytes";
  const TestJson json = TestJson::parse(Concur({"job", "logs", "s12/0", "-o", "json"}).out);
  EXPECT_EQ(json["log"], fake_.log);
}

TEST_F(CommandsTest, ARestartingServerIsAskedAgain) {
  fake_.unavailable_calls = 2;
  const Output output = Concur({"sweep", "get", "s12"});
  EXPECT_EQ(output.code, 0) << output.err;
}

TEST_F(CommandsTest, ErrorsHaveTheirExitCodes) {
  EXPECT_EQ(Concur({"sweep", "get", "s99"}).code, kExitNotFound);
  EXPECT_EQ(Concur({"sweep", "get", "s99"}).err, "concur: error: no sweep \"s99\"\n");
  EXPECT_EQ(Concur({"sweep", "pause", "s12"}).code, kExitPrecondition);
  const Output json = Concur({"sweep", "get", "s99", "-o", "json"});
  EXPECT_EQ(json.out, "");
  EXPECT_EQ(TestJson::parse(json.err)["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(RunConcur({"--server", "nonsense", "sweep", "list"}).code, kExitUsage);
  EXPECT_EQ(Concur({"sweep", "submit", "/nowhere/file.yaml"}).code, kExitUsage)
      << "the file is the input";
}

TEST_F(CommandsTest, UsageErrorsNameTheNearest) {
  EXPECT_THAT(RunConcur({"swep", "list"}).err, HasSubstr("unknown command \"swep\" (did you mean"));
  EXPECT_THAT(RunConcur({"sweep", "lst"}).err,
              HasSubstr("\"lst\" (did you mean \"list\"?); see concur "
                        "sweep --help"));
  EXPECT_THAT(RunConcur({"sweep", "list", "--onwer", "x"}).err,
              HasSubstr("unknown option --onwer (did you mean \"--owner\"?)"));
  EXPECT_THAT(RunConcur({"-o", "yaml", "sweep", "list"}).err,
              HasSubstr("expected table, json, jsonl or csv, got \"yaml\""));
  EXPECT_EQ(TestJson::parse(RunConcur({"swep", "-o", "json"}).err)["error"]["code"],
            "INVALID_ARGUMENT");
  EXPECT_THAT(RunConcur({"--version"}).out, StartsWith("concur "));
  const Output help = RunConcur({"sweep", "submit", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
}

TEST_F(CommandsTest, RetryTakesJobsByIdOrIndex) {
  const Output output =
      Concur({"sweep", "retry", "s12", "--job", "s12/7", "--job", "9", "--rerun", "-o", "jsonl"});
  EXPECT_EQ(output.out, "{\"sweep\":\"s12\",\"retried\":2}\n");
  ASSERT_THAT(fake_.retried, SizeIs(1));
  EXPECT_THAT(fake_.retried[0].jobs(), ElementsAre(7, 9));
  EXPECT_TRUE(fake_.retried[0].rerun_succeeded());
  EXPECT_EQ(Concur({"sweep", "retry", "s12", "--job", "x"}).code, kExitUsage);
  EXPECT_EQ(Concur({"sweep", "retry", "s12", "--rerun"}).code, kExitUsage);
}

TEST_F(CommandsTest, ADeletionIsNotRepeated) {
  fake_.unavailable_calls = 1;
  EXPECT_EQ(Concur({"sweep", "delete", "s12"}).code, kExitUnavailable);
  EXPECT_THAT(fake_.deleted, ElementsAre("s12"));
}

TEST_F(CommandsTest, WorkersAreListedAndDrained) {
  v1::Worker worker;
  worker.set_name("w1");
  worker.set_state(v1::Worker::STATE_LIVE);
  worker.set_host("node7");
  worker.mutable_capacity()->set_cpu_millis(4000);
  worker.mutable_capacity()->set_memory_bytes(int64_t{8} << 30);
  worker.mutable_used()->set_cpu_millis(1500);
  worker.set_running(2);
  worker.set_succeeded(1234);
  worker.add_containment("cgroup-v2");
  worker.add_containment("memory");
  worker.mutable_last_seen_time()->set_seconds(1'700'000'000);
  fake_.workers = {worker, worker, worker};
  fake_.workers[1].set_name("w2");
  fake_.workers[2].set_name("w3");
  const std::string table = Concur({"worker", "list"}).out;
  EXPECT_THAT(table,
              StartsWith("NAME  STATE  HOST    CPUS       MEMORY  GPUS  RUNNING   DONE  FAILED  "
                         "CONTAINMENT  LAST SEEN\n"
                         "w1    live   node7  1.5/4  0 B/8.0 GiB              2  1,234       0  "
                         "cgroup-v2    2023-11-14T22:13:20Z\n"));
  EXPECT_THAT(table, HasSubstr("w3 "));
  EXPECT_THAT(Concur({"worker", "drain", "w1"}).out, HasSubstr("state        draining"));
  EXPECT_FALSE(fake_.drained.at(0).undo());
  EXPECT_THAT(Concur({"worker", "get", "w3"}).out, HasSubstr("cgroup-v2 memory"));
  EXPECT_THAT(Concur({"worker", "get", "w33"}).err, HasSubstr("no worker \"w33\""));
}

TEST_F(CommandsTest, ASweepShowsItsForecastAndHowFarOffItWas) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.mutable_forecast()->set_seconds(100);
  }
  EXPECT_THAT(Concur({"sweep", "get", "s11"}).out,
              AllOf(HasSubstr("took      2m05s\n"),
                    HasSubstr("forecast  1m40s when it was submitted, -20.0 % off\n")));
  TestJson json = TestJson::parse(Concur({"sweep", "get", "s11", "-o", "json"}).out);
  EXPECT_EQ(json["forecast_seconds"], 100.0);
  EXPECT_EQ(json["took_seconds"], 124.995);
  EXPECT_NEAR(json["forecast_error"].get<double>(), 100 / 124.995 - 1, 1e-12);
  // Of a sweep that failed, or still runs, there is nothing to compare with.
  EXPECT_THAT(Concur({"sweep", "get", "s12"}).out,
              HasSubstr("forecast  1m40s when it was submitted\n"));
  json = TestJson::parse(Concur({"sweep", "get", "s13", "-o", "json"}).out);
  EXPECT_EQ(json["forecast_seconds"], 100.0);
  EXPECT_TRUE(json["took_seconds"].is_null());
  EXPECT_TRUE(json["forecast_error"].is_null());
}

v1::WatchSweepResponse WatchOf(uint32_t succeeded, uint32_t running, const std::string& cursor) {
  v1::WatchSweepResponse update;
  *update.mutable_sweep() = TheSweep("s12", "demo", v1::Sweep::STATE_ACTIVE);
  update.mutable_sweep()->clear_counts();
  update.mutable_sweep()->clear_reused();
  update.mutable_sweep()->mutable_counts()->set_succeeded(succeeded);
  update.mutable_sweep()->mutable_counts()->set_running(running);
  update.set_cursor(cursor);
  return update;
}

TEST_F(CommandsTest, WatchGoesOnAtItsCursorAfterAnOutage) {
  fake_.watch = {WatchOf(0, 2, "a"), v1::WatchSweepResponse(), WatchOf(2, 0, "b")};
  fake_.watch[2].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  v1::JobEvent& event = *fake_.watch[2].add_events();
  event.set_job("s12/0");
  event.set_state(v1::Job::STATE_SUCCEEDED);
  const Output output = Concur({"sweep", "watch", "s12"});
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(fake_.watch_cursors, ElementsAre("", "a"));
  EXPECT_THAT(fake_.watch_events, Each(v1::WatchSweepRequest::EVENTS_FAILURES));
  EXPECT_THAT(output.err, HasSubstr("s12    0%  0/2 jobs · 2 running\n"));
  EXPECT_THAT(output.err, HasSubstr("is away; waiting for it"));
  EXPECT_THAT(output.err, HasSubstr("the coordinator answers again"));
  EXPECT_THAT(output.err, HasSubstr("s12  100%  2/2 jobs · succeeded"));
  EXPECT_THAT(output.out, HasSubstr("state    succeeded"));
}

TEST_F(CommandsTest, WatchSaysWhichWorkersAreInQuarantine) {
  v1::Worker& worker = fake_.workers.emplace_back();
  worker.set_name("local-1");
  worker.set_state(v1::Worker::STATE_QUARANTINED);
  worker.set_quarantine_reason("failed 17 times at what succeeds on local-2: eval jobs of mine");
  worker.mutable_quarantine_end_time()->set_seconds(1'700'000'000);
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  EXPECT_THAT(Concur({"sweep", "watch", "s12"}).err,
              HasSubstr("concur: local-1 is in quarantine until 2023-11-14T22:13:20Z: it failed 17 "
                        "times at what succeeds on local-2: eval jobs of mine; end it: "));
}

TEST_F(CommandsTest, WatchAsJsonLinesGivesEveryEvent) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  v1::JobEvent& event = *fake_.watch[0].add_events();
  event.set_job("s12/0");
  event.set_state(v1::Job::STATE_SUCCEEDED);
  const Output output = Concur({"sweep", "watch", "s12", "-o", "jsonl"});
  EXPECT_THAT(fake_.watch_events, ElementsAre(v1::WatchSweepRequest::EVENTS_ALL));
  EXPECT_EQ(TestJson::parse(output.out)["state"], "succeeded");
  EXPECT_EQ(output.err, "");
}

TEST_F(CommandsTest, WaitTellsWorkThatFailedByExitCode5) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  fake_.watch[0].mutable_sweep()->mutable_counts()->set_failed(1);
  const Output output = Concur({"sweep", "wait", "s12"});
  EXPECT_EQ(output.code, kExitWorkFailed);
  EXPECT_THAT(output.err, HasSubstr("s12 failed: 2 succeeded, 1 failed; see why: concur sweep "
                                    "failures s12"));
}

// docs/exit-codes.md said so; the command ended with 0.
TEST_F(CommandsTest, WatchTellsWorkThatFailedByExitCode5) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  fake_.watch[0].mutable_sweep()->mutable_counts()->set_failed(1);
  const Output output = Concur({"sweep", "watch", "s12"});
  EXPECT_EQ(output.code, kExitWorkFailed);
  EXPECT_THAT(output.err, HasSubstr("see why: concur sweep failures s12"));
  EXPECT_THAT(output.out, HasSubstr("state    failed"));
}

TEST_F(CommandsTest, ScoresMakeTheTableThatTheSweepAsksFor) {
  v1::Sweep& sweep = fake_.sweeps[1];
  SweepSpec spec;
  spec.name = "study";
  spec.approaches = {testing::TrainedApproach("lr"), testing::TrainedApproach("window")};
  spec.benchmarks = {testing::Benchmark("squad"), testing::Benchmark("news")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0), testing::PlainTrainSet(spec, 1)};
  spec.select = Selection::kDefault;
  *sweep.mutable_spec() = rpc::ToProto(spec);
  int job = 0;
  for (const char* approach : {"lr", "window"}) {
    for (const char* test : {"squad", "news"}) {
      for (int seed = 1; seed <= 2; ++seed) {
        v1::Score& score = fake_.scores.emplace_back();
        score.set_job(absl::StrCat("s12/", ++job));
        score.set_approach(approach);
        score.set_train_set(test);
        score.set_test_benchmark(test);
        score.set_seed(seed);
        score.set_metric("f1");
        score.set_state(v1::Job::STATE_SUCCEEDED);
        score.set_value(10 * job);
        score.set_examples(100);
      }
    }
  }
  fake_.scores.back().clear_value();
  fake_.scores.back().set_state(v1::Job::STATE_FAILED);
  const Output table = Concur({"scores", "s12"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("lr"));
  EXPECT_THAT(table.out, HasSubstr("15.00"));  // the mean of 10 and 20
  EXPECT_EQ(Concur({"scores", "s12", "-o", "csv"}).out,
            "approach,squad,news\nlr,15,35\nwindow,55,70\n");
  EXPECT_THAT(Concur({"scores", "s12", "--by-job"}).out,
              HasSubstr("s12/8  window    news   news         0     2  f1                    100  "
                        "failed\n"));
  const TestJson matrix = TestJson::parse(Concur({"matrix", "s12", "-o", "json"}).out);
  EXPECT_EQ(matrix["benchmarks"], TestJson({"squad", "news"}));
  EXPECT_EQ(matrix["pairs"][0]["n"], 2);
  EXPECT_EQ(Concur({"scores", "s12", "--select", "worst"}).code, kExitUsage);
}

// A server may send anything, and a page is printed before the next one is asked for.
TEST_F(CommandsTest, ScoresByJobArePrintedPageByPageUpToAWrongOne) {
  constexpr int kCount = 25'001;
  for (int i = 0; i < kCount; ++i) {
    v1::Score& score = fake_.scores.emplace_back();
    score.set_job(absl::StrCat("s12/", i));
    score.set_approach("lr");
    score.set_state(v1::Job::STATE_SUCCEEDED);
    score.set_value(i + 0.25);
  }
  const Output whole = Concur({"scores", "s12", "--by-job", "-o", "csv"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  const std::vector<std::string> lines = absl::StrSplit(whole.out, '\n');
  ASSERT_EQ(lines.size(), kCount + 2);  // the header, and nothing after the last line feed
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(lines[i + 1], absl::StrCat("s12/", i, ",lr,,,0,0,,", i, ".25,0,succeeded"));
  }
  fake_.scores[kCount - 1].set_job("junk");
  const Output broken = Concur({"scores", "s12", "--by-job", "-o", "csv"});
  EXPECT_NE(broken.code, 0);
  EXPECT_THAT(broken.err, HasSubstr("response.scores[25000].job"));
  EXPECT_THAT(broken.out, HasSubstr("s12/19999,"));
}

constexpr char kSweepFile[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: tiny}
spec:
  approaches:
    - metadata: {name: copy}
      spec:
        version: "1"
        train: {command: [cp, "{train}", "{model}"]}
        predict: {command: [predict, "--model={model}", "--data={test}", "--predictions={predictions}"]}
  benchmarks:
    - metadata: {name: one}
      spec: {train: train.jsonl, test: test.jsonl}
)";

class SubmitTest : public CommandsTest {
 protected:
  SubmitTest() {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("sweep.yaml"), kSweepFile));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), kTrain));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("test.jsonl"), kTest));
  }

  // Submits with a train set that is large enough to be held when its upload is broken off, and
  // that the coordinator has in the end; returns the bytes of each upload.
  std::vector<size_t> UploadsOfLarge() {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), kLarge));
    fake_.artifacts[Sha256Of(kTest)] = kTest;
    const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_TRUE(fake_.artifacts[Sha256Of(kLarge)] == kLarge);
    return fake_.uploaded;
  }

  const std::string kTrain = std::string(700'000, 'x');  // several pieces
  const std::string kLarge = std::string(3'000'000, 'y');
  const std::string kTest =
      R"({"context": "a", "qas": [{"qid": "1", "question": "b", "answers": ["a"]}]})";
  testing::TempDir dir_;
};

TEST_F(SubmitTest, MissingDataIsUploadedAndTheCallIsSafeToRepeat) {
  fake_.artifacts[Sha256Of(kTest)] = kTest;
  fake_.unavailable_calls = 1;  // in the middle of the upload
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(fake_.artifacts[Sha256Of(kTrain)], kTrain);
  ASSERT_THAT(fake_.created, SizeIs(1));
  EXPECT_EQ(fake_.created[0].spec().name(), "tiny");
  EXPECT_THAT(fake_.created[0].request_id(), SizeIs(36));
  EXPECT_THAT(output.out, HasSubstr("id       s13\n"));
  EXPECT_THAT(output.err, HasSubstr("uploaded "));
  EXPECT_THAT(output.err, Not(HasSubstr("test.jsonl")));
  EXPECT_THAT(output.err, HasSubstr("warning: no worker has a GPU"));
}

TEST_F(SubmitTest, AnUploadGoesOnWhereItWasBrokenOff) {
  fake_.held_bytes_max = 2'000'000;
  fake_.unavailable_calls = 1;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 1'000'000));
}

TEST_F(SubmitTest, AnUploadGoesOnAfterACoordinatorThatWasStopped) {
  fake_.held_bytes_max = 0;  // it has forgotten what it held
  fake_.unavailable_calls = 1;
  fake_.broken_upload = grpc::StatusCode::CANCELLED;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 3'000'000));
}

TEST_F(SubmitTest, AnUploadBeginsAgainWhereOtherBytesAreHeld) {
  fake_.held_bytes_max = 0;
  fake_.held[Sha256Of(kLarge).ToBytes()] = std::string(2'000'000, 'z');
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(1'000'000, 3'000'000));
}

TEST_F(SubmitTest, AnOlderCoordinatorIsSentEverythingAgain) {
  fake_.unavailable_calls = 1;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 3'000'000));
}

TEST_F(SubmitTest, ARepeatedCallHasTheSameRequestId) {
  fake_.artifacts = {{Sha256Of(kTest), kTest}, {Sha256Of(kTrain), kTrain}};
  fake_.unavailable_calls = 2;
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "-o", "json"});
  EXPECT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(3));
  EXPECT_EQ(fake_.created[0].request_id(), fake_.created[2].request_id());
  EXPECT_EQ(TestJson::parse(output.out)["warnings"][0], "no worker has a GPU");
}

TEST_F(SubmitTest, ADryRunUploadsNothing) {
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--dry-run"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(fake_.artifacts, IsEmpty());
  EXPECT_TRUE(fake_.created.at(0).validate_only());
}

TEST_F(SubmitTest, AFileWithErrorsSubmitsNothing) {
  CONCUR_CHECK_OK(
      WriteFileAtomically(dir_.File("bad.yaml"), "apiVersion: concur/v1\nkind: Swep\n"));
  const Output output = Concur({"sweep", "submit", dir_.File("bad.yaml")});
  EXPECT_EQ(output.code, kExitUsage);
  EXPECT_THAT(output.err, HasSubstr("bad.yaml:2:7"));
  EXPECT_THAT(fake_.created, IsEmpty());
}

TEST_F(SubmitTest, WatchedToTheEnd) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--watch"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("s13 next: 1,235 jobs in 4 cells; 6 of them reuse a finished"));
  EXPECT_THAT(output.out, HasSubstr("state    succeeded"));
}

}  // namespace
}  // namespace concur::cli
