// SPDX-License-Identifier: Apache-2.0
// `concur significance` against a fake coordinator and from files.

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "cli/programs/concur_commands.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using PlainJson = nlohmann::ordered_json;

class SignificanceTest : public StudyFixture {};

TEST_F(SignificanceTest, ComparesASweepOnEveryBenchmark) {
  const Output output = Concur({"significance", "demo", "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["rows"], SizeIs(6)) << "three approaches on two benchmarks";
  EXPECT_EQ(json["rows"][0]["benchmark"], "news");
  EXPECT_EQ(json["rows"][0]["metric"], "exact_match");
  EXPECT_EQ(json["rows"][0]["n"], 40);
  EXPECT_GE(json["rows"][0]["mean_a"], json["rows"][0]["mean_b"]);
  EXPECT_THAT(json["title"], HasSubstr("over 6 tests"));
}

TEST_F(SignificanceTest, UsesTheSettingThatTheSweepSelects) {
  // "lr" has two settings; the second one is better on its own test set.
  const Output output = Concur({"significance", "demo", "--benchmark", "news", "--baseline", "lr",
                                "--replicates", "200", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson best = PlainJson::parse(output.out);
  ASSERT_THAT(best["rows"], SizeIs(2));
  const PlainJson first =
      PlainJson::parse(Concur({"significance", "demo", "--benchmark", "news", "--baseline", "lr",
                               "--select", "default", "--replicates", "200", "-o", "json"})
                           .out);
  const auto mean_of_lr = [](const PlainJson& row) {
    return row["a"] == "lr" ? row["mean_a"].get<double>() : row["mean_b"].get<double>();
  };
  EXPECT_GT(mean_of_lr(best["rows"][0]), mean_of_lr(first["rows"][0]));
}

TEST_F(SignificanceTest, ABenchmarkHasTheSameScoresWhateverElseIsCompared) {
  // A system that was trained on wiki is tested on news, too, and is hardly ever right.
  fake_.sweeps[0].mutable_spec()->set_evaluate_on(v1::SweepSpec::EVALUATE_ON_ALL);
  const size_t jobs = fake_.jobs.size();
  for (size_t i = 0; i < jobs; ++i) {
    v1::Job job = fake_.jobs[i];
    if (job.test_benchmark() == "wiki" && job.state() == v1::Job::STATE_SUCCEEDED) {
      job.set_id(absl::StrCat("s1/", fake_.jobs.size()));
      job.set_test_benchmark("news");
      job.mutable_result()->clear_artifacts();
      job.mutable_result()->clear_metrics();
      AddScores(1, job);
      fake_.jobs.push_back(std::move(job));
    }
  }
  const auto means_on_news = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"significance", "demo", "--replicates", "200", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    std::vector<double> means;
    const Output output = Concur(args);
    EXPECT_EQ(output.code, 0) << output.err;
    const PlainJson json = PlainJson::parse(output.out);
    for (const PlainJson& row : json["rows"]) {
      if (row["benchmark"] == "news") {
        means.push_back(row["mean_a"]);
      }
    }
    return means;
  };
  const std::vector<double> all = means_on_news({});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(means_on_news({"--benchmark", "news"}), all);
}

TEST_F(SignificanceTest, AnIntervalIsNeededAndItsRangeIsNamed) {
  const Output output = Concur({"significance", "demo", "--interval", "0"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("strictly between 0 and 1"));
  EXPECT_THAT(Concur({"significance", "--help"}).out, Not(HasSubstr("0: none")));
}

// `concur up --workers -1` printed "Value -1 not in range 0 to 1000", the library's words.
TEST_F(SignificanceTest, ANumberOutOfRangeIsSaidInOwnWords) {
  EXPECT_THAT(RunConcur({"up", "--workers", "-1"}).err,
              HasSubstr("--workers: expected a number from 0 to 1000, got \"-1\""));
  EXPECT_THAT(RunConcur({"up", "--workers", "abc"}).err,
              HasSubstr("--workers: expected a number from 0 to 1000, got \"abc\""));
  EXPECT_THAT(RunConcur({"up", "--help"}).out, HasSubstr("N:INT in [0 - 1000]"));
}

TEST_F(SignificanceTest, NumbersAreWhatTheirOptionsTake) {
  for (const auto& [option, value, fault] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"--seed", "-1", "expected a whole number from 0 to 18446744073709551615, got \"-1\""},
           {"--seed", "x", "expected a whole number, got \"x\""},
           {"--seed", "99999999999999999999999", "expected a whole number from 0"},
           {"--seed", "1.5", "expected a whole number from 0"},
           {"--replicates", "1e3", "expected a whole number"},
           {"--interval", "nan", "expected a number, got \"nan\""}}) {
    const Output output = Concur({"significance", "demo", option, value});
    EXPECT_EQ(output.code, 2) << option << value;
    EXPECT_THAT(output.err, HasSubstr(absl::StrCat(option, ": ", fault)));
  }
  EXPECT_THAT(Concur({"job", "logs", "s1/0", "--offset", "-1"}).err,
              HasSubstr("expected a number of at least 0, got \"-1\""));
}

TEST_F(SignificanceTest, SaysWhatHasNoExamplesAnyMore) {
  fake_.artifacts.erase(ExamplesDigest("guess", "news"));
  const Output output = Concur({"significance", "demo", "--replicates", "200"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("are not kept any more"));
}

TEST_F(SignificanceTest, FormatFileHasNoExamplesSaidOnce) {
  // A line for every approach and job, and none said why.
  v1::SweepSpec& spec = *fake_.sweeps[0].mutable_spec();
  for (v1::Benchmark& benchmark : *spec.mutable_benchmarks()) {
    benchmark.set_format(v1::Benchmark::FORMAT_FILE);
  }
  for (v1::Job& job : fake_.jobs) {
    job.mutable_result()->clear_artifacts();
    job.set_state(v1::Job::STATE_SUCCEEDED);
    if (job.kind() == v1::Job::KIND_EVAL && job.result().metrics().empty()) {
      job.mutable_result()->add_metrics()->set_name("exact_match");
    }
  }
  const Output output = Concur({"significance", "demo", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["notes"], SizeIs(1));
  EXPECT_EQ(json["notes"][0],
            "Left out on all benchmarks: all approaches: the commands wrote no per-example scores "
            "({examples})");
  // Any baseline would do.
  const Output misspelt = Concur({"significance", "demo", "--baseline", "rl"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("(did you mean \"lr\"?)"));
}

TEST_F(SignificanceTest, ExamplesOfAnOwnMetricAreOfThatMetricAlone) {
  v1::SweepSpec& spec = *fake_.sweeps[0].mutable_spec();
  for (v1::Benchmark& benchmark : *spec.mutable_benchmarks()) {
    benchmark.set_format(v1::Benchmark::FORMAT_FILE);
    benchmark.set_metric("bleu");
  }
  for (v1::Job& job : fake_.jobs) {
    for (v1::Metric& metric : *job.mutable_result()->mutable_metrics()) {
      metric.set_name(metric.name() == "f1" ? "bleu" : "words");
    }
  }
  const Output bleu = Concur({"significance", "demo", "--benchmark", "news", "-o", "json"});
  ASSERT_EQ(bleu.code, 0) << bleu.err;
  const PlainJson rows = PlainJson::parse(bleu.out)["rows"];
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0]["metric"], "bleu");
  const Output words = Concur({"significance", "demo", "--metric", "words", "-o", "json"});
  ASSERT_EQ(words.code, 0) << words.err;
  EXPECT_THAT(words.out, HasSubstr("per-example scores have exact_match, f1, not words"));
}

TEST_F(SignificanceTest, AMisspeltMetricIsRefused) {
  // rank and others printed an empty table.
  for (const char* command : {"rank", "transfer", "significance"}) {
    const Output output = Concur({command, "demo", "--metric", "exact_mach"});
    EXPECT_EQ(output.code, 2) << command;
    EXPECT_THAT(output.err, HasSubstr("(did you mean \"exact_match\"?)")) << command;
  }
}

TEST_F(SignificanceTest, TablesSayWhichSweepANameTook) {
  // The newest of several sweeps of one name was taken, and nothing said so; one alone is known,
  // and a newest one that has succeeded is what everybody expects.
  EXPECT_THAT(Concur({"scores", "demo"}).err, Not(HasSubstr("newest")));
  fake_.sweeps.push_back(fake_.sweeps[0]);
  fake_.sweeps.back().set_id("s0");
  fake_.sweeps[0].set_state(v1::Sweep::STATE_SUCCEEDED);
  EXPECT_THAT(Concur({"scores", "demo"}).err, Not(HasSubstr("newest")));
  fake_.sweeps[0].set_state(v1::Sweep::STATE_ACTIVE);
  for (const char* command : {"scores", "significance", "rank", "report"}) {
    std::vector<std::string> args = {command, "demo"};
    const TempDir dir;
    if (args[0] == "report") {
      args.insert(args.end(), {"--out", dir.File("report.html")});
    }
    EXPECT_THAT(Concur(args).err,
                HasSubstr("concur: demo: s1, the newest of that name, is active\n"))
        << command;
    args[1] = "s1";
    EXPECT_THAT(Concur(args).err, Not(HasSubstr("newest"))) << command;
    args[1] = "demo";
    args.insert(args.end(), {"-o", "json"});
    EXPECT_EQ(Concur(args).err, "") << command;
  }
  const std::string resolved =
      Concur({"rank", "demo", "--resolve", "examples", "--replicates", "200"}).err;
  EXPECT_THAT(resolved, HasSubstr("newest"));
  EXPECT_EQ(resolved.find("newest"), resolved.rfind("newest")) << "once: " << resolved;
}

TEST_F(SignificanceTest, UnknownBenchmarksAndApproachesAreNamed) {
  Output output = Concur({"significance", "demo", "--benchmark", "newz"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("unknown column \"newz\" (did you mean \"news\"?)"));
  output = Concur({"significance", "demo", "--baseline", "rl"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("there is no approach \"rl\" (did you mean \"lr\"?)"));
}

TEST_F(SignificanceTest, DamagedArtifactsAreNoticed) {
  fake_.artifacts[ExamplesDigest("guess", "news")] += " ";
  const Output output = Concur({"significance", "demo"});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("another digest"));
}

class SignificanceFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(name), text));
    return dir_.File(name);
  }
  TempDir dir_;
};

