// SPDX-License-Identifier: Apache-2.0
// The artifact store in object storage, against a server that answers as it is told.
#include <stdlib.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/s3_store.h"
#include "tests/testing/http_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

Answer Error(int status, const std::string& code, const std::string& more = "") {
  return {.status = status,
          .body = absl::StrCat("<?xml version=\"1.0\"?><Error><Code>", code,
                               "</Code><Message>so it is</Message>", more, "</Error>")};
}

const char kUploadBegun[] =
    "<InitiateMultipartUploadResult><UploadId>a+b/c=</UploadId></InitiateMultipartUploadResult>";
const char kUploadDone[] =
    "<CompleteMultipartUploadResult><ETag>x</ETag>"
    "</CompleteMultipartUploadResult>";

class S3FaultsTest : public ::testing::Test {
 protected:
  S3FaultsTest() : server_([this] { clock_.Advance(absl::Seconds(10)); }) {
    setenv("no_proxy", "127.0.0.1", 1);  // NOLINT(concurrency-mt-unsafe)
    for (int i = 0; i < 30'000; ++i) {
      absl::StrAppend(&body_, i, "\n");
    }
    digest_ = Sha256Of(body_);
    options_.endpoint = server_.Url("");
    options_.bucket = "bucket";
    options_.prefix = "p";
    options_.credentials = {"key", "secret", "token"};
    options_.sleep = [this](absl::Duration duration) { slept_.push_back(duration); };
    Open();
  }
  void Open() { store_ = std::make_unique<S3Store>(clock_, options_, "id"); }

  absl::Status Put(std::vector<Answer> answers) {
    server_.Script(std::move(answers));
    CONCUR_ASSIGN_OR_RETURN(const auto writer, store_->NewWriter(digest_));
    CONCUR_RETURN_IF_ERROR(writer->Append(body_));
    return writer->Finish().status();
  }
  absl::StatusOr<std::string> Read(std::vector<Answer> answers) {
    server_.Script(std::move(answers));
    ArtifactReader reader(*store_, digest_, 0);
    std::string all;
    std::string piece;
    do {
      CONCUR_RETURN_IF_ERROR(reader.Next(10'000, &piece));
      all += piece;
    } while (!piece.empty());
    return all;
  }
  // "PUT /bucket/…" of each request so far.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const std::string& request : server_.requests()) {
      lines.push_back(request.substr(0, request.find(" HTTP/")));
    }
    return lines;
  }

