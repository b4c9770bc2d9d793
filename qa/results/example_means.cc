// SPDX-License-Identifier: Apache-2.0
#include "qa/results/example_means.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "qa/example_scores.h"
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
  for (const std::string& id : order_) {
    const Sum& sum = sums_.at(id);
    if (sum.without > 0) {
      skipped.push_back({"per-example scores that are not all numbers", path});
      return;
    }
    qa::ExampleScore example;
    example.id = id;
    example.value = sum.total / static_cast<double>(sum.count);
    examples.push_back(std::move(example));
  }
  if (!qa::UnitOfMean(examples, metric.name, metric.value).ok()) {
    skipped.push_back({"per-example scores whose mean is not the score", path});
    return;
  }
  run.examples = std::move(examples);
}

}  // namespace concur::imports
