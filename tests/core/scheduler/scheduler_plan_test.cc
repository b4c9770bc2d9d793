// SPDX-License-Identifier: Apache-2.0
// The jobs of a submission, run or reused, said before it is one.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/state/blame_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class PlanSchedulerTest : public BlameSchedulerTest {
 protected:
  std::vector<std::string> PlanOf(SweepSpec spec) {
    absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
    CONCUR_CHECK_OK(expansion.status());
    std::vector<std::string> texts;
    for (const PlannedJob& job :
         scheduler().views().Plan(std::make_shared<const Expansion>(*std::move(expansion)))) {
      texts.push_back((job.runs ? "runs: " : "reused: ") + ReasonText(job));
    }
    return texts;
  }
};

TEST_F(PlanSchedulerTest, EachJobOfAPlanSaysWhetherItRunsAndWhy) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  EXPECT_THAT(PlanOf(spec),
              ElementsAre("runs: nothing equal has finished", "runs: nothing equal has finished"));
  AddWorker("w");
  Submit(spec);
  Sync();
  EXPECT_THAT(PlanOf(spec), ElementsAre("reused: waits for s1/0, which does the same work now",
                                        "runs: nothing equal has finished"));
  Round({});
  Round({});
  Sync();
  EXPECT_THAT(PlanOf(spec),
              ElementsAre("reused: takes the result of s1/0", "reused: takes the result of s1/1"));
  SweepSpec rerun = spec;
  rerun.approaches[0].rerun = true;
  EXPECT_THAT(PlanOf(rerun), ElementsAre("runs: asked to run although s1/0 does the same work",
                                         "runs: asked to run although s1/1 does the same work"));
  spec.approaches[0].predict_program = Sha256Of("edited");
  EXPECT_THAT(PlanOf(spec),
              ElementsAre("reused: takes the result of s1/0",
                          "runs: nothing equal has finished; not reused: the nearest earlier job, "
                          "s1/1, differs in predict program (none there, " +
                              Sha256Of("edited").ToHex().substr(0, 12) + "… here)"));
  EXPECT_EQ(scheduler().views().sweep_count(), 1u) << "it is only a plan";
}

// The second of two benchmarks with the same data was said to run, and reused the first.
TEST_F(PlanSchedulerTest, AJobThatAnEarlierOneOfTheSweepEqualsIsReused) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  spec.approaches.push_back(spec.approaches[0]);
  spec.approaches[1].name = "b";
  EXPECT_THAT(
      PlanOf(spec),
      ElementsAre("runs: nothing equal has finished", "runs: nothing equal has finished",
                  "reused: takes the result of job 0 of this sweep, which does the same work",
                  "reused: takes the result of job 1 of this sweep, which does the same work"));
  spec.approaches[1].rerun = true;
  EXPECT_THAT(PlanOf(spec), Each("runs: nothing equal has finished"));
}

// A job with other data, another command and other code was named as the nearest.
TEST_F(PlanSchedulerTest, AJobThatDiffersInEverythingIsNotNamed) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  AddWorker("w");
  Submit(spec);
  Round({});
  Round({});
  Sync();
  spec.approaches[0].version = "other";
  spec.approaches[0].train_command.push_back("other");
  spec.approaches[0].train_program = Sha256Of("edited");
  spec.approaches[0].env["X"] = "1";
  EXPECT_EQ(PlanOf(spec)[0], "runs: nothing equal has finished");
}

// Jobs of a search were said to run although its second submission ran none.
TEST_F(PlanSchedulerTest, AJobWhoseSettingIsNotChosenIsOpen) {
  SweepSpec spec = Trains({"a"}, {"x"}, 1);
  AddValidationSet(0, &spec);
  spec.random_settings = 1;
  spec.search = SearchSpec{.parallel = 1};
  const std::vector<std::string> plan = PlanOf(spec);
  ASSERT_EQ(plan.size(), 6u);
  EXPECT_EQ(plan[0], "runs: nothing equal has finished");
  EXPECT_EQ(
      plan[3],
      "reused: its search chooses the setting from the scores of those before; runs unless an "
      "equal job has finished");
}

}  // namespace
}  // namespace concur::testing
