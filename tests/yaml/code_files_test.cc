// SPDX-License-Identifier: Apache-2.0
// `code:` of approaches: which files it names, what is refused, and that packing is reproducible.
#include "yaml/code_files.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

class CodeFilesTest : public ::testing::Test {
 protected:
  CodeFilesTest() {
    Write("data.json", "{}");
    Write("study/train.py", "train");
    Write("study/lib/a.py", "a");
    Write("study/lib/deep/b.py", "b");
    Write("study/lib/deep/c.txt", "c");
  }

  void Write(const std::string& name, const std::string& text) const {
    const std::string path = temp_.File(name);
    CONCUR_CHECK_OK(MakeDirectories(std::filesystem::path(path).parent_path().string()));
    CONCUR_CHECK_OK(WriteFileAtomically(path, text));
  }

  // Loads a sweep whose approach, in study/approach.yaml, has this code.
  absl::StatusOr<LoadedSweep> Load(const std::string& code,
                                   const std::string& of_predict = "") const {
    Write("study/approach.yaml",
          absl::StrCat(R"(apiVersion: concur/v1
kind: Approach
metadata: {name: mine}
spec:
  code: )",
                       code, R"(
  predict: {)",
                       of_predict,
                       R"(command: [python3, "{code}/train.py", "{test}", "{predictions}"]}
)"));
    Write("sweep.yaml", R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: s}
spec:
  approaches: [study/approach.yaml]
  benchmarks: [{metadata: {name: x}, spec: {test: data.json}}]
)");
    absl::StatusOr<LoadedSweep> sweep = LoadSweep(temp_.File("sweep.yaml"));
    if (sweep.ok()) {
      const absl::Status resolved = ResolveCode(&*sweep);
      if (!resolved.ok()) {
        return resolved;
      }
    }
    return sweep;
  }

  std::vector<std::string> FilesOf(const std::string& code) const {
    const absl::StatusOr<LoadedSweep> sweep = Load(code);
    if (!sweep.ok()) {
      return {std::string(sweep.status().message())};
    }
    std::vector<std::string> paths;
    for (const CodeFile& file : sweep->spec.approaches[0].code->files) {
      paths.push_back(file.path);
    }
    return paths;
  }

  Digest KeyOf(const std::string& code) const {
    const absl::StatusOr<LoadedSweep> sweep = Load(code);
    CONCUR_CHECK_OK(sweep.status());
    return sweep->spec.approaches[0].code->key;
  }

  TempDir temp_;
};

// "study/../study/sweep.yaml" was refused, as if its code lay elsewhere.
TEST_F(CodeFilesTest, ThePathOfTheFileMayLeadUpAndDown) {
  ASSERT_OK(Load("[train.py]"));
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, LoadSweep(temp_.File("study/../sweep.yaml")));
  EXPECT_OK(ResolveCode(&sweep));
}

TEST_F(CodeFilesTest, PredictMayHaveFilesOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load("[train.py]", "code: [lib], "));
  const ApproachSpec& approach = sweep.spec.approaches[0];
  ASSERT_TRUE(approach.code.has_value() && approach.predict_code.has_value());
  EXPECT_EQ(approach.code->files.size(), 1u);
  EXPECT_EQ(approach.predict_code->files.size(), 3u);
  EXPECT_EQ(approach.predict_code->files[0].path, "lib/a.py");
  EXPECT_THAT(std::string(Load("[train.py]", "code: [absent], ").status().message()),
              HasSubstr("approach.yaml:6:20: spec.predict.code[0]: "));
}

TEST_F(CodeFilesTest, TrainHasNoFilesOfItsOwn) {
  EXPECT_THAT(
      std::string(Load("[train.py]\n  train: {code: [train.py], command: [sh, '{train}', "
                       "'{model}']}")
                      .status()
                      .message()),
      HasSubstr("approach.yaml:6:11: spec.train.code: expected a known field, got \"code\"; known "
                "are command, resources, timeout; list files of train in code, beside train"));
}

TEST_F(CodeFilesTest, FilesFoldersAndPatternsAreRelativeToTheApproachsFile) {
  EXPECT_THAT(FilesOf("[train.py]"), ElementsAre("train.py"));
  EXPECT_THAT(FilesOf("[train.py, lib, ./train.py]"),
              ElementsAre("lib/a.py", "lib/deep/b.py", "lib/deep/c.txt", "train.py"));
  EXPECT_THAT(FilesOf("['*.py']"), ElementsAre("train.py"));
  EXPECT_THAT(FilesOf("['*/*.py']"), ElementsAre("lib/a.py"));
  EXPECT_THAT(FilesOf("['l[ij]b/*/?.py']"), ElementsAre("lib/deep/b.py"));
}

TEST_F(CodeFilesTest, HiddenFilesAndWhatPythonCompilesAreNoCodeUnlessTheyAreNamed) {
  Write("study/lib/.git/config", "x");
  Write("study/lib/.env", "x");
  Write("study/lib/__pycache__/a.cpython-311.pyc", "x");
  Write("study/lib/old.pyc", "x");
  EXPECT_THAT(FilesOf("[lib]"), ElementsAre("lib/a.py", "lib/deep/b.py", "lib/deep/c.txt"));
  EXPECT_THAT(FilesOf("['lib/*']"), ElementsAre("lib/a.py", "lib/deep/b.py", "lib/deep/c.txt"));
  EXPECT_THAT(FilesOf("[lib/.env]"), ElementsAre("lib/.env"));
}

