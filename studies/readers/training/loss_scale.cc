// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace concur::readers {

std::optional<LossScale> LossScale::From(double value, int64_t good_updates) {
  int exponent = 0;
  const bool power_of_two = std::isfinite(value) && std::frexp(value, &exponent) == 0.5;
  if (!power_of_two || value < 1 || value > kMost || good_updates < 0 ||
      good_updates >= kUpdatesToDouble) {
    return std::nullopt;
  }
  LossScale scale;
  scale.value_ = value;
  scale.good_updates_ = good_updates;
  return scale;
}

void LossScale::NoteFinite() {
  if (++good_updates_ == kUpdatesToDouble) {
    good_updates_ = 0;
    value_ = std::min(kMost, 2 * value_);
  }
}

bool LossScale::Lower() {
  good_updates_ = 0;
  if (value_ <= 1) {
    return false;
  }
  value_ /= 2;
  return true;
}

}  // namespace concur::readers
