// SPDX-License-Identifier: Apache-2.0
#include "core/state/label_sets.h"

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(LabelSetsTest, EqualSetsHaveOneNumberAndTheEmptySetIsZero) {
  LabelSets sets;
  EXPECT_EQ(sets.Add({}), 0u);
  const uint32_t a100 = sets.Add({{"gpu", "a100"}});
  const uint32_t both = sets.Add({{"gpu", "a100"}, {"site", "basement"}});
  EXPECT_NE(a100, 0u);
  EXPECT_NE(both, a100);
  EXPECT_EQ(sets.Add({{"gpu", "a100"}}), a100);
  EXPECT_EQ(sets.Get(both), (Labels{{"gpu", "a100"}, {"site", "basement"}}));
  EXPECT_EQ(sets.size(), 3u);
  sets.CheckInvariants();
}

TEST(LabelSetsTest, AWorkerMatchesASetWhenItHasAllOfItsLabels) {
  LabelSets sets;
  const uint32_t both = sets.Add({{"gpu", "a100"}, {"site", "basement"}});
  EXPECT_TRUE(sets.Match(0, {}));
  EXPECT_FALSE(sets.Match(both, {{"gpu", "a100"}}));
  EXPECT_FALSE(sets.Match(both, {{"gpu", "h100"}, {"site", "basement"}}));
  EXPECT_TRUE(sets.Match(both, {{"gpu", "a100"}, {"site", "basement"}, {"zone", "b"}}));
}

TEST(LabelSetsTest, AMatcherAnswersAsMatchDoes) {
  LabelSets sets;
  const uint32_t gpu = sets.Add({{"gpu", "a100"}});
  const uint32_t image = sets.Add({{kImageLabel, "i"}});
  for (const Labels& has : {Labels(), Labels{{"gpu", "a100"}}, Labels{{kImageLabel, "i"}}}) {
    const LabelSets::Matcher matches = sets.MatcherOf(has);
    for (const uint32_t number : {0u, gpu, image}) {
      EXPECT_EQ(matches(number), sets.Match(number, has)) << number << ", " << LabelsText(has);
    }
  }
}

}  // namespace
}  // namespace concur
