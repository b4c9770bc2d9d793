// SPDX-License-Identifier: Apache-2.0
// Sweeps that are watched and waited for.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/app/context.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

class WatchCommandsTest : public CommandsFixture {};

TEST_F(WatchCommandsTest, WatchGoesOnAtItsCursorAfterAnOutage) {
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
  EXPECT_EQ(output.out, "counts  2 succeeded\n") << "the last line of the progress has the rest";
}

TEST_F(WatchCommandsTest, WatchSaysWhichWorkersAreInQuarantine) {
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

TEST_F(WatchCommandsTest, WatchAsJsonLinesGivesEveryEvent) {
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

TEST_F(WatchCommandsTest, EventsHaveACursorFromWhichALaterWatchGoesOn) {
  fake_.watch = {WatchOf(2, 0, "b"), WatchOf(2, 0, "c")};
  for (int i = 0; i < 2; ++i) {
    v1::JobEvent& event = *fake_.watch[0].add_events();
    event.set_job(absl::StrCat("s12/", i));
    event.set_state(v1::Job::STATE_SUCCEEDED);
  }
  fake_.watch[1].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  fake_.watch[1].set_reset(true);  // as after a restart of the coordinator
  const Output output = Concur({"sweep", "watch", "s12", "-o", "jsonl", "--after", "a"});
  EXPECT_THAT(fake_.watch_cursors, ElementsAre("a"));
  std::vector<TestJson> lines;
  for (const absl::string_view line : absl::StrSplit(output.out, '\n', absl::SkipEmpty())) {
    lines.push_back(TestJson::parse(line));
  }
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0]["job"], "s12/0");
  EXPECT_EQ(lines[0]["cursor"], nullptr) << "the next one came with it";
  EXPECT_EQ(lines[1]["cursor"], "b");
  EXPECT_EQ(lines[1]["reset"], false);
  EXPECT_EQ(lines[2]["job"], nullptr);
  EXPECT_EQ(lines[2]["reset"], true);
  EXPECT_EQ(lines[2]["cursor"], "c");
}

TEST_F(WatchCommandsTest, WaitTellsWorkThatFailedByExitCode5) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  fake_.watch[0].mutable_sweep()->mutable_counts()->set_failed(1);
  const Output output = Concur({"sweep", "wait", "s12"});
  EXPECT_EQ(output.code, kExitWorkFailed);
  EXPECT_THAT(output.out, HasSubstr("state    failed")) << "no progress has said it";
  EXPECT_THAT(output.err, HasSubstr("s12 failed\n"
                                    "  see why: concur sweep failures s12\n"
                                    "  run them again as submitted: concur sweep retry s12\n"));
}

// docs/exit-codes.md said so; the command ended with 0.
TEST_F(WatchCommandsTest, WatchTellsWorkThatFailedByExitCode5) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  fake_.watch[0].mutable_sweep()->mutable_counts()->set_failed(1);
  const Output output = Concur({"sweep", "watch", "s12"});
  EXPECT_EQ(output.code, kExitWorkFailed);
  EXPECT_THAT(output.err, HasSubstr("see why: concur sweep failures s12"));
  EXPECT_EQ(output.out, "counts  2 succeeded, 1 failed\n");
}

}  // namespace
}  // namespace concur::cli
