// SPDX-License-Identifier: Apache-2.0
// `concur top`: what a look says, and how looks follow each other.
#include "cli/output/top_screen.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using ::concur::testing::FakeCoordinator;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'100);

v1::Sweep ASweep(const std::string& id, uint32_t succeeded, uint32_t ready) {
  v1::Sweep sweep;
  sweep.set_id(id);
  sweep.set_name("study-" + id);
  sweep.set_state(ready > 0 ? v1::Sweep::STATE_ACTIVE : v1::Sweep::STATE_SUCCEEDED);
  sweep.mutable_counts()->set_succeeded(succeeded);
  sweep.mutable_counts()->set_ready(ready);
  sweep.mutable_counts()->set_running(ready > 0 ? 2 : 0);
  return sweep;
}

v1::Worker AWorker(const std::string& name, v1::Worker::State state, uint64_t succeeded) {
  v1::Worker worker;
  worker.set_name(name);
  worker.set_state(state);
  worker.mutable_capacity()->set_cpu_millis(4000);
  worker.mutable_capacity()->set_memory_bytes(int64_t{8} << 30);
  worker.mutable_used()->set_cpu_millis(2500);
  worker.set_running(2);
  worker.set_succeeded(succeeded);
  worker.mutable_last_seen_time()->set_seconds(absl::ToUnixSeconds(kNow) - 3);
  return worker;
}

