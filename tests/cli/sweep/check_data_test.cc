// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/check_data.h"

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

using ::concur::testing::FakeCoordinator;

constexpr char kQuestion[] =
    R"({"context": "Ada wrote it", "qas": [{"qid": "1", "question": "Who?", "answers": ["Ada"]}]})"
    "\n";
constexpr char kSweepHead[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: mine}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [a, "{train}", "{model}"]}
        predict: {command: [a, "{model}", "{test}", "{predictions}", "{metrics}"]}
  benchmarks:
    - metadata: {name: b}
      spec: )";

class CheckDataTest : public ::testing::Test {
 protected:
  CheckDataTest() {
    Write("good.jsonl", kQuestion);
    Write("train.jsonl", kQuestion);
  }

  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = dir_.File(name);
    EXPECT_OK(WriteFileAtomically(path, contents));
    return path;
  }
  // A sweep file whose benchmark is `benchmark`.
  std::string Sweep(const std::string& benchmark, const std::string& more = "") {
    return Write("sweep.yaml", absl::StrCat(kSweepHead, benchmark, "\n", more));
  }
  // Output of `concur sweep validate` for a benchmark with this test file.
  Output Validate(const std::string& test) {
    return RunConcur(
        {"sweep", "validate", Sweep(absl::StrCat("{train: train.jsonl, test: ", test, "}"))});
  }
  // The place of the test file in Sweep().
  std::string Place() const {
    return absl::StrCat(dir_.File("sweep.yaml"), ":13:40: spec.benchmarks[0].spec.test: expected ");
  }

  TempDir dir_;
};

TEST_F(CheckDataTest, GoodDataIsValid) {
  const Output valid = Validate("good.jsonl");
  EXPECT_EQ(valid.code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("valid: sweep mine with 1 approach, 1 benchmark and 2 jobs"));
}

// Symptom: `sweep validate` called a directory, a FIFO and an endless device "valid".
TEST_F(CheckDataTest, ADirectoryAFifoAndAnEndlessDeviceAreRefused) {
  ASSERT_EQ(mkfifo(dir_.File("fifo").c_str(), 0600), 0);
  for (const char* test : {".", "fifo", "/dev/zero"}) {
    const Output output = Validate(test);
    EXPECT_EQ(output.code, 2) << test;
    EXPECT_THAT(output.err, AllOf(HasSubstr(Place()), HasSubstr("expected a regular file, got a ")))
        << test;
    const std::string no_check = dir_.File("sweep.yaml");
    EXPECT_EQ(RunConcur({"sweep", "validate", no_check, "--no-check"}).code, 2) << test;
    EXPECT_EQ(RunConcur({"sweep", "plan", no_check}).code, 2) << test;
  }
}

