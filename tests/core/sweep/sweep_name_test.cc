// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/sweep_name.h"

#include <vector>

#include "absl/status/status.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(SweepNameTest, ANewerSweepOfAnotherOwnerShadowsNone) {
  const std::vector<NamedSweep> sweeps = {{{1}, "ann"}, {{2}, "ann"}, {{3}, "bob"}};
  const auto choose = [&](const char* text, const char* user) {
    return ChooseSweep(ParseSweepName(text), user, sweeps);
  };
  EXPECT_EQ(choose("x", "ann").value(), (SweepId{2}));
  EXPECT_EQ(choose("x", "bob").value(), (SweepId{3}));
  EXPECT_EQ(choose("bob/x", "ann").value(), (SweepId{3}));
  EXPECT_THAT(choose("eve/x", "ann"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such")));
  EXPECT_THAT(choose("x", "eve"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("write ann/x or bob/x")));
}

TEST(SweepNameTest, TheOnlyOwnersIsFoundByAnybody) {
  EXPECT_EQ(ChooseSweep(ParseSweepName("x"), "eve", {{{4}, "ann"}, {{7}, "ann"}}).value(),
            (SweepId{7}));
  EXPECT_THAT(ChooseSweep(ParseSweepName("x"), "eve", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such")));
}

}  // namespace
}  // namespace concur
