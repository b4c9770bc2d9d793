// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster_coverage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/comparison.h"
#include "analysis/comparison/fit.h"
#include "analysis/comparison/strata.h"
#include "analysis/concurrence/above.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/suite.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "analysis/statistics/multiplicity.h"
#include "base/check.h"
#include "base/random.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/analysis/simulated_tables.h"

namespace concur::analysis {
namespace {

struct Tally {
  int64_t held = 0;
  int64_t made = 0;
  double width = 0;

  void Add(const std::optional<Interval>& interval, double truth) {
    ++made;
    if (interval.has_value()) {
      held += interval->low <= truth && truth <= interval->high ? 1 : 0;
      width += interval->high - interval->low;
    }
  }
  void Add(bool holds) {
    ++made;
    held += holds ? 1 : 0;
  }
};

void PrintLine(const std::string& name, const std::string& claim, const Tally& tally) {
  const auto made = static_cast<double>(std::max<int64_t>(1, tally.made));
  std::printf("| %s | %s | %.1f | %.2f |\n", name.c_str(), claim.c_str(),
              100 * static_cast<double>(tally.held) / made, tally.width / made);
  std::fflush(stdout);
}

MatrixOptions WithIntervals(int64_t trial) {
  MatrixOptions options;
  options.bootstrap.emplace();
  options.bootstrap->replicates = 1000;
  options.bootstrap->seed = static_cast<uint64_t>(trial);
  return options;
}

ConcurrenceMatrix MatrixOf(const ScoreTable& table, const MatrixOptions& options) {
  absl::StatusOr<ConcurrenceMatrix> matrix = ComputeMatrix(table, options);
  CONCUR_CHECK_OK(matrix.status());
  return *std::move(matrix);
}

// Twenty families of which one column knows few; and p-values of unrelated benchmarks.
void PrintMatrix(int64_t trials, const std::string& only) {
  for (const size_t seen : {3U, 5U, 10U}) {
    const std::string name = absl::StrCat("matrix, gaps: ", seen, " of 20 families of 8");
    Random random(21, name);
    Tally tally;
    const std::vector<size_t> families = FamiliesOfSizes(std::vector<size_t>(20, 8));
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      const std::vector<double> x = DrawRelatives(families, 0.85, random);
      std::vector<double> y = Mixed(x, 0.5, DrawRelatives(families, 0.85, random));
      std::fill(y.begin() + static_cast<std::ptrdiff_t>(8 * seen), y.end(), kNoScore);
      tally.Add(MatrixOf(SimulatedTable({x, y}, families), WithIntervals(trial)).pairs[0].interval,
                1 / 3.0);
    }
    if (tally.made > 0) {
      PrintLine(name, "tau's interval", tally);
    }
  }
  for (const size_t few : {3U, 4U, 5U}) {
    const std::string name = absl::StrCat("matrix, ", few, " families of 6");
    Random random(29, name);
    Tally tally;
    const std::vector<size_t> families = FamiliesOfSizes(std::vector<size_t>(few, 6));
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      const std::vector<double> x = DrawRelatives(families, 0.85, random);
      const std::vector<double> y = Mixed(x, 0.5, DrawRelatives(families, 0.85, random));
      tally.Add(MatrixOf(SimulatedTable({x, y}, families), WithIntervals(trial)).pairs[0].interval,
                1 / 3.0);
    }
    if (tally.made > 0) {
      PrintLine(name, "tau's interval", tally);
    }
  }
  for (const auto& [what, sizes] : std::vector<std::pair<std::string, std::vector<size_t>>>{
           {"8 families of 5", std::vector<size_t>(8, 5)},
           {"5 families of 4", std::vector<size_t>(5, 4)},
           {"12 families of 1 to 12", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}) {
    const std::string name = absl::StrCat("matrix, unrelated benchmarks: ", what);
    Random random(22, name);
    Tally tally;
    const std::vector<size_t> families = FamiliesOfSizes(sizes);
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      const std::vector<double> x = DrawRelatives(families, 0.85, random);
      const std::vector<double> y = DrawRelatives(families, 0.85, random);
      MatrixOptions options;
      options.p_values = true;
      tally.Add(MatrixOf(SimulatedTable({x, y}, families), options).pairs[0].correlation.p_value <
                0.05);
    }
    if (tally.made > 0) {
      PrintLine(name, "p < .05 (nominal: 5)", tally);
    }
  }
}

