// SPDX-License-Identifier: Apache-2.0
// Commands that show a sweep, and those that act on one.

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "cli/app/context.h"
#include "report/text.h"
#include "tests/cli/commands_fixture.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

class SweepCommandsTest : public CommandsFixture {};

TEST_F(SweepCommandsTest, SweepsAreListedFromEveryPage) {
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

TEST_F(SweepCommandsTest, ALimitSaysThatThereIsMore) {
  const Output output = Concur({"sweep", "list", "--limit", "1"});
  EXPECT_THAT(output.out, HasSubstr("s13"));
  EXPECT_THAT(output.out, Not(HasSubstr("s12")));
  EXPECT_THAT(output.err, HasSubstr("only the newest 1 are shown"));
}

TEST_F(SweepCommandsTest, ASweepAsTextAndAsJson) {
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
            "  \"done\": 1232,\n"
            "  \"percent\": 100,\n"
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
            "    \"skipped\": 0,\n"
            "    \"stopped\": 0\n"
            "  },\n"
            "  \"jobs_per_second\": 0.0,\n"
            "  \"eta_seconds\": null,\n"
            "  \"owner_use\": {\n"
            "    \"running_jobs\": 0,\n"
            "    \"running_jobs_max\": 0,\n"
            "    \"stored_bytes\": 0,\n"
            "    \"stored_bytes_max\": 0\n"
            "  },\n"
            "  \"spent\": {\n"
            "    \"tokens_in\": 0,\n"
            "    \"tokens_out\": 0,\n"
            "    \"usd\": 0.0\n"
            "  },\n"
            "  \"budget_usd\": null,\n"
            "  \"over_budget\": false,\n"
            "  \"create_time\": \"2023-11-14T22:13:20.005Z\",\n"
            "  \"end_time\": \"2023-11-14T22:15:25Z\",\n"
            "  \"forecast_seconds\": null,\n"
            "  \"took_seconds\": 124.995,\n"
            "  \"forecast_error\": null\n"
            "}\n");
}

