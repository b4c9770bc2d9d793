// SPDX-License-Identifier: Apache-2.0
#include "qa/importers/importer.h"

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "tests/qa/importers/samples.h"
#include "tests/testing/gzip.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

using ::concur::testing::Gzip;
using ::concur::testing::GzipRepeated;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// Every importer, on well-formed and on broken files.
class EveryImporterTest : public ::testing::TestWithParam<Sample> {
 protected:
  // Writes `contents` as the sample's file and imports it to a directory of its own.
  absl::StatusOr<ImportResult> ImportContents(const std::string& contents, bool strict = false) {
    const Sample& sample = GetParam();
    ImportRequest request;
    request.format = sample.format;
    request.in = {dir_.File(sample.file)};
    request.strict = strict;
    std::filesystem::remove_all(dir_.File("out"));
    std::filesystem::create_directory(dir_.File("out"));
    request.out = dir_.File("out/set");
    if (sample.format == "babi") {
      request.parameters["test-share"] = "0.5";
      request.out = dir_.File("out");
    }
    if (!sample.sentences.empty()) {
      EXPECT_OK(WriteFileAtomically(dir_.File("sentences"), sample.sentences));
      request.parameters["sentences"] = dir_.File("sentences");
    }
    EXPECT_OK(WriteFileAtomically(request.in[0], contents));
    return Import(request);
  }
  // Names of files in the output's directory.
  std::set<std::string> Written() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File("out"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  // Contents of the written files, without headers (they hold the digest of the source).
  std::string Passages() const {
    std::string text;
    for (const std::string& name : Written()) {
      absl::StatusOr<std::string> contents = ReadFile(dir_.File("out/" + name));
      EXPECT_OK(contents.status());
      text += contents->substr(contents->find('\n') + 1);
    }
    return text;
  }
  void ExpectRefused(const std::string& contents, absl::StatusCode code,
                     const ::testing::Matcher<const std::string&>& message) {
    const absl::Status status = ImportContents(contents).status();
    EXPECT_THAT(status, StatusIs(code, message));
    EXPECT_THAT(std::string(status.message()), HasSubstr(dir_.File(GetParam().file)));
    EXPECT_THAT(Written(), IsEmpty());
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Importers, EveryImporterTest, ::testing::ValuesIn(Samples()),
                         [](const auto& test) { return test.param.name; });

TEST(SamplesTest, EveryImporterHasOne) {
  std::set<std::string> sampled;
  for (const Sample& sample : Samples()) {
    sampled.insert(sample.format);
  }
  std::set<std::string> declared;
  for (const ImporterInfo& importer : Importers()) {
    declared.insert(importer.name);
  }
  EXPECT_EQ(sampled, declared);
}

TEST_P(EveryImporterTest, CountsWhatIsReadKeptAndDroppedAndWritesASetThatCanBeRead) {
  ASSERT_OK_AND_ASSIGN(const ImportResult result, ImportContents(GetParam().contents));
  EXPECT_EQ(result.counts.read, GetParam().read);
  EXPECT_EQ(result.counts.kept, GetParam().kept);
  int64_t dropped = 0;
  for (const auto& [reason, count] : result.counts.dropped) {
    dropped += count.count;
    EXPECT_THAT(count.first_place,
                AnyOf(HasSubstr(dir_.File(GetParam().file)), HasSubstr("passage ")));
  }
  EXPECT_EQ(dropped, GetParam().read - GetParam().kept);
  int64_t questions = 0;
  for (const ImportedFile& file : result.files) {
    ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(file.path));
    EXPECT_EQ(dataset.QuestionCount(), file.questions);
    EXPECT_EQ(static_cast<int64_t>(dataset.passages.size()), file.passages);
    EXPECT_EQ(dataset.header.at("dataset"), GetParam().format);
    EXPECT_THAT(dataset.header.at("source.0"), HasSubstr(GetParam().file + " sha256:"));
    for (const Passage& passage : dataset.passages) {
      EXPECT_OK(CheckPassage(passage).code() == absl::StatusCode::kInternal &&
                        GetParam().contents.find("the Bob") != std::string::npos
                    ? absl::OkStatus()  // MRQA's spans may differ from answers by an article
                    : CheckPassage(passage));
    }
    questions += file.questions;
  }
  EXPECT_EQ(questions, GetParam().kept);
}

TEST_P(EveryImporterTest, GzipByteOrderMarkAndCarriageReturnsChangeNothing) {
  ASSERT_OK(ImportContents(GetParam().contents).status());
  const std::string passages = Passages();
  EXPECT_NE(passages, "");
  ASSERT_OK(ImportContents(Gzip(GetParam().contents)).status());
  EXPECT_EQ(Passages(), passages);
  ASSERT_OK(ImportContents("\xEF\xBB\xBF" + GetParam().contents).status());
  EXPECT_EQ(Passages(), passages);
  ASSERT_OK(ImportContents(absl::StrReplaceAll(GetParam().contents, {{"\n", "\r\n"}})).status());
  EXPECT_EQ(Passages(), passages);
}

TEST_P(EveryImporterTest, StrictMakesADropAnError) {
  const absl::Status status = ImportContents(GetParam().contents, /*strict=*/true).status();
  if (GetParam().read == GetParam().kept) {
    EXPECT_OK(status);
    return;
  }
  EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("--strict makes a drop an error")));
  EXPECT_THAT(Written(), IsEmpty());
}