// Lines through families whose scores on both test sets resemble each other.
void PrintLines(int64_t trials, const std::string& only) {
  for (const auto& [what, sizes] : std::vector<std::pair<std::string, std::vector<size_t>>>{
           {"28 strangers", std::vector<size_t>(28, 1)},
           {"60 strangers", std::vector<size_t>(60, 1)},
           {"7 families of 4", std::vector<size_t>(7, 4)},
           {"10 families of 8", std::vector<size_t>(10, 8)},
           {"20 families of 2", std::vector<size_t>(20, 2)},
           {"12 families of 1 to 12", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}) {
    const std::string name = absl::StrCat("shift, ", what);
    Random random(23, name);
    Tally slope;
    Tally gap;
    Tally beyond;
    const std::vector<size_t> families = FamiliesOfSizes(sizes);
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      std::vector<double> x = DrawRelatives(families, 0.85, random);
      std::vector<double> y = DrawRelatives(families, 0.85, random);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = 60 + 10 * x[i];
        y[i] = 6 + 0.9 * x[i] + 3 * y[i];
      }
      // A system that is not behind the line.
      x.push_back(60 + 10 * random.Normal());
      y.push_back(6 + 0.9 * x.back() + 3 * random.Normal());
      std::vector<size_t> of = families;
      of.push_back(families.back() + 1);
      FitOptions options;
      options.level = 0.95;
      const std::string last = absl::StrCat(x.size() - 1, "a");
      options.exclude = {last};
      const absl::StatusOr<std::vector<ShiftFit>> fits =
          FitShift(SimulatedTable({x, y}, of), "b0", {"b1"}, options);
      CONCUR_CHECK_OK(fits.status());
      const ShiftFit& fit = (*fits)[0];
      slope.Add(fit.slope_interval, 0.9);
      gap.Add(fit.mean_gap_interval, 0);
      for (const FittedSystem& system : fit.systems) {
        if (system.name == last) {
          beyond.Add(system.residual_interval, 0);
        }
      }
    }
    if (slope.made > 0) {
      PrintLine(name, "slope", slope);
      PrintLine(name, "mean gap", gap);
      PrintLine(name, "beyond the line, of one more", beyond);
    }
  }
}

struct Questions {
  std::vector<int64_t> documents;
  std::vector<double> difficulty;
  std::vector<std::string> strata;
};

// Questions on documents that are more or less difficult; a document is of one stratum.
Questions DrawQuestions(size_t documents, bool hard, Random& random) {
  Questions questions;
  for (size_t d = 0; d < documents; ++d) {
    const bool is_long = random.Chance(hard ? 0.7 : 0.4);
    const double subject = 0.5 + random.Normal() - (is_long ? 1 : 0);
    const size_t count = 5 + random.Below(25);
    for (size_t q = 0; q < count; ++q) {
      questions.documents.push_back(static_cast<int64_t>(d));
      questions.difficulty.push_back(subject);
      questions.strata.emplace_back(is_long ? "long" : "short");
    }
  }
  return questions;
}