// A name of 40 columns, owner and times made lines of 130 columns.
TEST_F(SweepCommandsTest, ListsOfSweepsAndWorkersFitEightyColumns) {
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

TEST_F(SweepCommandsTest, EqualFailuresOfASweepAreOneLine) {
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
  EXPECT_THAT(output.err, HasSubstr("again as submitted: concur sweep retry s12\n"
                                    "  with changed files: concur sweep submit FILE"));
  fake_.jobs = {TheJob(6, v1::Job::STATE_SKIPPED)};
  fake_.sweeps[1].mutable_counts()->set_skipped(1);
  const std::string skipped = Concur({"sweep", "failures", "s12"}).err;
  EXPECT_THAT(skipped, HasSubstr("1 job was skipped, because needed jobs failed"));
  EXPECT_THAT(skipped, HasSubstr("concur job explain s12/6"));
  fake_.jobs.clear();
  EXPECT_THAT(Concur({"sweep", "failures", "s12"}).err, HasSubstr("no job of s12 has failed"));
}

TEST_F(SweepCommandsTest, RetryTakesJobsByIdOrIndex) {
  const Output output =
      Concur({"sweep", "retry", "s12", "--job", "s12/7", "--job", "9", "--rerun", "-o", "jsonl"});
  EXPECT_EQ(output.out, "{\"sweep\":\"s12\",\"retried\":2}\n");
  ASSERT_THAT(fake_.retried, SizeIs(1));
  EXPECT_THAT(fake_.retried[0].jobs(), ElementsAre(7, 9));
  EXPECT_TRUE(fake_.retried[0].rerun_succeeded());
  EXPECT_EQ(Concur({"sweep", "retry", "s12", "--job", "x"}).code, kExitUsage);
  EXPECT_EQ(Concur({"sweep", "retry", "s12", "--rerun"}).code, kExitUsage);
  // Job 3 of s12 ran, and nothing said so.
  const Output other = Concur({"sweep", "retry", "s12", "--job", "s3/3"});
  EXPECT_EQ(other.code, kExitUsage);
  EXPECT_THAT(other.err, HasSubstr("expected a job of s12, got \"s3/3\""));
  EXPECT_THAT(fake_.retried, SizeIs(1));
}

TEST_F(SweepCommandsTest, ADeletionIsNotRepeated) {
  fake_.unavailable_deletions = 1;
  EXPECT_EQ(Concur({"sweep", "delete", "s12", "--yes"}).code, kExitUnavailable);
  EXPECT_THAT(fake_.deleted, ElementsAre("s12"));
}

// A typing error deleted another sweep for good.
TEST_F(SweepCommandsTest, ADeletionIsAskedFor) {
  const Output piped = Concur({"sweep", "delete", "s12"});
  EXPECT_EQ(piped.code, kExitUsage);
  EXPECT_THAT(piped.err, HasSubstr("expected --yes"));
  const Output refused = Concur({"sweep", "delete", "s12"}, "n\n");
  EXPECT_EQ(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("delete s12 demo and its "));
  EXPECT_THAT(refused.err, HasSubstr("nothing was deleted"));
  Concur({"sweep", "delete", "s12"}, "");
  EXPECT_THAT(fake_.deleted, IsEmpty());
  EXPECT_EQ(Concur({"sweep", "delete", "s12"}, "y\n").code, 0);
  EXPECT_THAT(fake_.deleted, ElementsAre("s12"));
}

// A script was corrected and the sweep retried, which ran the old one without a word.
TEST_F(SweepCommandsTest, ARetrySaysThatTheCodeHasChangedSince) {
  const concur::testing::TempDir dir;
  std::ofstream(dir.File("train.py")) << "1";
  v1::Sweep& sweep = fake_.sweeps.at(0);
  sweep.mutable_spec()->set_path("/home/me/study.yaml");
  v1::Code& code = *sweep.mutable_spec()->add_approaches()->mutable_code();
  code.set_root(dir.path() + "/");  // as `sweep submit` writes it
  v1::Code::File& file = *code.add_files();
  file.set_path("train.py");
  file.set_digest(Sha256Of("1").ToBytes());
  EXPECT_THAT(Concur({"sweep", "retry", sweep.id(), "--job", "1"}).err, Not(HasSubstr("changed")));
  std::ofstream(dir.File("train.py")) << "2";
  EXPECT_THAT(
      Concur({"sweep", "retry", sweep.id(), "--job", "1"}).err,
      HasSubstr(absl::StrCat(
          "changed since ", sweep.id(), " was submitted: ", dir.File("train.py"),
          "; the retry runs what was submitted, a new submission what is there now: `concur "
          "sweep submit /home/me/study.yaml`")));
  code.set_root("/of/another/machine");
  EXPECT_THAT(Concur({"sweep", "retry", sweep.id(), "--job", "1"}).err, Not(HasSubstr("changed")));
}

// `concur sweep delete slow2` printed "deleted  slow2": which of the sweeps of that name?
TEST_F(SweepCommandsTest, DeletingAndRetryingByNameSayWhichSweepItWas) {
  EXPECT_EQ(Concur({"sweep", "delete", "demo", "--yes"}).out, "deleted  s12\nname     demo\n");
  EXPECT_THAT(fake_.deleted, ElementsAre("s12"));
  EXPECT_EQ(Concur({"sweep", "retry", "demo"}).out, "sweep    s12\nname     demo\nretried  0\n");
  EXPECT_EQ(fake_.retried.back().sweep(), "s12");
  EXPECT_EQ(Concur({"sweep", "delete", "nothing", "--yes"}).code, kExitNotFound);
}

TEST_F(SweepCommandsTest, ASweepShowsHowFarItsSearchIs) {
  EXPECT_THAT(Concur({"sweep", "get", "s11"}).out, Not(HasSubstr("search")));
  fake_.sweeps[0].set_trials(60);
  fake_.sweeps[0].set_trials_chosen(12);
  const std::string id = fake_.sweeps[0].id();
  EXPECT_THAT(Concur({"sweep", "get", id}).out, HasSubstr("12 of 60 trials have settings\n"));
  EXPECT_EQ(TestJson::parse(Concur({"sweep", "get", id, "-o", "json"}).out)["trials_chosen"], 12);
}

TEST_F(SweepCommandsTest, ASweepShowsItsServices) {
  const std::string id = fake_.sweeps[0].id();
  EXPECT_THAT(Concur({"sweep", "get", id}).out, Not(HasSubstr("services")));
  v1::Approach& approach = *fake_.sweeps[0].mutable_spec()->add_approaches();
  approach.set_name("m7");
  approach.mutable_service();
  fake_.workers.resize(1);
  fake_.workers[0].set_name("w1");
  for (const char* name : {"m7", "another"}) {
    v1::Worker::Instance& service = *fake_.workers[0].add_services();
    service.set_approach(name);
    service.set_state("starting");
    service.set_jobs(3);
  }
  EXPECT_THAT(Concur({"sweep", "get", id}).out, HasSubstr("m7 starting on w1, jobs: 3\n"));
  v1::Worker::Instance& service = *fake_.workers[0].mutable_services(0);
  (*service.mutable_setting())["lr"].set_double_value(0.1);
  service.mutable_start_time()->set_seconds(1'700'000'000);
  service.set_failed_starts(2);
  const std::string text =
      "m7 (lr=0.1) starting on w1 since 2023-11-14T22:13:20Z, jobs: 3, failed starts: 2";
  EXPECT_THAT(Concur({"sweep", "get", id}).out, HasSubstr(text + "\n"));
  EXPECT_THAT(Concur({"worker", "list"}).err, HasSubstr("service " + text));
  const TestJson json = TestJson::parse(Concur({"worker", "list", "-o", "json"}).out);
  EXPECT_EQ(json[0]["services"][0]["setting"]["lr"], 0.1);
  EXPECT_EQ(json[0]["services"][0]["failed_starts"], 2);
}

TEST_F(SweepCommandsTest, ASweepShowsItsForecastAndHowFarOffItWas) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.mutable_forecast()->set_seconds(100);
  }
  EXPECT_THAT(Concur({"sweep", "get", "s11"}).out,
              AllOf(HasSubstr("took      2m05s\n"),
                    HasSubstr("forecast  1m40s when it was submitted, 20.0 % too short\n")));
  TestJson json = TestJson::parse(Concur({"sweep", "get", "s11", "-o", "json"}).out);
  EXPECT_EQ(json["forecast_seconds"], 100.0);
  EXPECT_EQ(json["took_seconds"], 124.995);
  EXPECT_NEAR(json["forecast_error"].get<double>(), 100 / 124.995 - 1, 1e-12);
  // There is nothing to compare with for a sweep that failed, or still runs.
  EXPECT_THAT(Concur({"sweep", "get", "s12"}).out,
              HasSubstr("forecast  1m40s when it was submitted\n"));
  json = TestJson::parse(Concur({"sweep", "get", "s13", "-o", "json"}).out);
  EXPECT_EQ(json["forecast_seconds"], 100.0);
  EXPECT_TRUE(json["took_seconds"].is_null());
  EXPECT_TRUE(json["forecast_error"].is_null());
  // "0.0 s when it was submitted, 5 times too short", of a sweep of a moment.
  v1::Sweep& moment = fake_.sweeps.emplace_back(fake_.sweeps.back());
  moment.set_id("s10");
  moment.mutable_forecast()->set_seconds(0);
  moment.mutable_forecast()->set_nanos(40'000'000);
  *moment.mutable_end_time() = moment.create_time();
  moment.mutable_end_time()->set_nanos(moment.create_time().nanos() + 200'000'000);
  EXPECT_THAT(Concur({"sweep", "get", "s10"}).out,
              HasSubstr("forecast  0.0 s when it was submitted\n"));
  // Nor for one that stopped settings early, which the forecast does not expect.
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.mutable_counts()->set_stopped(1);
  }
  json = TestJson::parse(Concur({"sweep", "get", "s11", "-o", "json"}).out);
  EXPECT_EQ(json["took_seconds"], 124.995);
  EXPECT_TRUE(json["forecast_error"].is_null());
}

}  // namespace
}  // namespace concur::cli
