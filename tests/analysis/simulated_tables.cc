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
#include "analysis/concurrence/contrast.h"
#include "analysis/concurrence/difference.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/partial.h"
#include "analysis/families.h"
#include "analysis/statistics/intervals.h"
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

// With the tag "half" of each approach: whole families alternate.
ScoreTable InHalves(const ScoreTable& table) {
  std::vector<AxisEntry> approaches = table.approaches();
  size_t families = 0;
  for (size_t i = 0; i < approaches.size(); ++i) {
    families += i > 0 && approaches[i].tags[kFamilyTag] != approaches[i - 1].tags[kFamilyTag];
    approaches[i].tags["half"] = families % 2 == 0 ? "first" : "second";
  }
  absl::StatusOr<ScoreTable> halves = ScoreTable::Create(approaches, table.benchmarks());
  CONCUR_CHECK_OK(halves.status());
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    for (size_t i = 0; i < approaches.size(); ++i) {
      halves->cell(i, b) = table.cell(i, b);
    }
  }
  return *std::move(halves);
}

ScoreTable DrawTable(const ConcurrenceDesign& design, const std::vector<size_t>& families,
                     Random& random) {
  const std::vector<double> factor = DrawRelatives(families, 0.85, random);
  Columns columns;
  for (const double loading : design.loadings) {
    columns.push_back(Mixed(factor, loading, DrawRelatives(families, 0.85, random)));
    for (double& score : columns.back()) {
      score = design.step > 0 ? std::round(score / design.step) * design.step : score;
      score += design.claim == DesignClaim::kTiesWithin ? 50 : 0;  // all of one guessed scale
    }
  }
  if (design.claim == DesignClaim::kContrast) {
    return InHalves(SimulatedTable(columns, families));
  }
  return SimulatedTable(columns, families);
}

std::vector<MatrixPair> PairsOf(const ScoreTable& table, const MatrixOptions& options) {
  const absl::StatusOr<ConcurrenceMatrix> matrix = ComputeMatrix(table, options);
  CONCUR_CHECK_OK(matrix.status());
  return matrix->pairs;
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
    case DesignClaim::kDifference: {
      if (!bootstrap.has_value()) {
        const std::vector<MatrixPair> pairs = PairsOf(table, options);
        return {pairs[0].correlation.value - pairs[1].correlation.value, {}};
      }
      const absl::StatusOr<std::vector<PairDifference>> differences = BootstrapDifferences(
          table, Coefficient::kKendall, {{"b0", "b1", "b0", "b2"}}, *bootstrap);
      CONCUR_CHECK_OK(differences.status());
      return {(*differences)[0].value, (*differences)[0].interval};
    }
    case DesignClaim::kContrast: {
      // Two groups whose pairs concur alike.
      if (!bootstrap.has_value()) {
        return {0, {}};
      }
      const absl::StatusOr<GroupContrast> contrast =
          ContrastGroups(table, Coefficient::kKendall, "half", *bootstrap);
      CONCUR_CHECK_OK(contrast.status());
      return {contrast->pairs[0].difference, contrast->pairs[0].interval};
    }
    case DesignClaim::kTiesWithin: {
      ScoreTable tied = table;
      CONCUR_CHECK_OK(tied.SetTiesWithin(0.5));
      const MatrixPair pair = PairsOf(tied, options)[0];
      return {pair.correlation.OptionalValue(), pair.interval};
    }
    case DesignClaim::kTopK:
    case DesignClaim::kRbo: {
      options.coefficient =
          design.claim == DesignClaim::kTopK ? Coefficient::kTopK : Coefficient::kRbo;
      const MatrixPair pair = PairsOf(table, options)[0];
      return {pair.correlation.OptionalValue(), pair.interval};
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
                         {DesignClaim::kPartial, "partial, low", {0.3, 0.4, 0.9}},
                         {DesignClaim::kTiesWithin, "ties-within, middling", {0.8, 0.8}},
                         {DesignClaim::kTiesWithin, "ties-within, high", {0.95, 0.95}},
                         {DesignClaim::kDifference, "difference, equal", {0.9, 0.8, 0.8}},
                         {DesignClaim::kDifference, "difference, unequal", {0.9, 0.95, 0.5}},
                         {DesignClaim::kContrast, "contrast, middling", {0.8, 0.8}},
                         {DesignClaim::kContrast, "contrast, high", {0.95, 0.95}},
                         {DesignClaim::kTopK, "top-k, middling", {0.8, 0.8}},
                         {DesignClaim::kTopK, "top-k, high", {0.95, 0.95}},
                         {DesignClaim::kTopK, "top-k, chance", {0, 0}},
                         {DesignClaim::kRbo, "rbo, middling", {0.8, 0.8}},
                         {DesignClaim::kRbo, "rbo, high", {0.95, 0.95}},
                         {DesignClaim::kRbo, "rbo, chance", {0, 0}}}) {
    for (const Panel& panel : panels) {
      designs.push_back({kind.claim, absl::StrCat(kind.name, ", ", panel.name), panel.families,
                         kind.loadings, panel.step});
    }
  }
  return designs;
}

Coverage MeasureConcurrence(const ConcurrenceDesign& design, int64_t trials, int64_t replicates) {
  Random random(33, design.name);
  const std::vector<size_t> families = FamiliesOfSizes(design.families);
  const bool depends_on_number =
      design.claim == DesignClaim::kTopK || design.claim == DesignClaim::kRbo;
  constexpr size_t kMany = 20'000;
  const std::vector<size_t> drawn =
      depends_on_number ? families : FamiliesOfSizes(std::vector<size_t>(kMany, 1));
  std::vector<double> values;
  for (size_t i = 0; i < (depends_on_number ? kMany / 4 : 1); ++i) {
    const std::optional<double> value =
        ClaimOf(design, DrawTable(design, drawn, random), std::nullopt).value;
    if (value.has_value()) {
      values.push_back(*value);
    }
  }
  const double truth = ComputeMoments(values).mean;
  BootstrapOptions bootstrap;
  bootstrap.replicates = replicates;
  Coverage coverage;
  int64_t none = 0;
  for (int64_t trial = 0; trial < trials; ++trial) {
    bootstrap.seed = static_cast<uint64_t>(trial);
    const Claimed claimed = ClaimOf(design, DrawTable(design, families, random), bootstrap);
    none += claimed.interval.has_value() ? 0 : 1;
    if (claimed.interval.has_value()) {
      coverage.share += claimed.interval->low <= truth && truth <= claimed.interval->high ? 1 : 0;
      coverage.width += claimed.interval->high - claimed.interval->low;
    }
  }
  const double made = static_cast<double>(std::max<int64_t>(1, trials - none));
  coverage.share /= made;
  coverage.width /= made;
  coverage.none = static_cast<double>(none) / static_cast<double>(trials);
  return coverage;
}

}  // namespace concur::analysis