// Old scores in a new mixture, whose truth comes from very many documents.
void PrintStrata(int64_t trials, const std::string& only) {
  const auto right = [](double z) { return 1 / (1 + std::exp(-z)); };
  Random large(24, "strata/truth");
  double truth[2] = {0, 0};  // short, long
  constexpr int kMany = 400'000;
  for (int i = 0; i < kMany; ++i) {
    const double z = large.Normal();
    truth[0] += right(0.5 + z) / kMany;
    truth[1] += right(-0.5 + z) / kMany;
  }
  for (const size_t documents : {10U, 20U, 48U}) {
    const std::string name = absl::StrCat("strata, ", documents, " documents");
    Random random(25, name);
    Tally tally;
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      const Questions old = DrawQuestions(documents, false, random);
      const Questions fresh = DrawQuestions(documents, true, random);
      std::vector<StratifiedExample> examples;
      std::vector<StratifiedExample> new_examples;
      for (size_t i = 0; i < old.strata.size(); ++i) {
        examples.push_back({old.strata[i], random.Chance(right(old.difficulty[i])) ? 1.0 : 0.0});
      }
      double is_long = 0;
      for (const std::string& stratum : fresh.strata) {
        new_examples.push_back({stratum, std::nullopt});
        is_long += stratum == "long" ? 1 : 0;
      }
      is_long /= static_cast<double>(fresh.strata.size());
      const absl::StatusOr<StratifiedPrediction> prediction = PredictByStrata(
          "length", examples, new_examples,
          ClustersOf({{}, old.documents}, examples.size(), ExampleUnit::kDocument), 0.95);
      CONCUR_CHECK_OK(prediction.status());
      if (prediction->covered == 1) {
        tally.Add(prediction->interval, 100 * (truth[0] * (1 - is_long) + truth[1] * is_long));
      }
    }
    if (tally.made > 0) {
      PrintLine(name, "old scores in the new mixture", tally);
    }
  }
}

// Two approaches that differ by nothing on a test set of few documents.
void PrintCompare(int64_t trials, const std::string& only) {
  for (const size_t documents : {10U, 20U, 48U}) {
    const std::string name = absl::StrCat("compare, ", documents, " documents");
    Random random(26, name);
    Tally interval;
    Tally p;
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      const Questions questions = DrawQuestions(documents, false, random);
      ExampleTable table;
      table.benchmark = "b";
      table.approaches = {"x", "y"};
      table.places.documents = questions.documents;
      table.examples = questions.documents.size();
      for (int approach = 0; approach < 2; ++approach) {
        std::vector<double> own(documents);
        for (double& value : own) {
          value = 0.6 * random.Normal();
        }
        for (size_t i = 0; i < table.examples; ++i) {
          const double z =
              questions.difficulty[i] + own[static_cast<size_t>(questions.documents[i])];
          table.values.push_back(random.Chance(1 / (1 + std::exp(-z))) ? 1 : 0);
        }
      }
      ComparisonOptions options;
      options.bootstrap.replicates = 1000;
      options.bootstrap.seed = static_cast<uint64_t>(trial);
      options.unit = ExampleUnit::kDocument;
      const absl::StatusOr<BenchmarkComparison> compared = CompareApproaches(table, options);
      CONCUR_CHECK_OK(compared.status());
      interval.Add(compared->pairs[0].interval, 0);
      p.Add(compared->pairs[0].p_value < 0.05);
    }
    if (interval.made > 0) {
      PrintLine(name, "difference", interval);
      PrintLine(name, "p < .05 (nominal: 5)", p);
    }
  }
}

// Ten benchmarks that all concur alike: the most and the least concurrent pair.
void PrintExtremes(int64_t trials, const std::string& only) {
  for (const auto& [approaches, rho] :
       std::vector<std::pair<size_t, double>>{{20, 0.5}, {20, 0.8}, {40, 0.5}, {100, 0.8}}) {
    const std::string name =
        absl::StrCat("extremes, 45 equal taus, ", approaches, " approaches, rho ", rho);
    Random random(27, name);
    const double truth = Population{rho, 0}.Truth(Coefficient::kKendall);
    Tally most;
    Tally least;
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      Columns columns(10, std::vector<double>(approaches));
      for (size_t i = 0; i < approaches; ++i) {
        const double shared = random.Normal();
        for (std::vector<double>& column : columns) {
          column[i] = std::sqrt(rho) * shared + std::sqrt(1 - rho) * random.Normal();
        }
      }
      const ConcurrenceMatrix matrix = MatrixOf(SimulatedTable(columns, {}), WithIntervals(trial));
      const auto by_value = [](const MatrixPair& x, const MatrixPair& y) {
        return x.correlation.value < y.correlation.value;
      };
      const auto [low, high] =
          std::minmax_element(matrix.pairs.begin(), matrix.pairs.end(), by_value);
      const auto of_extreme = [&](const MatrixPair& pair) {
        return IntervalOfExtreme(pair.interval.value(), pair.correlation.value, matrix.level,
                                 matrix.pairs.size());
      };
      most.Add(of_extreme(*high), truth);
      least.Add(of_extreme(*low), truth);
    }
    if (most.made > 0) {
      PrintLine(name, "most", most);
      PrintLine(name, "least", least);
    }
  }
}

