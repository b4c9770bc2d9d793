// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/command_template.h"

#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(CommandTemplateTest, ABraceThatBelongsToNoPlaceholderIsRefused) {
  for (const char* argument : {"{", "}", "a{train", "train}", "{a{b}}", "{{}", "{}}", "{train}}"}) {
    EXPECT_THAT(PlaceholdersOf(argument), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("to belong to a placeholder")))
        << argument;
    EXPECT_FALSE(ExpandArgument(argument, {{"train", "x"}, {"a", "x"}}).ok()) << argument;
  }
}

TEST(CommandTemplateTest, AnUnknownPlaceholderIsRefusedWithTheNearestName) {
  const Setting hyperparameters = {{"lr", 0.1}};
  EXPECT_THAT(CheckArgument("{trainn}", CommandKind::kTrain, false, hyperparameters),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"train\"?")));
  EXPECT_THAT(CheckArgument("{hp.rate}", CommandKind::kTrain, false, hyperparameters),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hyperparameters.default")));
  EXPECT_THAT(CheckArgument("{}", CommandKind::kTrain, false, hyperparameters),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got \"{}\"")));
}

TEST(CommandTemplateTest, ATrainCommandHasNoTestAndAPredictCommandNoTrainData) {
  EXPECT_FALSE(CheckArgument("{test}", CommandKind::kTrain, false, {}).ok());
  EXPECT_FALSE(CheckArgument("{predictions}", CommandKind::kTrain, false, {}).ok());
  EXPECT_FALSE(CheckArgument("{train}", CommandKind::kPredict, false, {}).ok());
  EXPECT_OK(CheckArgument("{test}{model}{predictions}{metrics}{examples}{output}{seed}",
                          CommandKind::kPredict, false, {}));
  EXPECT_OK(CheckArgument("{train}{model}{output}{seed}", CommandKind::kTrain, false, {}));
}

TEST(CommandTemplateTest, ValuesAreNotExpandedAgain) {
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      ExpandArgument("a={{{seed}}} {train}", {{"seed", "{train}"}, {"train", "t"}}));
  EXPECT_EQ(text, "a={{train}} t");
}

TEST(CommandTemplateTest, APlaceholderWithoutAValueIsRefused) {
  EXPECT_THAT(ExpandArgument("{model}", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"{model}\" has no value")));
}

TEST(CommandTemplateTest, EachArgumentIsExpandedByItself) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> command,
                       ExpandCommand({"run me", "--data={train}", ""}, {{"train", "a b; rm *"}}));
  EXPECT_THAT(command, ElementsAre("run me", "--data=a b; rm *", ""));
}

TEST(CommandTemplateTest, ABenchmarksParametersAreReplacedAlone) {
  const std::vector<std::string> command = {"run", "{benchmark.task}", "{{a}}={test}",
                                            "{benchmark.x}{seed}"};
  EXPECT_OK(CheckArgument("{benchmark.task}", CommandKind::kPredict, false, {}));
  EXPECT_FALSE(CheckArgument("{benchmark.task}", CommandKind::kTrain, false, {}).ok());
  EXPECT_THAT(BenchmarkParametersOf(command), ElementsAre("task", "x"));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<std::string> expanded,
      ExpandBenchmarkParameters(command, {{"task", "{test}"}, {"x", "}"}, {"y", ""}}));
  EXPECT_THAT(expanded, ElementsAre("run", "{{test}}", "{{a}}={test}", "}}{seed}"));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> all,
                       ExpandCommand(expanded, {{"test", "t"}, {"seed", "1"}}));
  EXPECT_THAT(all, ElementsAre("run", "{test}", "{a}=t", "}1")) << "no value is expanded again";
  EXPECT_THAT(ExpandBenchmarkParameters(command, {{"task", "a"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("{benchmark.x}")));
}

}  // namespace
}  // namespace concur
