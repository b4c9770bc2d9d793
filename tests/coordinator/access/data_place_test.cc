// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

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

}  // namespace
}  // namespace concur::testing