TEST_F(SignificanceFilesTest, AlignsExamplesByTheirIds) {
  const std::string a = Write("a", ExampleLines({{"q1", true}, {"q2", true}, {"q3", false}}));
  const std::string b = Write("b", ExampleLines({{"q3", false}, {"q1", true}, {"q2", false}}));
  const Output output =
      RunConcur({"significance", "--examples", "x=" + a, "--examples", "y=" + b, "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson row = PlainJson::parse(output.out)["rows"][0];
  EXPECT_EQ(row["both"], 1);
  EXPECT_EQ(row["only_a"], 1);
  EXPECT_EQ(row["neither"], 1);
}

TEST_F(SignificanceFilesTest, RefusesOtherTestSets) {
  const std::string a = Write("a", ExampleLines({{"q1", true}, {"q2", true}}));
  const std::string b = Write("b", ExampleLines({{"q1", true}, {"q9", false}}));
  const std::string c = Write("c", ExampleLines({{"q1", true}}));
  Output output = RunConcur({"significance", "--examples", "x=" + a, "--examples", "y=" + b});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("y has the example \"q9\", which others lack"));
  output = RunConcur({"significance", "--examples", "x=" + a, "--examples", "y=" + c});
  EXPECT_THAT(output.err, HasSubstr("y has 1 examples where others have 2"));
}

TEST_F(SignificanceFilesTest, BadLinesAreNamed) {
  const std::string good = Write("good", ExampleLines({{"q1", true}}));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"id\": \"q1\", \"exact_match\": 2, \"f1\": 1}\n", ":1: exact_match of \"q1\""},
      {"\n{\"id\": \"q1\", \"exact_match\": 1, \"f1\": 1.5}\n", ":2: f1 of \"q1\""},
      {"{\"id\": 7, \"exact_match\": 1, \"f1\": 1}\n", ":1: id: expected a string"},
      {ExampleLines({{"q1", true}, {"q1", true}}), ":2: the example \"q1\" is already on line 1"},
      {"", "expected one example a line, got none"},
      {"{\"id\": \"\xE9\", \"exact_match\": 1, \"f1\": 1}\n", ":1: expected {"},
  };
  for (const auto& [text, part] : cases) {
    const std::string bad = Write("bad", text);
    const Output output =
        RunConcur({"significance", "--examples", "x=" + good, "--examples", "y=" + bad});
    EXPECT_EQ(output.code, 2);
    EXPECT_THAT(output.err, HasSubstr(part));
  }
  EXPECT_THAT(RunConcur({"significance", "--examples", "x"}).err, HasSubstr("expected NAME=FILE"));
  EXPECT_THAT(RunConcur({"significance"}).err, HasSubstr("expected either SWEEP or --examples"));
}

TEST_F(SignificanceFilesTest, OneApproachIsNotCompared) {
  const std::string a = Write("a", ExampleLines({{"q1", true}}));
  const Output output = RunConcur({"significance", "--examples", "x=" + a});
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.out, HasSubstr("x: no other approach to compare it with"));
}

TEST_F(SignificanceFilesTest, SeedsOfOneApproachAreAveraged) {
  const std::string a = Write("a", ExampleLines({{"q1", true}, {"q2", true}}));
  const std::string b = Write("b", ExampleLines({{"q1", false}, {"q2", true}}));
  const Output output = RunConcur({"significance", "--examples", "x=" + a, "--examples", "x=" + b,
                                   "--examples", "y=" + b, "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson row = PlainJson::parse(output.out)["rows"][0];
  EXPECT_EQ(row["a"], "x");
  EXPECT_EQ(row["mean_a"], 75);
  EXPECT_TRUE(row["mcnemar_p"].is_null()) << "half right is neither right nor wrong";
}

}  // namespace
}  // namespace concur::cli
