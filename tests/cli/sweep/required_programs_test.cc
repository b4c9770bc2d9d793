// SPDX-License-Identifier: Apache-2.0
// Which programs the commands of approaches start.
#include "cli/sweep/required_programs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/sweep/found_programs.h"
#include "cli/sweep/rerun.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

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
  EXPECT_THAT(ProgramsOf({"python3", "-u", "-OO", "/opt/run.py"}),
              ElementsAre("/opt/run.py", "python3"));
  EXPECT_THAT(ProgramsOf({"python3", "run.py"}), ElementsAre("./run.py", "python3"));
  EXPECT_THAT(ProgramsOf({"bin/run", "x"}), ElementsAre("./bin/run"));
}

// An edited script behind `env X=1` kept its old score without a word.
TEST(CommandProgramsTest, AProgramThatAnotherOneStartsIsNamed) {
  EXPECT_THAT(ProgramsOf({"env", "X=1", "-u", "Y", "mine", "other"}), ElementsAre("env", "mine"));
  EXPECT_THAT(ProgramsOf({"/usr/bin/nice", "-n", "10", "timeout", "-k5", "10m", "/opt/run", "x"}),
              ElementsAre("/opt/run", "/usr/bin/nice", "timeout"));
  EXPECT_THAT(ProgramsOf({"nohup", "python3", "run.py"}),
              ElementsAre("./run.py", "nohup", "python3"));
  EXPECT_THAT(ProgramsOf({"sh", "-c", "A=b exec nice mine {train}"}),
              ElementsAre("mine", "nice", "sh"));
  for (const std::vector<std::string>& none : std::vector<std::vector<std::string>>{
           {"env"}, {"env", "-u"}, {"env", "{hp.program}"}, {"env", ""}}) {
    EXPECT_THAT(ProgramsOf(none), ElementsAre("env"));
  }
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

// A study of one approach, with a script of its own.
class FoundProgramsTest : public ::testing::Test {
 protected:
  // The programs that are missing; fills warnings_ and message_.
  std::vector<std::string> Missing(const std::string& fields) {
    std::ofstream(dir_.File("train.py")) << "print()";
    std::ofstream(dir_.File("other.py")) << "print()";
    std::ofstream(dir_.File("data")) << "x";
    std::ofstream(dir_.File("sweep.yaml")) << absl::StrReplaceAll(
        R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: s}
spec:
  approaches:
    - metadata: {name: mine}
      spec: {FIELDS}
  benchmarks: [{metadata: {name: x}, spec: {train: data, test: data, parameters: {size: small}}}]
)",
        {{"FIELDS", absl::StrReplaceAll(fields, {{"DIR", dir_.path()}})}});
    absl::StatusOr<spec::LoadedSweep> sweep = spec::LoadSweep(dir_.File("sweep.yaml"));
    EXPECT_OK(sweep);
    EXPECT_OK(spec::ResolveCode(&*sweep));
    const std::string path = absl::StrCat(dir_.File("tools"), ":/usr/bin:/bin");
    DigestPrograms(path, &*sweep);
    approach_ = sweep->spec.approaches[0];
    warnings_ = WarnOfProgramsInNoCode(*sweep, path, /*programs_too=*/true);
    others_ = WarnOfProgramsInNoCode(*sweep, path, /*programs_too=*/false);
    std::vector<std::string> missing;
    const std::vector<FoundProgram> programs = FindPrograms(*sweep, "/usr/bin:/bin");
    for (const FoundProgram& program : programs) {
      if (program.where.empty()) {
        missing.push_back(program.name);
      }
    }
    message_ = std::string(CheckPrograms(programs).message());
    return missing;
  }

  TempDir dir_;
  std::vector<std::string> warnings_;
  std::vector<std::string> others_;  // without those that CheckPrograms refuses
  std::string message_;
  ApproachSpec approach_;
};

