// SPDX-License-Identifier: Apache-2.0
// `concur sweep submit` against a fake coordinator: uploads, repeats, errors.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "cli/app/context.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

constexpr char kSweepFile[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: tiny}
spec:
  approaches:
    - metadata: {name: copy}
      spec:
        version: "1"
        train: {command: [cp, "{train}", "{model}"]}
        predict: {command: [predict, "--model={model}", "--data={test}", "--predictions={predictions}"]}
  benchmarks:
    - metadata: {name: one}
      spec: {train: train.jsonl, test: test.jsonl}
)";

class SubmitTest : public CommandsFixture {
 protected:
  SubmitTest() {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("sweep.yaml"), kSweepFile));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), kTrain));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("test.jsonl"), kTest));
  }

  // Submits with a train set that is large enough to be held when its upload is broken off, and
  // that the coordinator has in the end; returns the bytes of each upload.
  std::vector<size_t> UploadsOfLarge() {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), kLarge));
    fake_.artifacts[Sha256Of(kTest)] = kTest;
    const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_TRUE(fake_.artifacts[Sha256Of(kLarge)] == kLarge);
    return fake_.uploaded;
  }

  const std::string kTrain = std::string(700'000, 'x');  // several pieces
  const std::string kLarge = std::string(3'000'000, 'y');
  const std::string kTest =
      R"({"context": "a", "qas": [{"qid": "1", "question": "b", "answers": ["a"]}]})";
  TempDir dir_;
};

TEST_F(SubmitTest, MissingDataIsUploadedAndTheCallIsSafeToRepeat) {
  fake_.artifacts[Sha256Of(kTest)] = kTest;
  fake_.unavailable_calls = 1;  // in the middle of the upload
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(fake_.artifacts[Sha256Of(kTrain)], kTrain);
  ASSERT_THAT(fake_.created, SizeIs(1));
  EXPECT_EQ(fake_.created[0].spec().name(), "tiny");
  EXPECT_THAT(fake_.created[0].request_id(), SizeIs(36));
  EXPECT_THAT(output.out, HasSubstr("id       s13\n"));
  EXPECT_THAT(output.err, HasSubstr("uploaded "));
  EXPECT_THAT(output.err, Not(HasSubstr("test.jsonl")));
  EXPECT_THAT(output.err, HasSubstr("warning: no worker has a GPU"));
}

TEST_F(SubmitTest, AnUploadGoesOnWhereItWasBrokenOff) {
  fake_.held_bytes_max = 2'000'000;
  fake_.unavailable_calls = 1;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 1'000'000));
}

TEST_F(SubmitTest, AnUploadGoesOnAfterACoordinatorThatWasStopped) {
  fake_.held_bytes_max = 0;  // it has forgotten what it held
  fake_.unavailable_calls = 1;
  fake_.broken_upload = grpc::StatusCode::CANCELLED;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 3'000'000));
}

TEST_F(SubmitTest, AnUploadBeginsAgainWhereOtherBytesAreHeld) {
  fake_.held_bytes_max = 0;
  fake_.held[Sha256Of(kLarge).ToBytes()] = std::string(2'000'000, 'z');
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(1'000'000, 3'000'000));
}

TEST_F(SubmitTest, AnOlderCoordinatorIsSentEverythingAgain) {
  fake_.unavailable_calls = 1;
  EXPECT_THAT(UploadsOfLarge(), ElementsAre(3'000'000, 3'000'000));
}

TEST_F(SubmitTest, ARepeatedCallHasTheSameRequestId) {
  fake_.artifacts = {{Sha256Of(kTest), kTest}, {Sha256Of(kTrain), kTrain}};
  fake_.unavailable_calls = 2;
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "-o", "json"});
  EXPECT_EQ(output.code, 0) << output.err;
  ASSERT_THAT(fake_.created, SizeIs(3));
  EXPECT_EQ(fake_.created[0].request_id(), fake_.created[2].request_id());
  EXPECT_EQ(TestJson::parse(output.out)["warnings"][0], "no worker has a GPU");
}

TEST_F(SubmitTest, ADryRunUploadsNothing) {
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--dry-run"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(fake_.artifacts, IsEmpty());
  EXPECT_TRUE(fake_.created.at(0).validate_only());
}

TEST_F(SubmitTest, ADryRunSaysOfEachJobWhetherItRunsAndWhy) {
  v1::PlannedJob& runs = fake_.planned.emplace_back();
  runs.set_job("a on x, seed 1");
  runs.set_runs(true);
  runs.set_why("nothing equal has finished");
  v1::PlannedJob& reused = fake_.planned.emplace_back();
  reused.set_job("b on x, seed 1");
  reused.set_equal("s1/3");
  reused.set_why("takes the result of s1/3");
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--dry-run"});
  EXPECT_THAT(output.out, HasSubstr("a on x, seed 1  runs       nothing equal has finished\n"
                                    "b on x, seed 1  is reused  takes the result of s1/3\n"));
  fake_.planned.emplace_back().set_job("c on x, seed 1");
  fake_.planned.back().set_why("its search chooses");
  EXPECT_THAT(Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--dry-run"}).out,
              HasSubstr("c on x, seed 1  is open    its search chooses\n"));
  const Output json =
      Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--dry-run", "-o", "json"});
  EXPECT_EQ(TestJson::parse(json.out)["jobs"][1]["equal"], "s1/3");
}

