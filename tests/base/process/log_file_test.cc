// SPDX-License-Identifier: Apache-2.0
#include "base/process/log_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

// Bytes that a log of `limit` bytes keeps of `data`, appended in pieces of `piece` bytes.
std::string Keep(const std::string& data, int64_t limit, size_t piece) {
  TempDir temp;
  LogFile log(temp.File("log"), limit);
  for (size_t i = 0; i < data.size(); i += piece) {
    log.Append(absl::string_view(data).substr(i, piece));
  }
  EXPECT_EQ(log.bytes_seen(), static_cast<int64_t>(data.size()));
  EXPECT_OK(log.Finish());
  return ReadLogFile(temp.File("log"), 0, 1 << 20);
}

TEST(LogFileTest, HeadAndTailAreKeptForAnySizeAndAnyPieces) {
  std::string data;
  for (int i = 0; i < 60; ++i) {
    data += static_cast<char>('0' + i % 75);
  }
  constexpr size_t kLimit = 20;
  for (size_t size = 0; size <= data.size(); ++size) {
    const std::string text = data.substr(0, size);
    const std::string expected =
        size <= kLimit ? text
                       : absl::StrCat(text.substr(0, kLimit / 2), "\n[", size - kLimit,
                                      " bytes left out: the log is limited to 20 bytes]\n",
                                      text.substr(size - kLimit / 2));
    for (const size_t piece : {1, 3, 10, 11, 60}) {
      ASSERT_EQ(Keep(text, kLimit, piece), expected) << "size " << size << " piece " << piece;
    }
  }
}

TEST(LogFileTest, LastGivesTheEndWhereverItIs) {
  TempDir temp;
  LogFile log(temp.File("log"), 20);
  EXPECT_EQ(log.Last(5), "");
  log.Append("abc");
  EXPECT_EQ(log.Last(5), "abc");
  EXPECT_EQ(log.Last(2), "bc");
  log.Append("defghijKLM");
  EXPECT_EQ(log.Last(5), "ijKLM");
  log.Append("nopqrstuvwxyz");
  EXPECT_EQ(log.Last(5), "vwxyz");
}

TEST(LogFileTest, ADiskErrorIsKeptForTheEnd) {
  TempDir temp;
  LogFile log(temp.File("no/such/directory/log"), 20);
  log.Append("abc");
  log.Append("def");
  EXPECT_TRUE(absl::IsNotFound(log.Finish()));
}

// The log is the same for any pieces: every secret is masked, also where secrets overlap, follow
// each other, contain each other, or begin and do not end.
TEST(LogFileTest, SecretsAreMaskedForAnyPieces) {
  const std::vector<std::string> secrets = {"abcab", "bcabc", "xx", "xxyxx-1"};
  const std::string text = "abcabcabc abcax xxyxxyxx-1 xxyxx-abcabxxx bcabab abca";
  std::string masked = text;
  for (const std::string& secret : secrets) {
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
      masked.replace(at, secret.size(), secret.size(), '*');
    }
  }
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    for (const int64_t limit : {1000, 30}) {
      TempDir temp;
      LogFile log(temp.File("log"), limit, secrets);
      for (size_t i = 0; i < text.size(); i += piece) {
        log.Append(absl::string_view(text).substr(i, piece));
        const std::string so_far = ReadLogFile(temp.File("log"), 0, 1 << 20);
        ASSERT_EQ(so_far.find("abcab"), std::string::npos) << so_far;
      }
      log.EndOutput();
      EXPECT_EQ(log.Last(10), masked.substr(masked.size() - 10));
      EXPECT_EQ(log.bytes_seen(), static_cast<int64_t>(text.size()));
      EXPECT_OK(log.Finish());
      const std::string kept = ReadLogFile(temp.File("log"), 0, 1 << 20);
      if (limit > 30) {
        ASSERT_EQ(kept, masked) << "piece " << piece;
      } else {
        ASSERT_EQ(kept.substr(0, 15), masked.substr(0, 15)) << "piece " << piece;
      }
    }
  }
}

TEST(LogFileTest, ANoteAmidASecretLeavesItMasked) {
  TempDir temp;
  LogFile log(temp.File("log"), 1000, {"sk-0123456789"});
  log.Append("key sk-0123");
  log.AppendNote("\nnote\n");
  log.Append("456789 end");
  log.EndOutput();
  EXPECT_EQ(log.Last(100), "key \nnote\n************* end");
}

// A program that writes a secret in pieces, with a progress bar on standard error between them.
TEST(LogFileTest, ASecretInPiecesIsMaskedInEitherStream) {
  for (const bool is_error : {false, true}) {
    TempDir temp;
    LogFile log(temp.File("log"), 1000, {"sk-0123456789"});
    for (const char& c : std::string("sk-0123456789 ")) {
      log.Append(absl::string_view(&c, 1), is_error);
      log.Append("|", !is_error);
    }
    log.EndOutput();
    EXPECT_EQ(log.Last(100), "||||||||||||*************| |");
  }
}

}  // namespace
}  // namespace concur::process
