// SPDX-License-Identifier: Apache-2.0
// `concur concurrence` with the shipped panel on the data that `concur init` writes.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using nlohmann::json;

class ConcurrenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Output init =
        Cluster::Run({Cluster::Binary("concur"), "init", study_}, cluster_.File("init"));
    ASSERT_EQ(init.exit_code, 0) << init.err;
    for (const char* name : {"towns", "colors"}) {
      WriteBenchmark(name, absl::StrCat("study/data/", name, "-train.jsonl"),
                     absl::StrCat("study/data/", name, "-test.jsonl"));
    }
  }
  void WriteBenchmark(const std::string& name, const std::string& train, const std::string& test) {
    cluster_.Write(name + ".yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: "
                                "{name: ",
                                name, "}\nspec: {train: ", train, ", test: ", test, "}\n"));
  }
  // Forty questions on a passage of 40 words each, all with this answer.
  void WriteQuestions(const std::string& name, const std::string& answer) {
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      json passage = {{"context", ""}, {"qas", json::array()}};
      std::string context;
      for (int word = 0; word < 40; ++word) {
        absl::StrAppend(&context, word == 0 ? "" : " ", "w", i * 100 + word);
      }
      passage["context"] = context;
      passage["qas"].push_back({{"qid", absl::StrCat(name, i)},
                                {"question", absl::StrCat("which is number ", i)},
                                {"answers", {answer.empty() ? context : answer}}});
      absl::StrAppend(&lines, passage.dump(), "\n");
    }
    cluster_.Write(name + ".jsonl", lines);
  }
  Output Ask(const std::string& added, const std::string& with,
             const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"concurrence", cluster_.File(added), "--with", with};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cluster_.Concur(arguments);
  }
  std::string Sweeps() { return cluster_.Concur({"-o", "json", "sweep", "list"}).out; }

  Cluster cluster_;
  const std::string study_ = cluster_.File("study");
};

TEST_F(ConcurrenceTest, WithoutACoordinatorItSaysSo) {
  const Output away = Ask("towns.yaml", cluster_.File("colors.yaml"));
  EXPECT_EQ(away.exit_code, 7) << away.err;
}

TEST_F(ConcurrenceTest, WhatCannotBeComparedIsRefusedBeforeAnythingRuns) {
  cluster_.StartCoordinator();
  const Output unknown = Ask("towns.yaml", "squid");
  EXPECT_EQ(unknown.exit_code, 3) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("no sweep of this coordinator has such a column"));
  const Output itself = Ask("towns.yaml", cluster_.File("towns.yaml"));
  EXPECT_EQ(itself.exit_code, 2) << itself.err;
  EXPECT_THAT(itself.err, HasSubstr("rename one"));
  WriteBenchmark("cities", "study/data/towns-train.jsonl", "study/data/towns-test.jsonl");
  const Output equal = Ask("cities.yaml", cluster_.File("towns.yaml"));
  EXPECT_EQ(equal.exit_code, 4) << equal.err;
  EXPECT_THAT(equal.err, HasSubstr("got the same bytes"));
  WriteQuestions("elsewhere", "in no passage");
  WriteBenchmark("elsewhere", "study/data/towns-train.jsonl", "elsewhere.jsonl");
  const Output elsewhere = Ask("elsewhere.yaml", cluster_.File("colors.yaml"));
  EXPECT_EQ(elsewhere.exit_code, 4) << elsewhere.err;
  EXPECT_THAT(elsewhere.err, HasSubstr("got 0 of 40 questions with one"));
  const Output budget = Ask("towns.yaml", cluster_.File("colors.yaml"), {"--hours", "0"});
  EXPECT_EQ(budget.exit_code, 2) << budget.err;
  EXPECT_THAT(json::parse(Sweeps()), IsEmpty());
}

