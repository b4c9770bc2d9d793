#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/random.h"
#include "base/suggest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur {
namespace {

using ::concur::testing::StatusIs;
using ::concur::testing::TempDir;
using ::testing::HasSubstr;

TEST(DigestTest, EqualsPublishedVector) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(Sha256Of("abc").ToHex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DigestTest, FieldsOfDifferentCutsDiffer) {
  Sha256 a;
  a.UpdateField("ab");
  a.UpdateField("c");
  Sha256 b;
  b.UpdateField("a");
  b.UpdateField("bc");
  EXPECT_NE(a.Finish(), b.Finish());
}

TEST(DigestTest, HexReadsBackAndRefusesJunk) {
  const Digest digest = Sha256Of("x");
  ASSERT_OK_AND_ASSIGN(const Digest back, Digest::FromHex(digest.ToHex()));
  EXPECT_EQ(back, digest);
  EXPECT_THAT(Digest::FromHex("xyz"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64 hexadecimal")));
  EXPECT_THAT(Digest::FromHex(std::string(64, 'g')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64 hexadecimal")));
}

TEST(RandomTest, StreamsAreFixedAndIndependent) {
  Random a(1, "a");
  Random again(1, "a");
  Random b(1, "b");
  const uint64_t first = a.Next();
  EXPECT_EQ(first, again.Next());
  EXPECT_NE(first, b.Next());
}

TEST(RandomTest, BelowIsUniform) {
  Random random(7, "uniform");
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) {
    ++counts[random.Below(6)];
  }
  for (int count : counts) {
    EXPECT_NEAR(count, 10'000, 500);
  }
}

TEST(RandomTest, BetweenSpansTheWholeRange) {
  Random random(7, "between");
  EXPECT_EQ(random.Between(5, 5), 5);
  for (int i = 0; i < 100; ++i) {
    random.Between(INT64_MIN, INT64_MAX);
    const int64_t value = random.Between(-2, 2);
    EXPECT_GE(value, -2);
    EXPECT_LE(value, 2);
  }
}

TEST(FileTest, AtomicWriteReplacesAndLeavesNothingElse) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("a"), "one"));
  ASSERT_OK(WriteFileAtomically(dir.File("a"), "two"));
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadFile(dir.File("a")));
  EXPECT_EQ(contents, "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(FileTest, RefusesWhatIsNoRegularFile) {
  TempDir dir;
  EXPECT_THAT(ReadFile(dir.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("regular file")));
  EXPECT_THAT(ReadFile(dir.File("none")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  ASSERT_OK(WriteFileAtomically(dir.File("big"), "12345"));
  EXPECT_THAT(ReadFile(dir.File("big"), 4),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 4 bytes")));
}

TEST(FileTest, DigestOfFileIsDigestOfItsBytes) {
  TempDir dir;
  const std::string contents(300'000, 'x');
  ASSERT_OK(WriteFileAtomically(dir.File("a"), contents));
  ASSERT_OK_AND_ASSIGN(const FileDigest digest, DigestFile(dir.File("a")));
  EXPECT_EQ(digest.digest, Sha256Of(contents));
  EXPECT_EQ(digest.bytes, 300'000);
}

TEST(SuggestTest, NamesTheNearestOrNothing) {
  const std::vector<std::string> names = {"approaches", "benchmarks", "seeds"};
  EXPECT_EQ(Nearest("aproaches", names), "approaches");
  EXPECT_EQ(Nearest("zebra", names), "");
  EXPECT_EQ(DidYouMean("seed", names), " (did you mean \"seeds\"?)");
}

TEST(ClockTest, TimesAreIso8601Utc) {
  EXPECT_EQ(FormatIsoTime(absl::FromUnixSeconds(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatIsoTime(absl::FromUnixMillis(1500)), "1970-01-01T00:00:01.500Z");
}

}  // namespace
}  // namespace concur
