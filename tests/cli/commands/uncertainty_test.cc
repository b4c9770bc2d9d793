// SPDX-License-Identifier: Apache-2.0
// `concur uncertainty` and `concur curve`, of a sweep and from files.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using PlainJson = nlohmann::ordered_json;

class UncertaintyCommandTest : public StudyFixture {
 protected:
  // Six approaches on two benchmarks of 30 examples, two runs each.
  std::string WriteRuns() {
    for (int approach = 0; approach < 6; ++approach) {
      for (const char* benchmark : {"news", "wiki"}) {
        const std::string folder = dir_.File(absl::StrCat("a", approach, "/", benchmark));
        CONCUR_CHECK_OK(MakeDirectories(folder));
        for (int run = 0; run < 2; ++run) {
          std::vector<std::pair<std::string, bool>> examples;
          for (int e = 0; e < 30; ++e) {
            examples.emplace_back(absl::StrCat(benchmark, e),
                                  (e * 7 + run) % 30 < 4 * approach + 3);
          }
          CONCUR_CHECK_OK(WriteFileAtomically(absl::StrCat(folder, "/", run, ".jsonl"),
                                              ExampleLines(examples)));
        }
      }
    }
    return dir_.File("");
  }
  std::string Write(const std::string& name, const std::string& text) {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(name), text));
    return dir_.File(name);
  }
  TempDir dir_;
};