TopLook ALook() {
  TopLook look;
  look.time = kNow;
  look.server = "127.0.0.1:7447";
  look.sweeps = {ASweep("s2", 10, 88), ASweep("s1", 50, 0)};
  look.workers = {AWorker("a", v1::Worker::STATE_LIVE, 30),
                  AWorker("b", v1::Worker::STATE_DRAINING, 20),
                  AWorker("c", v1::Worker::STATE_LOST, 10)};
  return look;
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(TopTest, LostWorkersAreNoCapacity) {
  const TopTotals totals = AddUp(ALook());
  EXPECT_EQ(totals.capacity.cpu_millis(), 8000);
  EXPECT_EQ(totals.used.cpu_millis(), 5000);
  EXPECT_EQ(totals.live, 1u);
  EXPECT_EQ(totals.draining, 1u);
  EXPECT_EQ(totals.lost, 1u);
  EXPECT_EQ(totals.jobs.ready(), 88u);
  EXPECT_EQ(totals.jobs.succeeded(), 60u);
  EXPECT_EQ(totals.sweeps_active, 1u);
}

TEST(TopTest, AFrameShowsTotalsSweepsUnderWayAndWorkers) {
  TopFrameOptions options;
  options.width = 100;
  options.height = 0;
  options.unicode = false;
  const std::string frame = TopFrame(ALook(), TopRates(), options);
  EXPECT_THAT(frame, StartsWith("concur   127.0.0.1:7447   2023-11-14T22:15:00"));
  EXPECT_THAT(frame, HasSubstr("\nworkers  1 live, 1 draining, 1 lost\n"));
  EXPECT_THAT(frame, HasSubstr("\nCPUs     ############-------- 5/8   memory 0 B/16.0 GiB\n"));
  EXPECT_THAT(frame, HasSubstr("\nqueue    2 running, 88 ready\n"));
  EXPECT_THAT(frame, ContainsRegex("\ns2 +study-s2 +active +10 +100 +2 +0 +88 +0"));
  EXPECT_THAT(frame, Not(HasSubstr("study-s1"))) << "it has ended";
  EXPECT_THAT(frame, ContainsRegex("\na +live +2.5/4 +2 +30 +0 +3.0 s ago"));
}

TEST(TopTest, NamedResourcesAndSlotsAreShownWhereThereAreAny) {
  TopFrameOptions options;
  options.height = 0;
  EXPECT_THAT(TopFrame(ALook(), TopRates(), options), Not(HasSubstr("named")));
  TopLook look = ALook();
  look.workers[0].set_slots(2);
  look.resources.resize(2);
  look.resources[0].set_name("licence");
  look.resources[0].set_in_use(1);
  look.resources[1].set_name("openai");
  look.resources[1].set_amount(16);
  look.resources[1].set_in_use(16);
  look.resources[1].set_waiting(1'234);
  const std::string frame = TopFrame(look, TopRates(), options);
  EXPECT_THAT(frame, HasSubstr("\nnamed    licence 1/not set; openai 16/16, 1,234 wait\n"));
  EXPECT_THAT(frame, ContainsRegex("\na +live +2.5/4 +2/2 +30"));
  EXPECT_EQ(TopJson(look, TopRates())["resources"][1]["in_use"], 16);
}

TEST(TopTest, ServicesAreShownWhereThereAreAny) {
  TopFrameOptions options;
  options.height = 0;
  TopLook look = ALook();
  EXPECT_THAT(TopFrame(look, TopRates(), options), Not(HasSubstr("SERVICE")));
  v1::Worker::Instance& service = *look.workers[1].add_services();
  service.set_approach("m7");
  service.set_state("starting");
  service.set_jobs(3);
  const std::string frame = TopFrame(look, TopRates(), options);
  EXPECT_THAT(frame, HasSubstr("SERVICE  STATE     WORKER  JOBS"));
  EXPECT_THAT(frame, HasSubstr("m7       starting  b          3"));
}

TEST(TopTest, ASweepThatItsBudgetPausesSaysSo) {
  TopLook look = ALook();
  look.sweeps[0].set_over_budget(true);
  TopFrameOptions options;
  options.width = 80;
  options.height = 0;
  EXPECT_THAT(TopFrame(look, TopRates(), options),
              HasSubstr("\ns2 is paused by its budget: `concur sweep set s2 --budget-usd N` raises "
                        "it\n"));
}

TEST(TopTest, NothingIsSaidToBeNothing) {
  TopLook look;
  look.time = kNow;
  const std::string frame = TopFrame(look, TopRates(), TopFrameOptions());
  EXPECT_THAT(frame,
              AllOf(HasSubstr("No sweep is under way."), HasSubstr("No workers. Start one"),
                    HasSubstr("workers  0 live"), HasSubstr("queue    empty"), HasSubstr(" 0/0")));
}

TEST(TopTest, AFrameFitsTheTerminalWhateverItsSize) {
  TopLook look = ALook();
  for (int i = 0; i < 50; ++i) {
    look.workers.push_back(AWorker(absl::StrCat("worker-", i), v1::Worker::STATE_LIVE, 1));
    look.sweeps.push_back(ASweep(absl::StrCat("s", 100 + i), 1, 1));
  }
  for (const size_t height : {10u, 12u, 24u, 50u, 200u}) {
    for (const size_t width : {20u, 80u, 300u}) {
      TopFrameOptions options;
      options.height = height;
      options.width = width;
      const std::string frame = TopFrame(look, TopRates(), options);
      EXPECT_LE(std::count(frame.begin(), frame.end(), '\n'), height) << height;
      for (const std::string& line : Lines(frame)) {
        size_t columns = 0;
        for (char c : line) {
          columns += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u ? 1 : 0;
        }
        EXPECT_LE(columns, width);
      }
      if (height < 100 && width > 20) {
        EXPECT_THAT(frame, ContainsRegex("and [0-9]+ more workers")) << height;
      }
    }
  }
}

TEST(TopTest, NamesCannotMoveTheCursor) {
  TopLook look = ALook();
  look.sweeps[0].set_name("evil\x1b[2J\nname");
  look.workers[0].set_name("w\x1b[31m");
  const std::string frame = TopFrame(look, TopRates(), TopFrameOptions());
  EXPECT_THAT(frame, Not(HasSubstr("\x1b")));
  EXPECT_THAT(TopLine(look), Not(HasSubstr("\x1b")));
}

// The queue's rate and ETA differed from those of the only sweep.
TEST(TopTest, TheQueueAndItsOnlySweepHaveOneRateAndOneEta) {
  TopLook look = ALook();
  v1::Sweep& sweep = look.sweeps[0];
  sweep.set_recent_jobs(20);
  sweep.mutable_recent_span()->set_seconds(10);
  sweep.mutable_counts()->set_running(20);
  sweep.mutable_counts()->set_queued(18);
  TopFrameOptions options;
  options.width = 0;
  const std::string frame = TopFrame(look, TopRates(), options);
  EXPECT_THAT(frame,
              HasSubstr("queue    2.0 jobs/s   ETA 54.0 s   2 running, 18 queued, 88 ready\n"));
  EXPECT_THAT(frame, ContainsRegex("\ns2 .* 2 +18 +88 +0 +2.0 jobs/s +54.0 s\n"));
  EXPECT_THAT(TopLine(look), HasSubstr("; 2.0 jobs/s; ETA 54.0 s"));
  EXPECT_EQ(TopJson(look, TopRates())["eta_seconds"], 54.0);
}

TEST(TopTest, AWorkersRateIsThatOfTheLastMinute) {
  TopRates rates;
  TopLook look = ALook();
  rates.Add(look);
  look.time += absl::Seconds(10);
  look.workers[0].set_succeeded(50);
  rates.Add(look);
  EXPECT_DOUBLE_EQ(rates.OfWorker("a"), 2);
  EXPECT_EQ(rates.OfWorker("nobody"), 0);
  look.workers.clear();
  rates.Add(look);
  EXPECT_EQ(rates.OfWorker("a"), 0);
}

// A worker that gets no jobs was called live.
TEST(TopTest, AWorkerInQuarantineIsNotLiveAndSaysUntilWhenAndWhy) {
  TopLook look = ALook();
  look.workers[0].set_state(v1::Worker::STATE_QUARANTINED);
  look.workers[0].set_quarantine_reason("failed 17 times at what succeeds on b: eval jobs of mine");
  look.workers[0].mutable_quarantine_end_time()->set_seconds(1'700'000'700);
  TopFrameOptions options;
  options.width = 80;
  options.height = 0;
  const std::string frame = TopFrame(look, TopRates(), options);
  EXPECT_THAT(frame, HasSubstr("workers  0 live, 1 in quarantine, 1 draining, 1 lost\n"));
  EXPECT_THAT(frame, ContainsRegex("\na +quarantined "));
  EXPECT_THAT(frame, HasSubstr("a is in quarantine until 2023-11-14T22:25:00Z: it failed 17 times "
                               "at what\nsucceeds on b: eval jobs of mine; end it: "));
  EXPECT_THAT(TopLine(look), HasSubstr("workers 0 live, 1 in quarantine, "));
}

TEST(TopTest, StatesHaveColours) {
  TopFrameOptions options;
  options.width = 200;
  options.color = true;
  const std::string frame = TopFrame(ALook(), TopRates(), options);
  EXPECT_THAT(frame, HasSubstr("\x1b[32mlive\x1b[0m"));
  EXPECT_THAT(frame, HasSubstr("\x1b[31mlost\x1b[0m"));
  EXPECT_THAT(frame, HasSubstr("\x1b[36mactive\x1b[0m"));
}

// --- the command ---------------------------------------------------------------------------------

class TopCommandTest : public ::testing::Test {
 protected:
  TopCommandTest() {
    const TopLook look = ALook();
    fake_.sweeps = look.sweeps;
    fake_.workers = look.workers;
  }
  Output Concur(std::vector<std::string> args, bool terminal = false) {
    args.insert(args.begin(), {"--server", fake_.address()});
    return RunConcur(args, terminal);
  }
  FakeCoordinator fake_;
};

TEST_F(TopCommandTest, BadFlagsAreRefused) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"top", "-o", "csv", "--once"},
                                             {"top", "--interval", "0"},
                                             {"top", "--interval", "nan"},
                                             {"top", "--interval", "-1"},
                                             {"top", "--count", "-1"},
                                             {"top", "-o", "json", "--count", "2"}}) {
    EXPECT_EQ(Concur(bad).code, kExitUsage) << bad.back();
  }
}

