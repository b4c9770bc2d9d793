// SPDX-License-Identifier: Apache-2.0
// Predictions of systems that others ran, scored by real workers beside a system that runs.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kRight[] = R"({"1": "Ada", "2": "here"})";
constexpr char kHalf[] = R"({"1": "Ada", "2": "nowhere"})";

class GivenPredictionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeDirectories(cluster_.File("systems/bidaf")).ok());
    ASSERT_TRUE(MakeDirectories(cluster_.File("systems/qanet")).ok());
    std::string sweep =
        "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: both}\nspec:\n  approaches:\n"
        "    - metadata: {name: runs}\n      spec:\n        version: \"1\"\n        predict:\n"
        "          command: [sh, -c, \"echo '{{\\\"1\\\": \\\"Bob\\\"}}' > {predictions}\"]\n"
        "  benchmarks:\n";
    for (const std::string name : {"squad", "reddit"}) {
      cluster_.Write(
          name + ".jsonl",
          absl::StrCat(R"({"context": "Ada wrote it here, in )", name,
                       R"(", "qas": [{"qid": "1", "question": "Who?", "answers": ["Ada"]}, )",
                       R"({"qid": "2", "question": "Where?", "answers": ["here"]}]})", "\n"));
      cluster_.Write(name + ".yaml",
                     absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: ", name,
                                  "}\nspec: {test: ", name, ".jsonl}\n"));
      absl::StrAppend(&sweep, "    - ", name, ".yaml\n");
    }
    cluster_.Write("both.yaml", sweep);
    cluster_.Write("systems/bidaf/squad.json", kRight);
    cluster_.Write("systems/bidaf/reddit.json", kHalf);
    cluster_.Write("systems/qanet/reddit.json", kRight);
    cluster_.StartCoordinator();
    cluster_.StartWorker("w1");
  }
  Output Submit(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"-o", "json", "sweep", "submit-predictions", "--wait"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Output output = cluster_.Concur(arguments);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output;
  }
  std::string Scores(const std::string& sweep) {
    return cluster_.Concur({"-o", "csv", "scores", sweep}).out;
  }

  Cluster cluster_;
};

TEST_F(GivenPredictionsTest, TheyAreScoredKeptAndReused) {
  const std::vector<std::string> bulk = {"--benchmark", cluster_.File("squad.yaml"), "--benchmark",
                                         cluster_.File("reddit.yaml"), cluster_.File("systems")};
  EXPECT_THAT(Submit(bulk).out, HasSubstr("\"reused\": 0"));
  EXPECT_EQ(Scores("s1"),
            "approach,source,submitted,squad,reddit\nbidaf,bidaf,yes,100,50\n"
            "qanet,qanet,yes,,100\n");
  // The scored predictions are the submitted bytes.
  const Output job = cluster_.Concur({"-o", "json", "job", "get", "s1/0"});
  EXPECT_THAT(job.out, HasSubstr(Sha256Of(kRight).ToHex()));
  // By its content, whatever its file and the system are called now.
  cluster_.Write("renamed.json", kRight);
  EXPECT_THAT(Submit(bulk).out, HasSubstr("\"reused\": 3"));
  EXPECT_THAT(Submit({"--benchmark", cluster_.File("reddit.yaml"), "--system", "q",
                      cluster_.File("renamed.json")})
                  .out,
              HasSubstr("\"reused\": 1"));
  // A corrected file is scored anew.
  cluster_.Write("systems/qanet/reddit.json", kHalf);
  EXPECT_THAT(Submit(bulk).out, HasSubstr("\"reused\": 2"));
  EXPECT_THAT(Scores("s4"), HasSubstr("qanet,qanet,yes,,50\n"));
}

TEST_F(GivenPredictionsTest, TheyStandBesideASystemThatRan) {
  ASSERT_EQ(cluster_.RunSweep("both.yaml").exit_code, 0);
  EXPECT_THAT(Submit({"--beside", cluster_.File("both.yaml"), cluster_.File("systems")}).out,
              HasSubstr("\"reused\": 2"));
  EXPECT_THAT(Scores("s2"), AllOf(HasSubstr("runs,,,0,0\n"), HasSubstr("bidaf,bidaf,yes,100,50\n"),
                                  HasSubstr("qanet,qanet,yes,,100\n")));
}

}  // namespace
}  // namespace concur::testing
