// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "cli/commands/commands.h"
#include "cli/sweep/submit.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

std::string Config(const std::string& name) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(source == nullptr ? "." : source, "/configs/", name);
}

// Result of `concur sweep ARGUMENTS…`.
struct Invocation {
  Invocation(std::vector<std::string> arguments, OutputMode mode) {
    Command app("sweep");
    CommandContext context{.out = out, .err = err, .output = mode};
    AddSweepFileCommands(app, context);
    std::reverse(arguments.begin(), arguments.end());
    app.app().parse(arguments);
    status = context.status;
  }
  std::ostringstream out;
  std::ostringstream err;
  absl::Status status;
};

TEST(SweepFilesTest, ABadVariableIsRefused) {
  EXPECT_THAT(ParseVariables({"data"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("expected NAME=VALUE, got \"data\"")));
  EXPECT_FALSE(ParseVariables({"=x"}).ok());
  EXPECT_THAT(ParseVariables({"a=1", "a=2"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("each variable once")));
  ASSERT_OK_AND_ASSIGN(const auto variables, ParseVariables({"a=", "b=c=d"}));
  EXPECT_EQ(variables.at("a"), "");
  EXPECT_EQ(variables.at("b"), "c=d");
}

TEST(SweepFilesTest, AMissingVariableIsAnErrorWithItsPlace) {
  const Invocation run({"validate", Config("sweeps/real.yaml")}, OutputMode::kTable);
  EXPECT_THAT(run.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("spec.variables.data: expected a value, got nothing; "
                                             "give --var data=VALUE")));
  EXPECT_EQ(run.out.str(), "");
}

TEST(SweepFilesTest, MissingDataIsAWarningAndWithDataAnError) {
  const std::vector<std::string> arguments = {"validate", Config("sweeps/real.yaml"), "--var",
                                              "data=/nowhere"};
  const Invocation run(arguments, OutputMode::kTable);
  EXPECT_OK(run.status);
  EXPECT_THAT(run.out.str(), HasSubstr("valid: sweep real with"));
  EXPECT_THAT(run.err.str(), HasSubstr("/nowhere/squad/dev-v1.1.json"));
  std::vector<std::string> strict = arguments;
  strict.push_back("--data");
  EXPECT_THAT(Invocation(strict, OutputMode::kTable).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected a readable data")));
}

TEST(SweepFilesTest, WhatIsLeftOutIsSaid) {
  // The hidden test sets of the MRQA shared task.
  for (const char* command : {"validate", "plan"}) {
    const Invocation run({command, Config("sweeps/mrqa.yaml"), "--var", "data=/nowhere"},
                         OutputMode::kTable);
    EXPECT_OK(run.status);
    EXPECT_THAT(run.err.str(), HasSubstr("the benchmark \"mrqa-trec\" is left out: its optional "
                                         "test file is not there: /nowhere/mrqa-trec/test.jsonl"));
  }
}

TEST(SweepFilesTest, TheCountsOfAPlanAddUpInEveryForm) {
  const std::vector<std::string> arguments = {"plan", Config("sweeps/demo.yaml"), "--settings"};
  const Invocation json_run(arguments, OutputMode::kJson);
  ASSERT_OK(json_run.status);
  const auto json = nlohmann::json::parse(json_run.out.str());
  uint64_t jobs = 0;
  uint64_t evals = 0;
  for (const auto& approach : json["approaches"]) {
    jobs += approach["jobs"].get<uint64_t>();
  }
  for (const auto& benchmark : json["benchmarks"]) {
    evals += benchmark["eval_jobs"].get<uint64_t>();
  }
  EXPECT_EQ(json["jobs"], jobs);
  EXPECT_EQ(json["eval_jobs"], evals);
  EXPECT_EQ(json["jobs"].get<uint64_t>(),
            json["train_jobs"].get<uint64_t>() + json["eval_jobs"].get<uint64_t>());
  EXPECT_GE(json["settings"].size(), json["approaches"].size());
  EXPECT_EQ(json_run.err.str(), "") << "warnings are part of the value";

  const Invocation table(arguments, OutputMode::kTable);
  EXPECT_THAT(table.out.str(), HasSubstr(absl::StrCat("total: ", jobs, " jobs (")));
  EXPECT_THAT(table.out.str(), HasSubstr("  1  {"));

  const Invocation csv({"plan", Config("sweeps/demo.yaml")}, OutputMode::kCsv);
  EXPECT_THAT(csv.out.str(), StartsWith("kind,name,settings,cells,train_jobs,eval_jobs,jobs\n"));
  EXPECT_THAT(csv.out.str(), HasSubstr(absl::StrCat(",", jobs, "\n")));

  const Invocation lines({"plan", Config("sweeps/demo.yaml")}, OutputMode::kJsonLines);
  std::istringstream stream(lines.out.str());
  std::string line;
  while (std::getline(stream, line)) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
}

TEST(SweepFilesTest, APlanSaysWhatASearchTries) {
  const Invocation table({"plan", Config("sweeps/small-search.yaml"), "--settings"},
                         OutputMode::kTable);
  ASSERT_OK(table.status);
  EXPECT_THAT(table.out.str(),
              HasSubstr("search: each approach on each train set has the default and 19 chosen by "
                        "tpe on validation scores, seed 7, 5 at a time\n"));
  EXPECT_EQ(table.out.str().find("  1  {"), std::string::npos) << "it is not chosen yet";
  const Invocation json({"plan", Config("sweeps/small-search.yaml")}, OutputMode::kJson);
  ASSERT_OK(json.status);
  EXPECT_EQ(nlohmann::json::parse(json.out.str())["search"]["trials"], 20);
}

TEST(SweepFilesTest, TheSettingsAreACsvTableToo) {
  const Invocation run({"plan", Config("sweeps/demo.yaml"), "--settings"}, OutputMode::kCsv);
  ASSERT_OK(run.status);
  EXPECT_THAT(run.out.str(), StartsWith("approach,index,setting\n"));
  EXPECT_THAT(run.out.str(), HasSubstr("logistic-regression,0,\"{"));
}

TEST(SweepFilesTest, ASweepThatFitsInNoPoolOfTheCoordinatorIsRefused) {
  const Invocation run(
      {"plan", Config("sweeps/demo.yaml"), "--coordinator", Config("options/coordinator.yaml")},
      OutputMode::kTable);
  EXPECT_OK(run.status);
  const Invocation wrong(
      {"plan", Config("sweeps/demo.yaml"), "--coordinator", Config("options/worker.yaml")},
      OutputMode::kTable);
  EXPECT_THAT(wrong.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("kind: expected CoordinatorOptions")));
}

}  // namespace
}  // namespace concur::cli