// Symptom: broken test data passed `submit` and failed after training, under the name of an
// artifact.
TEST_F(CheckDataTest, BrokenTestDataIsRefusedAtSubmitNotAfterTraining) {
  Write("empty.jsonl", "");
  Write("cut.jsonl.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10));
  Write("bytes.jsonl", absl::StrCat(kQuestion, R"({"context": ")", "\xff", R"(", "qas": []})"));
  Write("twice.jsonl", absl::StrCat(kQuestion, kQuestion));
  Write("none.jsonl", R"({"context": "x", "qas": []})");
  Write("wide.jsonl", std::string("\xff\xfe{\0}\0", 6));
  const struct {
    const char* test;
    const char* message;
  } cases[] = {
      {"empty.jsonl", "/empty.jsonl: the file is empty"},
      {"cut.jsonl.gz", "/cut.jsonl.gz: gzip: the file ends early"},
      {"bytes.jsonl", "/bytes.jsonl:2: expected UTF-8, found byte 0xff"},
      {"twice.jsonl", "/twice.jsonl:2: qas[0]: qid: \"1\" appears twice"},
      {"none.jsonl", "/none.jsonl: expected at least one question, found none"},
      {"wide.jsonl", "/wide.jsonl: expected UTF-8, got UTF-16"},
  };
  FakeCoordinator fake;
  fake.sweeps.resize(1);
  for (const auto& c : cases) {
    const Output validated = Validate(c.test);
    EXPECT_EQ(validated.code, 2) << c.test;
    EXPECT_THAT(validated.err, AllOf(HasSubstr(Place()), HasSubstr(c.message)));
    const Output submitted =
        RunConcur({"--server", fake.address(), "sweep", "submit", dir_.File("sweep.yaml")});
    EXPECT_EQ(submitted.code, 2) << c.test;
    EXPECT_EQ(submitted.err, validated.err);
  }
  EXPECT_TRUE(fake.created.empty());
  EXPECT_TRUE(fake.uploaded.empty());

  const Output unchecked = RunConcur(
      {"--server", fake.address(), "sweep", "submit", "--no-check", dir_.File("sweep.yaml")});
  EXPECT_EQ(unchecked.code, 0) << unchecked.err;
  EXPECT_EQ(fake.created.size(), 1u);
}

TEST_F(CheckDataTest, ACsvGivenAsAQaTestSetIsRefusedWithTheRemedy) {
  Write("test.csv", "id,question,answer\n1,Who?,Ada\n");
  const Output output = Validate("test.csv");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, AllOf(HasSubstr(absl::StrCat(Place(), "a data set of questions, got ")),
                                HasSubstr("/test.csv:1: \"id,question,answer\", which is no JSON"),
                                HasSubstr("write \"format: file\" and \"metric: NAME\"")));
  EXPECT_EQ(RunConcur({"sweep", "validate",
                       Sweep("{test: test.csv, format: file, metric: accuracy, train: test.csv}")})
                .code,
            0);
}

TEST_F(CheckDataTest, TrainSetsAreReadAsFarAsWorkersReadThem) {
  Write("own.csv", "any form\n");
  Write("empty.csv", "");
  Write("cut.gz", "\x1f\x8b\x08");
  const auto validate = [this](const std::string& train, const std::string& more) {
    return RunConcur(
        {"sweep", "validate", Sweep(absl::StrCat("{test: good.jsonl, train: ", train, "}"), more)});
  };
  EXPECT_EQ(validate("own.csv", "").code, 0) << "its program reads it";
  EXPECT_THAT(validate("empty.csv", "").err, HasSubstr("expected data to train on, got"));
  EXPECT_THAT(validate("cut.gz", "").err, HasSubstr("gzip: the file ends early"));
  const std::string mixture = "  mixtures: [{name: m, of: [{benchmark: b, examples_max: 1}]}]\n";
  EXPECT_THAT(validate("own.csv", mixture).err, HasSubstr("which is no JSON")) << "workers mix it";
}

TEST_F(CheckDataTest, EveryBrokenFileIsNamedAtOnceAndReadOnce) {
  Write("twice.jsonl", absl::StrCat(kQuestion, kQuestion));
  Write("none.jsonl", R"({"context": "x", "qas": []})");
  const std::string sweep =
      Sweep("{test: twice.jsonl, train: train.jsonl}",
            "    - {metadata: {name: c}, spec: {test: none.jsonl, train: train.jsonl}}\n"
            "    - {metadata: {name: d}, spec: {test: good.jsonl, train: train.jsonl}}\n");
  ASSERT_OK_AND_ASSIGN(const spec::LoadedSweep loaded, spec::LoadSweep(sweep));
  const absl::Status status = CheckDataSets(loaded);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("twice.jsonl:2: "), HasSubstr("none.jsonl: "), Not(HasSubstr("good.jsonl"))));
}

TEST_F(CheckDataTest, MissingDataStaysAWarningWhileTheOthersAreChecked) {
  EXPECT_EQ(Validate("nowhere.jsonl").code, 0);
  Write("train.jsonl", "");
  EXPECT_EQ(Validate("nowhere.jsonl").code, 2);
}

}  // namespace
}  // namespace concur::cli