  TempDir dir_;
  std::string body_;
  Digest digest_;
  StalledClock clock_;
  FakeHttpServer server_;
  std::vector<absl::Duration> slept_;
  s3::Options options_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(S3FaultsTest, WhatMayPassIsTriedAgainWithBackoff) {
  ASSERT_OK(Put({{.status = 500}, Error(503, "SlowDown"), {.drop = true}, {.status = 200}}));
  EXPECT_THAT(slept_, ElementsAre(absl::Milliseconds(200), absl::Milliseconds(400),
                                  absl::Milliseconds(800)));
  ASSERT_EQ(server_.requests().size(), 4u);
  EXPECT_TRUE(absl::EndsWith(server_.requests()[3], body_)) << "whole, also the fourth time";
  EXPECT_THAT(server_.requests()[3],
              AllOf(HasSubstr(absl::StrCat("x-amz-content-sha256: ", digest_.ToHex())),
                    HasSubstr("x-amz-security-token: token"),
                    HasSubstr("SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;"
                              "x-amz-security-token,")));
  EXPECT_THAT(Put(std::vector<Answer>(9, {.status = 503})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("6 attempts")));
}

TEST_F(S3FaultsTest, AStalledUploadIsTriedAgain) {
  ASSERT_OK(Put({{.status = 200, .body = "never", .cut_at = 0, .stall = true}, {.status = 200}}));
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(S3FaultsTest, AReadGoesOnWhereItBroke) {
  ASSERT_OK_AND_ASSIGN(const std::string read,
                       Read({{.status = 500},
                             {.body = body_, .cut_at = 1'000},
                             {.body = body_, .cut_at = 60'000, .stall = true},
                             {.body = body_}}));
  EXPECT_TRUE(read == body_);
  ASSERT_EQ(server_.requests().size(), 4u);
  EXPECT_THAT(server_.requests()[1], Not(HasSubstr("Range:")));
  EXPECT_THAT(server_.requests()[2], HasSubstr("Range: bytes=1000-"));
  EXPECT_THAT(server_.requests()[3], HasSubstr("Range: bytes=60000-"));
}

TEST_F(S3FaultsTest, AServerWithoutRangesIsReadFromTheFront) {
  ASSERT_OK_AND_ASSIGN(const std::string read, Read({{.body = body_, .cut_at = 100'000},
                                                     {.body = body_, .honours_range = false}}));
  EXPECT_TRUE(read == body_);
}

TEST_F(S3FaultsTest, AReadThatBringsNothingAgainAndAgainEnds) {
  std::vector<Answer> answers(20, {.status = 503});
  answers[0] = {.body = body_, .cut_at = 1'000};
  EXPECT_THAT(Read(answers), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("503")));
}

TEST_F(S3FaultsTest, BytesThatAreWrongOnceAreNotServedAndNotMoved) {
  const std::string wrong(body_.size(), 'x');
  EXPECT_THAT(Read({{.body = wrong}, {.body = body_}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changed while it was read")));
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(S3FaultsTest, BytesThatStayWrongAreMovedAway) {
  const std::string wrong(body_.size(), 'x');
  EXPECT_THAT(Read({{.body = wrong},
                    {.body = wrong},
                    {.body = wrong},
                    {.body = "<CopyObjectResult/>"},
                    {.status = 204}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("moved to p/damaged/")));
  ASSERT_EQ(server_.requests().size(), 5u);
  EXPECT_THAT(Lines()[3], HasSubstr("PUT /bucket/p/damaged/"));
  EXPECT_THAT(Lines()[4], HasSubstr("DELETE /bucket/p/sha256/"));
}

TEST_F(S3FaultsTest, ACopyThatFailsBehindItsBackKeepsTheObject) {
  // Copies answer 200 first and may fail then.
  const std::string wrong(body_.size(), 'x');
  Answer failed = Error(200, "AccessDenied");
  EXPECT_THAT(Read({{.body = wrong}, {.body = wrong}, {.body = wrong}, failed}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("AccessDenied")));
  EXPECT_EQ(server_.requests().size(), 4u) << "nothing was removed";
}

TEST_F(S3FaultsTest, PartsAreTriedAgainAndCompletedOnce) {
  options_.part_bytes = 100'000;  // 168,890 bytes: two parts
  Open();
  const Answer part = {.status = 200, .headers = "ETag: \"tag\"\r\n"};
  ASSERT_OK(Put({{.body = kUploadBegun},
                 part,
                 {.status = 500},
                 part,
                 Error(200, "InternalError"),
                 {.body = kUploadDone}}));
  const std::string key =
      absl::StrCat("/bucket/p/sha256/", digest_.ToHex().substr(0, 2), "/", digest_.ToHex());
  EXPECT_THAT(Lines(), ElementsAre(absl::StrCat("POST ", key, "?uploads="),
                                   absl::StrCat("PUT ", key, "?partNumber=1&uploadId=a%2Bb%2Fc%3D"),
                                   absl::StrCat("PUT ", key, "?partNumber=2&uploadId=a%2Bb%2Fc%3D"),
                                   absl::StrCat("PUT ", key, "?partNumber=2&uploadId=a%2Bb%2Fc%3D"),
                                   absl::StrCat("POST ", key, "?uploadId=a%2Bb%2Fc%3D"),
                                   absl::StrCat("POST ", key, "?uploadId=a%2Bb%2Fc%3D")));
  EXPECT_THAT(server_.requests()[5],
              HasSubstr("<Part><PartNumber>1</PartNumber><ETag>\"tag\"</ETag></Part>"));
}

TEST_F(S3FaultsTest, AnUploadWhoseCompletionWasLostIsFoundToBeThere) {
  options_.part_bytes = 100'000;
  Open();
  const Answer part = {.status = 200, .headers = "ETag: \"tag\"\r\n"};
  ASSERT_OK(Put({{.body = kUploadBegun},
                 part,
                 part,
                 {.drop = true},
                 Error(404, "NoSuchUpload"),
                 {.body = body_, .headers = "Last-Modified: Sun, 22 Nov 2026 06:01:36 GMT\r\n"}}));
  EXPECT_THAT(Lines().back(), HasSubstr("HEAD "));
}

TEST_F(S3FaultsTest, AnUploadOfOtherBytesIsGivenUp) {
  options_.part_bytes = 100'000;
  Open();
  digest_ = Sha256Of("other bytes");
  const Answer part = {.status = 200, .headers = "ETag: \"tag\"\r\n"};
  EXPECT_THAT(Put({{.body = kUploadBegun}, part, {.status = 204}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(digest_.ToHex())));
  EXPECT_THAT(Lines().back(), HasSubstr("DELETE /bucket/p/sha256/"));
  EXPECT_EQ(Lines().size(), 3u) << "nothing was completed";
}

TEST_F(S3FaultsTest, EachErrorSaysWhatIsToBeMended) {
  struct Case {
    Answer answer;
    absl::StatusCode code;
    std::string said;
  };
  const std::vector<Case> cases = {
      {Error(403, "AccessDenied"), absl::StatusCode::kPermissionDenied, "must allow s3:GetObject"},
      {{.status = 403}, absl::StatusCode::kPermissionDenied, "must allow s3:GetObject"},
      {Error(404, "NoSuchBucket"), absl::StatusCode::kFailedPrecondition, "make the bucket"},
      {Error(404, "NoSuchKey"), absl::StatusCode::kNotFound, "404"},
      {Error(400, "ExpiredToken"), absl::StatusCode::kUnauthenticated, "expired: renew them"},
      {Error(403, "InvalidAccessKeyId"), absl::StatusCode::kUnauthenticated, "is wrong"},
      {Error(403, "RequestTimeTooSkewed"), absl::StatusCode::kFailedPrecondition, "the clock"},
      {Error(301, "PermanentRedirect"), absl::StatusCode::kFailedPrecondition, "another region"},
      {{.status = 301, .headers = "x-amz-bucket-region: eu-north-1\r\n"},
       absl::StatusCode::kFailedPrecondition,
       "the bucket is in eu-north-1"},
      {Error(400, "AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>"),
       absl::StatusCode::kFailedPrecondition, "the bucket is in eu-west-3"},
      {Error(501, "NotImplemented"), absl::StatusCode::kUnimplemented, "501"},
      {{.status = 400, .body = "no XML"}, absl::StatusCode::kInvalidArgument, "400"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.answer.body);
    server_.Script({c.answer});
    EXPECT_THAT(store_->ReadId(), StatusIs(c.code, HasSubstr(c.said)));
    // Whoever uses a store can only wait until somebody mends it.
    if (c.code != absl::StatusCode::kNotFound) {
      EXPECT_THAT(Put({c.answer}), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(c.said)));
    }
  }
  EXPECT_TRUE(slept_.empty()) << "none of these passes by waiting";
}

TEST_F(S3FaultsTest, AnswersThatAreNoneAreDamage) {
  for (const char* body : {"", "<html>a proxy</html>", "<ListBucketResult><Contents/>",
                           "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
                           "<ListBucketResult><Contents><Key>k</Key><Size>x</Size></Contents>"
                           "</ListBucketResult>"}) {
    SCOPED_TRACE(body);
    server_.Script({{.body = body}});
    EXPECT_THAT(store_->List(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected")));
  }
}

TEST_F(S3FaultsTest, WhatIsInUseIsNotCollected) {
  // The list was made before the artifact was put again.
  const std::string key =
      absl::StrCat("p/sha256/", digest_.ToHex().substr(0, 2), "/", digest_.ToHex());
  const Answer list = {
      .body = absl::StrCat("<ListBucketResult><Contents><Key>", key,
                           "</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified>"
                           "<Size>7</Size></Contents></ListBucketResult>")};
  const Answer no_uploads = Error(501, "NotImplemented");
  ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(digest_));
  ASSERT_OK(writer->Append(body_));
  server_.Script({list, {.status = 204}, no_uploads});
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Collect({}, clock_.Now()));
  EXPECT_EQ(freed, 7) << "a writer that has not finished keeps nothing";
  server_.Script({{.status = 200}});
  ASSERT_OK(writer->Finish());
  // Used since the last collection began, but not since this one did: goes by the list.
  server_.Script({list, {.status = 204}, no_uploads});
  ASSERT_OK_AND_ASSIGN(const int64_t again, store_->Collect({}, clock_.Now()));
  EXPECT_EQ(again, 7);
  server_.Script({list, no_uploads});
  ASSERT_OK_AND_ASSIGN(const int64_t live, store_->Collect({digest_}, clock_.Now()));
  EXPECT_EQ(live, 0);
}

TEST_F(S3FaultsTest, UploadsThatNobodyEndedAreGivenUpAfterADay) {
  const std::string day_old =
      absl::FormatTime(absl::RFC3339_sec, clock_.Now() - absl::Hours(25), absl::UTCTimeZone());
  const std::string young =
      absl::FormatTime(absl::RFC3339_sec, clock_.Now() - absl::Hours(23), absl::UTCTimeZone());
  const auto upload = [](const std::string& id, const std::string& begun) {
    return absl::StrCat("<Upload><Key>p/sha256/k</Key><UploadId>", id, "</UploadId><Initiated>",
                        begun, "</Initiated></Upload>");
  };
  server_.Script({{.body = "<ListBucketResult/>"},
                  {.body = absl::StrCat("<ListMultipartUploadsResult><IsTruncated>true"
                                        "</IsTruncated><NextKeyMarker>p/k</NextKeyMarker>"
                                        "<NextUploadIdMarker>1</NextUploadIdMarker>",
                                        upload("1", day_old), "</ListMultipartUploadsResult>")},
                  {.status = 204},
                  {.body = absl::StrCat("<ListMultipartUploadsResult>", upload("2", young),
                                        "</ListMultipartUploadsResult>")}});
  ASSERT_OK(store_->Collect({}, clock_.Now()));
  EXPECT_THAT(Lines(), ElementsAre("GET /bucket?list-type=2&max-keys=1000&prefix=p%2Fsha256%2F",
                                   "GET /bucket?prefix=p%2Fsha256%2F&uploads=",
                                   "DELETE /bucket/p/sha256/k?uploadId=1",
                                   "GET /bucket?key-marker=p%2Fk&prefix=p%2Fsha256%2F&"
                                   "upload-id-marker=1&uploads="));
}

TEST_F(S3FaultsTest, CredentialsThatAreRenewedInTheirFileAreUsedAtOnce) {
  const std::string path = dir_.File("credentials");
  options_.credentials_file = path;
  Open();
  ASSERT_OK(WriteFileAtomically(
      path, "[default]\naws_access_key_id = OLD\naws_secret_access_key = s\n", 0600));
  server_.Script({Error(400, "ExpiredToken"), {.body = "id\n"}});
  EXPECT_THAT(store_->ReadId(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(path)));
  ASSERT_OK(WriteFileAtomically(path,
                                "# renewed\n[default]\naws_access_key_id=NEW\n"
                                "aws_secret_access_key=s\naws_session_token = t\n"
                                "[other]\naws_access_key_id = NO\n",
                                0600));
  ASSERT_OK_AND_ASSIGN(const std::string id, store_->ReadId());
  EXPECT_EQ(id, "id");
  EXPECT_THAT(server_.requests()[0], HasSubstr("Credential=OLD/"));
  EXPECT_THAT(server_.requests()[1],
              AllOf(HasSubstr("Credential=NEW/"), HasSubstr("x-amz-security-token: t")));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(store_->ReadId(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
  ASSERT_OK(WriteFileAtomically(path, "[default]\naws_access_key_id = K\n", 0600));
  EXPECT_THAT(store_->ReadId(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr(path), HasSubstr("aws_secret"))));
  ASSERT_OK(WriteFileAtomically(path, "[default]\nSECRET\n", 0600));
  EXPECT_THAT(store_->ReadId(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(":2: expected"), Not(HasSubstr("SECRET")))));
}

}  // namespace
}  // namespace concur::testing
