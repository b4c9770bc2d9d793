// SPDX-License-Identifier: Apache-2.0
#include "cli/output/grouped_warnings.h"

#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur::cli {
namespace {

// A sweep of 17 approaches had 32 lines "does not use {train}", among which the others were lost.
TEST(GroupedWarningsTest, WarningsThatDifferInPlaceAloneAreOneLine) {
  std::vector<std::string> warnings;
  for (int line = 1; line <= 6; ++line) {
    const std::string place = "a/x.yaml:" + std::to_string(line) + ":5: spec.train: ";
    warnings.push_back(place + "does not use {train}: it never sees its training data");
    warnings.push_back(place + "does not use {model}: it leaves no system to evaluate");
  }
  warnings.insert(warnings.begin() + 3, "x.yaml:9:1: the mixture \"m\" is not in train_on");
  EXPECT_THAT(
      GroupWarnings(warnings),
      ElementsAre("a/x.yaml:1:5: spec.train: does not use {train}: it never sees its training data "
                  "(and 5 more of this kind: a/x.yaml:2:5, a/x.yaml:3:5, a/x.yaml:4:5 and 2 more)",
                  "a/x.yaml:1:5: spec.train: does not use {model}: it leaves no system to evaluate "
                  "(and 5 more of this kind: a/x.yaml:2:5, a/x.yaml:3:5, a/x.yaml:4:5 and 2 more)",
                  "x.yaml:9:1: the mixture \"m\" is not in train_on"));
  EXPECT_THAT(GroupWarnings({}), IsEmpty());
}

TEST(GroupedWarningsTest, NamesAndNumbersDoNotMakeAnotherKindAndPathsDo) {
  EXPECT_THAT(
      GroupWarnings({"x.yaml:3:5: approaches[0]: the approach \"a b\" has no job",
                     "x.yaml:4:5: approaches[1]: the approach \"c\" has no job",
                     "x.yaml:5:5: expected a file, got /a/b: not there",
                     "x.yaml:6:5: expected a file, got /c: not there", "no worker has a GPU",
                     "no worker has 3 GPUs", "no worker has 4 GPUs"}),
      ElementsAre("x.yaml:3:5: approaches[0]: the approach \"a b\" has no job (and 1 more of this "
                  "kind: x.yaml:4:5)",
                  "x.yaml:5:5: expected a file, got /a/b: not there",
                  "x.yaml:6:5: expected a file, got /c: not there", "no worker has a GPU",
                  "no worker has 3 GPUs (and 1 more of this kind)"));
}

}  // namespace
}  // namespace concur::cli