TEST_F(UncertaintyCommandTest, RepeatedScoresNeedNoExamples) {
  std::string csv = "approach,benchmark,repeat,score\n";
  for (int approach = 0; approach < 8; ++approach) {
    for (const char* benchmark : {"x", "y"}) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        absl::StrAppend(&csv, "a", approach, ",", benchmark, ",", repeat, ",",
                        50 + 4 * approach + (approach * 7 + repeat * 5) % 6, "\n");
      }
    }
  }
  const Output output = RunConcur(
      {"uncertainty", "--repeats", Write("repeats.csv", csv), "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson row = PlainJson::parse(output.out)["rows"][0];
  EXPECT_EQ(row["n"], 8);
  EXPECT_GE(row["noise_free"], row["value"]);
  EXPECT_FALSE(row["seeds_share"].is_null());

  const std::string head = "approach,benchmark,repeat,score\n";
  const std::pair<std::string, std::string> wrong[] = {
      {"approach,benchmark,score\na,x,1\n", ":1: expected the columns approach, benchmark, repeat"},
      {head + "a,x,1,high\n", ":2: column 4: expected a number, got \"high\""},
      {head + "a,x,1,2\na,x,1,3\n", ":3: this approach, benchmark and repeat came before"},
      {head + ",x,1,2\n", ":2: column 1: expected a name"}};
  for (const auto& [text, message] : wrong) {
    const Output refused = RunConcur({"uncertainty", "--repeats", Write("wrong.csv", text)});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
}

TEST_F(UncertaintyCommandTest, LessCanBeBetter) {
  std::string csv = "approach,benchmark,repeat,score\n";
  for (int approach = 0; approach < 8; ++approach) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      absl::StrAppend(&csv, "a", approach, ",acc,", repeat, ",", 10 * approach + repeat, "\n");
      absl::StrAppend(&csv, "a", approach, ",ppl,", repeat, ",", 90 - 10 * approach, "\n");
    }
  }
  const std::string path = Write("goals.csv", csv);
  const Output output = RunConcur(
      {"uncertainty", "--repeats", path, "--minimize", "p*", "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(PlainJson::parse(output.out)["rows"][0]["value"], 1);
  EXPECT_THAT(output.out, HasSubstr("Less is better on ppl"));
  EXPECT_THAT(RunConcur({"uncertainty", "--repeats", path, "--minimize", "loss"}).err,
              HasSubstr("minimize: unknown column \"loss\""));
  // A sweep's own goal or --minimize, with and without examples.
  for (const bool examples : {true, false}) {
    if (!examples) {
      for (v1::Job& job : fake_.jobs) {
        job.mutable_result()->clear_artifacts();
      }
    }
    const std::vector<std::string> arguments = {"uncertainty", "demo", "--replicates", "200",
                                                "--minimize",  "news", "-o",           "json"};
    const Output sweep = Concur(arguments);
    ASSERT_EQ(sweep.code, 0) << sweep.err;
    EXPECT_NEAR(PlainJson::parse(sweep.out)["rows"][0]["value"].get<double>(), -1.0 / 3, 1e-9)
        << "guess, lr, bert on news; lr, bert, guess on wiki";
    EXPECT_THAT(sweep.out, HasSubstr("Less is better on news"));
  }
}

TEST_F(UncertaintyCommandTest, SplitsASweepAndListsWhatHasNoExamples) {
  const Output output = Concur({"uncertainty", "demo", "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["rows"], SizeIs(1));
  EXPECT_EQ(json["rows"][0]["n"], 3);
  EXPECT_TRUE(json["rows"][0]["seeds_share"].is_null()) << "one seed";
  EXPECT_THAT(json["rows"][0]["in_words"], HasSubstr("what seeds cause is unknown"));
  EXPECT_THAT(output.out, HasSubstr("broken on news: no score"));
}

// Programs with metrics of their own have no examples: every pair was "n 0, undefined".
TEST_F(UncertaintyCommandTest, SeedsAreTheRunsOfASweepWithoutExamples) {
  std::vector<v1::Job> more;
  for (v1::Job& job : fake_.jobs) {
    job.mutable_result()->clear_artifacts();
    more.push_back(job);
    more.back().set_id(absl::StrCat("s1/", fake_.jobs.size() + more.size()));
    more.back().set_seed(2);
  }
  fake_.jobs.insert(fake_.jobs.end(), more.begin(), more.end());
  fake_.sweeps[0].mutable_spec()->add_seeds(2);
  const Output output = Concur({"uncertainty", "demo", "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson row = PlainJson::parse(output.out)["rows"][0];
  EXPECT_EQ(row["n"], 3);
  EXPECT_NEAR(row["value"].get<double>(), 1.0 / 3, 1e-9) << "lr's second setting, as in scores";
  EXPECT_FALSE(row["seeds_share"].is_null());
}

TEST_F(UncertaintyCommandTest, ReadsAFolderOfRuns) {
  const std::string folder = WriteRuns();
  const Output output =
      RunConcur({"uncertainty", "--examples", folder, "--replicates", "300", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson row = PlainJson::parse(output.out)["rows"][0];
  EXPECT_EQ(row["n"], 6);
  EXPECT_NEAR(row["approaches_share"].get<double>() + row["examples_share"].get<double>() +
                  row["seeds_share"].get<double>(),
              100, 1e-9);
  const Output text =
      RunConcur({"uncertainty", "--examples", folder, "--replicates", "300", "--notes"});
  EXPECT_THAT(text.out, HasSubstr("news – wiki: ± "));
}

TEST_F(UncertaintyCommandTest, UsageErrorsAreNamed) {
  EXPECT_THAT(RunConcur({"uncertainty"}).err,
              HasSubstr("expected SWEEP, --examples DIR or --repeats"));
  EXPECT_EQ(RunConcur({"uncertainty", "--examples", dir_.File("nowhere")}).code, 3);
  EXPECT_THAT(RunConcur({"uncertainty", "--examples", WriteRuns(), "--columns", "news,sports"}).err,
              HasSubstr("\"sports\""));
}

TEST_F(UncertaintyCommandTest, CurvesOfASweepAndOfFiles) {
  Output output = Concur({"curve", "demo", "--by", "best", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson best = PlainJson::parse(output.out);
  EXPECT_EQ(best["rows"][1]["k"], 2) << "lr has two settings";
  EXPECT_EQ(best["rows"][1]["expected_best"], 75);
  EXPECT_THAT(best["notes"].dump(), HasSubstr("optimistic"));
  for (const char* by : {"approaches", "budget"}) {
    EXPECT_THAT(Concur({"curve", "demo", "--by", by, "--notes"}).out,
                HasSubstr("chosen on the test sets"));
  }
  const std::string scores = Write("s.csv", "approach,A,B,C\na,1,2,3\nb,2,1,1\nc,3,3,2\nd,4,4,4\n");
  output = RunConcur({"curve", "--scores", scores, "--draws", "20", "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("A,B,4,0.66"));
  output = RunConcur({"curve", "--scores", scores, "--by", "size", "--point", "A=10", "--point",
                      "B=20", "--with", "C", "--interval", "0", "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("C,A,10,0.33"));
  EXPECT_THAT(output.out, HasSubstr("C,B,20,0.66"));
  EXPECT_EQ(RunConcur({"curve", "--scores", scores, "--by", "luck"}).code, 2);
}

TEST_F(UncertaintyCommandTest, MatrixInClustersAndBlocks) {
  const std::string scores =
      Write("s.csv", "approach,A,B,C,D\na,1,9,1,8\nb,2,7,2,7\nc,3,5,3,5\nd,4,1,4,2\n");
  const Output clustered = RunConcur(
      {"matrix", "--scores", scores, "--order", "cluster", "--interval", "0", "-o", "json"});
  ASSERT_EQ(clustered.code, 0) << clustered.err;
  EXPECT_EQ(PlainJson::parse(clustered.out)["benchmarks"], PlainJson({"A", "C", "B", "D"}));
  const Output blocks = RunConcur(
      {"matrix", "--scores", scores, "--group", "up=A,C", "--group", "down=B,D", "-o", "csv"});
  ASSERT_EQ(blocks.code, 0) << blocks.err;
  EXPECT_THAT(blocks.out, HasSubstr("up,down,4,0,-1,-1,"));
  EXPECT_THAT(blocks.out, HasSubstr("greatest_pair,w,w_low,w_high,w_n,w_warning\n"));
  EXPECT_THAT(blocks.out, HasSubstr("A – C,1,1,1,4,")) << "W within, and its interval";
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--group", "up=A,C"}).out,
              HasSubstr("W: Kendall's coefficient of concordance"));
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--group", "up=A,C", "--swaps"}).err,
              HasSubstr("--group: a table instead of the matrix: it has no place for"));
  EXPECT_EQ(RunConcur({"matrix", "--scores", scores, "--order", "random"}).code, 2);
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--group", "up"}).err, HasSubstr("NAME="));
}

TEST_F(UncertaintyCommandTest, PartialTauGivenAColumn) {
  const std::string scores = Write(
      "s.csv", "approach,A,B,C\na,1,9,1\nb,2,7,2\nc,3,5,3\nd,4,6,4\ne,5,1,6\nf,6,2,5\ng,7,3,7\n");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"matrix", "--scores", scores, "--given", "C"});
    return RunConcur(more);
  };
  EXPECT_THAT(run({"-o", "csv"}).out, HasSubstr("a,b,n,tau,partial,low,high,warning\nA,B,7,-0.6"));
  EXPECT_THAT(run({}).out,
              HasSubstr("Partial tau-b given C over 7 approaches, 2 benchmarks; 95 %"));
  EXPECT_THAT(run({"-o", "json"}).out, HasSubstr(R"("partial":0.0912)"));
  EXPECT_THAT(run({"--coefficient", "pearson"}).err, HasSubstr("--given: needs --coefficient"));
  EXPECT_THAT(run({"--interval-method", "fisher"}).err, HasSubstr("--given: needs"));
  EXPECT_THAT(run({"--bounds"}).err, HasSubstr("has no place for"));
}

TEST_F(UncertaintyCommandTest, SharesOfTheTopHavePercentiles) {
  const std::string scores =
      Write("s.csv", "approach,A,B\na,1,9\nb,2,7\nc,3,5\nd,4,6\ne,5,1\nf,6,2\ng,7,3\n");
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--coefficient", "rbo"}).out,
              HasSubstr("Rank-biased overlap over 7 approaches, 2 benchmarks; 95 % intervals: "
                        "percentile bootstrap"));
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--coefficient", "top-k", "--top", "2"}).out,
              HasSubstr("percentile bootstrap over approaches"));
}

TEST_F(UncertaintyCommandTest, PracticallyEqualScoresAreTies) {
  const std::string scores = Write(
      "s.csv", "approach,A,B,C\na,1,9,1\nb,2,7,2\nc,3,5,3\nd,4,6,4\ne,5,1,6\nf,6,2,5\ng,7,3,7\n");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"matrix", "--scores", scores, "--ties-within", "1"});
    return RunConcur(more);
  };
  EXPECT_THAT(run({}).out, HasSubstr("Kendall's tau-b (ties within 1) over 7 approaches"));
  EXPECT_THAT(run({"-o", "json"}).out, HasSubstr(R"("ties_within":1)"));
  for (const char* option : {"--suite", "--bounds", "--tests"}) {
    EXPECT_THAT(run({option}).err, HasSubstr("ties-within: ")) << option;
  }
  EXPECT_THAT(run({"--group", "g=A,B"}).err, HasSubstr("--ties-within: "));
  EXPECT_THAT(run({"--coefficient", "rbo"}).err, HasSubstr("ties-within: needs"));
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--ties-within", "0.5"}).out,
              HasSubstr("Averages that differ by at most 0.5 count as equal"));
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--ties-within", "1", "--interval", "0"}).err,
              HasSubstr("--ties-within: needs --interval above 0"));
  EXPECT_THAT(RunConcur({"rank", "--scores", scores, "--ties-within=-1"}).err,
              HasSubstr("ties-within: expected a difference of averages"));
}

TEST_F(UncertaintyCommandTest, ClaimsAndSuitesStandInsteadOfTheMatrix) {
  const std::string scores = Write(
      "s.csv", "approach,A,B,C\na,1,9,1\nb,2,7,2\nc,3,5,3\nd,4,6,4\ne,5,1,6\nf,6,2,5\ng,7,3,7\n");
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"matrix", "--scores", scores});
    const Output output = RunConcur(more);
    EXPECT_EQ(output.code, 2);
    return output.err;
  };
  EXPECT_THAT(error({"--above", "1"}),
              HasSubstr("--above: expected a coefficient between -1 and 1"));
  EXPECT_THAT(error({"--above", ".8", "--interval", ".5"}), HasSubstr("--interval above 0.5"));
  EXPECT_THAT(error({"--above", ".8", "--suite"}), HasSubstr("--above, --suite: a table instead"));
  EXPECT_THAT(error({"--suite", "--format", "svg"}), HasSubstr("nor --format svg"));
  EXPECT_THAT(error({"--suite", "--columns", "A,B"}), HasSubstr("at least 3 benchmarks, got 2"));
  const std::string above =
      RunConcur({"matrix", "--scores", scores, "--above", "0", "-o", "csv"}).out;
  EXPECT_THAT(above, HasSubstr("a,b,n,value,low,high,verdict,least_shown,warning\nA,B,7,-0.6"));
  EXPECT_THAT(above, HasSubstr("refuted"));
  EXPECT_THAT(above, HasSubstr("shown"));
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores, "--suite", "-o", "csv"}).out,
              HasSubstr("benchmark,n,value,low,high,warning\nA,7,"));
}

