// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/file.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "tests/cli/run_concur.h"
#include "tests/qa/builders/small_sources.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

struct DataOutcome {
  absl::Status status;
  std::string out;
  std::string err;
};

DataOutcome RunData(std::vector<std::string> arguments, OutputMode mode = OutputMode::kTable,
                    bool terminal = false) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out,
                         .err = err,
                         .output = mode,
                         .err_is_terminal = terminal,
                         .server = "",
                         .status = absl::OkStatus()};
  Command app("test");
  AddDataCommands(app, context);
  arguments.insert(arguments.begin(), "data");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.app().parse(arguments);
  } catch (const CLI::ParseError& error) {
    context.status = absl::InvalidArgumentError(error.what());
  }
  return {context.status, out.str(), err.str()};
}

// A text of nouns for cloze and lastword sets, which need no package then.
std::string WriteText(const TempDir& dir) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    absl::StrAppend(&text, "And the ", qa::MadeUpWord(i % 11), " saw Moab by the ",
                    qa::MadeUpWord(i), " of ", qa::MadeUpWord(i / 50), " and ",
                    qa::MadeUpWord(i % 7), ".\n");
  }
  std::string path = dir.File("text");
  EXPECT_OK(WriteFileAtomically(path, text));
  return path;
}

std::vector<std::string> BuildArguments(const TempDir& dir, const std::string& out) {
  return {"build",
          "lastword",
          "--out",
          dir.File(out),
          "--text",
          WriteText(dir),
          "--seed",
          "3",
          "--train-questions",
          "30",
          "--test-questions=20"};
}

TEST(DataCommandsTest, BuildWritesBothSetsAndReportsThem) {
  TempDir dir;
  const DataOutcome outcome = RunData(BuildArguments(dir, "o"), OutputMode::kJsonLines);
  ASSERT_OK(outcome.status);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("{\"split\":\"train\""), HasSubstr("\"questions\":30"),
                                 HasSubstr("\"questions\":20"), HasSubstr("\"seed\":3"),
                                 HasSubstr("\"sha256\":\"")));
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(std::filesystem::exists(dir.File("o/train.jsonl")));
  EXPECT_TRUE(std::filesystem::exists(dir.File("o/test.jsonl")));
}

// It came in three blocks on a terminal of 80 columns, for digests that nobody reads.
TEST(DataCommandsTest, WhatWasBuiltIsOneBlockOnATerminal) {
  TempDir dir;
  std::vector<std::string> arguments = BuildArguments(dir, "o");
  arguments.insert(arguments.begin(), "data");
  const Output output = RunConcur(arguments, /*out_is_terminal=*/true);
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(std::count(output.out.begin(), output.out.end(), '\n'), 3) << output.out;
}

TEST(DataCommandsTest, ProgressGoesToATerminalOnly) {
  TempDir dir;
  const DataOutcome outcome = RunData(BuildArguments(dir, "o"), OutputMode::kTable, true);
  ASSERT_OK(outcome.status);
  EXPECT_THAT(outcome.err, HasSubstr("\rbuilding lastword: 100 % (50 of 50 questions)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("building")));
}

TEST(DataCommandsTest, UnknownNamesGetASuggestion) {
  TempDir dir;
  EXPECT_THAT(RunData({"build", "lastwrod", "--out", dir.File("o")}).status,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"lastword\"")));
  EXPECT_THAT(
      RunData({"build", "lastword", "--out", dir.File("o"), "--train-question", "3"}).status,
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"train-questions\"")));
  EXPECT_THAT(
      RunData({"build", "lastword", "--out", dir.File("o"), "--dropout", "0.5"}).status,
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown parameter --dropout")));
  EXPECT_THAT(RunData({"build", "lastword", "more", "--out", dir.File("o")}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"more\"")));
  EXPECT_THAT(RunData({"list", "x"}).status,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("fuzzy")));
  EXPECT_FALSE(std::filesystem::exists(dir.File("o")));
}

TEST(DataCommandsTest, ImportReportsWhatItReadKeptAndDropped) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(
      dir.File("in.json"), R"({"data": [{"title": "T", "paragraphs": [{"context": "a b", "qas": [
        {"id": "1", "question": "?", "answers": [{"text": "b", "answer_start": 2}]},
        {"id": "2", "question": "?", "answers": [{"text": "b", "answer_start": 0}]}]}]}]})"));
  const std::vector<std::string> arguments = {
      "import", "squad", "--in", dir.File("in.json"), "--out", dir.File("o.jsonl")};
  const DataOutcome outcome = RunData(arguments, OutputMode::kCsv);
  ASSERT_OK(outcome.status);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("outcome,questions,detail,first\nread,2,,\nkept,1,"),
                                 HasSubstr("\ndropped,1,no answer is where answer_start says,"),
                                 HasSubstr("in.json:1: data[0].paragraphs[0].qas[1]\n")));
  std::filesystem::remove(dir.File("o.jsonl"));
  std::vector<std::string> strict = arguments;
  strict.emplace_back("--strict");
  EXPECT_THAT(RunData(strict).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--strict")));
  EXPECT_FALSE(std::filesystem::exists(dir.File("o.jsonl")));
  strict.back() = "--sentence=x";
  EXPECT_THAT(RunData(strict).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown parameter")));
  EXPECT_THAT(RunData({"import", "squat", "--in", "x", "--out", "y"}).status,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"squad\"")));
}

