// SPDX-License-Identifier: Apache-2.0
// `concur scores` against a fake coordinator.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/app/context.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_sweep.h"
#include "tests/cli/commands_fixture.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using ::testing::IsNan;
using TestJson = nlohmann::ordered_json;

class ScoresCommandTest : public CommandsFixture {};

// `concur scores nb` said only that there is no such sweep, and `concur scores ./e` "open: No such
// file or directory".
TEST_F(ScoresCommandTest, ADirectoryIsToldFromABundle) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("nb"));
  const Output empty = Concur({"scores", dir.File("nb")});
  EXPECT_EQ(empty.code, kExitNotFound);
  EXPECT_THAT(empty.err, HasSubstr("nb: expected a bundle, got a directory without sweep.json; "
                                   "concur bundle write makes one of a sweep"));
  std::ofstream(dir.File("nb/sweep.json")) << "{}";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Output named = Concur({"scores", "nb"});
  std::filesystem::current_path(before);
  EXPECT_EQ(named.code, kExitNotFound);
  EXPECT_THAT(named.err, HasSubstr("; ./nb is a bundle: write ./nb"));
}

TEST_F(ScoresCommandTest, ScoresMakeTheTableThatTheSweepAsksFor) {
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

  // An empty field of the table may be either; the long forms tell them apart.
  for (size_t i = 4; i < 8; ++i) {
    fake_.scores[i].clear_value();
    fake_.scores[i].set_state(i < 6 ? v1::Job::STATE_CANCELED : v1::Job::STATE_FAILED);
  }
  EXPECT_EQ(Concur({"scores", "s12", "-o", "csv"}).out,
            "approach,squad,news\nlr,15,35\nwindow,,\n");
  EXPECT_THAT(Concur({"scores", "s12", "--by-job", "-o", "csv"}).out,
              AllOf(HasSubstr("s12/5,window,squad,squad,0,1,f1,,100,canceled,,,,,0.1\n"),
                    HasSubstr("s12/7,window,news,news,0,1,f1,,100,failed,,,,,0.1\n")));
  EXPECT_THAT(Concur({"scores", "s12", "-o", "jsonl"}).out,
              AllOf(HasSubstr("\"benchmark\":\"squad\",\"state\":\"missing\""),
                    HasSubstr("\"benchmark\":\"news\",\"state\":\"failed\"")));
}