TEST_F(ConcurrenceTest, ABenchmarkThatNobodyCanDoStopsAfterTwoApproaches) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w");
  WriteQuestions("hard", "");  // the whole passage is longer than any answer of the panel
  WriteBenchmark("hard", "study/data/towns-train.jsonl", "hard.jsonl");
  const Output hard = Ask("hard.yaml", cluster_.File("colors.yaml"));
  EXPECT_EQ(hard.exit_code, 4) << hard.out << hard.err;
  EXPECT_THAT(hard.err, HasSubstr("the floor) by both random-span and logistic-regression"));
  EXPECT_THAT(json::parse(Sweeps()), SizeIs(1));
  const json listed = json::parse(cluster_.Concur({"-o", "json", "concurrence", "--list"}).out);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["verdict"], "no look");
  EXPECT_EQ(listed[0]["tau"], nullptr);
}

TEST_F(ConcurrenceTest, WhenItsHoursAreOverTheSameCommandGoesOn) {
  cluster_.StartCoordinator();
  const Output over =  // nobody works
      Ask("towns.yaml", cluster_.File("colors.yaml"), {"--hours", "0.0001"});
  EXPECT_THAT(over.err, HasSubstr("over before the panel could start; give more"));
  EXPECT_THAT(cluster_.Concur({"concurrence", "--list"}).out, HasSubstr("canceled"));
  cluster_.StartWorker("w");
  const Output again = Ask("towns.yaml", cluster_.File("colors.yaml"));
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
}

TEST_F(ConcurrenceTest, KilledInTheMiddleItGoesOnAndAReferenceMayBeAColumn) {
  cluster_.StartCoordinator();
  {
    // No worker yet: it waits in its first sweep when it is killed.
    Process asked({Cluster::Binary("concur"), "--server", cluster_.server(), "concurrence",
                   cluster_.File("towns.yaml"), "--with", cluster_.File("colors.yaml")},
                  cluster_.File("asked"));
    ASSERT_TRUE(Eventually([&] { return absl::StrContains(Sweeps(), "concurrence="); }));
    asked.Signal(SIGKILL);
    asked.Wait();
  }
  cluster_.StartWorker("w");
  const Output first = Ask("towns.yaml", cluster_.File("colors.yaml"), {"-o", "json"});
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  const json verdict = json::parse(first.out);
  EXPECT_EQ(verdict["approaches"], 10);
  EXPECT_EQ(verdict["verdict"], "open") << "six families of so small benchmarks settle nothing";
  EXPECT_EQ(verdict["looks"].size(), 2);
  EXPECT_EQ(verdict["data"]["test"]["questions"], 50);
  EXPECT_GT(verdict["jobs"], 30);
  const size_t sweeps = json::parse(Sweeps()).size();
  const Output again =
      Ask("towns.yaml", cluster_.File("colors.yaml"),
          {"-o", "json", "--html", cluster_.File("v.html"), "--badge", cluster_.File("v.svg")});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out), verdict);
  EXPECT_EQ(json::parse(Sweeps()).size(), sweeps) << "the same question is the same sweeps";
  const std::string page = ReadFile(cluster_.File("v.html")).value_or("");
  EXPECT_THAT(page, HasSubstr(verdict["sentence"].get<std::string>().substr(0, 40)));
  EXPECT_THAT(page, HasSubstr(verdict["outliers"][0]["approach"].get<std::string>() + "</text>"))
      << "the scatter plot names it";
  EXPECT_THAT(page, HasSubstr("--level 0.95 --order-seed 1"));
  EXPECT_THAT(ReadFile(cluster_.File("v.svg")).value_or(""), HasSubstr("concurrence with colors"));
  const json listed = json::parse(cluster_.Concur({"concurrence", "--list", "-o", "json"}).out);
  ASSERT_THAT(listed, SizeIs(1)) << "looks, and the sweep of floor and ceiling, are one question";
  for (const char* field :
       {"new", "reference", "approaches", "tau", "tau_interval", "verdict", "above", "sweep"}) {
    EXPECT_EQ(listed[0][field], verdict[field]) << field;
  }
  const Output other = Ask("towns.yaml", cluster_.File("colors.yaml"), {"--above", "0.25"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(json::parse(cluster_.Concur({"concurrence", "--list", "-o", "json"}).out), SizeIs(2))
      << "another claim is another question";
  const Output column = Ask("towns.yaml", "colors");
  ASSERT_EQ(column.exit_code, 0) << column.err;
  EXPECT_THAT(column.out, HasSubstr("towns × colors: tau-b "));
  EXPECT_THAT(column.out, HasSubstr("High concurrence (tau > 0.8) is open."));
  EXPECT_THAT(column.err, HasSubstr("finished results are reused for all of them"));
}

TEST_F(ConcurrenceTest, PublishedScoresAreAReferenceForApproachesOfTheirNames) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w");
  const char* const root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(root, nullptr);
  const auto write_panel = [&](const std::vector<std::string>& names) {
    std::string text =
        "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: panel}\nspec:\n"
        "  variables: {new: new.yaml}\n  benchmarks: [\"${new}\"]\n  approaches:\n";
    const std::vector<std::string> programs = {"random-span", "sliding-window",
                                               "sliding-window-distance", "max-margin"};
    for (size_t i = 0; i < names.size(); ++i) {
      absl::StrAppend(&text, "    - {file: ", root, "/configs/approaches/",
                      programs[i % programs.size()], ".yaml, name: ", names[i], "}\n");
    }
    cluster_.Write("panel.yaml", text);
  };
  const std::vector<std::string> more = {"--panel", cluster_.File("panel.yaml"), "-o", "json"};
  write_panel({"rasor", "bidaf", "qanet", "bert-base", "mine", "yours"});
  const Output few = Ask("towns.yaml", "published:squad", more);
  EXPECT_EQ(few.exit_code, 2) << few.err;
  EXPECT_THAT(few.err, HasSubstr("published:SQuAD has by name, got 4; it has rasor, bidaf"));
  const Output unknown = Ask("towns.yaml", "published:SQuAT", more);
  EXPECT_EQ(unknown.exit_code, 3) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("SQuAD\\\"?); there are SQuAD, "));
  EXPECT_THAT(json::parse(Sweeps()), IsEmpty());
  write_panel({"rasor", "bidaf", "qanet", "bert-base", "mine", "fusionnet", "roberta-base"});
  const Output asked = Ask("towns.yaml", "published:squad", more);
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("left out, without a published score: mine"));
  const json verdict = json::parse(asked.out);
  EXPECT_EQ(verdict["reference"], "published:SQuAD");
  EXPECT_EQ(verdict["approaches"], 6);
  EXPECT_EQ(verdict["verdict"], "open");
  EXPECT_THAT(verdict["warning"].get<std::string>(), HasSubstr("nothing can be refuted"));
  const json listed = json::parse(cluster_.Concur({"concurrence", "--list", "-o", "json"}).out);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0]["reference"], "published:SQuAD");
  EXPECT_EQ(listed[0]["tau"], verdict["tau"]);
  const Output spaces = Ask("towns.yaml", "published:mrqa newsqa", more);
  EXPECT_EQ(spaces.exit_code, 0) << spaces.err;
}

