// SPDX-License-Identifier: Apache-2.0
#include "fetch/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/testing/http_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::fetch {
namespace {

using ::concur::testing::Answer;
using ::concur::testing::HttpServer;
using ::concur::testing::StalledClock;
using ::concur::testing::StatusIs;
using ::concur::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest()
      : server_([this] { clock_.Advance(absl::Seconds(10)); }),
        transport_(MakeCurlTransport(clock_, absl::Seconds(60))) {
    setenv("no_proxy", "127.0.0.1", 1);  // NOLINT(concurrency-mt-unsafe)
    for (int i = 0; i < 30000; ++i) {
      absl::StrAppend(&body_, i, "\n");
    }
    options_.sleep = [this](absl::Duration duration) { slept_.push_back(duration); };
    options_.on_retry = [this](const absl::Status& why, absl::Duration wait) {
      retries_.push_back(absl::StrCat(why.message(), " ", absl::FormatDuration(wait)));
    };
  }

  absl::StatusOr<Download> Fetch(std::vector<Answer> answers, bool pinned = true) {
    server_.Script(std::move(answers));
    return DownloadFile(
        *transport_,
        {server_.Url("/file"), pinned ? std::optional<Digest>(Sha256Of(body_)) : std::nullopt},
        path_, options_);
  }
  void ExpectWhole() {
    ASSERT_OK_AND_ASSIGN(const std::string contents, ReadFile(path_));
    EXPECT_EQ(contents, body_);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  }
  void ExpectNothing() { EXPECT_FALSE(std::filesystem::exists(path_)); }

  TempDir dir_;
  const std::string path_ = dir_.File("sub/file");
  std::string body_;
  StalledClock clock_;
  HttpServer server_;
  std::unique_ptr<Transport> transport_;
  std::vector<absl::Duration> slept_;
  std::vector<std::string> retries_;
  DownloadOptions options_;
};

TEST_F(DownloadTest, AWholeFileIsVerifiedAndNotFetchedAgain) {
  ASSERT_OK_AND_ASSIGN(const Download first, Fetch({{.body = body_}}));
  EXPECT_EQ(first.outcome, DownloadOutcome::kFetched);
  EXPECT_EQ(first.sha256, Sha256Of(body_));
  ExpectWhole();
  ASSERT_OK_AND_ASSIGN(const Download again, Fetch({}));
  EXPECT_EQ(again.outcome, DownloadOutcome::kPresent);
  EXPECT_EQ(server_.requests().size(), 1);
  EXPECT_TRUE(slept_.empty());
}

