// SPDX-License-Identifier: Apache-2.0
// `concur sweep submit-predictions` against a fake coordinator: what becomes of files and folders,
// and what is refused.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

constexpr char kBothRight[] = R"({"1": "Ada", "2": "here"})";

class SubmitPredictionsTest : public CommandsFixture {
 protected:
  SubmitPredictionsTest() {
    for (const std::string name : {"squad", "reddit"}) {
      Write(name + ".jsonl", TestSet(name));
      Write(name + ".yaml",
            absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: ", name,
                         "}\nspec: {train: nowhere.json, test: ", name,
                         ".jsonl, validation: {from: train, share: 0.1}}\n"));
    }
  }

  static std::string TestSet(const std::string& name) {
    return absl::StrCat(R"({"context": "Ada wrote it here, in )", name,
                        R"(", "qas": [{"qid": "1", "question": "Who?", "answers": ["Ada"]}, )",
                        R"({"qid": "2", "question": "Where?", "answers": ["here"]}]})", "\n");
  }
  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = dir_.File(name);
    CONCUR_CHECK_OK(MakeDirectories(std::filesystem::path(path).parent_path()));
    CONCUR_CHECK_OK(WriteFileAtomically(path, contents));
    return path;
  }
  // With the benchmarks squad and reddit.
  Output Submit(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"sweep", "submit-predictions", "--benchmark", dir_.File("squad.yaml"),
                      "--benchmark", dir_.File("reddit.yaml")});
    return Concur(std::move(arguments));
  }
  // A file of one system with squad alone.
  Output SubmitFile(const std::string& contents, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "sweep", "submit-predictions",           "--benchmark", dir_.File("squad.yaml"), "--system",
        "bidaf", Write("answers.json", contents)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Concur(std::move(arguments));
  }

  TempDir dir_;
};

TEST_F(SubmitPredictionsTest, ASystemIsAnApproachWhoseCodeIsItsPredictions) {
  const Output output = SubmitFile(kBothRight, {"--tag", "year=2018", "--tag", "neural"});
  ASSERT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(1));
  const v1::SweepSpec& spec = fake_.created[0].spec();
  EXPECT_EQ(spec.name(), "bidaf");
  ASSERT_THAT(spec.benchmarks(), SizeIs(1));  // no validation set
  EXPECT_FALSE(spec.benchmarks(0).has_train());
  EXPECT_THAT(spec.train_sets(), IsEmpty());
  ASSERT_THAT(spec.approaches(), SizeIs(1));
  const v1::Approach& approach = spec.approaches(0);
  EXPECT_EQ(approach.name(), "bidaf");
  EXPECT_THAT(approach.train().argv(), IsEmpty());
  EXPECT_THAT(approach.tags(),
              AllOf(Contains(Pair("submitted", "yes")), Contains(Pair("source", "answers.json")),
                    Contains(Pair("year", "2018")), Contains(Pair("neural", "yes"))));
  ASSERT_THAT(approach.code().files(), SizeIs(1));
  EXPECT_EQ(approach.code().files(0).path(), Sha256Of(TestSet("squad")).ToHex() + ".json");
  EXPECT_EQ(approach.code().files(0).digest(), Sha256Of(kBothRight).ToBytes());
  EXPECT_THAT(fake_.artifacts, Contains(Pair(Sha256Of(TestSet("squad")), TestSet("squad"))));
}

// Names are no part of what decides whether a result may be reused.
TEST_F(SubmitPredictionsTest, TheSameAnswersInAnotherFileAreTheSameCode) {
  ASSERT_EQ(SubmitFile(kBothRight).code, 0);
  ASSERT_EQ(Concur({"sweep", "submit-predictions", "--benchmark", dir_.File("squad.yaml"),
                    "--system", "other", Write("renamed.json", kBothRight)})
                .code,
            0);
  ASSERT_THAT(fake_.created, SizeIs(2));
  EXPECT_EQ(fake_.created[0].spec().approaches(0).code().digest(),
            fake_.created[1].spec().approaches(0).code().digest());
  EXPECT_NE(fake_.created[0].request_id(), fake_.created[1].request_id());
}

