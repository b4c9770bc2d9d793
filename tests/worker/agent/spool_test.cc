// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/spool.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/full_result.h"
#include "tests/testing/test.h"
#include "worker/agent/identity.h"

namespace concur::worker {
namespace {

SpooledResult Result(uint32_t job) {
  SpooledResult spooled;
  spooled.finished.id = AttemptId{{{7}, job}, {2}};
  spooled.published = true;
  JobResult& result = spooled.finished.result;
  result.succeeded = job % 2 == 0;
  result.failure = result.succeeded ? FailureClass::kNone : FailureClass::kTimeout;
  result.exit_code = result.succeeded ? 0 : 137;
  result.message = result.succeeded ? "" : "ran too long \"é\"\n";
  result.start_time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  result.run_time = absl::Nanoseconds(1'234'567'891);
  result.memory_bytes_peak = int64_t{1} << 40;
  result.metrics = {{"exact_match", 100.0 / 3, 3}, {"f1", 1e-300, 0}};
  result.artifacts = {{ArtifactKind::kPredictions, Sha256Of("a"), 1},
                      {ArtifactKind::kLog, Sha256Of("b"), 1 << 20}};
  if (!result.succeeded) {
    spooled.finished.checkpoint = {Sha256Of("c"), int64_t{1} << 33, 2};
  }
  return spooled;
}

size_t FilesIn(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) {
    ++count;
  }
  return count;
}

TEST(SpoolTest, WhatWasPutIsFoundByTheNextProcessUnchanged) {
  TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto spool, FileSpool::Open(temp.File("spool")));
  EXPECT_THAT(spool->recovered(), IsEmpty());
  ASSERT_OK(spool->Put({Result(1), Result(2)}));
  ASSERT_OK(spool->Put({Result(3)}));
  ASSERT_OK_AND_ASSIGN(auto next, FileSpool::Open(temp.File("spool")));
  ASSERT_THAT(next->recovered(), SizeIs(3));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(next->recovered()[i].finished.id, Result(i + 1).finished.id);
    EXPECT_EQ(next->recovered()[i].finished.result, Result(i + 1).finished.result);
    EXPECT_EQ(next->recovered()[i].finished.checkpoint, Result(i + 1).finished.checkpoint);
    EXPECT_TRUE(next->recovered()[i].published);
  }
}

TEST(SpoolTest, EveryFieldOfAResultIsFoundAgain) {
  for (const JobResult& result : testing::FullResults()) {
    SpooledResult spooled = Result(1);
    spooled.finished.result = result;
    ASSERT_OK_AND_ASSIGN(const std::vector<SpooledResult> again,
                         ParseResults(FormatResults({spooled})));
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_EQ(again[0].finished.result, result);
  }
}

// A worker that was upgraded hands in what the version before it left.
TEST(SpoolTest, AFileOfAnEarlierVersionIsRead) {
  const std::string body =
      R"({"artifacts":[[3,"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",7]],)"
      R"("attempt":2,"exit_code":1,"failure":1,"job":9,"message":"no","metrics":[["f1",0.5,3]],)"
      R"("published":true,"run_time_ns":5,"start_time_ns":7,"succeeded":false,"sweep":3})"
      "\n";
  ASSERT_OK_AND_ASSIGN(
      const std::vector<SpooledResult> results,
      ParseResults(absl::StrCat("concur-results-1 ", Sha256Of(body).ToHex(), "\n", body)));
  ASSERT_THAT(results, SizeIs(1));
  const JobResult& result = results[0].finished.result;
  EXPECT_EQ(results[0].finished.id, (AttemptId{{{3}, 9}, {2}}));
  EXPECT_EQ(result.failure, FailureClass::kFailed);
  EXPECT_EQ(result.start_time, absl::FromUnixNanos(7));
  EXPECT_EQ(result.metrics, (std::vector<Metric>{{"f1", 0.5, 3}}));
  EXPECT_EQ(result.artifacts, (std::vector<ArtifactRef>{{ArtifactKind::kLog, Sha256Of("abc"), 7}}));
  EXPECT_EQ(result.memory_bytes_peak, 0) << "a field that it did not write has its default";
}

