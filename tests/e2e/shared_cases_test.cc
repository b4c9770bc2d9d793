// SPDX-License-Identifier: Apache-2.0
// Stored sweeps that were once answered wrongly; tests are skipped without them.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SweepCasesTest : public ::testing::Test {
 protected:
  SweepCasesTest() {
    cluster_.StartCoordinator();
    cluster_.StartWorker("w1");
  }

  Cluster cluster_;
};

TEST_F(SweepCasesTest, CompareMinimized) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/compare-minimized/c.yaml");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  const Output compared = cluster_.Concur({"significance", "cmp"});
  EXPECT_THAT(compared.out, HasSubstr("over 0 tests")) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("good: the mean of its per-example scores, 0.9, is not"));
}

TEST_F(SweepCasesTest, BestOnOtherSeedsTies) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/best-on-other-seeds-ties/tie.yaml");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  const Output scores = cluster_.Concur({"scores", "tie", "--select", "best-on-other-seeds"});
  EXPECT_THAT(scores.out, HasSubstr("0.2900 ±0.0424  0.7100 ±0.0424")) << scores.err;
}

// Three reports beside a progress bar on standard error: none was seen.
TEST_F(SweepCasesTest, ProgressBarMetrics) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/progress-bar-metrics/sweep.yaml");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  EXPECT_THAT(
      cluster_.Concur({"-o", "csv", "sweep", "steps", "bars"}).out,
      AllOf(HasSubstr(",1,value,1.0,"), HasSubstr(",2,value,2.0,"), HasSubstr(",3,value,3.0,")));
}

// The same bytes as .jsonl and as .tsv: the score of the first was reused for the second.
TEST_F(SweepCasesTest, SuffixNotInKey) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/suffix-not-in-key/sweep.yaml");
  const std::string folder = path.substr(0, path.rfind('/'));
  for (const auto& [file, score] : {std::pair("a.jsonl", "1.0000"), std::pair("a.tsv", "2.00")}) {
    const std::string variable = "file=" + folder + "/" + file;
    ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path, "--var", variable}).exit_code, 0);
    EXPECT_THAT(cluster_.Concur({"scores", "suffix"}).out, HasSubstr(score)) << file;
  }
}

// A link to the last checkpoint, inside the model, failed a finished training.
TEST_F(SweepCasesTest, ModelSymlink) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/model-symlink/sweep.yaml");
  EXPECT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
}

// One error behind two progress bars was two lines.
TEST_F(SweepCasesTest, FailureGrouping) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/failure-grouping/sweep.yaml");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 5);
  EXPECT_THAT(cluster_.Concur({"sweep", "failures", "groups"}).out,
              ContainsRegex("\n +2  x, y .* error: quota exceeded"));
}

// 3.10 reached the command as 3.1.
TEST_F(SweepCasesTest, HpTrailingZero) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/hp-trailing-zero/sweep.yaml");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"job", "logs", "zeros/0"}).out, "3.10 3.10\n");
}

// A program in a folder called bin was edited, and the old score stood.
TEST_F(SweepCasesTest, ProgramAsFirstWord) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/program-as-first-word/stale.yaml");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::filesystem::path copy = cluster_.File("copy");
  std::filesystem::create_directories(copy / "bin");
  std::filesystem::create_directories(cluster_.File("own/data"));
  std::filesystem::copy(path, copy / "stale.yaml");
  for (const char* data : {"own/data/reviews-test.jsonl", "own/data/news-test.jsonl"}) {
    std::filesystem::copy(folder / "d.jsonl", cluster_.File(data));
  }
  std::ifstream program(folder / "bin/prog");
  std::string text(std::istreambuf_iterator<char>(program), {});
  for (const char* score : {"0.9", "0.7"}) {
    text = absl::StrReplaceAll(text, {{"0.9", score}});
    std::ofstream(copy / "bin/prog") << text;
    std::filesystem::permissions(copy / "bin/prog", std::filesystem::perms::owner_all);
    ASSERT_EQ(cluster_.Concur({"sweep", "submit", "--wait", copy / "stale.yaml"}).exit_code, 0);
    EXPECT_THAT(cluster_.Concur({"scores", "stale"}).out, HasSubstr(score));
  }
}

}  // namespace
}  // namespace concur::testing