TEST_F(SubmitPredictionsTest, AFolderHasAFolderForEachSystemAndWhatIsNotThereIsExcluded) {
  Write("systems/bidaf/squad.json", kBothRight);
  Write("systems/bidaf/reddit.json", kBothRight);
  Write("systems/qanet/squad.json", kBothRight);
  Write("systems/.hidden", "not read");
  const Output output = Submit({dir_.File("systems"), "--name", "leaderboard"});
  ASSERT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(1));
  const v1::SweepSpec& spec = fake_.created[0].spec();
  EXPECT_EQ(spec.name(), "leaderboard");
  ASSERT_THAT(spec.approaches(), SizeIs(2));
  EXPECT_EQ(spec.approaches(0).name(), "bidaf");
  EXPECT_THAT(spec.approaches(0).code().files(), SizeIs(2));
  EXPECT_THAT(spec.approaches(1).tags(), Contains(Pair("source", "qanet")));
  ASSERT_THAT(spec.exclude(), SizeIs(1));
  EXPECT_EQ(spec.exclude(0).approach(), 1u);
  EXPECT_EQ(spec.exclude(0).test_benchmark(), 1u);
}

TEST_F(SubmitPredictionsTest, FilesOfAFolderAreSystemsWhereThereIsOneBenchmark) {
  Write("flat/bidaf.json", kBothRight);
  Write("flat/qanet.json", R"({"1": "Ada", "2": "there"})");
  const Output output = Concur(
      {"sweep", "submit-predictions", "--benchmark", dir_.File("squad.yaml"), dir_.File("flat")});
  ASSERT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(1));
  EXPECT_THAT(fake_.created[0].spec().approaches(), SizeIs(2));
  // With two, nothing says which of them a file answers.
  const Output two = Submit({dir_.File("flat")});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("expected a folder with a file for each of 2 benchmarks"));
}

TEST_F(SubmitPredictionsTest, NamesThatMeanNothingAreErrors) {
  Write("systems/bidaf/squat.json", kBothRight);
  Write("systems/bidaf/notes.txt", "");
  Write("systems/q a/squad.json", kBothRight);
  const Output output = Submit({dir_.File("systems")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err,
              AllOf(HasSubstr("bidaf/squat.json: expected the name of a benchmark of questions"),
                    HasSubstr("(did you mean \"squad\"?)"), HasSubstr("bidaf/notes.txt: expected"),
                    HasSubstr("q a/squad.json: expected a system's name")));
  CONCUR_CHECK_OK(MakeDirectories(dir_.File("empty")));
  EXPECT_THAT(Submit({dir_.File("empty")}).err, HasSubstr("got an empty folder"));
  EXPECT_THAT(Submit({dir_.File("systems/bidaf/squat.json")}).err,
              HasSubstr("expected --system NAME"));
  EXPECT_THAT(Submit({dir_.File("none"), "--system", "a", "--tag", "x=1", "--tag", "x=2"}).err,
              HasSubstr("--tag: expected each tag once"));
  EXPECT_THAT(Concur({"sweep", "submit-predictions", dir_.File("systems")}).err,
              HasSubstr("expected --benchmark FILE"));
  EXPECT_THAT(Submit({dir_.File("systems"), "--benchmark", dir_.File("squad.yaml")}).err,
              HasSubstr("got two named squad"));
  EXPECT_THAT(fake_.created, IsEmpty());
}

TEST_F(SubmitPredictionsTest, BadFilesAreRefusedBeforeAnythingIsSent) {
  struct Case {
    const char* contents;
    const char* error;
  };
  for (const Case& bad : std::vector<Case>{
           {"", "the file is empty; expected predictions"},
           {"{\"1\": \"Ada\", ", "not valid JSON"},
           {"{\"id\": \"1\"}\n{\"id\": \"2\"}", "; \"concur adapt\" reads other forms"},
           {"[]",
            "expected an object {\"id\": \"answer\"}, got another JSON value; \"concur adapt\" "
            "reads"},
           {R"({"1": "Ada", "2": 3})", "\"2\": expected a string, got 3; \"concur adapt\" reads"},
           {R"({"1": "Ada", "1": "Bob"})", "appears twice"},
           {R"({"1": "Ada"})",
            "1 of 2 questions of squad have no answer, such as \"2\"; with --allow-missing"},
           {R"({"1": "Ada", "2": "here", "9": "", "8": ""})",
            "2 answers are to no question of squad, such as \"8\"; with --allow-unknown"},
           {R"({"7": "Ada"})", "got none of them"}}) {
    const Output output = SubmitFile(bad.contents);
    EXPECT_EQ(output.code, 2) << bad.contents;
    EXPECT_THAT(output.err, AllOf(HasSubstr("answers.json: "), HasSubstr(bad.error)));
  }
  EXPECT_THAT(SubmitFile(R"({"7": "Ada"})", {"--allow-missing", "--allow-unknown"}).err,
              HasSubstr("got none of them"));
  EXPECT_THAT(fake_.created, IsEmpty());
  EXPECT_THAT(fake_.uploaded, IsEmpty());
  EXPECT_EQ(SubmitFile(R"({"1": "Ada", "9": ""})", {"--allow-missing", "--allow-unknown"}).code, 0);
  EXPECT_THAT(fake_.created, SizeIs(1));
}

TEST_F(SubmitPredictionsTest, AFileThatIsTooLargeIsNotRead) {
  const std::string path = Write("large.json", "");
  std::filesystem::resize_file(path, 65 << 20);  // a hole
  const Output output = Concur({"sweep", "submit-predictions", "--benchmark",
                                dir_.File("squad.yaml"), "--system", "bidaf", path});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("large.json: expected at most 64 MiB of predictions of one "
                                    "system, got more; gzip them"));
}

