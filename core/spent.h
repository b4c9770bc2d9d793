// SPDX-License-Identifier: Apache-2.0
// Amounts that jobs say they have spent: tokens and dollars.
//
// A job reports them under the names "tokens_in", "tokens_out" and "usd", each as what its attempt
// has spent so far. They are kept as whole numbers, so that sums do not depend on their order.
//
// Values.
#ifndef CONCUR_CORE_SPENT_H_
#define CONCUR_CORE_SPENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

inline constexpr char kUsdName[] = "usd";
inline constexpr int64_t kUsdMicros = 1'000'000;  // a dollar has these
inline constexpr double kUsdMax = 1e6;            // for one attempt, and for a budget
inline constexpr double kSpentTokensMax = 1e12;   // for one attempt
// The largest number of one attempt, as kept: sums of millions of attempts stay within 64 bits.
inline constexpr int64_t kSpentMax = 1'000'000'000'000;

struct Spent {
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  int64_t usd_micros = 0;  // millionths of a US dollar

  bool empty() const { return *this == Spent(); }
  double usd() const;
  Spent& operator+=(const Spent& more);
  // Takes the larger of each number. True if any grew.
  bool Grow(const Spent& other);
  friend bool operator==(const Spent&, const Spent&) = default;
};

// True of the names above.
bool IsSpentName(absl::string_view name);

// The amount under this name. InvalidArgument, naming it, when the value is not from 0 to its
// limit. REQUIRES: IsSpentName(name).
absl::StatusOr<Spent> SpentOf(absl::string_view name, double value);

// Calls visit(name, number) for each number of `spent`, a Spent, const or not.
template <typename S, typename Visitor>
void VisitSpent(S& spent, Visitor&& visit) {
  visit("tokens_in", spent.tokens_in);
  visit("tokens_out", spent.tokens_out);
  visit("usd_micros", spent.usd_micros);
}

inline double UsdOf(int64_t micros) { return static_cast<double>(micros) / kUsdMicros; }
// "$12.35", or "$0.0012": two digits that say something.
std::string UsdText(double usd);

}  // namespace concur

#endif  // CONCUR_CORE_SPENT_H_
