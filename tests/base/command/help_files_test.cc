// SPDX-License-Identifier: Apache-2.0
#include "base/command/help_files.h"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/version.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::MatchesRegex;

// A program with two levels of commands.
class HelpFilesTest : public ::testing::Test {
 protected:
  HelpFilesTest() : app_("Counts things.", "tool") {
    app_.add_option("--format", format_, "How it is printed")
        ->check(CLI::IsMember({"text", "json"}))
        ->envname("TOOL_FORMAT");
    CLI::App* const count = app_.add_subcommand("count", "Count\nAll of a file's lines.");
    count->add_option("file", file_, "What to count")->required();
    count->add_option("-n,--limit", limit_, "Stop after so many")
        ->check(CLI::Range(1, 9))
        ->capture_default_str();
    count->add_option("--secret", secret_, "Hidden")->group("");
    count->footer("Examples:\n  tool count a.txt\nExit codes: 0 ok, 1 not");
    CLI::App* const list = app_.add_subcommand("list", "List");
    list->add_subcommand("all", "List all")->add_flag("--long", long_, ".with details");
    list->add_subcommand("any", "List any");
    app_.add_subcommand("serve", "Serve")->group("Service");
  }

  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const HelpFile& file : HelpFilesOf(app_)) {
      files[file.path] = file.text;
    }
    return files;
  }

  std::vector<std::string> Completions(const std::vector<std::string>& words) const {
    std::vector<std::string> names;
    for (const absl::string_view line :
         absl::StrSplit(CompletionsOf(app_, words), '\n', absl::SkipEmpty())) {
      names.emplace_back(line.substr(0, line.find('\t')));
    }
    return names;
  }

  std::string format_;
  std::string file_;
  std::string secret_;
  int limit_ = 5;
  bool long_ = false;
  CLI::App app_;
};

TEST_F(HelpFilesTest, AProgramHasAPageOfItsOwnAndOneOfEachCommandAndThreeCompletions) {
  std::vector<std::string> paths;
  for (const auto& [path, text] : Files()) {
    paths.push_back(path);
  }
  EXPECT_THAT(paths, UnorderedElementsAre(
                         "man/man1/tool.1", "man/man1/tool-count.1", "man/man1/tool-list.1",
                         "man/man1/tool-serve.1", "bash-completion/completions/tool",
                         "zsh/vendor-completions/_tool", "fish/vendor_completions.d/tool.fish"));
}

TEST_F(HelpFilesTest, ACommandsPageHasItsOptionsWithDefaultsRangesAndVariables) {
  const std::string page = Files()["man/man1/tool-count.1"];
  EXPECT_THAT(page, HasSubstr(".SH NAME\ntool\\-count \\- Count\n"));
  EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS\n\\fBtool count\\fR [\\fIOPTIONS\\fR] \\fIfile\\fR\n"));
  EXPECT_THAT(page, HasSubstr(".SH DESCRIPTION\nAll of a file's lines.\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-n\\fR, \\fB\\-\\-limit\\fR \\fIINT\\fR\n"
                              "Stop after so many. In the range [1 \\- 9]. Default: 5.\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n.EX\ntool count a.txt\n.EE\n"
                              ".SH EXIT CODES\n.EX\n0 ok, 1 not\n.EE\n"));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
  EXPECT_THAT(Files()["man/man1/tool.1"],
              HasSubstr("{text,json}\nHow it is printed. Environment: TOOL_FORMAT.\n"));
}

TEST_F(HelpFilesTest, AGroupsPageHasItsCommandsAndNoLineIsTakenForARequest) {
  const std::string page = Files()["man/man1/tool-list.1"];
  EXPECT_THAT(page, HasSubstr(".SS \\fBtool list all\\fR"));
  EXPECT_THAT(page, HasSubstr(".SS \\fBtool list any\\fR"));
  EXPECT_THAT(page, HasSubstr("\n\\&.with details\n"));
}

TEST_F(HelpFilesTest, CommandsStandUnderTheirHeadings) {
  EXPECT_THAT(Files()["man/man1/tool.1"],
              HasSubstr(".SH COMMANDS\n.TP\n\\fBcount\\fR\nCount\n.TP\n\\fBlist\\fR\nList\n"
                        ".SS Service\n.TP\n\\fBserve\\fR\nServe\n"));
}

TEST_F(HelpFilesTest, CommandsOptionsAndKnownValuesAreCompleted) {
  EXPECT_THAT(Completions({""}), ElementsAre("count", "list", "serve"));
  EXPECT_THAT(Completions({"li"}), ElementsAre("list"));
  EXPECT_THAT(Completions({"list", "a"}), ElementsAre("all", "any"));
  EXPECT_THAT(Completions({"list", "all", "--l"}), ElementsAre("--long"));
  EXPECT_THAT(Completions({"count", "--"}), ElementsAre("--help", "--limit", "--format"));
  EXPECT_THAT(Completions({"--format", ""}), ElementsAre("text", "json"));
  EXPECT_THAT(Completions({"--format", "=", "j"}), ElementsAre("json"));
  EXPECT_THAT(Completions({"--format", "json", "c"}), ElementsAre("count"));
  // A number and a file are for the user, and for the shell.
  EXPECT_THAT(Completions({"count", "--limit", ""}), ElementsAre());
  EXPECT_THAT(Completions({"count", ""}), ElementsAre());
}

TEST_F(HelpFilesTest, TheFilesAreWrittenWhereTheyAreAskedFor) {
  const std::string directory = ::testing::TempDir() + "/help_files_test";
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(AnswerHelpRequest(app_, {"count", "a.txt"}, out, err), std::nullopt);
  EXPECT_EQ(AnswerHelpRequest(app_, {"--complete", "co"}, out, err), 0);
  EXPECT_EQ(out.str(), "count\tCount\n");
  EXPECT_EQ(AnswerHelpRequest(app_, {"--write-help", directory}, out, err), 0) << err.str();
  for (const auto& [path, text] : Files()) {
    const absl::StatusOr<std::string> written = ReadFile(directory + "/" + path);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(*written, text);
  }
  EXPECT_EQ(AnswerHelpRequest(app_, {"--write-help", "/dev/null"}, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("tool: error: "));
}

TEST(VersionTest, NamesReleaseAndCommit) {
  EXPECT_THAT(VersionText("concur"),
              MatchesRegex("concur [0-9]+\\.[0-9]+\\.[0-9]+( \\([0-9a-f]{7,40}\\))?"));
}

}  // namespace
}  // namespace concur
