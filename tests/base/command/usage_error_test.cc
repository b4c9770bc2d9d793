// SPDX-License-Identifier: Apache-2.0
#include "base/command/usage_error.h"

#include <optional>
#include <string>
#include <vector>

#include "base/command/command.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Standard error of a program with these arguments, which must end it with 2.
std::string ErrorOf(std::vector<std::string> args, bool with_commands) {
  Command app("Counts things.", "tool");
  int limit = 0;
  std::string file;
  Command* const taker = with_commands ? app.AddSubcommand("count", "Count lines") : &app;
  if (with_commands) {
    app.RequireSubcommand();
  }
  taker->AddOption("--limit", limit, "Stop after so many");
  taker->AddOption("file", file, "A file to count")->Required();
  args.insert(args.begin(), "tool");
  std::vector<char*> argv;
  for (std::string& arg : args) {
    argv.push_back(arg.data());
  }
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(app.Parse(static_cast<int>(argv.size()), argv.data(), 2), std::optional<int>(2));
  return ::testing::internal::GetCapturedStderr();
}

// `concur-worker --nosuch` said "The following argument was not expected: --nosuch".
TEST(UsageErrorTest, EveryProgramNamesAnUnknownOption) {
  EXPECT_EQ(ErrorOf({"--nosuch"}, false), "tool: unknown option --nosuch; see tool --help\n");
  EXPECT_EQ(ErrorOf({"--limt", "3"}, false),
            "tool: unknown option --limt (did you mean \"--limit\"?); see tool --help\n");
}

TEST(UsageErrorTest, EveryProgramNamesAnUnknownCommand) {
  EXPECT_EQ(ErrorOf({"coutn"}, true),
            "tool: unknown command \"coutn\" (did you mean \"count\"?); see tool --help\n");
  EXPECT_EQ(ErrorOf({}, true), "tool: expected a command; see tool --help\n");
}

TEST(UsageErrorTest, SaysWhatIsMissingOrTooMuch) {
  EXPECT_EQ(ErrorOf({}, false), "tool: file is required: A file to count; see tool --help\n");
  EXPECT_EQ(ErrorOf({"a", "b"}, false),
            "tool: expected no more arguments, got b; see tool --help\n");
  EXPECT_EQ(ErrorOf({"a", "--limit"}, false),
            "tool: --limit: expected a value, got none; see tool --help\n");
  EXPECT_THAT(ErrorOf({"a", "--limit", "x"}, false), Not(HasSubstr("The following")));
}

}  // namespace
}  // namespace concur
