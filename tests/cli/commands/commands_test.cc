// SPDX-License-Identifier: Apache-2.0
// Features that all commands have in common: errors, exit codes, usage; and workers.

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/app/context.h"
#include "tests/cli/commands_fixture.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

class CommandsTest : public CommandsFixture {};

// It named `concur up` alone, which ran, in another directory.
TEST_F(CommandsTest, APageInAnotherDirectoryIsToldHowToBeNamed) {
  const TempDir empty;
  const Output output = Concur({"up", "--link", "--data-dir", empty.path()});
  EXPECT_NE(output.code, 0);
  EXPECT_THAT(output.err, HasSubstr("name another directory by --data-dir"));
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
  EXPECT_EQ(Concur({"sweep", "submit", "/nowhere/file.yaml"}).code, kExitNotFound);
}

TEST_F(CommandsTest, ASweepsPriorityIsChanged) {
  const Output output = Concur({"sweep", "set", "s12", "--priority", "-3"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, ContainsRegex("priority +-3"));
  EXPECT_EQ(Concur({"sweep", "set", "s12"}).code, kExitUsage);
}

TEST_F(CommandsTest, ASweepsBudgetIsShownAndRaised) {
  EXPECT_THAT(Concur({"sweep", "set", "s12", "--budget-usd", "300"}).out,
              ContainsRegex("budget +\\$0.00 of \\$300.00\n"));
  EXPECT_EQ(Concur({"sweep", "set", "s12", "--budget-usd", "lots"}).code, kExitUsage);
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.set_budget_usd(2);
    sweep.set_over_budget(true);
    sweep.mutable_spent()->set_usd(1.75);
    sweep.mutable_spent()->set_tokens_in(1200);
  }
  EXPECT_THAT(Concur({"sweep", "get", "s12"}).out,
              AllOf(HasSubstr("$1.75, 1,200 tokens in, 0 out"),
                    HasSubstr("$1.75 of $2.00: paused, as the next job would pass it; `concur "
                              "sweep set s12 --budget-usd N` raises it")));
  EXPECT_EQ(TestJson::parse(Concur({"sweep", "get", "s12", "-o", "json"}).out)["budget_usd"], 2.0);
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
  for (const char* label : {"root", "python3"}) {
    (*worker.mutable_labels())[absl::StrCat("environment.", label)] = "yes";
  }
  (*worker.mutable_labels())["environment.sandbox"] = "bubblewrap";
  (*worker.mutable_labels())["disk"] = "fast";
  worker.mutable_last_seen_time()->set_seconds(1'700'000'000);
  fake_.workers = {worker, worker, worker};
  fake_.workers[1].set_name("w2");
  fake_.workers[1].set_slots(4);
  fake_.workers[2].set_name("w3");
  const std::string kept =
      "cannot be removed, set aside as /w/runs.kept-1: /w/runs/a: Not permitted";
  fake_.workers[2].add_notices(kept);
  const auto listed = Concur({"worker", "list"});
  const std::string& table = listed.out;
  EXPECT_THAT(listed.err, HasSubstr(absl::StrCat("w3: ", kept)));
  EXPECT_THAT(table,
              StartsWith("NAME  STATE  HOST    CPUS       MEMORY  GPUS  RUNNING   DONE  FAILED  "
                         "CONTAINMENT  ENVIRONMENTS        LAST SEEN\n"
                         "w1    live   node7  1.5/4  0 B/8.0 GiB              2  1,234       0  "
                         "cgroup-v2    bubblewrap python3  2023-11-14T22:13:20Z\n"));
  EXPECT_THAT(table, HasSubstr("w3 "));
  EXPECT_THAT(Concur({"worker", "get", "w2"}).out, HasSubstr("running       2/4\n"));
  EXPECT_THAT(Concur({"worker", "drain", "w1"}).out, HasSubstr("state         draining"));
  EXPECT_FALSE(fake_.drained.at(0).undo());
  EXPECT_THAT(Concur({"worker", "get", "w3"}).out,
              AllOf(HasSubstr("cgroup-v2 memory"), HasSubstr("disk=fast\n"),
                    HasSubstr("bubblewrap python3\n"), HasSubstr(kept)));
  EXPECT_THAT(Concur({"worker", "get", "w33"}).err, HasSubstr("no worker \"w33\""));
}

}  // namespace
}  // namespace concur::cli
