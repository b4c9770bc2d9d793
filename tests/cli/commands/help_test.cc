// SPDX-License-Identifier: Apache-2.0
// Features of every command: help with examples that can be typed, one meaning of -o, completion.

#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/app/context.h"
#include "cli/programs/concur_commands.h"
#include "cli/sweep/required_programs.h"
#include "report/text.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using ::concur::testing::FakeCoordinator;

std::string HelpOf(std::vector<std::string> command) {
  command.push_back("--help");
  return RunConcur(command).out;
}

// The lines of a section of help, without their indentation.
std::vector<std::string> SectionOf(const std::string& help, const std::string& heading) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (line == heading) {
      inside = true;
    } else if (inside && !absl::StartsWith(line, "  ")) {
      break;
    } else if (inside) {
      lines.emplace_back(line.substr(2));
    }
  }
  return lines;
}

constexpr const char* kHeadings[] = {"Run:", "Watch:", "Results:", "Analysis:", "Data:", "Serve:"};

// The names of the commands that help lists under `heading`.
std::vector<std::string> NamesUnder(const std::string& help, const std::string& heading) {
  std::vector<std::string> names;
  for (const std::string& line : SectionOf(help, heading)) {
    if (line[0] != ' ') {  // else it goes on about the one above
      names.push_back(line.substr(0, line.find(' ')));
    }
  }
  return names;
}

// The commands that `concur --help` lists.
std::vector<std::string> CommandsOfConcur() {
  std::vector<std::string> names;
  for (const char* heading : kHeadings) {
    for (const std::string& name : NamesUnder(HelpOf({}), heading)) {
      names.push_back(name);
    }
  }
  return names;
}

// Adds the commands below `path` that have none below them.
void AddLeaves(const std::vector<std::string>& path,
               std::vector<std::vector<std::string>>* leaves) {
  const std::vector<std::string> below =
      path.empty() ? CommandsOfConcur() : NamesUnder(HelpOf(path), "Subcommands:");
  for (const std::string& name : below) {
    std::vector<std::string> command = path;
    command.push_back(name);
    AddLeaves(command, leaves);
  }
  if (below.empty()) {
    leaves->push_back(path);
  }
}

const std::vector<std::vector<std::string>>& Leaves() {
  static const auto& leaves = *[] {
    auto* all = new std::vector<std::vector<std::string>>;
    AddLeaves({}, all);
    return all;
  }();
  return leaves;
}

// "" when the command line is one that `concur` takes, without doing anything.
std::string ParseError(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out, .err = err, .parse_only = true};
  return RunProgram(args, context) == kExitOk ? "" : err.str();
}

// Symptom: half of the commands showed the examples of `concur` itself.
TEST(HelpTest, EveryCommandShowsExamplesOfItselfThatCanBeTyped) {
  EXPECT_GT(Leaves().size(), 60u);
  for (const std::vector<std::string>& command : Leaves()) {
    const std::string name = absl::StrJoin(command, " ");
    const std::vector<std::string> examples = SectionOf(HelpOf(command), "Examples:");
    ASSERT_FALSE(examples.empty()) << name;
    EXPECT_THAT(examples[0], StartsWith(absl::StrCat("concur ", name))) << name;
    for (const std::string& example : examples) {
      for (std::vector<std::string>& words : ShellCommands(example)) {
        ASSERT_EQ(words[0], "concur") << example;
        words.erase(words.begin());
        EXPECT_EQ(ParseError(words), "") << example;
      }
    }
  }
  EXPECT_NE(ParseError({"sweep", "list", "--limitt", "3"}), "") << "what is wrong is found";
}

// `concur diff mine` said "b is required", and nobody knew what b is.
TEST(HelpTest, WhatIsMissingIsDescribed) {
  EXPECT_THAT(RunConcur({"diff", "mine"}).err,
              HasSubstr("b is required: A sweep, by name or id; ./DIRECTORY of a bundle"));
}

TEST(HelpTest, ExamplesFitTheTerminal) {
  for (const std::vector<std::string>& command : Leaves()) {
    for (const std::string& example : SectionOf(HelpOf(command), "Examples:")) {
      EXPECT_LE(example.size(), 78u) << example;
    }
  }
}

TEST(HelpTest, CommandsStandUnderSixHeadings) {
  const std::string help = HelpOf({});
  size_t at = 0;
  for (const char* heading : kHeadings) {
    const size_t found = help.find(absl::StrCat("\n", heading, "\n"));
    ASSERT_NE(found, std::string::npos) << heading;
    EXPECT_GT(found, at) << heading;
    EXPECT_FALSE(NamesUnder(help, heading).empty()) << heading;
    at = found;
  }
  EXPECT_THAT(help, Not(HasSubstr("Subcommands:"))) << "a command without a heading";
  EXPECT_LE(CommandsOfConcur().size(), 30u) << "a newcomer reads them all";
}

