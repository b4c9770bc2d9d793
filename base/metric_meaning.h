// SPDX-License-Identifier: Apache-2.0
// Meaning of a metric's values: whether more or less of it is better, and what range they have.
//
// Values; the functions are pure.
#ifndef CONCUR_BASE_METRIC_MEANING_H_
#define CONCUR_BASE_METRIC_MEANING_H_

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

enum class Goal { kMaximize, kMinimize };
// "maximize", "minimize"; InvalidArgument for anything else.
absl::string_view GoalName(Goal goal);
absl::StatusOr<Goal> GoalFromName(absl::string_view name);

struct Scale {
  enum class Kind {
    kUnstated,  // guessed: 0 to 100 with a score above 1, else 0 to 1; minimized: no limits
    kPercent,   // 0 to 100
    kFraction,  // 0 to 1
    kRange,     // `low` to `high`
    kNone,      // no limits, as of a perplexity
  };
  Kind kind = Kind::kUnstated;
  double low = 0;  // 0 unless `kind` is kRange
  double high = 0;
  bool operator==(const Scale&) const = default;
};
// "percent", "fraction", "none", "0..5"; "" for kUnstated.
std::string ScaleText(const Scale& scale);
// The inverse, but for "". InvalidArgument for another text, and what CheckScale refuses.
absl::StatusOr<Scale> ScaleFromText(absl::string_view text);
// InvalidArgument unless both ends of a range are finite and the low one is below the high one.
absl::Status CheckScale(const Scale& scale);

struct MetricMeaning {
  Goal goal = Goal::kMaximize;
  Scale scale;
  // True if a table without goals and scales would be read the same way but for the guess of
  // percent: such tables have no word about either.
  bool IsPlain() const {
    return goal == Goal::kMaximize &&
           (scale.kind == Scale::Kind::kUnstated || scale.kind == Scale::Kind::kPercent);
  }
  bool operator==(const MetricMeaning&) const = default;
};

// True if less of a metric of that name is usually better: "perplexity", "dev loss", "WER".
bool UsuallyMinimized(absl::string_view name);
// True if it is not, but less of it is better to some: "refusal rate", "bias".
bool HasUnclearGoal(absl::string_view name);

// Which scores are equal: sums round, so that the means of equal runs differ in their last bits,
// and an error of .29 is not exactly 1 - .71. Such a difference ranks nothing and chooses nothing.
//
// A score to 34 of its 53 bits, some ten digits: scores are tied where these are equal, and ordered
// as these are. Scores of 10^9 examples that differ at all differ here.
inline double WithoutRounding(double score) {
  constexpr int kBits = 34;
  int exponent = 0;
  const double mantissa = std::frexp(score, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, kBits)), exponent - kBits);
}

}  // namespace concur

#endif  // CONCUR_BASE_METRIC_MEANING_H_
