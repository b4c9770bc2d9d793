// SPDX-License-Identifier: Apache-2.0
// The environment that commands find is the one that docs/job-environment.md describes.

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "worker/execution/subprocess_executor.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {
namespace {

TEST(EnvironmentTest, EveryVariableAndFileIsDocumentedInOnePlace) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK_AND_ASSIGN(
      const std::string page,
      ReadFile(absl::StrCat(source == nullptr ? "." : source, "/docs/job-environment.md")));
  JobOrder order;
  order.id = {{{12}, 345}, {2}};
  order.code.emplace(JobOrder::CodeInput{});
  order.setting = {{"name", 1.0}};
  order.env = {};
  RunPaths paths;
  paths.directory = "/runs/s12-345-a2";
  for (const std::string& variable :
       BuildEnvironment(order, paths, process::BaseEnvironment(), {})) {
    const std::string name = std::vector<std::string>(absl::StrSplit(variable, '='))[0];
    EXPECT_THAT(page, HasSubstr(absl::StrCat("`", name, "`")));
  }
  for (const char* name :
       {"train", "test", "model", "predictions", "metrics", "examples", "code", "output"}) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("| `{", name, "}` |")));
  }
}

TEST(EnvironmentTest, VariablesThatTheWorkerPassesReachJobsAndNoOthers) {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread is there
  setenv("CUDA_HOME", "/opt/cuda=12", 1);
  setenv("PYTHONPATH", "/opt/lib", 1);
  setenv("CONCUR_TOKEN", "secret", 1);
  const auto passed = process::BaseEnvironment({"CUDA_*", "C*"});
  const auto plain = process::BaseEnvironment();
  for (const char* name : {"CUDA_HOME", "PYTHONPATH", "CONCUR_TOKEN"}) {
    unsetenv(name);
  }
  // NOLINTEND(concurrency-mt-unsafe)
  ASSERT_TRUE(passed.contains("CUDA_HOME"));
  EXPECT_EQ(passed.at("CUDA_HOME"), "/opt/cuda=12");
  EXPECT_FALSE(passed.contains("PYTHONPATH"));
  EXPECT_FALSE(passed.contains("CONCUR_TOKEN"));
  EXPECT_FALSE(plain.contains("CUDA_HOME"));
}

}  // namespace
}  // namespace concur::worker