TEST_F(TopCommandTest, OnceIsTheWholePictureAsText) {
  // The first line has the time of day, so that two calls need not be equal.
  for (const std::vector<std::string>& once :
       std::vector<std::vector<std::string>>{{"top", "--once"}, {"top"}}) {
    const Output output = Concur(once);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out,
                AllOf(HasSubstr("study-s2"), HasSubstr("\na "), Not(HasSubstr("\x1b"))));
    const std::vector<std::string> parts = absl::StrSplit(output.out, "WORKER ");
    EXPECT_THAT(parts, SizeIs(2)) << "one picture, also in a pipe";
  }
}

TEST_F(TopCommandTest, OnceIsOneValueAsJson) {
  const Output output = Concur({"top", "--once", "-o", "json"});
  const auto json = nlohmann::json::parse(output.out);
  EXPECT_EQ(json.at("cpus").at("used"), 5);
  EXPECT_EQ(json.at("cpus").at("capacity"), 8);
  EXPECT_EQ(json.at("jobs").at("ready"), 88);
  EXPECT_EQ(json.at("workers_live"), 1);
  EXPECT_THAT(json.at("workers"), SizeIs(3));
  EXPECT_THAT(json.at("sweeps"), SizeIs(1));
  EXPECT_EQ(json.at("sweeps_are_all"), true);
}

TEST_F(TopCommandTest, ElsewhereThanOnATerminalALineComesEachTime) {
  const Output output = Concur({"top", "--interval", "0.1", "--count", "3"});
  EXPECT_THAT(Lines(output.out), SizeIs(3));
  EXPECT_THAT(output.out, HasSubstr("workers 1 live, 1 draining, 1 lost; CPUs 5/8; 1 sweep: 2 "
                                    "running, 88 ready"));
  const Output json = Concur({"top", "--interval", "0.1", "--count", "2", "-o", "jsonl"});
  ASSERT_THAT(Lines(json.out), SizeIs(2));
  EXPECT_EQ(nlohmann::json::parse(Lines(json.out)[1]).at("workers_lost"), 1);
}

TEST_F(TopCommandTest, OnATerminalTheScreenIsGivenBack) {
  const Output output = Concur({"top", "--interval", "0.1", "--count", "2"}, /*terminal=*/true);
  EXPECT_THAT(output.out, StartsWith("\x1b[?1049h\x1b[?25l\x1b[H"));
  EXPECT_EQ(output.out.substr(output.out.size() - 14), "\x1b[?25h\x1b[?1049l");
}

}  // namespace
}  // namespace concur::cli
