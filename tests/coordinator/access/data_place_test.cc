// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data/data_place.h"

#include <stdlib.h>

#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "tests/testing/http_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

TEST(DataPlaceTest, OnlyTheOptionMakesTheFolderOfPacksWhichThenStays) {
  const TempDir dir;
  SystemClock clock;
  const auto has_packs = [&] { return std::filesystem::exists(dir.File("data/artifacts/packs")); };
  DataPlace place;
  place.directory = dir.File("data");
  ASSERT_OK(OpenArtifacts(clock, place).status());
  EXPECT_FALSE(has_packs());
  place.makes_packs = true;
  ASSERT_OK(OpenArtifacts(clock, place).status());
  EXPECT_TRUE(has_packs());
  place.makes_packs = false;
  ASSERT_OK(OpenArtifacts(clock, place).status());
  EXPECT_TRUE(has_packs());
}

// A folder that its last artifact left behind kept a coordinator from object storage.
TEST(DataPlaceTest, OnlyArtifactsKeepADirectoryFromObjectStorage) {
  setenv("no_proxy", "127.0.0.1", 1);  // NOLINT(concurrency-mt-unsafe)
  const TempDir dir;
  SystemClock clock;
  FakeHttpServer server;
  DataPlace place;
  place.directory = dir.File("data");
  place.s3.emplace();
  place.s3->endpoint = server.Url("");
  place.s3->bucket = "bucket";
  place.s3->credentials = {"key", "secret", ""};
  const std::filesystem::path shard = dir.File("data/artifacts/sha256/ab");
  ASSERT_OK(MakeDirectories(shard.string(), 0700));
  const Answer none{.status = 404, .body = "<Error><Code>NoSuchKey</Code></Error>"};
  ASSERT_OK(WriteFileAtomically((shard / "abcd").string(), "x", 0600));
  server.Script({none});
  EXPECT_THAT(OpenArtifacts(clock, place).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("holds artifacts")));
  std::filesystem::remove(shard / "abcd");
  // A folder that cannot be listed may hold some.
  const std::filesystem::path packs = dir.File("data/artifacts/packs");
  ASSERT_OK(WriteFileAtomically(packs.string(), "x", 0600));
  server.Script({none});
  EXPECT_THAT(OpenArtifacts(clock, place).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("holds artifacts")));
  std::filesystem::remove(packs);
  server.Script({none, {.status = 200}});
  EXPECT_OK(OpenArtifacts(clock, place).status());
}

}  // namespace
}  // namespace concur::testing
