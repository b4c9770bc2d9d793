// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/multiplicity.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace concur::analysis {
namespace {

// The tests that were made, by ascending p-value; ties in the order given.
std::vector<size_t> OrderOfTests(absl::Span<const double> p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return p_values[x] < p_values[y]; });
  return order;
}

}  // namespace

std::vector<double> HolmAdjusted(absl::Span<const double> p_values) {
  const std::vector<size_t> order = OrderOfTests(p_values);
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  double largest = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const double scaled = static_cast<double>(order.size() - k) * p_values[order[k]];
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[k]] = largest;
  }
  return adjusted;
}

std::vector<double> BenjaminiHochbergAdjusted(absl::Span<const double> p_values) {
  const std::vector<size_t> order = OrderOfTests(p_values);
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  double least = 1;
  for (size_t k = order.size(); k-- > 0;) {
    const double scaled =
        static_cast<double>(order.size()) / static_cast<double>(k + 1) * p_values[order[k]];
    least = std::min(least, scaled);
    adjusted[order[k]] = least;
  }
  return adjusted;
}

Interval IntervalOfExtreme(const Interval& interval, double value, double level, size_t count) {
  const double tail = (1 - level) / 2;
  const auto quantile = [](double above) {
    return boost::math::quantile(boost::math::complement(boost::math::normal(), above));
  };
  const double stretch =
      count > 2 ? quantile(2 * tail / static_cast<double>(count)) / quantile(tail) : 1;
  const auto moved = [&](double end) {
    return std::abs(end) < 1 && std::abs(value) < 1
               ? std::tanh(std::atanh(value) + stretch * (std::atanh(end) - std::atanh(value)))
               : end;
  };
  return {moved(interval.low), moved(interval.high)};
}

}  // namespace concur::analysis
