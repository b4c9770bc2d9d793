// SPDX-License-Identifier: Apache-2.0
// Doubles as text: the shortest decimal that reads back as the same double.
//
// Pure functions.
#ifndef CONCUR_BASE_DECIMAL_H_
#define CONCUR_BASE_DECIMAL_H_

#include <string>

namespace concur {

// REQUIRES: `value` is finite.
void AppendShortestDecimal(double value, std::string* out);

// "" when `value` is not finite.
std::string ShortestDecimal(double value);

}  // namespace concur

#endif  // CONCUR_BASE_DECIMAL_H_
