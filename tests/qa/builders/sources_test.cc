// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/sources.h"

#include <string>

#include "absl/status/status.h"
#include "qa/builders/text.h"
#include "tests/qa/builders/small_sources.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

TEST(SourcesTest, PackageVersionsComeFromTheStatusFile) {
  SmallSources sources;
  EXPECT_EQ(PackageVersion(sources.paths().package_status, "wordnet-base"), "3.0-x");
  EXPECT_EQ(PackageVersion(sources.paths().package_status, "other"), "9");
  EXPECT_EQ(PackageVersion(sources.paths().package_status, "wordnet"), "unknown");
  EXPECT_EQ(PackageVersion("/nonexistent", "wordnet"), "unknown");
}

TEST(SourcesTest, ReadingRecordsPackageAndDigest) {
  SmallSources sources;
  sources.Write(sources.paths().dictionary, "abc");
  SourceLog log(sources.paths());
  ASSERT_OK(log.ReadPackaged(sources.paths().dictionary, "other").status());
  EXPECT_EQ(log.recorded().at("source.other"), "9");
  EXPECT_EQ(log.recorded().at("sha256.words"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SourcesTest, MissingBibleProgramNamesThePackage) {
  SmallSources sources;
  SourcePaths paths = sources.paths();
  paths.bible_program = "/nonexistent/bible";
  SourceLog log(paths);
  EXPECT_THAT(log.ReadBible(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("/nonexistent/bible"), HasSubstr("bible-kjv"))));
}

TEST(SourcesTest, FailingBibleProgramIsAnErrorEvenWithOutput) {
  SmallSources sources;
  sources.SetBible("Ge1:1 In the beginning.\n", 3);
  SourceLog log(sources.paths());
  EXPECT_THAT(log.ReadBible(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("exit status 3")));
}

TEST(SourcesTest, OutputBeyondTheLimitIsRefused) {
  EXPECT_THAT(
      RunAndRead({"/bin/echo", "0123456789"}, 5),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("printed more than 5 bytes")));
}

TEST(SourcesTest, ArgumentsReachTheProgramWithoutAShell) {
  const auto output = RunAndRead({"/bin/echo", "$HOME; ls *"}, 100);
  ASSERT_OK(output.status());
  EXPECT_EQ(*output, "$HOME; ls *\n");
}

TEST(SourcesTest, LinesThatAreNoVersesAreRefusedWithTheirNumber) {
  SmallSources sources;
  sources.SetBible("Ge1:1 In the beginning.\nno verse\n");
  SourceLog log(sources.paths());
  EXPECT_THAT(LoadText("", log), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bible:2")));
  sources.SetBible("");
  EXPECT_THAT(LoadText("", log), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no line")));
}

}  // namespace
}  // namespace concur::qa
