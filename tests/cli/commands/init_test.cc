// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

// The test's program is not where concur is: the files of the study are found from the source tree.
class InitTest : public ::testing::Test {
 protected:
  InitTest() {
    const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    std::filesystem::current_path(source == nullptr ? "." : source);
  }
  ~InitTest() override { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(InitTest, AStudyIsWrittenThatIsValidAndWhoseProgramCountsInItsResults) {
  // "change it as you like": an edit of answer.py reused all results.
  const TempDir dir;
  const std::string study = dir.File("my study");
  const Output output = RunConcur({"init", study});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr(study + "/study.yaml"));
  EXPECT_THAT(output.err, HasSubstr(absl::StrCat("  cd '", study, "'\n")));
  EXPECT_THAT(output.err, HasSubstr("concur sweep submit study.yaml --watch"));
  const Output valid = RunConcur({"sweep", "validate", study + "/study.yaml", "--data"});
  EXPECT_EQ(valid.code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("valid: sweep study with 4 approaches, 2 benchmarks"));
  EXPECT_EQ(valid.err, "") << "no warning either";
  ASSERT_OK_AND_ASSIGN(spec::LoadedSweep sweep, spec::LoadSweep(study + "/study.yaml"));
  EXPECT_EQ(sweep.spec.approaches[0].train_command[1], "{code}/answer.py");
  ASSERT_OK(spec::ResolveCode(&sweep));
  const Digest before = sweep.spec.approaches[0].code->key;
  ASSERT_OK_AND_ASSIGN(const std::string program, ReadFile(study + "/answer.py", 1 << 20));
  ASSERT_OK(WriteFileAtomically(study + "/answer.py", program + "# changed\n"));
  ASSERT_OK_AND_ASSIGN(sweep, spec::LoadSweep(study + "/study.yaml"));
  ASSERT_OK(spec::ResolveCode(&sweep));
  EXPECT_NE(sweep.spec.approaches[0].code->key, before);
}

TEST_F(InitTest, WhatIsThereIsNotOverwritten) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("notes"), "mine"));
  const Output output = RunConcur({"init", dir.path()});
  EXPECT_EQ(output.code, 4);
  EXPECT_THAT(output.err, HasSubstr("expected a new or an empty directory; name another"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("study.yaml")));
}

}  // namespace
}  // namespace concur::cli