TEST_F(CodeFilesTest, ALinkWithinTheFolderCountsAsWhatItPointsTo) {
  std::filesystem::create_symlink("train.py", temp_.File("study/again.py"));
  EXPECT_THAT(FilesOf("[again.py]"), ElementsAre("again.py"));
}

TEST_F(CodeFilesTest, WhatLeadsOutOrIsNoFileIsRefusedWithItsPlace) {
  Write("outside/secret", "s");
  std::filesystem::create_symlink("../outside/secret", temp_.File("study/leak"));
  std::filesystem::create_directory_symlink("../outside", temp_.File("study/leaks"));
  std::filesystem::create_directory_symlink("lib", temp_.File("study/linked"));
  std::filesystem::create_symlink("nowhere", temp_.File("study/broken"));
  ASSERT_EQ(mkfifo(temp_.File("study/fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", temp_.File("study/zero"));
  const auto refused = [&](const std::string& code, const std::string& message) {
    EXPECT_THAT(Load(code), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("approach.yaml:5:"), HasSubstr(message))))
        << code;
  };
  refused("[../outside/secret]", "below the folder of this file");
  refused("[../outside/secret]", "got \"../outside/secret\"");  // as it was written
  refused("[/etc/passwd]", "below the folder of this file");
  refused("[leak]", "a link that leads out");
  refused("[leaks/secret]", "a link that leads out");
  refused("['leak*/*']", "a link that leads out");
  refused("[zero]", "a link that leads out");
  refused("[linked]", "a link to a folder");
  refused("[broken]", "No such file");
  refused("[absent.py]", "No such file");
  refused("['*.r']", "matches none");
  refused("[fifo]", "a FIFO");
  refused("[]", "at least one file");
  refused("train.py", "a list of files and folders");
  refused("[{a: b}]", "a path");
  // A folder is looked through with the same care.
  refused("[.]", "a FIFO");
}

TEST_F(CodeFilesTest, TooManyFilesAndTooManyBytesAreRefused) {
  for (size_t i = 0; i <= kCodeFilesMax; ++i) {
    Write(absl::StrCat("study/many/", i), "");
  }
  EXPECT_THAT(Load("[many]"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("at most 1000 files of code, got more")));
  Write("study/large", "");
  std::filesystem::resize_file(temp_.File("study/large"), kCodeBytesMax + 1);
  EXPECT_THAT(Load("[large]"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("approach.yaml:5:"), HasSubstr("at most 64 MiB of code"))));
}

TEST_F(CodeFilesTest, TheKeyChangesWithContentsAndExecutableBitsAndWithNothingElse) {
  const Digest before = KeyOf("[lib]");
  EXPECT_EQ(KeyOf("['lib/*']"), before);
  std::filesystem::last_write_time(temp_.File("study/lib/a.py"),
                                   std::filesystem::file_time_type::min());
  ASSERT_EQ(chmod(temp_.File("study/lib/a.py").c_str(), 0600), 0);
  EXPECT_EQ(KeyOf("[lib]"), before);
  ASSERT_EQ(chmod(temp_.File("study/lib/a.py").c_str(), 0700), 0);
  const Digest executable = KeyOf("[lib]");
  EXPECT_NE(executable, before);
  Write("study/lib/a.py", "b");
  EXPECT_NE(KeyOf("[lib]"), before);
  EXPECT_NE(KeyOf("[lib]"), executable);
}

TEST_F(CodeFilesTest, TheSameFilesArePackedIntoTheSameBytesAndComeOutAgain) {
  ASSERT_EQ(chmod(temp_.File("study/lib/a.py").c_str(), 0755), 0);
  std::string first;
  std::string second;
  const auto into = [](std::string& text) {
    return [&text](absl::string_view data) {
      text.append(data.data(), data.size());
      return absl::OkStatus();
    };
  };
  const std::vector<std::string> files = {"lib/a.py", "lib/deep/b.py", "train.py"};
  ASSERT_OK_AND_ASSIGN(const Code code, PackCode(temp_.File("study"), files, into(first)));
  ASSERT_OK_AND_ASSIGN(const Code again, PackCode(temp_.File("study"), files, into(second)));
  EXPECT_EQ(first, second);
  EXPECT_EQ(code.digest, Sha256Of(first));
  EXPECT_EQ(code.bytes, static_cast<int64_t>(first.size()));
  ASSERT_OK(CheckCode(concur::FieldPath("code"), code));
  Write("code.tar", first);
  ASSERT_OK(ExtractDirectoryTar(temp_.File("code.tar"), temp_.File("out")));
  for (const CodeFile& file : code.files) {
    ASSERT_OK_AND_ASSIGN(const FileDigest digest,
                         DigestFile(absl::StrCat(temp_.File("out"), "/", file.path)));
    EXPECT_EQ(digest.digest, file.digest) << file.path;
    EXPECT_EQ(access(absl::StrCat(temp_.File("out"), "/", file.path).c_str(), X_OK) == 0,
              file.is_executable)
        << file.path;
  }
}

TEST_F(CodeFilesTest, ThePlaceholderNeedsTheField) {
  Write("sweep.yaml", R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: s}
spec:
  approaches:
    - metadata: {name: a}
      spec: {version: "1", predict: {command: ["{code}/run", "{test}", "{predictions}"]}}
  benchmarks: [{metadata: {name: x}, spec: {test: data.json}}]
)");
  EXPECT_THAT(LoadSweep(temp_.File("sweep.yaml")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("got \"{code}\""), HasSubstr("the field code"))));
}

}  // namespace
}  // namespace concur::spec