TEST_F(UncertaintyCommandTest, TheMatrixFollowsARunningSweep) {
  const auto message = [&](v1::Sweep::State state) -> v1::WatchSweepResponse& {
    v1::WatchSweepResponse& update = fake_.watch.emplace_back();
    *update.mutable_sweep() = fake_.sweeps[0];
    update.mutable_sweep()->clear_spec();
    update.mutable_sweep()->set_state(state);
    update.set_cursor(absl::StrCat(fake_.watch.size()));
    return update;
  };
  std::string job;
  for (const v1::Job& candidate : fake_.jobs) {
    job = candidate.approach() == "guess" && candidate.test_benchmark() == "news" ? candidate.id()
                                                                                  : job;
  }
  ASSERT_FALSE(job.empty());
  message(v1::Sweep::STATE_ACTIVE);
  // The job is run again, and ends.
  for (const v1::Job::State state : {v1::Job::STATE_READY, v1::Job::STATE_SUCCEEDED}) {
    v1::JobEvent& event =
        *message(state == v1::Job::STATE_READY ? v1::Sweep::STATE_ACTIVE : v1::Sweep::STATE_FAILED)
             .add_events();
    event.set_job(job);
    event.set_state(state);
  }
  const Output output = Concur({"matrix", "demo", "--watch", "-o", "jsonl"});
  ASSERT_EQ(output.code, 0) << output.err;
  std::vector<int> n;
  for (const absl::string_view line : absl::StrSplit(output.out, '\n', absl::SkipEmpty())) {
    n.push_back(PlainJson::parse(std::string(line))["n"]);
  }
  EXPECT_THAT(n, ElementsAre(3, 2, 3));
  EXPECT_EQ(Concur({"matrix", "demo", "--watch", "-o", "csv"}).code, 2);
  EXPECT_EQ(Concur({"matrix", "--scores", "s.csv", "--watch"}).code, 2);
}

}  // namespace
}  // namespace concur::cli
