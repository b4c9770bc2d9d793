// SPDX-License-Identifier: Apache-2.0
// Families: approaches that are relatives (one model in several sizes, one team's entries) and tell
// less than as many strangers. Intervals draw whole families, and as if from few.
//
// Thread-safe (stateless). Method, sources and measured coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_FAMILIES_H_
#define CONCUR_ANALYSIS_FAMILIES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// The tag that says so unless another one is asked for, and the word for no families at all.
inline constexpr char kFamilyTag[] = "family";
inline constexpr char kNoFamilies[] = "none";

struct Families {
  std::string tag;                           // "": every approach stands alone
  std::vector<std::vector<size_t>> members;  // approaches by family, in order of first appearance
  // n² / sum of squared sizes (Kish, Survey Sampling, 1965): the number of families when they are
  // equal, fewer when some are larger. It stands for the number of clusters in every correction.
  double effective = 0;
  // The share of the variance of scores that lies between families: the one-way analysis of
  // variance estimate, at least 0, averaged over benchmarks.
  double intraclass = 0;
  // Number of unrelated approaches that tell as much: n / (1 + (n / effective - 1) intraclass).
  double approaches = 0;

  bool declared() const { return !tag.empty(); }
};

// The families of a table's approaches by the value of `tag`; approaches without it stand alone.
// "": kFamilyTag where some approach carries it; kNoFamilies: none. Small and capital letters count
// as the same where no tag is written like `tag` and one is but for them. InvalidArgument for a tag
// that no approach carries.
absl::StatusOr<Families> FamiliesOf(const ScoreTable& table, const std::string& tag);

// The tag for a part of a table that FamiliesOf takes it for: kNoFamilies where no approach of the
// part carries it.
std::string FamiliesTagIn(const ScoreTable& part, const std::string& tag);

// The families that have approaches with a value in both columns.
struct FamilySizes {
  size_t count = 0;
  double effective = 0;  // as Families::effective, of these approaches

  // For an interval: two families vary in nothing but their difference.
  bool AreEnough() const { return count >= 3 && effective > 1; }
};
FamilySizes SizesOfPair(const ScoreTable& table, const std::vector<std::vector<size_t>>& families,
                        size_t a, size_t b);

// The level at which percentiles of a bootstrap over so many units hold their nominal level better:
// tails by Student's t with units - 1 degrees, widened by sqrt(units / (units - 1)) for the
// plug-in variance (Hesterberg, American Statistician 2015, "expanded percentile").
// REQUIRES: units > 1, 0 < level < 1.
double ExpandedLevel(double level, double units);
// The level of which that one is `level`.
double LevelBeforeExpansion(double level, double units);

// Approaches without declared families that look like relatives.
struct Relatives {
  // A tag that names families under another name, or names that start alike. Scores that deviate
  // alike are none: those of strangers do, too, on benchmarks of two kinds.
  enum class Sign { kTag, kNames };
  Sign sign = Sign::kTag;
  size_t related = 0;  // approaches that are like another one
  size_t approaches = 0;
  std::string tag = {};    // kTag
  std::string first = {};  // kNames: two of them
  std::string second = {};
};
// Nothing when they do not.
std::optional<Relatives> LikelyRelatives(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_FAMILIES_H_
