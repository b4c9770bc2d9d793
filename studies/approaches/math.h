// SPDX-License-Identifier: Apache-2.0
// exp and log with the same bits on every machine; the C library chooses its code by processor. The
// relative error is about 1e-14.
//
// Pure.
#ifndef CONCUR_STUDIES_APPROACHES_MATH_H_
#define CONCUR_STUDIES_APPROACHES_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace concur::approaches {

inline constexpr double kLn2 = 0.693147180559945309417;

// e^x. 0 below -700; REQUIRES: x < 700.
inline double Exp(double x) {
  if (!(x > -700)) {
    return 0;
  }
  const double k = std::floor(x / kLn2 + 0.5);
  const double r = x - k * kLn2;  // |r| <= ln(2) / 2
  double term = 1;
  double sum = 1;
  for (int i = 1; i <= 13; ++i) {
    term *= r / i;
    sum += term;
  }
  return sum * std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(k) + 1023) << 52U);
}

// e^x for x <= 0 to about 1e-6 relative, several times faster. 0 below -80.
inline float ExpNegative(float x) {
  if (!(x > -80.0F)) {
    return 0;
  }
  const auto k = static_cast<int32_t>(x * 1.44269504F - 0.5F);
  const float r = x - static_cast<float>(k) * 0.693147181F;
  const float sum =
      1 + r * (1 + r * (1.0F / 2 +
                        r * (1.0F / 6 + r * (1.0F / 24 + r * (1.0F / 120 + r * (1.0F / 720))))));
  return sum * std::bit_cast<float>(static_cast<uint32_t>(k + 127) << 23U);
}

// Natural logarithm. REQUIRES: x is finite, positive and not denormal.
inline double Log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52U) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 1.4142135623730951) {
    m /= 2;
    ++exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1))
  const double z = (m - 1) / (m + 1);
  double power = z;
  double sum = 0;
  for (int i = 1; i <= 21; i += 2) {
    sum += power / i;
    power *= z * z;
  }
  return 2 * sum + static_cast<double>(exponent) * kLn2;
}

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_MATH_H_
