// SPDX-License-Identifier: Apache-2.0
// Share of nominal 95 % intervals that hold the true coefficient of simulated studies: the tables
// of docs/coverage.md, a line as soon as it is known.
//
// usage: interval_coverage
// bootstrap|hierarchical|families|shift|ranks|verdicts|clusters|concurrence TRIALS [DESIGN]
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/fit.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/line_intervals.h"
#include "base/check.h"
#include "base/random.h"
#include "bench/cluster_coverage.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/analysis/simulated_tables.h"

namespace concur::analysis {
namespace {

// Intervals of a matrix: by the percentile bootstrap, by BCa and by Fisher's z.
void PrintBootstrap(int64_t trials) {
  std::printf(
      "| coefficient | rho | ties | n | percentile %% | BCa %% | Fisher %% | width, percentile "
      "| width, BCa | width, Fisher |\n");
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    for (const Population& population :
         {Population{0.9, 0}, Population{0.99, 0}, Population{0.9, 0.5}, Population{0.5, 0}}) {
      for (const size_t n : {5U, 8U, 10U, 15U, 20U, 30U, 50U}) {
        const Coverage percentile = MeasureBootstrap(population, n, coefficient,
                                                     BootstrapMethod::kPercentile, trials, 1000);
        const Coverage bca =
            MeasureBootstrap(population, n, coefficient, BootstrapMethod::kBca, trials, 1000);
        const Coverage fisher = MeasureFisher(population, n, coefficient, 20 * trials);
        std::printf("| %s | %.2f | %s | %d | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f |\n",
                    std::string(CoefficientName(coefficient)).c_str(), population.rho,
                    population.step > 0 ? "yes" : "no", static_cast<int>(n), 100 * percentile.share,
                    100 * bca.share, 100 * fisher.share, percentile.width, bca.width, fisher.width);
        std::fflush(stdout);
      }
    }
  }
}

// The hierarchical interval and that of the corrected value, for the coefficient without noise of
// seeds and examples.
struct NoiseCoverage {
  Coverage hierarchical;
  Coverage noise_free;
  double bias = 0;       // mean error of the observed value
  double bias_free = 0;  // mean error of the corrected one
};

NoiseCoverage MeasureHierarchical(const World& world, const UncertaintyOptions& options,
                                  int64_t trials) {
  const bool is_pearson = options.coefficient == Coefficient::kPearson;
  const double truth = is_pearson ? world.rho : 2 / M_PI * std::asin(world.rho);
  Random random(7, "uncertainty_test");  // the figures of docs/coverage.md
  NoiseCoverage coverage;
  const auto count = [&](const Interval& interval, Coverage& of) {
    of.share +=
        interval.low <= truth && truth <= interval.high ? 1 / static_cast<double>(trials) : 0;
    of.width += (interval.high - interval.low) / static_cast<double>(trials);
  };
  for (int64_t trial = 0; trial < trials; ++trial) {
    const absl::StatusOr<Uncertainty> uncertainty =
        ComputeUncertainty(Draw(world, random), options);
    CONCUR_CHECK_OK(uncertainty.status());
    const PairUncertainty& pair = uncertainty->pairs[0];
    count(pair.interval.value(), coverage.hierarchical);
    if (pair.noise_free_interval.has_value()) {
      count(*pair.noise_free_interval, coverage.noise_free);
      coverage.bias_free += (*pair.noise_free - truth) / static_cast<double>(trials);
    }
    coverage.bias += (*pair.value - truth) / static_cast<double>(trials);
  }
  return coverage;
}

void PrintHierarchical(int64_t trials) {
  std::printf(
      "| coefficient | approaches | examples | bias | BCa %% | width | bias, noise-free | "
      "noise-free %% | width |\n");
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    for (const size_t approaches : {10U, 20U, 50U}) {
      for (const size_t examples : {100U, 1000U}) {
        World world;
        world.approaches = approaches;
        world.examples = examples;
        UncertaintyOptions options;
        options.coefficient = coefficient;
        options.bootstrap.replicates = 500;
        const NoiseCoverage coverage = MeasureHierarchical(world, options, trials);
        std::printf("| %s | %d | %d | %+.3f | %.1f | %.2f | %+.3f | %.1f | %.2f |\n",
                    std::string(CoefficientName(coefficient)).c_str(), static_cast<int>(approaches),
                    static_cast<int>(examples), coverage.bias, 100 * coverage.hierarchical.share,
                    coverage.hierarchical.width, coverage.bias_free,
                    100 * coverage.noise_free.share, coverage.noise_free.width);
        std::fflush(stdout);
      }
    }
  }
}