TEST_F(SubmitPredictionsTest, OneTestSetUnderTwoNamesHasOneAnswer) {
  Write("reddit.jsonl", TestSet("squad"));
  Write("systems/bidaf/squad.json", kBothRight);
  Write("systems/bidaf/reddit.json", R"({"1": "Bob", "2": "here"})");
  const Output output = Submit({dir_.File("systems")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("the test sets are the same, byte for byte"));
  Write("systems/bidaf/reddit.json", kBothRight);
  EXPECT_EQ(Submit({dir_.File("systems")}).code, 0);
}

TEST_F(SubmitPredictionsTest, OnlyTestSetsOfQuestionsAreAnswered) {
  const std::string file = Write("task.yaml",
                                 "apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: task}\n"
                                 "spec: {format: file, test: squad.jsonl, metric: accuracy}\n");
  const Output output = Concur({"sweep", "submit-predictions", "--benchmark", file, "--system", "a",
                                Write("answers.json", kBothRight)});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, AllOf(HasSubstr("task.yaml: expected a benchmark with a test set of"),
                                HasSubstr("of format file")));
}

TEST_F(SubmitPredictionsTest, SystemsStandBesideTheApproachesOfASweepFile) {
  const std::string sweep = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: both}
spec:
  approaches:
    - metadata: {name: guess}
      spec: {version: "1", predict: {command: [guess, "{test}", "{predictions}"]}}
  benchmarks:
    - metadata: {name: squad}
      spec: {test: squad.jsonl}
    - {file: reddit.yaml, name: reddit}
)";
  Write("systems/bidaf/squad.json", kBothRight);
  Write("train.json", TestSet("train"));
  Write("reddit.yaml",
        "apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: reddit}\n"
        "spec: {test: reddit.jsonl}\n");
  const std::vector<std::string> arguments = {"sweep", "submit-predictions", "--beside",
                                              Write("both.yaml", sweep), dir_.File("systems")};
  const Output output = Concur(arguments);
  ASSERT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(1));
  const v1::SweepSpec& spec = fake_.created[0].spec();
  EXPECT_EQ(spec.name(), "both");
  ASSERT_THAT(spec.approaches(), SizeIs(2));
  EXPECT_EQ(spec.approaches(0).name(), "guess");
  EXPECT_EQ(spec.approaches(1).name(), "bidaf");
  // Predictions that the sweep leaves out would be sent and never scored.
  Write("systems/bidaf/reddit.json", kBothRight);
  std::vector<std::string> elsewhere = arguments;
  elsewhere[3] = Write("squad_alone.yaml", absl::StrCat(sweep, "  evaluate_on: [squad]\n"));
  const Output left_out = Concur(elsewhere);
  EXPECT_EQ(left_out.code, 2);
  EXPECT_THAT(left_out.err, HasSubstr("got reddit, which its evaluate_on or exclude leaves out"));
  // Nobody ran the submitted systems on a validation set.
  Write("reddit.yaml",
        "apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: reddit}\n"
        "spec: {test: reddit.jsonl, train: train.json, validation: squad.jsonl}\n");
  const Output validation = Concur(arguments);
  EXPECT_EQ(validation.code, 2);
  EXPECT_THAT(validation.err, HasSubstr("expected benchmarks without validation sets"));
}

}  // namespace
}  // namespace concur::cli