TEST_F(ScoresCommandTest, ColumnsHaveEveryValueOfEveryScore) {
  v1::Sweep& sweep = fake_.sweeps[1];
  SweepSpec spec;
  spec.name = "study";
  spec.approaches = {testing::TrainedApproach("lr")};
  spec.approaches[0].hyperparameters.defaults = {{"depth", int64_t{2}}, {"lr", 0.5}};
  spec.benchmarks = {testing::Benchmark("squad")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  spec.seeds = {1, 2};
  *sweep.mutable_spec() = rpc::ToProto(spec);
  for (int i = 0; i < 2; ++i) {
    v1::Score& score = fake_.scores.emplace_back();
    score.set_job(absl::StrCat("s12/", 2 * i + 1));
    score.set_approach("lr");
    score.set_test_benchmark("squad");
    score.set_seed(i + 1);
    score.set_metric("f1");
    score.set_state(i == 0 ? v1::Job::STATE_SUCCEEDED : v1::Job::STATE_RUNNING);
  }
  v1::Score& first = fake_.scores[0];
  first.set_value(61.25);
  first.set_low(50.5);
  first.set_high(70);
  first.set_examples(40);
  first.set_worker("w\"1");
  first.mutable_run_time()->set_seconds(3);
  const Output output = Concur({"scores", "s12", "--columns"});
  EXPECT_EQ(output.code, 0) << output.err;
  const size_t line = output.out.find('\n');
  const TestJson head = TestJson::parse(output.out.substr(0, line));
  EXPECT_EQ(head["rows"], 2);
  size_t at = line + 1;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, TestJson> names;
  for (const TestJson& column : head["columns"]) {
    const std::string type = column["type"];
    for (int row = 0; row < 2; ++row) {
      const char* const from = output.out.data() + at;
      double value = 0;
      int64_t integer = 0;
      int32_t number = 0;
      if (type == "f8") {
        std::memcpy(&value, from, 8);
      } else if (type == "i8") {
        std::memcpy(&integer, from, 8);
        value = static_cast<double>(integer);
      } else {
        std::memcpy(&number, from, 4);
        value = number;
      }
      numbers[column["name"]].push_back(value);
      at += type == "name" || type == "json" ? 4 : 8;
    }
    names[column["name"]] = column.value("names", TestJson());
  }
  EXPECT_THAT(numbers["job"], ElementsAre(1, 3));
  EXPECT_THAT(numbers["seed"], ElementsAre(1, 2));
  EXPECT_THAT(numbers["value"], ElementsAre(61.25, IsNan()));
  EXPECT_THAT(numbers["low"], ElementsAre(50.5, IsNan()));
  EXPECT_THAT(numbers["high"], ElementsAre(70, IsNan()));
  EXPECT_THAT(numbers["seconds"], ElementsAre(3, IsNan()));
  EXPECT_THAT(numbers["train_set"], ElementsAre(-1, -1));
  EXPECT_THAT(numbers["worker"], ElementsAre(0, -1));
  EXPECT_EQ(names["worker"], TestJson({"w\"1"}));
  EXPECT_EQ(names["setting"], TestJson({"depth=2 lr=0.5"}));
  EXPECT_EQ(names["hyperparameters"], TestJson({R"({"depth":2,"lr":0.5})"}));
  EXPECT_THAT(
      Concur({"scores", "s12", "--by-job", "-o", "csv"}).out,
      AllOf(HasSubstr(",worker,seconds,setting.depth,setting.lr\n"), HasSubstr(",3.0,2,0.5\n")));
  // People saw the number of a setting alone.
  EXPECT_THAT(Concur({"scores", "s12", "--by-job"}).out,
              AllOf(HasSubstr("  STATE      depth  lr\n"), HasSubstr("  succeeded  2      0.5\n")));
  // 1.10 and 1.1 were printed alike.
  spec.approaches[0].hyperparameters.defaults["lr"] = WrittenNumber{"0.50"};
  *sweep.mutable_spec() = rpc::ToProto(spec);
  EXPECT_THAT(Concur({"scores", "s12", "--by-job", "-o", "csv"}).out, HasSubstr(",3.0,2,0.50\n"));
  fake_.jobs.emplace_back().set_id("s12/1");
  fake_.jobs.back().set_state(v1::Job::STATE_SUCCEEDED);
  fake_.jobs.back().mutable_result()->add_metrics()->set_name("f1");
  for (const char* form : {"--columns", "--by-job"}) {
    const Output misspelt = Concur({"scores", "s12", form, "--metric", "f2"});
    EXPECT_EQ(misspelt.code, kExitUsage) << form;
    EXPECT_THAT(misspelt.err, HasSubstr("no job reported \"f2\" (did you mean \"f1\"?)")) << form;
  }
  EXPECT_EQ(names["state"], TestJson({"succeeded", "running"}));
  // The last piece has no rows: a stream without it was cut.
  EXPECT_THAT(output.out.substr(at), StartsWith("{\"rows\":0,"));
}

// A server may send anything, and a page is printed before the next one is asked for.
TEST_F(ScoresCommandTest, ScoresByJobArePrintedPageByPageUpToAWrongOne) {
  constexpr int kCount = 25'001;
  SweepSpec spec;
  spec.name = "study";
  spec.approaches = {testing::TrainedApproach("lr")};
  spec.benchmarks = {testing::Benchmark("squad")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  *fake_.sweeps[1].mutable_spec() = rpc::ToProto(spec);
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
    ASSERT_THAT(lines[i + 1],
                StartsWith(absl::StrCat("s12/", i, ",lr,,,0,0,,", i, ".25,0,succeeded,,,,")));
  }
  fake_.scores[kCount - 1].set_job("junk");
  const Output broken = Concur({"scores", "s12", "--by-job", "-o", "csv"});
  EXPECT_NE(broken.code, 0);
  EXPECT_THAT(broken.err, HasSubstr("response.scores[25000].job"));
  EXPECT_THAT(broken.out, HasSubstr("s12/19999,"));
}

TEST_F(ScoresCommandTest, ShiftMayTakeEachTrainSetForASystem) {
  v1::Sweep& sweep = fake_.sweeps[1];
  SweepSpec spec;
  spec.name = "study";
  spec.approaches = {testing::TrainedApproach("lr"), testing::TrainedApproach("window"),
                     testing::TrainedApproach("bert")};
  spec.benchmarks = {testing::Benchmark("squad"), testing::Benchmark("news")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0), testing::PlainTrainSet(spec, 1)};
  spec.evaluate_on = EvaluateOn::kAll;
  *sweep.mutable_spec() = rpc::ToProto(spec);
  int system = 0;
  for (const ApproachSpec& approach : spec.approaches) {
    for (const char* train : {"squad", "news"}) {
      ++system;
      for (const char* test : {"squad", "news"}) {  // 2 points lower on the new test set
        v1::Score& score = fake_.scores.emplace_back();
        score.set_job(absl::StrCat("s12/", fake_.scores.size()));
        score.set_approach(approach.name);
        score.set_train_set(train);
        score.set_test_benchmark(test);
        score.set_seed(1);
        score.set_metric("f1");
        score.set_state(v1::Job::STATE_SUCCEEDED);
        score.set_value(10 * system - (std::string(test) == "news" ? 2 : 0));
        score.set_examples(100);
      }
    }
  }
  std::vector<std::string> command = {"shift", "s12",  "--from", "squad",
                                      "--to",  "news", "-o",     "json"};
  Output output = Concur(command);
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(TestJson::parse(output.out)["fits"][0]["n"], 3) << "approaches";
  command.emplace_back("--by-train-set");
  output = Concur(command);
  ASSERT_EQ(output.code, 0) << output.err;
  const TestJson fit = TestJson::parse(output.out)["fits"][0];
  EXPECT_EQ(fit["n"], 6);
  EXPECT_NEAR(fit["slope"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(fit["intercept"].get<double>(), -2, 1e-9);
  EXPECT_THAT(fit["systems"].dump(), HasSubstr("bert ← news"));
  command.emplace_back("--score-intervals");
  EXPECT_EQ(Concur(command).code, 2);
}

}  // namespace
}  // namespace concur::cli