// At 80 columns the reasons stood in a table of their own, far from their jobs.
TEST_F(SubmitTest, ADryRunOnATerminalHasAJobAndItsReasonInOneRow) {
  v1::PlannedJob& job = fake_.planned.emplace_back();
  job.set_job("logistic-regression on lastword, setting 0, seed 1, evaluated on lastword");
  job.set_runs(true);
  job.set_why("nothing equal has finished");
  const Output output = RunConcur(
      {"--server", fake_.address(), "sweep", "submit", dir_.File("sweep.yaml"), "--dry-run"}, true);
  EXPECT_THAT(output.out, HasSubstr("\nlogistic-regression on lastword, setting 0,  runs  nothing "
                                    "equal has finished\nseed 1, evaluated on lastword\n"));
  EXPECT_THAT(output.err, HasSubstr("of these jobs 1 would run, 0 would be reused\n"));
}

TEST_F(SubmitTest, AFileThatIsNotThereIsNotFound) {
  const Output output = Concur({"sweep", "submit", dir_.File("nosuch.yaml")});
  EXPECT_EQ(output.code, kExitNotFound);
  EXPECT_THAT(output.err, HasSubstr("nosuch.yaml: open: No such file"));
}

TEST_F(SubmitTest, AFileWithErrorsSubmitsNothing) {
  CONCUR_CHECK_OK(
      WriteFileAtomically(dir_.File("bad.yaml"), "apiVersion: concur/v1\nkind: Swep\n"));
  const Output output = Concur({"sweep", "submit", dir_.File("bad.yaml")});
  EXPECT_EQ(output.code, kExitUsage);
  EXPECT_THAT(output.err, HasSubstr("bad.yaml:2:7"));
  EXPECT_THAT(fake_.created, IsEmpty());
}

TEST_F(SubmitTest, AHeldOutValidationSetIsCutOnceAndForAll) {
  std::string train;
  for (int i = 0; i < 50; ++i) {
    absl::StrAppend(&train, R"({"context": "a)", i, R"(", "qas": [{"qid": ")", i,
                    R"(", "question": "b", "answers": ["a)", i, "\"]}]}\n");
  }
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), train));
  std::string sweep = kSweepFile;
  absl::StrReplaceAll({{"test: test.jsonl",
                        "test: test.jsonl, validation: {from: train, share: "
                        "0.2, seed: 3}"}},
                      &sweep);
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("sweep.yaml"), sweep));
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
  ASSERT_EQ(output.code, 0) << output.err;
  const v1::SweepSpec spec = fake_.created.at(0).spec();
  ASSERT_EQ(spec.benchmarks_size(), 2);
  EXPECT_EQ(spec.benchmarks(1).name(), "one.validation");
  EXPECT_EQ(spec.benchmarks(1).validation_of(), 0u);
  EXPECT_EQ(spec.benchmarks(0).train().path(), dir_.File("train.jsonl"));
  const auto questions = [&](const v1::DataFile& file) {
    const absl::StatusOr<Digest> digest = Digest::FromBytes(file.digest());
    CONCUR_CHECK_OK(digest.status());
    const std::string& contents = fake_.artifacts[*digest];
    size_t count = 0;
    for (size_t at = contents.find("\"qid\""); at != std::string::npos;
         at = contents.find("\"qid\"", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(questions(spec.benchmarks(0).train()), 40u);
  EXPECT_EQ(questions(spec.benchmarks(1).test()), 10u);
  EXPECT_EQ(Concur({"sweep", "submit", dir_.File("sweep.yaml")}).code, 0);
  EXPECT_EQ(fake_.created.at(1).spec().SerializeAsString(), spec.SerializeAsString())
      << "the same bytes again";
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("train.jsonl"), kTest));
  const Output small = Concur({"sweep", "submit", dir_.File("sweep.yaml")});
  EXPECT_EQ(small.code, kExitUsage);
  EXPECT_THAT(small.err, HasSubstr("sweep.yaml:13:"));
  EXPECT_THAT(small.err, HasSubstr("do not split into two"));
}

TEST_F(SubmitTest, WatchedToTheEnd) {
  fake_.watch = {WatchOf(2, 0, "b")};
  fake_.watch[0].mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  const Output output = Concur({"sweep", "submit", dir_.File("sweep.yaml"), "--watch"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err,
              HasSubstr("s13 next: 1,235 jobs in 4 cells; finished results are reused for 6 of "));
  EXPECT_EQ(output.out, "counts  2 succeeded\n");
}

}  // namespace
}  // namespace concur::cli
