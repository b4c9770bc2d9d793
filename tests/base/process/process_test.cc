// SPDX-License-Identifier: Apache-2.0
#include "base/process/process.h"

#include "tests/testing/test.h"

namespace concur::process {
namespace {

TEST(ProcessTest, APatternOfVariablesMeansANameOrItsBeginning) {
  EXPECT_TRUE(EnvPatternMatches("PYTHONPATH", "PYTHONPATH"));
  EXPECT_FALSE(EnvPatternMatches("PYTHONPATH", "PYTHONPATH2"));
  EXPECT_TRUE(EnvPatternMatches("CUDA_*", "CUDA_HOME"));
  EXPECT_FALSE(EnvPatternMatches("CUDA_*", "CUD"));
  EXPECT_FALSE(EnvPatternMatches("C*", "CONCUR_TOKEN")) << "nobody passes the worker's token on";
}

}  // namespace
}  // namespace concur::process