TEST(DataCommandsTest, ListNamesBuildersAndTheirParameters) {
  const DataOutcome all = RunData({"list"});
  ASSERT_OK(all.status);
  EXPECT_THAT(all.out, AllOf(HasSubstr("fuzzy"), HasSubstr("wordnet"), HasSubstr("cloze"),
                             HasSubstr("lastword"), HasSubstr("qamr")));
  const DataOutcome one = RunData({"list", "fuzzy"}, OutputMode::kCsv);
  ASSERT_OK(one.status);
  EXPECT_THAT(one.out, AllOf(StartsWith("parameter,default,meaning\n"),
                             HasSubstr("--dropout,0.2,share of words that are left out\n")));
}

TEST(DataCommandsTest, SetsAreMixedDownsampledSplitCountedAndChecked) {
  TempDir dir;
  ASSERT_OK(RunData(BuildArguments(dir, "o")).status);
  const std::string train = dir.File("o/train.jsonl");
  const std::string test = dir.File("o/test.jsonl");
  const std::string mixed = dir.File("mixed.jsonl.gz");
  ASSERT_OK(
      RunData({"mixture", "--part", "a=" + train + ":10", "--part", "b=" + test, "--out", mixed})
          .status);
  const DataOutcome stats = RunData({"stats", mixed, train}, OutputMode::kCsv);
  ASSERT_OK(stats.status);
  EXPECT_THAT(stats.out, AllOf(HasSubstr("mixed.jsonl.gz,30,30,30,30,"),
                               HasSubstr("train.jsonl,30,30,30,30,")));
  const DataOutcome small =
      RunData({"downsample", "--in", mixed, "--questions", "5", "--out", dir.File("small.jsonl")},
              OutputMode::kJson);
  ASSERT_OK(small.status);
  EXPECT_THAT(small.out, HasSubstr("\"questions\": 5"));
  ASSERT_OK(RunData({"split", "--in", mixed, "--by", "context", "--test-share", "0.5", "--out",
                     dir.File("s")})
                .status);
  const DataOutcome checked = RunData({"validate", mixed, dir.File("s/test.jsonl")});
  ASSERT_OK(checked.status);
  EXPECT_THAT(checked.err, HasSubstr("no problem in 30 passages, 30 questions"));
}

// Symptom: `downsample --out x.json` wrote MRQA lines into x.json.
TEST(DataCommandsTest, WhatIsWrittenIsWhatTheNameSays) {
  TempDir dir;
  ASSERT_OK(RunData(BuildArguments(dir, "o")).status);
  for (const char* name : {"x.json", "x.json.gz", "x.jsonl", "x.jsonl.gz"}) {
    ASSERT_OK(RunData({"downsample", dir.File("o/train.jsonl"), "--questions", "5", "--out",
                       dir.File(name)})
                  .status);
    const DataOutcome stats = RunData({"stats", "--in", dir.File(name)}, OutputMode::kCsv);
    EXPECT_THAT(stats.out, HasSubstr(absl::StrCat(name, ",5,5,5,5,"))) << name;
  }
  ASSERT_OK_AND_ASSIGN(const std::string squad, ReadFile(dir.File("x.json")));
  EXPECT_THAT(squad, StartsWith(R"({"version": "1.1", "data": [)"));
  ASSERT_OK_AND_ASSIGN(const std::string lines, ReadFile(dir.File("x.jsonl")));
  EXPECT_THAT(lines, StartsWith(R"({"header": {)"));
  ASSERT_OK(RunData({"export", "squad", dir.File("x.jsonl"), "--out", dir.File("y.json")}).status);
  EXPECT_EQ(ReadFile(dir.File("y.json")).value_or(""), squad) << "one writer of SQuAD JSON";
}

// Symptom: `stats` and `validate` took files as arguments, the others after --in.
TEST(DataCommandsTest, EveryCommandTakesItsFilesAsArgumentsOrAfterIn) {
  TempDir dir;
  ASSERT_OK(RunData(BuildArguments(dir, "o")).status);
  const std::string train = dir.File("o/train.jsonl");
  const std::vector<std::vector<std::string>> commands = {
      {"stats"},
      {"validate"},
      {"downsample", "--questions", "3", "--out", dir.File("small.jsonl")},
      {"split", "--by", "context", "--test-share", "0.5", "--out", dir.File("parts")},
      {"export", "squad", "--out", dir.File("squad.json")},
      {"import", "mrqa", "--out", dir.File("again.jsonl")}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--in");
    command.push_back(train);
    ASSERT_OK(RunData(command).status) << command[0];
    command.erase(command.end() - 2);
    std::filesystem::remove_all(dir.File("parts"));
    ASSERT_OK(RunData(command).status) << command[0];
  }
}

TEST(DataCommandsTest, ValidateFailsAndListsProblems) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("bad"), "{\"context\": \"a\", \"qas\": 3}\n"));
  const DataOutcome outcome = RunData({"validate", dir.File("bad")}, OutputMode::kJsonLines);
  EXPECT_THAT(outcome.status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 problem in 0 questions")));
  EXPECT_THAT(outcome.out,
              HasSubstr("\"place\":\"1\",\"id\":\"\",\"problem\":\"qas: expected a list\""));
}

TEST(DataCommandsTest, MalformedPartsAndModesAreRefused) {
  TempDir dir;
  EXPECT_THAT(RunData({"mixture", "--part", "path", "--out", dir.File("o")}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NAME=PATH")));
  EXPECT_THAT(RunData({"split", "--in", "x", "--by", "colour", "--out", dir.File("o")}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("title or context")));
}

}  // namespace
}  // namespace concur::cli
