// SPDX-License-Identifier: Apache-2.0
#include "qa/passage_groups.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

std::vector<uint32_t> NumbersOf(const std::vector<std::string>& contexts) {
  PassageGroups groups;
  for (const std::string& context : contexts) {
    groups.Add(context);
  }
  return groups.Numbers();
}

TEST(PassageGroupsTest, EqualPassagesAndAGrowingStoryAreOneGroup) {
  EXPECT_THAT(NumbersOf({}), IsEmpty());
  EXPECT_THAT(NumbersOf({"a", "b", "a", "c"}), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(NumbersOf({"Ann went.", "Ann went. Bob sat.", "Cy ran.", "Cy ran. Di hid."}),
              ElementsAre(0, 0, 1, 1));
  // Two stories that come to the same text are one, with all that they passed through.
  EXPECT_THAT(NumbersOf({"x", "x y", "z", "x y", "x y w"}), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(NumbersOf({"q", "x y", "x", "x y"}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(NumbersOf({"", "a", ""}), ElementsAre(0, 1, 0));
}

TEST(PassageGroupsTest, NoTextIsInTwoGroups) {
  Random random(7, "stories");
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> contexts;
    for (int i = 0; i < 40; ++i) {
      contexts.push_back(
          contexts.empty() || random.Chance(0.4)
              ? std::string(1 + random.Below(2), static_cast<char>('a' + random.Below(3)))
              : contexts.back() + static_cast<char>('a' + random.Below(2)));
    }
    const std::vector<uint32_t> numbers = NumbersOf(contexts);
    uint32_t next = 0;
    for (size_t i = 0; i < contexts.size(); ++i) {
      ASSERT_LE(numbers[i], next);
      next += numbers[i] == next ? 1 : 0;
      for (size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(contexts[i] != contexts[j] || numbers[i] == numbers[j]);
      }
      ASSERT_TRUE(i == 0 || !contexts[i].starts_with(contexts[i - 1]) ||
                  numbers[i] == numbers[i - 1]);
    }
  }
}

}  // namespace
}  // namespace concur::qa
