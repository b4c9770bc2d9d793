// SPDX-License-Identifier: Apache-2.0
#include "base/fetch/download.h"

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
#include "tests/testing/test.h"

namespace concur::fetch {
namespace {

using ::concur::testing::Answer;
using ::concur::testing::FakeHttpServer;
using ::concur::testing::StalledClock;

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
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part.version"));
  }
  void ExpectNothing() { EXPECT_FALSE(std::filesystem::exists(path_)); }

  TempDir dir_;
  const std::string path_ = dir_.File("sub/file");
  std::string body_;
  StalledClock clock_;
  FakeHttpServer server_;
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

// A resumed download joined two versions of a file, and its digest was recorded as the genuine one.
TEST_F(DownloadTest, BytesOfTwoVersionsDoNotBecomeOneFile) {
  const std::string old(body_.size(), 'x');
  struct Case {
    std::string name;
    std::string old_headers;
    std::string condition;  // sent with the second request; "": it asks for the whole file
    std::vector<Answer> then;
  };
  const std::string day = "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n";
  const std::string date = day + "Date: Thu, 02 Jan 2025 00:00:00 GMT\r\n";
  const Answer whole = {.body = body_, .honours_range = false};
  for (const Case& c : std::vector<Case>{
           {"a tag", "ETag: \"1\"\r\n", "If-Range: \"1\"\r\n", {whole}},
           {"a tag counts before a date", "ETag: \"1\"\r\n" + date, "If-Range: \"1\"\r\n", {whole}},
           {"a date", date, "If-Range: Wed, 01 Jan 2025 00:00:00 GMT\r\n", {whole}},
           {"nothing", "", "", {{.body = body_}}},
           {"a weak tag", "ETag: W/\"1\"\r\n" + date, "", {{.body = body_}}},
           {"a date of now",
            day + "Date: Wed, 01 Jan 2025 00:00:09 GMT\r\n",
            "",
            {{.body = body_}}},
           {"a date without another", day, "", {{.body = body_}}},
           {"a server that does not look at If-Range",
            "ETag: \"1\"\r\n",
            "If-Range: \"1\"\r\n",
            {{.body = body_, .headers = "ETag: \"2\"\r\n"}, whole}},
           {"nor has a tag any more",
            "ETag: \"1\"\r\n",
            "If-Range: \"1\"\r\n",
            {{.body = body_ + "more"}, whole}},
       }) {
    std::filesystem::remove(path_);
    const size_t before = server_.requests().size();
    std::vector<Answer> answers = {{.body = old, .cut_at = 1000, .headers = c.old_headers}};
    answers.insert(answers.end(), c.then.begin(), c.then.end());
    ASSERT_OK_AND_ASSIGN(const Download download, Fetch(answers, false));
    EXPECT_EQ(download.sha256, Sha256Of(body_)) << c.name;
    ExpectWhole();
    ASSERT_EQ(server_.requests().size(), before + answers.size()) << c.name;
    EXPECT_THAT(server_.requests()[before + 1],
                c.condition.empty()
                    ? ::testing::Matcher<std::string>(Not(HasSubstr("Range:")))
                    : AllOf(HasSubstr("\r\n" + c.condition), HasSubstr("Range: bytes=1000-\r\n")))
        << c.name;
  }
}

TEST_F(DownloadTest, APartOfAnEarlierCallIsResumedOnlyInItsVersion) {
  const std::string tag = "ETag: \"1\"\r\n";
  options_.silent_attempts_max = 1;
  const std::vector<Answer> cut = {{.body = body_, .cut_at = 5000, .headers = tag}};
  const auto begin = [&] {
    std::filesystem::remove(path_);
    std::vector<Answer> answers = cut;
    answers.push_back({.status = 503});
    EXPECT_THAT(Fetch(answers, false), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("503")));
    EXPECT_TRUE(std::filesystem::exists(path_ + ".part.version"));
  };
  begin();
  ASSERT_OK_AND_ASSIGN(Download download, Fetch({{.body = body_, .headers = tag}}, false));
  EXPECT_EQ(download.outcome, DownloadOutcome::kResumed);
  EXPECT_THAT(server_.requests().back(),
              AllOf(HasSubstr("Range: bytes=5000-"), HasSubstr("If-Range: \"1\"")));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part.version"));
  ExpectWhole();
  for (const char* damaged : {"", "\"1\"", "\"1\"\nmany\n", "\"1\"\r\n10\n", "\n168890\n"}) {
    begin();
    ASSERT_OK(WriteFileAtomically(path_ + ".part.version", damaged));
    ASSERT_OK_AND_ASSIGN(download, Fetch({{.body = body_, .headers = tag}}, false));
    EXPECT_EQ(download.outcome, DownloadOutcome::kFetched) << damaged;
    EXPECT_THAT(server_.requests().back(), Not(HasSubstr("Range"))) << damaged;
    ExpectWhole();
  }
}