TEST_F(ConcurrenceTest, AGridOfABuildersParametersIsBenchmarksOfASweep) {
  if (!std::filesystem::exists("/usr/share/wordnet/data.noun")) {
    GTEST_SKIP() << "needs the Debian package wordnet-base";
  }
  const char* const root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(root, nullptr);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w");
  const Output ran =
      cluster_.Concur({"sweep", "submit", absl::StrCat(root, "/configs/sweeps/ablation-fuzzy.yaml"),
                       "--watch", "--var", "train=30", "--var", "test=30"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const Output matrix = cluster_.Concur({"matrix", "ablation-fuzzy", "-o", "csv"});
  EXPECT_EQ(matrix.exit_code, 0) << matrix.err;
  EXPECT_THAT(matrix.out, HasSubstr("cloze,fuzzy+neighbours=100+replacement-rate=0.5,"));
  cluster_.Write("bad.yaml",
                 absl::StrCat("apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: b}\n"
                              "spec:\n  approaches: [",
                              root, "/configs/approaches/random-span.yaml]\n",
                              "  benchmarks: [{build: fuzzi}]\n"));
  const Output bad = cluster_.Concur({"sweep", "submit", cluster_.File("bad.yaml")});
  EXPECT_EQ(bad.exit_code, 2) << bad.err;
  EXPECT_THAT(bad.err, HasSubstr("bad.yaml:6:"));
  EXPECT_THAT(bad.err, HasSubstr("fuzzy"));
}

}  // namespace
}  // namespace concur::testing
