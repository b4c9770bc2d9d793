// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/needs.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "core/sweep/content_key.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::SmallSweep;

ApproachSpec ServingApproach(const std::string& name) {
  ApproachSpec judge;
  judge.name = name;
  judge.version = "1";
  judge.hyperparameters.defaults = {{"model", std::string("m")}};
  judge.service.emplace().command = {"judge", "{hp.model}", "{port}"};
  return judge;
}

// SmallSweep, and the service "judge" (approach 2), which jobs of r need (approach 1).
SweepSpec JudgedSweep() {
  SweepSpec spec = SmallSweep();
  spec.approaches.push_back(ServingApproach("judge"));
  spec.approaches[1].needs = {2};
  spec.approaches[1].predict_command.emplace_back("{service.judge.url}");
  return spec;
}

std::map<std::string, Digest> NeedKeysOf(const SweepSpec& spec) {
  const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  CONCUR_CHECK_OK(expansion.status());
  const ContentKeys keys(*expansion);
  std::map<std::string, Digest> by_name;
  for (uint32_t job = 0; job < expansion->job_count(); ++job) {
    by_name[expansion->Describe(job)] = keys.KeyOf(job);
  }
  return by_name;
}

TEST(SweepNeedsTest, AnApproachThatIsNothingButAServiceHasNoJobs) {
  const SweepSpec without = SmallSweep();
  ASSERT_OK_AND_ASSIGN(const Expansion plain, Expansion::Make(without));
  ASSERT_OK_AND_ASSIGN(const Expansion judged, Expansion::Make(JudgedSweep()));
  EXPECT_EQ(judged.job_count(), plain.job_count());
}

TEST(SweepNeedsTest, NeedsOfAJobAreItsApproachsThenItsBenchmarksEachOnce) {
  SweepSpec spec = JudgedSweep();
  spec.approaches.push_back(ServingApproach("other"));
  spec.benchmarks[0].needs = {3, 2};
  EXPECT_THAT(NeedsOf(spec, 1, 0), ElementsAre(2, 3));
  EXPECT_THAT(NeedsOf(spec, 0, 0), ElementsAre(3, 2));
  EXPECT_THAT(NeedsOf(spec, 1, 1), ElementsAre(2));
}

TEST(SweepNeedsTest, WhatCannotBeNeededIsRefused) {
  struct Case {
    const char* name;
    std::function<void(SweepSpec&)> change;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"no such approach", [](SweepSpec& spec) { spec.benchmarks[0].needs = {9}; },
       "benchmarks[0].needs[0]: "},
      {"itself",
       [](SweepSpec& spec) {
         spec.approaches[1].service = spec.approaches[2].service;
         spec.approaches[1].service->command = {"serve", "{port}"};
         spec.approaches[1].needs = {2, 1};
       },
       "approaches[1].needs[1]: expected another approach, got \"r\""},
      {"no service",
       [](SweepSpec& spec) {
         spec.approaches[1].needs = {2, 0};
       },
       "approaches[1].needs[1]: expected an approach with the field service, got \"a\""},
      {"a circle",
       [](SweepSpec& spec) {
         spec.approaches[1].service = spec.approaches[2].service;
         spec.approaches[1].service->command = {"serve", "{port}"};
         spec.approaches[2].predict_command = {"ask", "{test}", "{predictions}"};
         spec.approaches[2].needs = {1};
       },
       "approaches[1].needs[0]: expected a service without needs of its own, got \"judge\""},
      {"settings to choose from",
       [](SweepSpec& spec) {
         spec.approaches[2].hyperparameters.space = {
             {"model", Choice{{std::string("m"), std::string("n")}}}};
       },
       "expected a service with one setting, got \"judge\", which has a space of them; give each"},
      {"an own seed",
       [](SweepSpec& spec) { spec.approaches[2].service->command.emplace_back("{seed}"); },
       "a service that is the same for all jobs, got \"judge\", whose command has {seed}"},
      {"twice",
       [](SweepSpec& spec) {
         spec.approaches[1].needs = {2, 2};
       },
       "approaches[1].needs[1]: \"judge\" stands twice"},
      {"names that are one variable",
       [](SweepSpec& spec) {
         spec.approaches.push_back(ServingApproach("Judge"));
         spec.approaches[1].needs = {2, 3};
       },
       "approaches[3].name: expected names of needed services that differ as variables, got "
       "\"judge\" and \"Judge\", which are both $CONCUR_SERVICE_JUDGE_"},
      {"too many", [](SweepSpec& spec) { spec.approaches[1].needs.assign(8, 2); },
       "approaches[1].needs: "},
      {"needed by nobody",
       [](SweepSpec& spec) { spec.approaches.push_back(ServingApproach("other")); },
       "approaches[3].service: expected predict.command, which asks the service, or needs: "
       "[other]"},
      {"a url that is not needed",
       [](SweepSpec& spec) {
         spec.approaches[1].needs.clear();
         spec.benchmarks[0].needs = {2};
       },
       "approaches[1].predict.command: expected {service.NAME.url} of a service that the job "
       "needs, got \"judge\"; give the approach, or the benchmark \"y\", needs: [judge]"},
      {"a url of a socket",
       [](SweepSpec& spec) {
         spec.approaches[2].service->command = {"judge", "{socket}"};
       },
       "approaches[1].predict.command: expected {service.judge.socket}, since the service listens "
       "on {socket}, got {service.judge.url}"},
      {"two values of one label",
       [](SweepSpec& spec) {
         spec.approaches[1].predict_labels = {{"gpu", "a"}};
         spec.approaches[2].predict_labels = {{"gpu", "b"}};
       },
       "approaches[2].predict.resources.labels: expected labels that a worker can have together"},
  };
  EXPECT_OK(Expansion::Make(JudgedSweep()));
  for (const Case& bad : cases) {
    SweepSpec spec = JudgedSweep();
    bad.change(spec);
    EXPECT_THAT(Expansion::Make(spec).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.name;
  }
}