TEST(SpoolTest, AFileGoesWhenAllItsResultsAreTaken) {
  TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto spool, FileSpool::Open(temp.File("spool")));
  ASSERT_OK(spool->Put({Result(1), Result(2)}));
  spool->Remove({Result(1).finished.id});
  spool->Remove({Result(1).finished.id});
  EXPECT_EQ(FilesIn(temp.File("spool")), 1u);
  spool->Remove({Result(2).finished.id});
  EXPECT_EQ(FilesIn(temp.File("spool")), 0u);
}

TEST(SpoolTest, ALaterResultOfAnAttemptReplacesTheEarlierOne) {
  TempDir temp;
  ASSERT_OK_AND_ASSIGN(auto spool, FileSpool::Open(temp.File("spool")));
  SpooledResult result = Result(1);
  result.published = false;
  ASSERT_OK(spool->Put({result}));
  result.published = true;
  ASSERT_OK(spool->Put({result}));
  EXPECT_EQ(FilesIn(temp.File("spool")), 1u);
  ASSERT_OK_AND_ASSIGN(auto next, FileSpool::Open(temp.File("spool")));
  ASSERT_THAT(next->recovered(), SizeIs(1));
  EXPECT_TRUE(next->recovered()[0].published);
}

TEST(SpoolTest, ADamagedFileIsSetAsideAndTheRestIsKept) {
  TempDir temp;
  const std::string directory = temp.File("spool");
  ASSERT_OK_AND_ASSIGN(auto spool, FileSpool::Open(directory));
  ASSERT_OK(spool->Put({Result(1)}));
  ASSERT_OK(spool->Put({Result(2)}));
  const std::string first = directory + "/000000000001.results";
  ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(first));
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
  ASSERT_OK(WriteFileAtomically(first, text));
  ASSERT_OK(WriteFileAtomically(directory + "/000000000003.results.tmp.1.1", "half"));
  ASSERT_OK_AND_ASSIGN(auto next, FileSpool::Open(directory));
  ASSERT_THAT(next->recovered(), SizeIs(1));
  EXPECT_EQ(next->recovered()[0].finished.id, Result(2).finished.id);
  EXPECT_EQ(access((first + ".damaged").c_str(), F_OK), 0);
}

TEST(SpoolTest, EveryChangedOrMissingByteIsNoticed) {
  const std::string text = FormatResults({Result(1), Result(2)});
  ASSERT_OK(ParseResults(text).status());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_TRUE(absl::IsDataLoss(ParseResults(changed).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(ParseResults(text.substr(0, i)).status())) << i;
  }
}

TEST(IdentityTest, EveryProcessIsAnotherIncarnationOfTheSameName) {
  TempDir temp;
  std::string first;
  {
    ASSERT_OK_AND_ASSIGN(const Identity identity, Identity::Acquire(temp.File("w"), "w1"));
    EXPECT_EQ(identity.name(), "w1");
    EXPECT_EQ(identity.previous_incarnation(), "");
    first = identity.incarnation();
  }
  {
    ASSERT_OK_AND_ASSIGN(const Identity identity, Identity::Acquire(temp.File("w"), ""));
    EXPECT_EQ(identity.name(), "w1");
    EXPECT_EQ(identity.previous_incarnation(), first);
    EXPECT_NE(identity.incarnation(), first);
  }
  ASSERT_OK_AND_ASSIGN(const Identity other, Identity::Acquire(temp.File("w"), "w2"));
  EXPECT_EQ(other.previous_incarnation(), "") << "another name replaces nobody";
}

TEST(IdentityTest, ASecondProcessOnAWorkDirectoryIsRefused) {
  TempDir temp;
  ASSERT_OK_AND_ASSIGN(const Identity identity, Identity::Acquire(temp.File("w"), "w1"));
  EXPECT_THAT(Identity::Acquire(temp.File("w"), "w1"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another worker uses this work directory")));
}

}  // namespace
}  // namespace concur::worker