// Slopes of few systems: how often intervals hold the true one. Noise of the original scores is a
// tenth of their variance where there is some.
void PrintShift(int64_t trials) {
  std::printf("| scatter | n | HC3 %% | noisy x: HC3 %% | noisy x: corrected %% |\n");
  for (const bool even : {true, false}) {
    for (const size_t n : {3U, 5U, 10U, 20U, 29U, 50U}) {
      Random random(5, "coverage/shift");
      int64_t held[3] = {0, 0, 0};
      for (int64_t trial = 0; trial < trials; ++trial) {
        std::vector<AxisEntry> rows;
        for (size_t i = 0; i < n; ++i) {
          rows.push_back({absl::StrCat("s", i), {}});
        }
        absl::StatusOr<ScoreTable> table =
            ScoreTable::Create(rows, {{"x", {}}, {"noisy", {}}, {"y", {}}});
        FitOptions options;
        options.level = 0.95;
        options.from_errors.assign(n, 10 / 3.0);
        for (size_t i = 0; i < n; ++i) {
          const double z = random.Normal();
          const double scatter = even ? 3 : 3 * std::exp(0.5 * z);
          const double values[] = {60 + 10 * z, 60 + 10 * z + 10 / 3.0 * random.Normal(),
                                   6 + 0.9 * (60 + 10 * z) + scatter * random.Normal()};
          for (size_t b = 0; b < 3; ++b) {
            table->cell(i, b).state = CellState::kValue;
            table->cell(i, b).value = values[b];
          }
        }
        const auto fit = [&](const char* from) {
          absl::StatusOr<std::vector<ShiftFit>> fits = FitShift(*table, from, {"y"}, options);
          CONCUR_CHECK_OK(fits.status());
          return (*fits)[0];
        };
        const auto count = [&](const std::optional<Interval>& interval, size_t kind) {
          held[kind] +=
              interval.has_value() && interval->low <= 0.9 && 0.9 <= interval->high ? 1 : 0;
        };
        count(fit("x").slope_interval, 0);
        const ShiftFit noisy = fit("noisy");
        count(noisy.slope_interval, 1);
        count(noisy.corrected.has_value() ? noisy.corrected->slope_interval : std::nullopt, 2);
      }
      std::printf("| %s | %d |", even ? "even" : "grows", static_cast<int>(n));
      for (const int64_t of_kind : held) {
        std::printf(" %.1f |", 100 * static_cast<double>(of_kind) / static_cast<double>(trials));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

// Approaches in families: drawn whole, and as if they were unrelated.
void PrintFamilies(int64_t trials) {
  std::printf(
      "| coefficient | rho | families | percentile %% | BCa %% | undeclared: percentile %% | BCa "
      "%% | width, BCa |\n");
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    for (const double rho : {0.5, 0.8}) {
      for (const FamilyDesign& design :
           {FamilyDesign{5, 4, 0.85, rho}, FamilyDesign{8, 5, 0.85, rho},
            FamilyDesign{20, 2, 0.5, rho}}) {
        const auto measure = [&](bool declared, BootstrapMethod method) {
          return MeasureFamilies(design, declared, coefficient, method, trials, 1000);
        };
        const Coverage bca = measure(true, BootstrapMethod::kBca);
        std::printf("| %s | %.2f | %d × %d | %.1f | %.1f | %.1f | %.1f | %.2f |\n",
                    std::string(CoefficientName(coefficient)).c_str(), rho,
                    static_cast<int>(design.families), static_cast<int>(design.size),
                    100 * measure(true, BootstrapMethod::kPercentile).share, 100 * bca.share,
                    100 * measure(false, BootstrapMethod::kPercentile).share,
                    100 * measure(false, BootstrapMethod::kBca).share, bca.width);
        std::fflush(stdout);
      }
    }
  }
}

// False statements of rank sets.
void PrintRanks(int64_t trials) {
  std::printf("| design | approaches × benchmarks or documents | false %% |\n");
  for (const RankDesign& design : RankDesigns()) {
    const double share = FalseRankSets(design, trials, 1000);
    std::printf("| %s | %d × %d | %.1f |\n", design.name.c_str(),
                static_cast<int>(design.approaches), static_cast<int>(design.benchmarks),
                100 * share);
    std::fflush(stdout);
  }
}

// Verdicts with stopping: families of `family_size` whose scores on two
// benchmarks have this tau, a share of .5 of the variance between families.
void PrintVerdicts(int64_t trials) {
  std::printf(
      "| panel | families of | tau | tau > .8 shown %% | refuted %% | held the truth %% | ± | "
      "reached it %% | of these within it %% | mean approaches |\n");
  for (const VerdictDesign& design : VerdictDesigns()) {
    const VerdictCoverage coverage = MeasureVerdicts(design, trials);
    std::printf("| %d | %d | %.1f | %.1f | %.1f | %.1f | %g | %.1f | %.1f | %.0f |\n",
                static_cast<int>(design.approaches), static_cast<int>(design.family_size),
                design.tau, 100 * coverage.shown, 100 * coverage.refuted, 100 * coverage.held,
                design.within, 100 * coverage.precise, 100 * coverage.precise_right,
                coverage.approaches);
    std::fflush(stdout);
  }
}

// Claims about concurrence, of designs whose names begin with `only`.
void PrintConcurrence(int64_t trials, absl::string_view only) {
  std::printf("| design | %% | width | no interval %% |\n");
  for (const ConcurrenceDesign& design : ConcurrenceDesigns()) {
    if (absl::StartsWith(design.name, only)) {
      const Coverage coverage = MeasureConcurrence(design, trials, 1000);
      std::printf("| %s | %.1f | %.2f | %.1f |\n", design.name.c_str(), 100 * coverage.share,
                  coverage.width, 100 * coverage.none);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace concur::analysis

int main(int argc, char** argv) {
  using concur::analysis::PrintBootstrap;
  using concur::analysis::PrintFamilies;
  using concur::analysis::PrintHierarchical;
  using concur::analysis::PrintRanks;
  using concur::analysis::PrintShift;
  using concur::analysis::PrintVerdicts;
  const struct {
    absl::string_view name;
    void (*print)(int64_t trials);
  } kinds[] = {{"bootstrap", PrintBootstrap}, {"hierarchical", PrintHierarchical},
               {"families", PrintFamilies},   {"shift", PrintShift},
               {"ranks", PrintRanks},         {"verdicts", PrintVerdicts}};
  int64_t trials = 0;
  if (argc >= 3 && argc <= 4 && absl::SimpleAtoi(argv[2], &trials) && trials > 0) {
    if (argv[1] == absl::string_view("clusters")) {
      concur::analysis::PrintClusters(trials, argc == 4 ? argv[3] : "");
      return 0;
    }
    if (argv[1] == absl::string_view("concurrence")) {
      concur::analysis::PrintConcurrence(trials, argc == 4 ? argv[3] : "");
      return 0;
    }
    for (const auto& kind : kinds) {
      if (kind.name == argv[1]) {
        kind.print(trials);
        return 0;
      }
    }
  }
  std::fprintf(stderr,
               "usage: interval_coverage "
               "bootstrap|hierarchical|families|shift|ranks|verdicts|clusters|concurrence "
               "TRIALS [DESIGN]\n");
  return 2;
}