// Intervals of few approaches that have a width, and with what warning.
void PrintFew(int64_t trials, const std::string& only) {
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kSpearman, Coefficient::kPearson}) {
    for (const Population& population :
         {Population{0.5, 0}, Population{0.9, 0}, Population{0.99, 0}, Population{0.9, 0.5}}) {
      for (const size_t n : {4U, 5U, 6U, 7U, 8U, 10U, 14U}) {
        const std::string name =
            absl::StrCat("few, ", std::string(CoefficientName(coefficient)), ", rho ",
                         population.rho, population.step > 0 ? ", ties, n " : ", n ", n);
        if (!absl::StartsWith(name, only)) {
          continue;
        }
        Random random(30, name);
        Tally silent;
        Tally warned;
        const double truth = population.Truth(coefficient);
        for (int64_t trial = 0; trial < trials; ++trial) {
          Columns columns(2, std::vector<double>(n));
          for (size_t i = 0; i < n; ++i) {
            population.Draw(random, columns[0][i], columns[1][i]);
          }
          MatrixOptions options = WithIntervals(trial);
          options.coefficient = coefficient;
          const MatrixPair pair = MatrixOf(SimulatedTable(columns, {}), options).pairs[0];
          (pair.warning.empty() ? silent : warned).Add(pair.interval, truth);
        }
        PrintLine(name, absl::StrCat("warned, ", warned.made), warned);
        PrintLine(name, absl::StrCat("not warned, ", silent.made), silent);
      }
    }
  }
}

// Tables whose approaches are unrelated, with one kind of benchmarks or two.
void PrintWarnings(int64_t trials, const std::string& only) {
  for (const bool two_kinds : {false, true}) {
    const std::string name = absl::StrCat(
        "relatives, 24 strangers, ", two_kinds ? "two kinds" : "one kind", " of 12 benchmarks");
    Random random(28, name);
    Tally warned;
    for (int64_t trial = 0; absl::StartsWith(name, only) && trial < trials; ++trial) {
      Columns columns(12, std::vector<double>(24));
      for (size_t i = 0; i < 24; ++i) {
        const double ability = random.Normal();
        const double skill = two_kinds ? random.Normal() : 0;
        for (size_t b = 0; b < 12; ++b) {
          columns[b][i] = ability + (b < 6 ? skill : -skill) + 0.3 * random.Normal();
        }
      }
      warned.Add(LikelyRelatives(SimulatedTable(columns, {})).has_value());
    }
    if (warned.made > 0) {
      PrintLine(name, "warned (right: never)", warned);
    }
  }
}