// `data stats --help` had a required FILE and, below it, a required --in FILE.
TEST(HelpTest, AnArgumentThatIsAlsoAnOptionIsRequiredOnce) {
  const std::string help = HelpOf({"data", "stats"});
  EXPECT_THAT(help, HasSubstr("file FILE ... REQUIRED"));
  EXPECT_THAT(SectionOf(help, "Options:"),
              Contains("--in FILE                 Names it instead of the argument"));
}

TEST(HelpTest, HelpFitsATerminalOf80Columns) {
  std::set<std::vector<std::string>> all = {{}};
  for (std::vector<std::string> command : Leaves()) {
    for (; !command.empty(); command.pop_back()) {
      all.insert(command);
    }
  }
  for (const std::vector<std::string>& command : all) {
    for (const absl::string_view line : absl::StrSplit(HelpOf(command), '\n')) {
      EXPECT_LE(analysis::DisplayWidth(line), 80u) << absl::StrJoin(command, " ") << ": " << line;
    }
  }
}

// Symptom: `plan` and `sweep plan`, `score` and `scores`, three `import`.
TEST(HelpTest, AnOldNameRunsTheNewCommandAndWarnsOnce) {
  const struct {
    const char* before;
    const char* now;
  } cases[] = {
      {"compare", "significance"},
      {"cross", "transfer"},
      {"export", "bundle write"},
      {"import", "bundle convert"},
      {"plan", "next"},
      {"score", "data score"},
      {"sweep import", "bundle load"},
      {"verify", "bundle verify"},
  };
  for (const auto& c : cases) {
    const Output before = RunConcur(absl::StrSplit(absl::StrCat(c.before, " --help"), ' '));
    const Output now = RunConcur(absl::StrSplit(absl::StrCat(c.now, " --help"), ' '));
    EXPECT_EQ(before.out, now.out) << c.before;
    EXPECT_EQ(before.err,
              absl::StrCat("concur: warning: \"concur ", c.before, "\" is now \"concur ", c.now,
                           "\"; the next release drops the old name\n"));
    EXPECT_EQ(now.err, "") << c.now;
    EXPECT_THAT(Leaves(), Not(Contains(std::vector<std::string>(absl::StrSplit(c.before, ' ')))));
  }
}

TEST(HelpTest, AnOldNameIsFoundBehindOptionsAndOnlyWhereACommandStands) {
  const Output now = RunConcur({"next", "--power", "-o", "json"});
  const Output before = RunConcur({"-o", "json", "plan", "--power"});
  EXPECT_EQ(before.code, kExitOk);
  EXPECT_EQ(before.out, now.out);
  EXPECT_THAT(before.err, StartsWith(R"({"warning":{"message":"\"concur plan\" is now)"));
  EXPECT_THAT(RunConcur({"sweep", "--server", "unix:/nowhere/socket", "import", "--help"}).out,
              HasSubstr("Usage: concur bundle load "));
  EXPECT_THAT(RunConcur({"import", "lm-evall", "x", "--out", "/nowhere"}).err,
              AllOf(HasSubstr("is now \"concur bundle convert\""), HasSubstr("did you mean")));
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"matrix", "plan", "--help"},
                                             {"--server", "import", "matrix", "--help"},
                                             {"data", "import", "--help"},
                                             {"sweep", "plan", "--help"}}) {
    EXPECT_EQ(RunConcur(line).err, "") << absl::StrJoin(line, " ");
  }
  EXPECT_THAT(RunConcur({"--complete", "imp"}).out, IsEmpty());
}

// Symptom: `report -o json` wrote a file called json.
TEST(HelpTest, TheShortOptionOIsTheOutputModeEverywhere) {
  for (const std::vector<std::string>& command : Leaves()) {
    EXPECT_THAT(HelpOf(command), Not(HasSubstr("  -o"))) << absl::StrJoin(command, " ");
  }
  EXPECT_THAT(RunConcur({"report", "demo", "-o", "report.html"}).err,
              HasSubstr("got \"report.html\"; the file to write is --out FILE"));
}

TEST(HelpTest, ConcurAloneAndAGroupAlonePrintTheirHelp) {
  const Output bare = RunConcur({});
  EXPECT_EQ(bare.code, kExitOk);
  EXPECT_EQ(bare.out, HelpOf({}));
  EXPECT_EQ(bare.err, "");
  EXPECT_EQ(RunConcur({"sweep"}).out, HelpOf({"sweep"}));
  EXPECT_THAT(RunConcur({"sweep"}).out, HasSubstr("Usage: concur sweep "));
  EXPECT_EQ(RunConcur({"-o", "json"}).code, kExitUsage) << "there is more to it";
}