TEST_P(EveryImporterTest, TruncatedGzipIsDataLoss) {
  const std::string packed = Gzip(GetParam().contents);
  ExpectRefused(packed.substr(0, packed.size() - 9), kDataLoss, HasSubstr("gzip: the file ends"));
  ExpectRefused(packed + "x", kDataLoss, HasSubstr("another gzip member"));
}

TEST_P(EveryImporterTest, InvalidUtf8IsRefusedWithItsLine) {
  // In the middle of the last line.
  std::string contents = GetParam().contents;
  const size_t line = contents.rfind('\n', contents.find_last_not_of('\n'));
  const size_t at = line == std::string::npos ? 1 : line + 3;
  contents.insert(at, "\xC3(");
  ExpectRefused(contents, kInvalid, AllOf(HasSubstr("UTF-8")));
  contents = GetParam().contents;
  contents.insert(contents.find("o"), "\xFF");
  ExpectRefused(contents, kInvalid, HasSubstr("expected UTF-8, found byte 0xff"));
  ExpectRefused("\xFF\xFE{", kInvalid, HasSubstr(":1: expected UTF-8, found UTF-16"));
}

TEST_P(EveryImporterTest, WrongNestingIsRefusedWithItsPlace) {
  ExpectRefused(GetParam().wrong, kInvalid, HasSubstr(GetParam().wrong_place));
}

TEST_P(EveryImporterTest, EmptyAndForeignFilesAreRefused) {
  ExpectRefused("", kInvalid, HasSubstr(GetParam().file));
  ExpectRefused("\n", kInvalid, HasSubstr(GetParam().file));
  ExpectRefused("[1, 2]\n", kInvalid, HasSubstr(GetParam().file));
}

TEST_P(EveryImporterTest, ALineOf200MegabytesCostsLittleMemory) {
  const auto most_memory_kb = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const int64_t before = most_memory_kb();
  static std::map<std::string, std::string> packed;  // by prefix: packing takes a while
  std::string& contents = packed[GetParam().endless];
  if (contents.empty()) {
    contents = GzipRepeated(GetParam().endless, 'x', 200'000'000);
  }
  ExpectRefused(contents, kInvalid, AllOf(HasSubstr(":1"), HasSubstr("MiB")));
#ifndef CONCUR_SANITIZED
  EXPECT_LT(most_memory_kb() - before, 150'000);
#else
  EXPECT_GE(most_memory_kb(), before);
#endif
}

TEST_P(EveryImporterTest, AbsentFilesAndDirectoriesAreRefused) {
  ImportRequest request;
  request.format = GetParam().format;
  request.out = dir_.File("o");
  request.in = {dir_.File("none")};
  EXPECT_THAT(Import(request), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  request.in = {};
  EXPECT_THAT(Import(request), StatusIs(kInvalid, HasSubstr("--in")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("o")));
}

TEST(ImportTest, UnknownFormatsAndParametersGetASuggestion) {
  ImportRequest request;
  request.in = {"x"};
  request.format = "squat";
  EXPECT_THAT(Import(request),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"squad\"")));
  request.format = "qamr";
  request.parameters["sentence"] = "x";
  EXPECT_THAT(Import(request), StatusIs(kInvalid, HasSubstr("did you mean \"sentences\"")));
}

TEST(ImportTest, AnEarlierFileStaysWhenTheImportFails) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("out"), "earlier"));
  ASSERT_OK(
      WriteFileAtomically(dir.File("in"), R"({"data": [{"paragraphs": [{"context": "a b", "qas": [
        {"id": "1", "question": "?", "answers": [{"text": "b", "answer_start": 2}]}]}]}, 7]})"));
  ImportRequest request;
  request.format = "squad";
  request.in = {dir.File("in")};
  request.out = dir.File("out");
  EXPECT_THAT(Import(request),
              StatusIs(kInvalid, HasSubstr("data[1]: article: expected an object, got 7")));
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadFile(dir.File("out")));
  EXPECT_EQ(contents, "earlier");
}

}  // namespace
}  // namespace concur::qa