// The program of a command's first word was edited, and the old score stood: nobody digested, nor
// warned of, a file in a folder called bin or one found on PATH.
TEST_F(FoundProgramsTest, AScriptThatACommandBeginsWithIsDigested) {
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  const std::string text = "#!/bin/sh\n";
  write(dir_.File("bin/prog"), text);
  write(dir_.File("tools/onpath"), text);
  for (const char* word : {"DIR/bin/prog", "onpath"}) {
    Missing(absl::StrCat(R"(version: "1", predict: {command: [)", word, R"(, "{predictions}"]})"));
    EXPECT_EQ(approach_.predict_program, Sha256Of(text)) << word;
    EXPECT_FALSE(approach_.train_program.has_value());
    EXPECT_THAT(warnings_, IsEmpty()) << word;
  }
  // A relative one is beside the file: it goes with the jobs, of predict alone where they train.
  EXPECT_THAT(Missing(R"(version: "1", predict: {command: [bin/prog, "{predictions}"]})"),
              IsEmpty());
  ASSERT_TRUE(approach_.code.has_value());
  EXPECT_EQ(approach_.code->files[0].path, "bin/prog");
  EXPECT_THAT(warnings_, IsEmpty());
  Missing(R"(version: "1", train: {command: [sh, -c, "x {train} {model}"]}, )"
          R"(predict: {command: [./bin/prog, "{model}", "{predictions}"]})");
  EXPECT_FALSE(approach_.code.has_value());
  ASSERT_TRUE(approach_.predict_code.has_value());
  EXPECT_EQ(approach_.predict_code->files[0].path, "bin/prog");
  EXPECT_THAT(warnings_, IsEmpty());
  Missing(R"(code: [train.py], predict: {command: [bin/prog, "{predictions}"]})");
  EXPECT_EQ(approach_.code->files.size(), 2u) << "beside what is listed";
}

TEST_F(FoundProgramsTest, EveryOtherFileThatACommandNamesIsAWarning) {
  std::filesystem::create_directories(dir_.File("bin"));
  std::filesystem::create_directories(dir_.File("tools"));
  for (const char* file : {"bin/built", "tools/built-too", "tools/scripted"}) {
    std::ofstream(dir_.File(file)) << (file == std::string("tools/scripted") ? "#!/bin/sh" : "ELF");
    std::filesystem::permissions(dir_.File(file), std::filesystem::perms::owner_all);
  }
  const std::pair<const char*, const char*> cases[] = {
      {"DIR/bin/built", "bin/built"},
      {"built-too", "tools/built-too"},
      {"sh, -c, 'exec DIR/bin/built'", "bin/built"},
      {"sh, -c, 'scripted && true'", "tools/scripted"},
      {"python3, -c, pass, DIR/data", "data"},
      {"python3, -c, pass, --config=DIR/data", "data"},
  };
  for (const auto& [words, file] : cases) {
    Missing(absl::StrCat(R"(version: "1", predict: {command: [)", words, R"(, "{predictions}"]})"));
    ASSERT_EQ(warnings_.size(), 1u) << words;
    EXPECT_THAT(warnings_[0], HasSubstr(dir_.File(file) + ", which approach mine names, is in no "
                                                          "code: when it changes, finished"));
  }
  Missing(R"(code: [train.py], predict: {command: [python3, DIR/train.py, "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "listed";
  Missing(R"(code: [train.py], predict: {command: [python3, DIR/other.py, "{predictions}"]})");
  EXPECT_EQ(warnings_.size(), 1u) << "beside what is listed";
}

TEST_F(FoundProgramsTest, ScriptsOfTheCodeAreFoundThere) {
  EXPECT_THAT(
      Missing(R"(code: [train.py], predict: {command: [sh, "{code}/train.py", "{predictions}"]})"),
      IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(Missing(R"(code: [train.py], predict: {command: [./train.py, "{predictions}"]})"),
              IsEmpty());
  EXPECT_THAT(
      Missing(R"(code: [train.py], predict: {command: [sh, "{code}/other.py", "{predictions}"]})"),
      ElementsAre(dir_.File("other.py")));
  EXPECT_THAT(message_, HasSubstr("other.py (approach mine)"));
  EXPECT_THAT(message_, HasSubstr("other.py is not among the files of the field code"));
}

// `python3 train.py` was said to be fine, and every job failed: it runs in a directory of its own.
TEST_F(FoundProgramsTest, AScriptWithARelativePathIsMissingWithoutCode) {
  EXPECT_THAT(Missing(R"(version: "1", predict: {command: [sh, train.py, "{predictions}"]})"),
              ElementsAre("./train.py"));
  EXPECT_THAT(message_, HasSubstr("field code, and write {code}/train.py"));
  EXPECT_THAT(Missing(R"(code: [train.py], predict: {command: [sh, train.py, "{predictions}"]})"),
              ElementsAre("./train.py"));
  EXPECT_THAT(message_, HasSubstr("empty: write {code}/train.py")) << "it is listed already";
}

TEST_F(FoundProgramsTest, AScriptOfTheUsersInNoCodeIsAWarning) {
  EXPECT_THAT(Missing(R"(version: "1", predict: {command: [sh, DIR/train.py, "{predictions}"]})"),
              IsEmpty());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0],
              AllOf(HasSubstr("sweep.yaml:7:"), HasSubstr("train.py, which approach "
                                                          "mine names, is in no code")));
  Missing(R"(version: "1", predict: {command: [env, X=1, DIR/train.py, "{predictions}"]})");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(Missing(R"(version: "1", predict: {command: [/bin/sh, -c, "x {predictions}"]})"),
              ElementsAre("x"));
  EXPECT_THAT(warnings_, IsEmpty()) << "a system's own program";
}

