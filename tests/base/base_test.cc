// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/random.h"
#include "base/suggest.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

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

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(PrivateTest, WhatIsOurOwnLosesTheRightsOfOthers) {
  const TempDir temp;
  const std::string made = temp.File("a/b");
  ASSERT_OK(MakePrivateDirectory(made, {}));
  EXPECT_EQ(ModeOf(made), 0700u);
  EXPECT_EQ(ModeOf(temp.File("a")), 0700u);
  ASSERT_EQ(chmod(made.c_str(), 0755), 0);
  ASSERT_OK(MakePrivateDirectory(made, {}));  // it is empty
  EXPECT_EQ(ModeOf(made), 0700u);
  ASSERT_OK(MakePrivateFile(made + "/mark"));
  EXPECT_EQ(ModeOf(made + "/mark"), 0600u);
  ASSERT_OK(WriteFileAtomically(made + "/mark", "x", 0644));
  ASSERT_EQ(chmod(made.c_str(), 02775), 0);
  ASSERT_OK(MakePrivateDirectory(made, {"other", "mark"}));
  EXPECT_EQ(ModeOf(made), 02700u);
  ASSERT_OK(MakePrivateFile(made + "/mark"));
  EXPECT_EQ(ModeOf(made + "/mark"), 0600u);
  EXPECT_EQ(ReadFile(made + "/mark").value_or(""), "x");
}

TEST(PrivateTest, WhatMayBeAnothersIsRefusedWithTheRemedyAndLeftAsItIs) {
  const TempDir temp;
  const std::string shared = temp.File("shared");
  ASSERT_OK(MakeDirectories(shared));
  ASSERT_OK(WriteFileAtomically(shared + "/thesis.tex", "x"));
  ASSERT_EQ(chmod(shared.c_str(), 0755), 0);
  EXPECT_THAT(MakePrivateDirectory(shared, {"mark"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 700 " + shared)));
  EXPECT_EQ(ModeOf(shared), 0755u);
  ASSERT_EQ(symlink("/etc/passwd", (shared + "/link").c_str()), 0);
  EXPECT_FALSE(MakePrivateFile(shared + "/link").ok());
  EXPECT_THAT(MakePrivateFile("/dev/null"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("regular file")));
  if (geteuid() != 0) {
    GTEST_SKIP() << "root only: a directory of another user";
  }
  ASSERT_EQ(chown(shared.c_str(), 12345, 12345), 0);
  EXPECT_THAT(MakePrivateDirectory(shared, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chown -R 0 " + shared)));
}

TEST(SuggestTest, NamesTheNearestOrNothing) {
  const std::vector<std::string> names = {"approaches", "benchmarks", "seeds"};
  EXPECT_EQ(Nearest("aproaches", names), "approaches");
  EXPECT_EQ(Nearest("zebra", names), "");
  EXPECT_EQ(ExpectedOneOf({"json", "csv"}, "jsn"),
            "expected json or csv, got \"jsn\" (did you mean \"json\"?)");
  EXPECT_EQ(DidYouMean("jsno", {"json"}), " (did you mean \"json\"?)") << "neighbours exchanged";
  EXPECT_EQ(DidYouMean("xy", {"json"}), "");
  EXPECT_EQ(DidYouMean("x", {"a", "b"}), "") << "nothing of it is left";
  EXPECT_EQ(DidYouMean("xy", {"xz"}), " (did you mean \"xz\"?)");
  EXPECT_EQ(ExpectedOneOf({"a"}, "xyz\n"), "expected a, got \"xyz\\n\"");
  EXPECT_EQ(DidYouMean("seed", names), " (did you mean \"seeds\"?)");
}

TEST(SuggestTest, ListsStayShort) {
  EXPECT_EQ(FirstNames({}), "");
  EXPECT_EQ(FirstNames({"a", "b"}, "; "), "a; b");
  EXPECT_EQ(FirstNames({"a", "b", "c", "d"}, ", ", 3), "a, b, c and 1 more");
  EXPECT_EQ(FirstNames({"a", "b", "c"}, ", ", 3), "a, b, c");
}

TEST(ClockTest, TimesAreIso8601Utc) {
  EXPECT_EQ(FormatIsoTime(absl::FromUnixSeconds(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatIsoTime(absl::FromUnixMillis(1500)), "1970-01-01T00:00:01.500Z");
}

}  // namespace
}  // namespace concur
