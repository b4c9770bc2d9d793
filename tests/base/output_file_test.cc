// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(OutputFileTest, ALinkStaysAndWhatItLeadsToIsWritten) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("elsewhere")));
  ASSERT_OK(WriteFileAtomically(temp.File("elsewhere/old"), "old"));
  std::filesystem::create_symlink("elsewhere/old", temp.File("link"));
  std::filesystem::create_symlink("elsewhere/new", temp.File("dangling"));
  ASSERT_OK(WriteOutput(temp.File("link"), "1"));
  ASSERT_OK(WriteOutput(temp.File("dangling"), "2"));
  EXPECT_TRUE(std::filesystem::is_symlink(temp.File("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(temp.File("dangling")));
  EXPECT_EQ(ReadFile(temp.File("elsewhere/old")).value_or(""), "1");
  EXPECT_EQ(ReadFile(temp.File("elsewhere/new")).value_or(""), "2");
}

TEST(OutputFileTest, WhatIsNoFileIsLeftAlone) {
  TempDir temp;
  ASSERT_EQ(mkfifo(temp.File("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", temp.File("link"));
  for (const std::string& path :
       {temp.File("pipe"), temp.File("link"), std::string("/dev/null"), temp.path()}) {
    EXPECT_THAT(WriteOutput(path, "1"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected a file")));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(temp.File("pipe")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(WriteOutput("", "1"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name of a file")));
}

}  // namespace
}  // namespace concur