// They were ignored, and `up --max 8` started one worker here.
TEST(HelpTest, AnOptionOfUpThatBelongsToAnotherOneNeedsIt) {
  EXPECT_THAT(RunConcur({"up", "--max", "8"}).err, HasSubstr("--max requires --slurm"));
  EXPECT_THAT(RunConcur({"up", "--var", "a=1"}).err, HasSubstr("--var requires --run"));
  EXPECT_EQ(RunConcur({"up", "--no-check"}).code, kExitUsage);
}

// "The following argument was not expected: b", "--interval: 1 required FLOAT missing".
TEST(HelpTest, TheParsersErrorsAreInOurWords) {
  EXPECT_EQ(RunConcur({"scores", "a", "b"}).err,
            "concur: error: expected no more arguments, got b\n");
  EXPECT_EQ(RunConcur({"matrix", "a", "--interval"}).err,
            "concur: error: --interval: expected a value, got none\n");
}

TEST(HelpTest, UnknownValuesAreAnsweredWithTheNearest) {
  const struct {
    std::vector<std::string> args;
    const char* answer;
  } cases[] = {
      {{"sweep", "list", "-o", "jsno"}, "(did you mean \"json\"?)"},
      {{"matrix", "--scores", "/dev/null", "--coefficient", "kendal"}, "\"kendall\""},
      {{"matrix", "--scores", "/dev/null", "--format", "latx"}, "\"latex\""},
      {{"matrix", "--scores", "/dev/null", "--order", "clustr"}, "\"cluster\""},
      {{"curve", "--scores", "/dev/null", "--by", "sise"}, "\"size\""},
      {{"data", "build", "fuzy", "--out", "/nowhere"}, "\"fuzzy\""},
      {{"data", "import", "squadd", "x", "--out", "/nowhere"}, "\"squad\""},
      {{"data", "export", "sqad", "x", "--out", "/nowhere"}, "\"squad\""},
      {{"data", "split", "x", "--by", "titel", "--out", "/nowhere"}, "\"title\""},
  };
  for (const auto& c : cases) {
    const Output output = RunConcur(c.args);
    EXPECT_NE(output.code, kExitOk);
    EXPECT_THAT(output.err, AllOf(HasSubstr("did you mean"), HasSubstr(c.answer)))
        << absl::StrJoin(c.args, " ");
  }
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    for (const char* id : {"s3", "s2", "s1"}) {
      v1::Sweep& sweep = fake_.sweeps.emplace_back();
      sweep.set_id(id);
      sweep.set_name(std::string(id) == "s1" ? "pilot" : "study");
      sweep.set_state(v1::Sweep::STATE_SUCCEEDED);
    }
    for (const char* id : {"s3/0", "s3/1"}) {
      v1::Job& job = fake_.jobs.emplace_back();
      job.set_id(id);
      job.set_state(v1::Job::STATE_FAILED);
    }
    fake_.workers.emplace_back().set_name("node-1");
  }

  std::vector<std::string> Complete(std::vector<std::string> words) {
    words.insert(words.begin(), {"--complete", "--server", fake_.address()});
    std::vector<std::string> names;
    for (const absl::string_view line :
         absl::StrSplit(RunConcur(words).out, '\n', absl::SkipEmpty())) {
      names.emplace_back(line.substr(0, line.find('\t')));
    }
    return names;
  }

  FakeCoordinator fake_;
};

TEST_F(CompletionTest, NamesOfSweepsJobsAndWorkersAreCompleted) {
  EXPECT_THAT(Complete({"sweep", "get", ""}), ElementsAre("study", "pilot", "s3", "s2", "s1"));
  EXPECT_THAT(Complete({"matrix", "st"}), ElementsAre("study"));
  EXPECT_THAT(Complete({"job", "logs", "-f", "pi"}), ElementsAre("pilot/"));
  EXPECT_THAT(Complete({"job", "logs", "study/"}), ElementsAre("study/0", "study/1"));
  EXPECT_THAT(Complete({"sweep", "retry", "s3", "--job", "s3/1"}), ElementsAre("s3/1"));
  EXPECT_THAT(Complete({"worker", "drain", ""}), ElementsAre("node-1"));
  EXPECT_THAT(Complete({"sweep", "get", "study", ""}), IsEmpty()) << "there is one sweep";
  EXPECT_THAT(Complete({"sweep", "submit", ""}), IsEmpty()) << "the shell knows files";
  EXPECT_THAT(Complete({"sweep", "list", "-o", "js"}), ElementsAre("json", "jsonl"));
}

TEST(CompletionOfNamesTest, NothingIsCompletedWithoutACoordinator) {
  const Output output =
      RunConcur({"--complete", "--server", "unix:/nowhere/socket", "sweep", "get", ""});
  EXPECT_EQ(output.code, kExitOk);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err, "");
}

}  // namespace
}  // namespace concur::cli
