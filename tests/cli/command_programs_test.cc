// Which programs the commands of approaches start.
#include "cli/command_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/sweep_yaml.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::cli {
namespace {

using ::concur::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

TEST(CommandProgramsTest, AScriptIsSplitAsAShellDoes) {
  EXPECT_THAT(ShellCommands("a b 'c d' \"e $x\"\nf;g|h && i # j\n\n"),
              ElementsAre(ElementsAre("a", "b", "c d", "e $x"), ElementsAre("f"), ElementsAre("g"),
                          ElementsAre("h"), ElementsAre("i")));
  EXPECT_THAT(ShellCommands("a \\\n  b 'two\nlines' c\\ d"),
              ElementsAre(ElementsAre("a", "b", "two\nlines", "c d")));
  EXPECT_THAT(ShellCommands("a $(b c) $((1 / 2)) >out 2>&1 <in d"),
              ElementsAre(ElementsAre("a", "$(b c)", "$((1 / 2))", "d")));
}

TEST(CommandProgramsTest, HereDocumentsAreNoCommands) {
  EXPECT_THAT(ShellCommands("a - <<'END' b\nimport x\nthis; that\nEND\nc"),
              ElementsAre(ElementsAre("a", "-", "b"), ElementsAre("c")));
  EXPECT_THAT(ShellCommands("a <<END\nnever ends"), ElementsAre(ElementsAre("a")));
}

TEST(CommandProgramsTest, TheFirstArgumentIsAProgram) {
  EXPECT_THAT(ProgramsOf({"rank", "--train={train}", "other"}), ElementsAre("rank"));
  EXPECT_THAT(ProgramsOf(std::vector<std::string>{"{output}/built"}), IsEmpty());
  EXPECT_THAT(ProgramsOf({"python3", "/opt/run.py", "x"}), ElementsAre("/opt/run.py", "python3"));
  EXPECT_THAT(ProgramsOf({"python3", "-m", "module"}), ElementsAre("python3"));
}

TEST(CommandProgramsTest, AShellsScriptNamesMore) {
  const std::vector<std::string> command = {"sh", "-euc",
                                            "mkdir -p \"{model}\"\n"
                                            "export A=b; C=d convert \"{train}\"\n"
                                            "if grep -q x y; then python3 ${programs} ; fi\n"
                                            "cd /opt/tool\n"
                                            "python3 scripts/train.py --seed {seed}\n"
                                            "cp -R /opt/code \"$TMPDIR/code\"\n"
                                            "exec \"$TMPDIR/built\""};
  EXPECT_THAT(ProgramsOf(command),
              ElementsAre("/opt/code", "/opt/tool", "/opt/tool/scripts/train.py", "convert", "cp",
                          "grep", "mkdir", "python3", "sh"));
}

TEST(CommandProgramsTest, AProgramIsAnExecutableFileOfThePath) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("one/rank"));  // a directory is no program
  std::filesystem::create_directories(dir.File("two"));
  std::ofstream(dir.File("two/rank")) << "#!/bin/sh\n";
  const std::string path = absl::StrCat(dir.File("one"), ":", dir.File("two"));
  EXPECT_EQ(FindProgram("rank", path), "");
  std::filesystem::permissions(dir.File("two/rank"), std::filesystem::perms::owner_all);
  EXPECT_EQ(FindProgram("rank", path), dir.File("two/rank"));
  EXPECT_EQ(FindProgram(dir.File("two"), ""), dir.File("two"));
  EXPECT_EQ(FindProgram(dir.File("three"), path), "");
}

TEST(CommandProgramsTest, EveryProgramOfTheStudiesApproachesIsFound) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK_AND_ASSIGN(const spec::LoadedSweep sweep,
                       spec::LoadSweep(absl::StrCat(source == nullptr ? "." : source,
                                                    "/configs/sweeps/concurrence.yaml"),
                                       {{"programs", "/p"}}));
  const auto programs = ProgramsOf(sweep.spec);
  std::vector<std::string> names;
  for (const auto& [name, approaches] : programs) {
    names.push_back(name);
  }
  EXPECT_THAT(
      names, IsSupersetOf({"/p/RaSoR", "/p/FastFusionNet",
                           "/p/transformers/examples/pytorch/question-answering/run_qa.py",
                           "/p/DrQA/scripts/reader/train.py", "/p/MnemonicReader/script/predict.py",
                           "allennlp", "python2", "python3", "concur", "sh"}));
  EXPECT_EQ(programs.at("concur").size(), 20u);
  EXPECT_EQ(programs.at("allennlp").size(), 2u);
  for (const std::string& name : names) {  // nothing of a script is taken for a program
    EXPECT_EQ(name.find_first_of(" \"'(){}$=;"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace concur::cli