TEST_F(DownloadTest, OtherBytesThanAskedForAreNotTaken) {
  const std::string tag = "ETag: \"1\"\r\n";
  const Answer cut = {.body = body_, .cut_at = 1000, .headers = tag};
  for (const std::string range :
       {"bytes 0-168889/168890", "bytes 999-168889/168890", "bytes 1000-168889/168889",
        "bytes 1000-999/168890", "bytes -1-168889/168890", "1000-168889/168890", "bytes */168890",
        "bytes 1000-168889/168891", "nonsense"}) {
    std::filesystem::remove(path_);
    ASSERT_OK(Fetch({cut, {.body = body_, .content_range = range, .headers = tag}, {.body = body_}},
                    false)
                  .status())
        << range;
    EXPECT_THAT(server_.requests().back(), Not(HasSubstr("Range:"))) << range;
    ExpectWhole();
  }
  // A range of unknown length.
  std::filesystem::remove(path_);
  ASSERT_OK(Fetch({cut, {.body = body_, .content_range = "bytes 1000-168889/*"}}, false).status());
  ExpectWhole();
}

TEST_F(DownloadTest, AnAnswerThatIsLessThanTheRestIsGoneOnFrom) {
  const std::string tag = "ETag: \"1\"\r\n";
  const std::string all = absl::StrCat("/", body_.size());
  ASSERT_OK(Fetch({{.body = body_, .cut_at = 1000, .headers = tag},
                   {.body = body_.substr(0, 2000), .content_range = "bytes 1000-1999" + all},
                   {.body = body_, .headers = tag}},
                  false)
                .status());
  EXPECT_THAT(server_.requests().back(), HasSubstr("Range: bytes=2000-"));
  ExpectWhole();
}

TEST_F(DownloadTest, AFileThatChangesAllTheTimeIsGivenUp) {
  std::vector<Answer> answers;
  for (int i = 0; i < 100; ++i) {
    answers.push_back({.body = body_,
                       .cut_at = 1000,
                       .honours_range = false,
                       .headers = absl::StrCat("ETag: \"", i, "\"\r\n")});
    answers.push_back({.body = body_, .headers = "ETag: \"other\"\r\n"});
  }
  EXPECT_THAT(Fetch(answers, false),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("the file has changed"), HasSubstr("begun anew 20 times"))));
  ExpectNothing();
}

TEST_F(DownloadTest, AnEndlessFileStopsAtTheLimit) {
  options_.bytes_max = 1000;
  EXPECT_THAT(Fetch({{.body = body_}}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 1000 bytes")));
  ExpectNothing();
}

// It filled the disk.
TEST_F(DownloadTest, AFileThatTheDiskHasNoRoomForIsRefused) {
  options_.disk_kept = int64_t{1} << 60;
  EXPECT_THAT(Fetch({{.body = body_}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("/file: the disk has no room for it; make some (")));
  ExpectNothing();
  // A whole part needs no more room.
  ASSERT_OK(WriteFileAtomically(path_ + ".part", body_));
  ASSERT_OK(Fetch({{.body = body_}, {.body = body_}}).status());
  ExpectWhole();
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

// A file that another process finished between open and flock was truncated as if it were a part.
TEST_F(DownloadTest, AFileThatAnotherProcessJustFinishedStaysWhole) {
  for (const bool pinned : {true, false}) {
    std::filesystem::remove(path_);
    int opened = 0;
    options_.opened_for_test = [&] {
      if (++opened == 1) {
        EXPECT_OK(
            DownloadFile(*transport_, {server_.Url("/file"), std::nullopt}, path_, {}).status());
      }
    };
    ASSERT_OK_AND_ASSIGN(const Download download, Fetch({{.body = body_}}, pinned));
    EXPECT_EQ(download.outcome, DownloadOutcome::kPresent);
    EXPECT_EQ(download.sha256, Sha256Of(body_));
    EXPECT_EQ(opened, 1);
    ExpectWhole();
  }
}

TEST_F(DownloadTest, APartThatIsRemovedAgainAndAgainIsGivenUp) {
  options_.opened_for_test = [&] { std::filesystem::remove(path_ + ".part"); };
  EXPECT_THAT(Fetch({}), StatusIs(absl::StatusCode::kAborted, HasSubstr("other processes")));
  EXPECT_TRUE(server_.requests().empty());
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