TEST_F(DownloadTest, ATruncatedTransferGoesOnWhereItEnded) {
  ASSERT_OK(
      Fetch({{.body = body_, .cut_at = 1000}, {.body = body_, .cut_at = 90'000}, {.body = body_}})
          .status());
  ExpectWhole();
  ASSERT_EQ(server_.requests().size(), 3);
  EXPECT_THAT(server_.requests()[0], Not(HasSubstr("Range:")));
  EXPECT_THAT(server_.requests()[1], HasSubstr("Range: bytes=1000-"));
  EXPECT_THAT(server_.requests()[2], HasSubstr("Range: bytes=90000-"));
  EXPECT_THAT(slept_, ElementsAre(absl::Seconds(1), absl::Seconds(1)));
}

TEST_F(DownloadTest, AServerWithoutRangesStartsFromTheFront) {
  ASSERT_OK(
      Fetch({{.body = body_, .cut_at = 1000}, {.body = body_, .honours_range = false}}).status());
  ExpectWhole();
}

TEST_F(DownloadTest, APartOfAnEarlierCallIsResumed) {
  ASSERT_OK(MakeDirectories(dir_.File("sub")));
  ASSERT_OK(WriteFileAtomically(path_ + ".part", body_.substr(0, 5000)));
  ASSERT_OK_AND_ASSIGN(const Download download, Fetch({{.body = body_}}));
  EXPECT_EQ(download.outcome, DownloadOutcome::kResumed);
  EXPECT_THAT(server_.requests()[0], HasSubstr("Range: bytes=5000-"));
  ExpectWhole();
}

TEST_F(DownloadTest, APartOfAnotherFileIsFetchedAgainFromTheFront) {
  ASSERT_OK(MakeDirectories(dir_.File("sub")));
  ASSERT_OK(WriteFileAtomically(path_ + ".part", std::string(5000, 'x')));
  ASSERT_OK(Fetch({{.body = body_}, {.body = body_}}).status());
  EXPECT_THAT(server_.requests()[1], Not(HasSubstr("Range:")));
  ExpectWhole();
}

// Joined the halves of two versions and recorded the digest of that.
TEST_F(DownloadTest, APartOfAnotherVersionIsNotGoneOnWith) {
  const std::string older(body_.size(), 'x');
  ASSERT_OK(Fetch({{.body = older, .cut_at = 5000, .headers = "ETag: \"v1\"\r\n"},
                   {.body = body_, .headers = "ETag: \"v2\"\r\n"}},
                  /*pinned=*/false)
                .status());
  EXPECT_THAT(server_.requests()[1], HasSubstr("If-Range: \"v1\""));
  ExpectWhole();
}

TEST_F(DownloadTest, APartOfTheSameVersionIsResumedByALaterCall) {
  options_.silent_attempts_max = 1;
  const std::string date = "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
  EXPECT_FALSE(Fetch({{.body = body_, .cut_at = 5000, .headers = "ETag: W/\"weak\"\r\n" + date},
                      {.drop = true}},
                     /*pinned=*/false)
                   .ok());
  ASSERT_OK_AND_ASSIGN(const Download download,
                       Fetch({{.body = body_, .headers = date}}, /*pinned=*/false));
  EXPECT_EQ(download.outcome, DownloadOutcome::kResumed);
  EXPECT_THAT(server_.requests().back(),
              AllOf(HasSubstr("Range: bytes=5000-"), HasSubstr("If-Range: Wed, 21 Oct 2015")));
  ExpectWhole();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part.version"));
}

TEST_F(DownloadTest, WithoutAVersionOrADigestAPartIsFetchedAnew) {
  ASSERT_OK(Fetch({{.body = std::string(body_.size(), 'x'), .cut_at = 5000}, {.body = body_}},
                  /*pinned=*/false)
                .status());
  EXPECT_THAT(server_.requests()[1], Not(HasSubstr("Range:")));
  ExpectWhole();
}

TEST_F(DownloadTest, BytesFromAnotherOffsetAreNotTaken) {
  ASSERT_OK(Fetch({{.body = body_, .cut_at = 5000},
                   {.status = 206,
                    .body = body_.substr(0, 100),
                    .headers = "Content-Range: bytes 0-99/100\r\n"},
                   {.body = body_}})
                .status());
  ExpectWhole();
}

TEST_F(DownloadTest, APartLongerThanTheFileIsDropped) {
  ASSERT_OK(MakeDirectories(dir_.File("sub")));
  ASSERT_OK(WriteFileAtomically(path_ + ".part", body_ + "more"));
  ASSERT_OK(Fetch({{.body = body_}, {.body = body_}}).status());
  ExpectWhole();
}

TEST_F(DownloadTest, AStalledTransferIsGivenUpAndResumed) {
  ASSERT_OK(Fetch({{.body = body_, .cut_at = 2000, .stall = true}, {.body = body_}}).status());
  EXPECT_THAT(server_.requests()[1], HasSubstr("Range: bytes=2000-"));
  ExpectWhole();
}

TEST_F(DownloadTest, RedirectsAreFollowed) {
  ASSERT_OK(
      Fetch({{.status = 302, .location = server_.Url("/elsewhere")}, {.body = body_}}).status());
  EXPECT_THAT(server_.requests()[1], HasSubstr("GET /elsewhere"));
  ExpectWhole();
}

TEST_F(DownloadTest, EndlessRedirectsAndOtherProtocolsAreRefused) {
  EXPECT_THAT(Fetch(std::vector<Answer>(20, {.status = 302, .location = "/file"})),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("redirects")));
  EXPECT_THAT(Fetch({{.status = 302, .location = "file:///etc/passwd"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("file")));
  ExpectNothing();
}

TEST_F(DownloadTest, WrongBytesAreFetchedOnceMoreAndThenRefused) {
  const std::string wrong(body_.size(), 'x');
  ASSERT_OK(Fetch({{.body = wrong}, {.body = body_}}).status());
  ExpectWhole();
  std::filesystem::remove(path_);
  EXPECT_THAT(Fetch({{.body = wrong}, {.body = wrong}}),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr(Sha256Of(body_).ToHex()),
                                                          HasSubstr("the file was replaced"))));
  ExpectNothing();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(DownloadTest, AnEarlierFileOfAnotherDigestIsReplacedOnlyByTheRightOne) {
  ASSERT_OK(MakeDirectories(dir_.File("sub")));
  ASSERT_OK(WriteFileAtomically(path_, "earlier"));
  EXPECT_FALSE(Fetch({{.body = "wrong"}, {.body = "wrong"}}).ok());
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadFile(path_));
  EXPECT_EQ(contents, "earlier");
  ASSERT_OK(Fetch({{.body = body_}}).status());
  ExpectWhole();
}

TEST_F(DownloadTest, ServerErrorsAreTriedAgainWithBackoff) {
  ASSERT_OK(Fetch({{.status = 503}, {.status = 429}, {.status = 500}, {.body = body_}}).status());
  EXPECT_THAT(slept_, ElementsAre(absl::Seconds(1), absl::Seconds(2), absl::Seconds(4)));
  EXPECT_THAT(retries_, ElementsAre(AllOf(HasSubstr("503"), HasSubstr(" 1s")),
                                    AllOf(HasSubstr("429"), HasSubstr(" 2s")),
                                    AllOf(HasSubstr("500"), HasSubstr(" 4s"))));
  ExpectWhole();
  std::filesystem::remove(path_);
  EXPECT_THAT(Fetch(std::vector<Answer>(9, {.status = 503})),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("503"), HasSubstr("6 attempts in a row"))));
  ExpectNothing();
}

