// SPDX-License-Identifier: Apache-2.0
#include "qa/results/example_means.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "qa/results/results.h"
#include "qa/score.h"

namespace concur::imports {

absl::Status ExampleMeans::Add(const std::string& id, std::optional<double> score,
                               absl::string_view place) {
  const auto [at, is_new] = sums_.emplace(id, Sum());
  if (is_new) {
    if (order_.size() == kExamplesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(place, ": expected at most ", kExamplesMax, " examples"));
    }
    order_.push_back(id);
  }
  if (score.has_value() && std::isfinite(*score)) {
    at->second.total += *score;
    ++at->second.count;
  } else {
    ++at->second.without;
  }
  return absl::OkStatus();
}

void ExampleMeans::Store(const std::string& path, Run& run, std::vector<Skipped>& skipped) const {
  const Metric& metric = run.metrics[0];
  if (order_.empty()) {
    skipped.push_back({absl::StrCat("per-example scores without ", metric.name), path});
    return;
  }
  std::vector<qa::ExampleScore> examples;
  double total = 0;
  for (const std::string& id : order_) {
    const Sum& sum = sums_.at(id);
    const double mean = sum.count == 0 ? -1 : sum.total / static_cast<double>(sum.count);
    if (sum.without > 0 || !(mean >= 0 && mean <= 1)) {
      skipped.push_back({"per-example scores that are not all within 0..1", path});
      return;
    }
    qa::ExampleScore example;
    example.id = id;
    example.f1 = mean;
    example.exact_match = mean == 1;
    examples.push_back(std::move(example));
    total += mean;
  }
  const double mean = total / static_cast<double>(examples.size());
  // Files round their scores; a metric that is no mean differs by more.
  const auto same = [&](double scale) {
    return std::abs(mean * scale - metric.value) <= 5e-4 * scale;
  };
  if (!same(1) && !same(100)) {
    skipped.push_back({"per-example scores whose mean is not the score", path});
    return;
  }
  run.examples = std::move(examples);
}

}  // namespace concur::imports