TEST(SweepNeedsTest, ANeededServiceIsPartOfTheKeysOfTheJobsThatNeedItByItsContent) {
  const std::string needing = "r, setting 0, seed 1, evaluated on x";
  const std::string unrelated = "a on x, setting 0, seed 1, evaluated on x";
  const auto plain = NeedKeysOf(SmallSweep());
  const SweepSpec spec = JudgedSweep();
  const auto keys = NeedKeysOf(spec);
  ASSERT_TRUE(keys.contains(needing));
  EXPECT_NE(keys.at(needing), plain.at(needing));
  EXPECT_EQ(keys.at(unrelated), plain.at(unrelated));
  SweepSpec same = spec;
  same.approaches[2].service->serves = 1;
  same.approaches[2].service->resources.gpus = 4;
  same.approaches[2].secrets = {{"KEY", "openai"}};
  EXPECT_EQ(NeedKeysOf(same), keys);
  for (const auto& change : std::vector<std::function<void(ApproachSpec&)>>{
           [](ApproachSpec& judge) { judge.version = "2"; },
           [](ApproachSpec& judge) {
             judge.env = {{"A", "b"}};
           },
           [](ApproachSpec& judge) { judge.service->command.emplace_back("--fast"); },
           [](ApproachSpec& judge) { judge.hyperparameters.defaults["model"] = std::string("n"); },
       }) {
    SweepSpec other = spec;
    change(other.approaches[2]);
    EXPECT_NE(NeedKeysOf(other).at(needing), keys.at(needing));
    EXPECT_EQ(NeedKeysOf(other).at(unrelated), keys.at(unrelated));
  }
  SweepSpec by_benchmark = spec;
  by_benchmark.benchmarks[0].needs = {2};
  EXPECT_NE(NeedKeysOf(by_benchmark).at(unrelated), keys.at(unrelated));
}

TEST(SweepNeedsTest, AServiceIsNamedByItsJobAndItsPlace) {
  const JobId job{{12}, 345};
  EXPECT_EQ(job.Service().ToString(), "s12/345 service");
  EXPECT_EQ(job.Service(3).ToString(), "s12/345 service 3");
  EXPECT_EQ(job.Service(15).ServedJob(), job);
  EXPECT_EQ(job.Service(15).ServicePlace(), 15u);
  EXPECT_EQ(job.ServedJob(), job);
  EXPECT_EQ(job.ServicePlace(), 0u);
  const JobId high{{12}, (1U << 27) + 5};
  EXPECT_EQ(high.ServedJob(), high) << "no job, and no name of another one";
}

}  // namespace
}  // namespace concur