TEST_F(DownloadTest, WhatIsNotThereIsNotTriedAgain) {
  EXPECT_THAT(Fetch({{.status = 404}}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("404")));
  EXPECT_THAT(Fetch({{.status = 403}}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("403")));
  EXPECT_EQ(server_.requests().size(), 2);
  ExpectNothing();
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(DownloadTest, WithoutAPinnedDigestAWholeFileIsTaken) {
  ASSERT_OK_AND_ASSIGN(const Download download,
                       Fetch({{.body = body_, .cut_at = 10}, {.body = body_}}, false));
  EXPECT_EQ(download.sha256, Sha256Of(body_));
  ExpectWhole();
}

TEST_F(DownloadTest, AnEndlessFileStopsAtTheLimit) {
  options_.bytes_max = 1000;
  EXPECT_THAT(Fetch({{.body = body_}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 1000 bytes")));
  ExpectNothing();
}

TEST_F(DownloadTest, TwoProcessesDoNotFetchOneFile) {
  // A lock is the open file's: another opening of it is as good as another process.
  options_.progress = [this](int64_t, int64_t) {
    DownloadOptions options;
    EXPECT_THAT(DownloadFile(*transport_, {server_.Url("/file"), std::nullopt}, path_, options),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")));
  };
  ASSERT_OK(Fetch({{.body = body_}}).status());
  ExpectWhole();
}

TEST_F(DownloadTest, TheProxyOfTheEnvironmentIsUsed) {
  setenv("http_proxy", server_.Url("").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  setenv("no_proxy", "", 1);                         // NOLINT(concurrency-mt-unsafe)
  server_.Script({{.body = body_}});
  const auto download =
      DownloadFile(*transport_, {"http://data.invalid/file", Sha256Of(body_)}, path_, options_);
  unsetenv("http_proxy");  // NOLINT(concurrency-mt-unsafe)
  unsetenv("no_proxy");    // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK(download.status());
  EXPECT_THAT(server_.requests()[0], HasSubstr("GET http://data.invalid/file"));
  ExpectWhole();
}

}  // namespace
}  // namespace concur::fetch
