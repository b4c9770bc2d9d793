// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace concur {

void AppendShortestDecimal(double value, std::string* out) {
  std::array<char, 32> digits;  // 24 are the most that any finite double needs
  out->append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

std::string ShortestDecimal(double value) {
  std::string text;
  if (std::isfinite(value)) {
    AppendShortestDecimal(value, &text);
  }
  return text;
}

}  // namespace concur
