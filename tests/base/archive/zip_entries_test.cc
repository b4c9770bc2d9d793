// SPDX-License-Identifier: Apache-2.0
#include "base/archive/zip_entries.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "tests/testing/zip_builder.h"

namespace concur {
namespace {

using ::concur::testing::ZipBuilder;

class ZipEntriesTest : public ::testing::Test {
 protected:
  // The status, and how many entries were there.
  absl::Status Read(const ZipBuilder& zip, const ZipLimits& limits) {
    entries_ = 0;
    const std::string path = dir_.File("a.zip");
    CONCUR_CHECK_OK(WriteFileAtomically(path, zip.Build()));
    return ReadZipEntries(
        path, limits, [](absl::string_view /*name*/) { return true; },
        [this](absl::string_view /*name*/, const std::string& /*contents*/) {
          ++entries_;
          return absl::OkStatus();
        });
  }

  TempDir dir_;
  int entries_ = 0;
};

TEST_F(ZipEntriesTest, WhatUnpacksToTooMuchIsRefused) {
  ZipBuilder zip;
  zip.Add("small", "x").Add("bomb", std::string(10 << 20, '\0'));
  ZipLimits limits;
  limits.entry_bytes_max = (10 << 20) - 1;
  EXPECT_THAT(Read(zip, limits), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("a.zip: bomb: expected at most 10485759 bytes "
                                                    "when unpacked")));
  EXPECT_EQ(entries_, 1);
  limits.entry_bytes_max = 10 << 20;
  EXPECT_OK(Read(zip, limits));
  EXPECT_EQ(entries_, 2);
  limits.free_bytes = 1000;
  EXPECT_THAT(Read(zip, limits),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.zip: bomb: the archive unpacks to more than 100 times")));
}

TEST_F(ZipEntriesTest, AListOfEntriesThatIsTooLongIsRefused) {
  ZipBuilder zip;
  for (int i = 0; i < 5000; ++i) {
    zip.Add(absl::StrCat("samples/", i, "_epoch_1.json"), "{}", ZipBuilder::kStored);
  }
  ZipLimits limits;
  limits.entry_bytes_max = 10;
  EXPECT_OK(Read(zip, limits));
  EXPECT_EQ(entries_, 5000);
  limits.directory_bytes_max = 200'000;
  EXPECT_THAT(Read(zip, limits), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("a.zip: expected a whole zip archive: its "
                                                    "list of entries is too long")));
}

TEST_F(ZipEntriesTest, NamesInErrorsAreEscapedAndCut) {
  ZipBuilder zip;
  zip.AddPacked(absl::StrCat("\x1b[2J", std::string(5000, 'n')), "x", ZipBuilder::kStored, 1, 0);
  ZipLimits limits;
  limits.entry_bytes_max = 10;
  const absl::Status status = Read(zip, limits);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.zip: \\x1b[2Jnnn")));
  EXPECT_LT(status.message().size(), 1000U);
}

}  // namespace
}  // namespace concur