// Claims that tau exceeds what it truly is, which are false when shown; and refutations of the
// claim that it exceeds the number below.
void PrintAbove(int64_t trials, const std::string& only) {
  struct Design {
    std::string name;
    std::vector<size_t> families;  // empty: strangers
    size_t approaches;
    double tau;
    double step;
  };
  std::vector<Design> designs;
  for (const double tau : {0.5, 0.8}) {
    for (const size_t n : {8U, 12U, 20U, 40U}) {
      for (const double step : {0.0, 0.5}) {
        designs.push_back(
            {absl::StrCat("above, tau ", tau, ", ", n, " strangers", step > 0 ? ", ties" : ""),
             {},
             n,
             tau,
             step});
      }
    }
    designs.push_back({absl::StrCat("above, tau ", tau, ", 8 families of 5"),
                       FamiliesOfSizes(std::vector<size_t>(8, 5)), 40, tau, 0});
    designs.push_back({absl::StrCat("above, tau ", tau, ", 20 families of 2"),
                       FamiliesOfSizes(std::vector<size_t>(20, 2)), 40, tau, 0});
  }
  for (const Design& design : designs) {
    if (!absl::StartsWith(design.name, only)) {
      continue;
    }
    Random random(31, design.name);
    Tally shown;
    Tally refuted;
    const Population population{std::sin(M_PI / 2 * design.tau), design.step};
    const double truth = population.Truth(Coefficient::kKendall);
    for (int64_t trial = 0; trial < trials; ++trial) {
      Columns columns(2, std::vector<double>(design.approaches));
      for (size_t i = 0; i < design.approaches; ++i) {
        population.Draw(random, columns[0][i], columns[1][i]);
      }
      if (!design.families.empty()) {
        columns[0] = DrawRelatives(design.families, 0.85, random);
        columns[1] =
            Mixed(columns[0], population.rho, DrawRelatives(design.families, 0.85, random));
      }
      MatrixOptions options = WithIntervals(trial);
      options.bootstrap->level = LevelOfBounds(0.95);
      const ConcurrenceMatrix matrix = MatrixOf(SimulatedTable(columns, design.families), options);
      const Claim claim = JudgeAbove(matrix, matrix.pairs[0], truth).claim;
      shown.Add(claim == Claim::kShown);
      refuted.Add(claim == Claim::kRefuted);
    }
    PrintLine(design.name, "falsely shown (nominal: 5)", shown);
    PrintLine(design.name, "falsely refuted (nominal: 5)", refuted);
  }
}

// The rank of a benchmark against those of the others, which share one factor with it; the truth is
// that of a large sample.
void PrintSuite(int64_t trials, const std::string& only) {
  for (const auto& [name, sizes, gaps] :
       std::vector<std::tuple<std::string, std::vector<size_t>, double>>{
           {"suite, 12 strangers", std::vector<size_t>(12, 1), 0},
           {"suite, 20 strangers", std::vector<size_t>(20, 1), 0},
           {"suite, 20 strangers, a fifth missing", std::vector<size_t>(20, 1), 0.2},
           {"suite, 40 strangers", std::vector<size_t>(40, 1), 0},
           {"suite, 8 families of 5", std::vector<size_t>(8, 5), 0},
           {"suite, 20 families of 2", std::vector<size_t>(20, 2), 0}}) {
    if (!absl::StartsWith(name, only)) {
      continue;
    }
    Random random(32, name);
    const auto draw = [&](const std::vector<size_t>& families, double missing) {
      const std::vector<double> factor = DrawRelatives(families, 0.85, random);
      Columns columns;
      for (const double loading : {0.9, 0.8, 0.7, 0.8, 0.6, 0.9}) {
        columns.push_back(Mixed(factor, loading, DrawRelatives(families, 0.85, random)));
        for (double& score : columns.back()) {
          score = random.Chance(missing) ? kNoScore : score;
        }
      }
      absl::StatusOr<ScoreTable> table = AgainstOthers(SimulatedTable(columns, families), 0);
      CONCUR_CHECK_OK(table.status());
      return *std::move(table);
    };
    MatrixOptions alone;
    alone.families = kNoFamilies;
    const ScoreTable population = draw(FamiliesOfSizes(std::vector<size_t>(20'000, 1)), gaps);
    const double truth = MatrixOf(population, alone).pairs[0].correlation.value;
    Tally tally;
    for (int64_t trial = 0; trial < trials; ++trial) {
      tally.Add(
          MatrixOf(draw(FamiliesOfSizes(sizes), gaps), WithIntervals(trial)).pairs[0].interval,
          truth);
    }
    PrintLine(name, "tau with the mean rank of the others", tally);
  }
}

}  // namespace

void PrintClusters(int64_t trials, const std::string& only) {
  std::printf("| design | claim | %% | width |\n");
  PrintMatrix(trials, only);
  PrintLines(trials, only);
  PrintStrata(trials, only);
  PrintCompare(trials, only);
  PrintExtremes(trials, only);
  PrintFew(trials, only);
  PrintWarnings(trials, only);
  PrintAbove(trials, only);
  PrintSuite(trials, only);
}

}  // namespace concur::analysis
