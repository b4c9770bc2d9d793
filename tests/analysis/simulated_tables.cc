// SPDX-License-Identifier: Apache-2.0
#include "tests/analysis/simulated_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/concordance.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/partial.h"
#include "analysis/families.h"
#include "base/check.h"

namespace concur::analysis {

ScoreTable SimulatedTable(const Columns& columns, const std::vector<size_t>& families) {
  std::vector<AxisEntry> approaches;
  std::vector<AxisEntry> benchmarks;
  for (size_t i = 0; i < columns[0].size(); ++i) {
    AxisEntry& entry = approaches.emplace_back(AxisEntry{absl::StrCat(i, "a"), {}});
    if (!families.empty()) {
      entry.tags[kFamilyTag] = absl::StrCat("f", families[i]);
    }
  }
  for (size_t b = 0; b < columns.size(); ++b) {
    benchmarks.push_back({absl::StrCat("b", b), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(approaches, benchmarks);
  CONCUR_CHECK_OK(table.status());
  for (size_t b = 0; b < columns.size(); ++b) {
    for (size_t i = 0; i < columns[b].size(); ++i) {
      if (!std::isnan(columns[b][i])) {
        table->cell(i, b).state = CellState::kValue;
        table->cell(i, b).value = columns[b][i];
      }
    }
  }
  return *std::move(table);
}

std::vector<double> DrawRelatives(const std::vector<size_t>& families, double shared,
                                  Random& random) {
  std::vector<double> of_family(families.back() + 1);
  for (double& value : of_family) {
    value = random.Normal();
  }
  std::vector<double> values;
  for (const size_t family : families) {
    values.push_back(std::sqrt(shared) * of_family[family] +
                     std::sqrt(1 - shared) * random.Normal());
  }
  return values;
}

std::vector<size_t> FamiliesOfSizes(const std::vector<size_t>& sizes) {
  std::vector<size_t> families;
  for (size_t f = 0; f < sizes.size(); ++f) {
    families.insert(families.end(), sizes[f], f);
  }
  return families;
}

std::vector<double> Mixed(const std::vector<double>& x, double rho, const std::vector<double>& z) {
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = rho * x[i] + std::sqrt(1 - rho * rho) * z[i];
  }
  return y;
}

namespace {

using DesignClaim = ConcurrenceDesign::Claim;

struct Claimed {
  std::optional<double> value;
  std::optional<Interval> interval;
};

ScoreTable DrawTable(const ConcurrenceDesign& design, const std::vector<size_t>& families,
                     Random& random) {
  const std::vector<double> factor = DrawRelatives(families, 0.85, random);
  Columns columns;
  for (const double loading : design.loadings) {
    columns.push_back(Mixed(factor, loading, DrawRelatives(families, 0.85, random)));
    for (double& score : columns.back()) {
      score = design.step > 0 ? std::round(score / design.step) * design.step : score;
    }
  }
  return SimulatedTable(columns, families);
}

Claimed ClaimOf(const ConcurrenceDesign& design, const ScoreTable& table,
                const std::optional<BootstrapOptions>& bootstrap) {
  MatrixOptions options;
  options.bootstrap = bootstrap;
  switch (design.claim) {
    case DesignClaim::kConcordance: {
      std::vector<size_t> all(design.loadings.size());
      std::iota(all.begin(), all.end(), size_t{0});
      const absl::StatusOr<Concordance> within = ComputeConcordance(table, all, bootstrap);
      CONCUR_CHECK_OK(within.status());
      return {within->w, within->interval};
    }
    case DesignClaim::kPartial: {
      const absl::StatusOr<PartialMatrix> partial = ComputePartial(table, "b2", options);
      CONCUR_CHECK_OK(partial.status());
      return {partial->pairs[0].value, partial->pairs[0].interval};
    }
  }
  return {};
}

}  // namespace

std::vector<ConcurrenceDesign> ConcurrenceDesigns() {
  struct Panel {
    std::string name;
    std::vector<size_t> families;
    double step = 0;
  };
  const std::vector<Panel> panels = {{"8 strangers", std::vector<size_t>(8, 1)},
                                     {"12 strangers", std::vector<size_t>(12, 1)},
                                     {"20 strangers", std::vector<size_t>(20, 1)},
                                     {"20 strangers, ties", std::vector<size_t>(20, 1), 0.5},
                                     {"40 strangers", std::vector<size_t>(40, 1)},
                                     {"8 families of 5", std::vector<size_t>(8, 5)},
                                     {"20 families of 2", std::vector<size_t>(20, 2)}};
  struct Kind {
    DesignClaim claim;
    std::string name;
    std::vector<double> loadings;
  };
  std::vector<ConcurrenceDesign> designs;
  for (const Kind& kind :
       std::vector<Kind>{{DesignClaim::kConcordance, "w, near chance", {0.4, 0.3, 0.4, 0.3}},
                         {DesignClaim::kConcordance, "w, middling", {0.9, 0.8, 0.7, 0.8, 0.6}},
                         {DesignClaim::kConcordance, "w, high", {0.95, 0.9, 0.95}},
                         {DesignClaim::kPartial, "partial, middling", {0.8, 0.7, 0.8}},
                         {DesignClaim::kPartial, "partial, high", {0.95, 0.95, 0.5}},
                         {DesignClaim::kPartial, "partial, low", {0.3, 0.4, 0.9}}}) {
    for (const Panel& panel : panels) {
      designs.push_back({kind.claim, absl::StrCat(kind.name, ", ", panel.name), panel.families,
                         kind.loadings, panel.step});
    }
  }
  return designs;
}

Coverage MeasureConcurrence(const ConcurrenceDesign& design, int64_t trials, int64_t replicates) {
  Random random(33, design.name);
  const ScoreTable population =
      DrawTable(design, FamiliesOfSizes(std::vector<size_t>(20'000, 1)), random);
  const double truth = ClaimOf(design, population, std::nullopt).value.value();
  const std::vector<size_t> families = FamiliesOfSizes(design.families);
  BootstrapOptions bootstrap;
  bootstrap.replicates = replicates;
  Coverage coverage;
  for (int64_t trial = 0; trial < trials; ++trial) {
    bootstrap.seed = static_cast<uint64_t>(trial);
    const Claimed claimed = ClaimOf(design, DrawTable(design, families, random), bootstrap);
    if (claimed.interval.has_value()) {
      coverage.share += claimed.interval->low <= truth && truth <= claimed.interval->high ? 1 : 0;
      coverage.width += claimed.interval->high - claimed.interval->low;
    }
  }
  coverage.share /= static_cast<double>(trials);
  coverage.width /= static_cast<double>(trials);
  return coverage;
}

}  // namespace concur::analysis
