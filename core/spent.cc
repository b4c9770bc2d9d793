// SPDX-License-Identifier: Apache-2.0
#include "core/spent.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/decimal.h"

namespace concur {

Spent& Spent::operator+=(const Spent& more) {
  tokens_in += more.tokens_in;
  tokens_out += more.tokens_out;
  usd_micros += more.usd_micros;
  return *this;
}

bool Spent::Grow(const Spent& other) {
  const Spent before = *this;
  tokens_in = std::max(tokens_in, other.tokens_in);
  tokens_out = std::max(tokens_out, other.tokens_out);
  usd_micros = std::max(usd_micros, other.usd_micros);
  return *this != before;
}

double Spent::usd() const { return UsdOf(usd_micros); }

bool IsSpentName(absl::string_view name) {
  return name == "tokens_in" || name == "tokens_out" || name == kUsdName;
}

absl::StatusOr<Spent> SpentOf(absl::string_view name, double value) {
  const bool is_usd = name == kUsdName;
  const double max = is_usd ? kUsdMax : kSpentTokensMax;
  if (!(value >= 0 && value <= max)) {  // nor NaN
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected what the attempt has spent so far, 0 to ",
                     ShortestDecimal(max), ", got ", ShortestDecimal(value)));
  }
  const int64_t number = std::llround(is_usd ? value * kUsdMicros : value);
  return is_usd                ? Spent{.usd_micros = number}
         : name == "tokens_in" ? Spent{.tokens_in = number}
                               : Spent{.tokens_out = number};
}

std::string UsdText(double usd) {
  return usd > 0 && usd < 0.1 ? absl::StrFormat("$%.2g", usd) : absl::StrFormat("$%.2f", usd);
}

}  // namespace concur