// Edited between two submissions, and the old score stood: no key knows what is in them.
TEST_F(FoundProgramsTest, AFileThatAnyValueNamesIsAWarning) {
  for (
      const char* form :
      {R"(predict: {command: [sh, -c, "F=DIR/train.py; cat $F > {predictions}"]})",
       R"(predict: {command: [cat, -cDIR/train.py, "{predictions}"]})",
       R"(predict: {command: [cat, "a=1,file=DIR/train.py", "{predictions}"]})",
       R"(predict: {command: [cat, "--conf=DIR/train.py", "{predictions}"]})",
       R"(env: {CONF: DIR/train.py}, predict: {command: [cat, "{predictions}"]})",
       R"(hyperparameters: {default: {f: DIR/train.py}}, predict: {command: [cat, "{predictions}"]})",
       R"(hyperparameters: {default: {f: x}, space: {f: {choice: [DIR/train.py, y]}}},)"
       R"( predict: {command: [cat, "{predictions}"]})"}) {
    Missing(absl::StrCat(R"(version: "1", )", form));
    ASSERT_EQ(warnings_.size(), 1u) << form;
    EXPECT_THAT(warnings_[0], HasSubstr("train.py, which approach mine names, is in no code"));
  }
  Missing(
      R"(version: "1", predict: {command: [cat, "http://host/DIR/train.py", "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty());
  Missing(
      R"(version: "1", predict: {command: [cat, "--out=/none/x,/etc/passwd", "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty());
}

// A file was edited, and the old score stood: its path was written as a shell writes it, or was put
// together from a folder and a name, a hyperparameter, a benchmark's parameter or a seed.
TEST_F(FoundProgramsTest, AFileWhosePathIsPutTogetherIsAWarning) {
  const std::string home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  setenv("HOME", dir_.path().c_str(), 1);        // NOLINT(concurrency-mt-unsafe)
  std::filesystem::create_directories(dir_.File("conf"));
  for (const char* file : {"conf/small.json", "conf/1.json"}) {
    std::ofstream(dir_.File(file)) << "{}";
  }
  for (const auto& [command, file] : std::vector<std::pair<std::string, std::string>>{
           {R"(sh, -c, "sh ~/other.py")", "other.py"},
           {R"(sh, -c, "cat \"$HOME/other.py\"")", "other.py"},
           {R"(sh, -c, "cat $${{HOME}}/other.py")", "other.py"},
           {R"(sh, -c, "cd DIR; ./other.py")", "other.py"},
           {R"(sh, -c, "cd DIR/conf && cat small.json")", "conf/small.json"},
           {R"(cat, "--config=DIR/conf/{hp.size}.json")", "conf/small.json"},
           {R"(cat, "DIR/conf/{benchmark.size}.json")", "conf/small.json"},
           {R"(cat, "DIR/conf/{seed}.json")", "conf/1.json"},
           {R"(cat, "sqlite://DIR/data?mode=ro")", "data"},
           {R"(cat, "[DIR/data]")", "data"},
           {R"(cat, "@DIR/data")", "data"},
           {R"(sh, -c, "cat DIR/conf/sm*")", "conf/small.json"},
           {R"(sh, -c, "cd DIR/conf && cat s*.json")", "conf/small.json"},
           {R"(sh, -c, "D=DIR; $D/other.py")", "other.py"},
           {R"(sh, -c, "D=DIR; sh $${{D}}/conf/small.json")", "conf/small.json"}}) {
    Missing(absl::StrCat(R"(version: "1", hyperparameters: {default: {size: small}}, )",
                         "predict: {command: [", command, R"(, "{predictions}"]})"));
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr(dir_.File(file) + ", which approach mine names, "
                                                                   "is in no code")))
        << command;
  }
  setenv("HOME", home.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

// srun and its like started a program of the user's that nobody warned of.
TEST_F(FoundProgramsTest, AProgramThatAnUnknownStarterStartsIsAWarning) {
  std::filesystem::create_directories(dir_.File("tools"));
  std::ofstream(dir_.File("tools/scripted")) << "#!/bin/sh";
  std::filesystem::permissions(dir_.File("tools/scripted"), std::filesystem::perms::owner_all);
  Missing(R"(version: "1", predict: {command: [srun, -n2, scripted, "{predictions}"]})");
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("tools/scripted, which approach mine names, is in no code")));
  Missing(R"(version: "1", predict: {command: [scripted, scripted, "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "digested as the first word";
}

// An edited Makefile, an interpreter of the user's, a folder of prompts, or a program beside a
// python3 was in no key and warned of by nobody.
TEST_F(FoundProgramsTest, FoldersAndProgramsOfTheUsersAreAWarning) {
  std::filesystem::create_directories(dir_.File("rules"));
  std::filesystem::create_directories(dir_.File("shared/x.py"));
  std::filesystem::permissions(dir_.File("shared"), std::filesystem::perms::sticky_bit,
                               std::filesystem::perm_options::add);
  std::filesystem::create_directories(dir_.File("texts"));
  std::filesystem::create_directories(dir_.File("bin"));
  std::ofstream(dir_.File("rules/Makefile")) << "all:";
  std::ofstream(dir_.File("texts/prompt.json")) << "{}";
  for (const auto& [program, text] : std::vector<std::pair<std::string, std::string>>{
           {"python3", "ELF"}, {"tool", "ELF"}, {"script", "#!/bin/sh"}}) {
    std::ofstream(dir_.File("bin/" + program)) << text;
    std::filesystem::permissions(dir_.File("bin/" + program), std::filesystem::perms::owner_all);
  }
  std::ofstream(dir_.File("own.py")) << "#!" << dir_.File("data") << " -u\n";
  for (const auto& [command, file] : std::vector<std::pair<std::string, std::string>>{
           {R"(make, -C, DIR/rules)", "rules"},
           {R"(sh, "{code}/own.py")", "data"},
           {R"(cat, --prompts, DIR/texts)", "texts"},
           {R"(env, "PATH=DIR/bin:/usr/bin", tool)", "bin/tool"},
           {R"(DIR/bin/tool)", "bin/tool"},
           {R"(nice, DIR/bin/script)", "bin/script"},
           {R"("DIR/bin/{hp.prog}")", "bin/tool"}}) {
    Missing(absl::StrCat(
        "code: [own.py], hyperparameters: {default: {prog: tool}}, predict: {command: [", command,
        R"(, "{predictions}"]})"));
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr(dir_.File(file) + ", which approach mine names, "
                                                                   "is in no code")))
        << command;
  }
  Missing(
      R"(version: "1", predict: {command: [absent, "$DATA/*", "/root/ {{print}}", "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "the root's files, and a pattern of awk's";
  Missing(R"(version: "1", predict: {command: [ls, DIR/shared, "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "everybody's folder";
  Missing(R"(version: "1", predict: {command: [DIR/bin/python3, -c, "", "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "an interpreter";
}

// Programs on the PATH that the approach's env sets were said to be missing.
TEST_F(FoundProgramsTest, ProgramsAreFoundOnThePathOfTheApproach) {
  std::filesystem::create_directories(dir_.File("tools"));
  std::ofstream(dir_.File("tools/own")) << "ELF";
  std::filesystem::permissions(dir_.File("tools/own"), std::filesystem::perms::owner_all);
  const std::string fields = R"(version: "1", predict: {command: [own, "{predictions}"]})";
  EXPECT_THAT(Missing(fields), ElementsAre("own"));
  EXPECT_THAT(Missing(fields + ", env: {PATH: 'DIR/tools:/bin'}"), IsEmpty());
}

// A library on PYTHONPATH was edited, and the old score stood: a script that only imports it names
// no file of it.
TEST_F(FoundProgramsTest, AFolderOfModulesIsAWarning) {
  std::filesystem::create_directories(dir_.File("lib/pack"));
  std::filesystem::create_directories(dir_.File("texts"));
  std::ofstream(dir_.File("lib/pack/__init__.py")) << "";
  std::ofstream(dir_.File("texts/a.txt")) << "";
  const std::string start = "code: [train.py], predict: {command: [";
  const std::string run = R"(sh, "{code}/train.py", "{predictions}"]})";
  for (const std::string& fields :
       {start + run + ", env: {PYTHONPATH: 'DIR/none:DIR/lib:/usr/lib'}",
        start + "env, 'PYTHONPATH=DIR/lib', " + run,
        start + R"(sh, -c, "PYTHONPATH=DIR/lib sh {code}/train.py {predictions}"]})",
        start + R"(python3, -c, "sys.path[0] = 'DIR/lib'", "{predictions}"]})"}) {
    Missing(fields);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr(dir_.File("lib") + ", which approach mine names, "
                                                                    "is in no code")))
        << fields;
  }
  for (const std::string& fields :
       {start + run + ", env: {PYTHONPATH: DIR/texts, WHERE: DIR}",
        "code: [train.py, lib], env: {PYTHONPATH: DIR/lib}, predict: {command: [" + run}) {
    Missing(fields);
    EXPECT_THAT(warnings_, IsEmpty()) << fields;
  }
}

// A module was edited, and the old score stood; or it was beside the sweep, where no job finds it.
TEST_F(FoundProgramsTest, AModuleThatPythonRunsIsAWarning) {
  std::filesystem::create_directories(dir_.File("lib/pack"));
  for (const char* file : {"lib/mod.py", "lib/pack/__main__.py", "lib/pack/part.py", "here.py"}) {
    std::ofstream(dir_.File(file)) << "print()";
  }
  for (const auto& [fields, file] : std::vector<std::pair<std::string, std::string>>{
           {"env: {PYTHONPATH: 'DIR/none:DIR/lib'}, predict: {command: [python3, -m, mod, ", "mod"},
           {"env: {PYTHONPATH: DIR/lib}, predict: {command: [python3, -mmod, ", "mod"},
           {"predict: {command: [sh, -c, 'cd DIR/lib && exec python3 -u -m pack', ",
            "pack/__main__"},
           {"predict: {command: [env, 'PYTHONPATH=DIR/lib', torchrun, -m, pack.part, ",
            "pack/part"}}) {
    Missing(absl::StrCat(R"(version: "1", )", fields, R"("{predictions}"]})"));
    ASSERT_EQ(warnings_.size(), 1u) << fields;
    EXPECT_THAT(warnings_[0], HasSubstr(absl::StrCat(dir_.File("lib/"), file,
                                                     ".py, which approach mine names, is in no")));
  }
  setenv("PYTHONPATH", dir_.File("lib").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  Missing(R"(version: "1", predict: {command: [python3, -m, mod, "{predictions}"]})");
  unsetenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("lib/mod.py, which approach mine names, is in no")));
  Missing(R"(version: "1", predict: {command: [python3, -m, here, "{predictions}"]})");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("here.py, which approach mine names, would lie in "
                                               "the job's own directory, which starts empty")));
  for (const char* command : {R"(python3, -m, json.tool, "{predictions}")",
                              R"(sh, -c, "cd {code} && python3 -m here {predictions}")",
                              R"(sh, -c, "PYTHONPATH={code}/lib python3 -m pack {predictions}")"}) {
    Missing(absl::StrCat("code: [here.py, lib], predict: {command: [", command, "]}"));
    EXPECT_THAT(warnings_, IsEmpty()) << command;
  }
}

// Every job failed with "can't open file …/runs/…/train.py", after a validation without a word.
TEST_F(FoundProgramsTest, AFileBesideTheSweepThatNoJobSeesIsAWarning) {
  for (const char* named : {"sh, train.py", "sh, ./train.py", "./train.py"}) {
    Missing(absl::StrCat(R"(version: "1", predict: {command: [)", named, R"(, "{predictions}"]})"));
    ASSERT_EQ(warnings_.size(), 1u) << named;
    EXPECT_THAT(
        warnings_[0],
        AllOf(HasSubstr("sweep.yaml:7:"),
              HasSubstr("train.py, which approach mine names, would lie in the job's own "
                        "directory, which starts empty: list it in the approach's field code, "
                        "and write {code}/train.py")));
    EXPECT_THAT(others_, IsEmpty()) << "said twice by validate --commands";
  }
  Missing(R"(code: [train.py], predict: {command: [sh, train.py, "{predictions}"]})");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("which starts empty: write {code}/train.py"))
      << "it is listed";
  Missing(R"(version: "1", predict: {command: [tool, train.py, ./other.py, "{predictions}"]})");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("other.py, train.py, which approach mine names"));
  Missing(R"(code: [train.py], predict: {command: [./train.py, absent.py, "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "a program of the code, and a file that the job may write";
  Missing(R"(version: "1", predict: {command: [tool, data, "{predictions}"]})");
  EXPECT_THAT(warnings_, IsEmpty()) << "a word that happens to be a file's name";
}

TEST(CommandProgramsTest, EveryProgramOfTheStudiesApproachesIsFound) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK_AND_ASSIGN(
      const spec::LoadedSweep sweep,
      spec::LoadSweep(
          absl::StrCat(source == nullptr ? "." : source, "/configs/sweeps/concurrence.yaml"), {}));
  const std::vector<FoundProgram> programs = FindPrograms(sweep, "");
  ASSERT_EQ(programs.size(), 1u) << "nothing of an argument is taken for a program";
  EXPECT_EQ(programs[0].name, "concur-reader");
  EXPECT_EQ(programs[0].approaches.size(), 20u);
}

TEST_F(FoundProgramsTest, ProgramsOfAnEnvironmentAreNotLookedForHere) {
  const std::string command =
      R"(, predict: {command: [no-such-program, "{code}/train.py", "{predictions}"]})";
  EXPECT_THAT(Missing("code: [train.py]" + command), ElementsAre("no-such-program"));
  EXPECT_THAT(Missing("environment: {root: root.tar}, code: [train.py]" + command), IsEmpty());
  EXPECT_THAT(Missing("environment: {root: root.tar}, code: [train.py], "
                      R"(predict: {command: [sh, "{code}/other.py", "{predictions}"]})"),
              ElementsAre(dir_.File("other.py")));
  // A venv or conda adds programs to the machine's: a script that lies elsewhere is in no key.
  Missing(R"(version: "1", environment: {venv: r.txt}, )"
          R"(predict: {command: [python, DIR/other.py, "{predictions}"]})");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("other.py, which approach mine names, is in no")));
}

TEST(RerunTest, ASelectorMarksApproachesByNameAndTag) {
  SweepSpec spec;
  spec.approaches.resize(3);
  spec.approaches[0].name = "a";
  spec.approaches[1].name = "b";
  spec.approaches[1].tags = {{"neural", "yes"}, {"size", "small"}};
  spec.approaches[2].name = "c";
  const auto marked = [&](const std::string& selector) {
    SweepSpec copy = spec;
    EXPECT_OK(MarkReruns(selector, &copy)) << selector;
    std::string names;
    for (const ApproachSpec& approach : copy.approaches) {
      names += approach.rerun ? approach.name : "";
    }
    return names;
  };
  EXPECT_EQ(marked(kRerunAll), "abc");
  EXPECT_EQ(marked("c"), "c");
  EXPECT_EQ(marked("a,tag:size=small"), "ab");
  EXPECT_EQ(marked("tag:neural"), "b");
  for (const char* selector : {"d", "", "a,", "tag:size", "tag:size=large", "tag:"}) {
    EXPECT_FALSE(MarkReruns(selector, &spec).ok()) << selector;
  }
}

}  // namespace
}  // namespace concur::cli
