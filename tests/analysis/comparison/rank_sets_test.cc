// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/rank_sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/generalization.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"
#include "base/file.h"
#include "base/random.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/analysis/simulated_tables.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

RankEstimate Independent(const std::vector<double>& values, const std::vector<double>& errors) {
  RankEstimate estimate;
  estimate.values = values;
  for (size_t i = 0; i < values.size(); ++i) {
    estimate.factors.emplace_back(values.size(), 0.0)[i] = errors[i];
  }
  return estimate;
}

// The share of 300 tables of six approaches, of which every other one is better by `gap`, in which
// any two are told apart.
double ShownShare(double gap, double within) {
  Random random(5, "rank_sets_test/within");
  constexpr int kTrials = 300;
  int shown = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Columns columns(8, std::vector<double>(6));
    for (std::vector<double>& column : columns) {
      for (size_t i = 0; i < column.size(); ++i) {
        column[i] = 50 + (i % 2 == 0 ? gap : 0) + 0.5 * random.Normal();
      }
    }
    const ScoreTable table = SimulatedTable(columns, {});
    const absl::StatusOr<RankEstimate> estimate =
        EstimateOverBenchmarks(table, GroupsByGoal(table), {0, 1, 2, 3, 4, 5});
    EXPECT_OK(estimate);
    RankSetOptions options;
    options.ties_within = within;
    options.draws = 500;
    const absl::StatusOr<RankSets> sets = ComputeRankSets(*estimate, options);
    EXPECT_OK(sets);
    shown += std::any_of(sets->simultaneous.begin(), sets->simultaneous.end(),
                         [](const RankSet& set) { return set.low > 1 || set.high < 6; })
                 ? 1
                 : 0;
  }
  return static_cast<double>(shown) / kTrials;
}

// The published example of csranks: mathematics in the OECD countries of PISA 2018, in the order of
// data(pisa2018) (github.com/danielwilhelm/R-CS-ranks, data-raw/pisa.csv).
RankEstimate Pisa() {
  return Independent(
      {491.3600252, 498.9423138, 508.0703063, 512.0169429, 417.4065563, 390.9322732, 499.4676508,
       509.3983746, 523.4145802, 507.3013618, 495.4075794, 500.0437805, 451.3703438, 481.0826364,
       495.1873762, 499.632894,  463.0345488, 486.5898573, 526.9732502, 525.933002,  496.1263306,
       481.1911884, 483.421485,  408.8014734, 519.2309824, 494.489676,  500.9637885, 515.6478747,
       492.4874062, 486.1648542, 508.8975441, 481.3926126, 502.3877022, 515.3147131, 453.5077774,
       501.7698992, 478.2447174},
      {1.939833031, 2.970998694, 2.262662011, 2.357475749, 2.41588757,  2.989559274, 2.460661531,
       1.735002337, 1.743602224, 1.967920411, 2.320214487, 2.647083096, 3.091228197, 2.319596741,
       1.953082603, 2.198621128, 3.498563228, 2.780045867, 2.471475318, 3.121394315, 1.962766789,
       1.953282039, 1.097632409, 2.493225544, 2.632277885, 1.705942856, 2.219044878, 2.602085176,
       2.684570081, 2.555595707, 1.363877596, 1.462417763, 2.654250935, 2.908003898, 2.260406789,
       2.564428111, 3.235444099});
}

// Bounds by the definition in R 4.2.2 with 20,000 draws. Of the United Kingdom the package's
// vignette publishes 8 to 23, rank 13.
TEST(RankSetsTest, OnlyGapsBeyondTheToleranceAreShown) {
  EXPECT_GT(ShownShare(2, 0), 0.9);
  EXPECT_LE(ShownShare(2, 2), 0.06) << "gaps of just the tolerance";
  EXPECT_LE(ShownShare(1, 2), 0.01);
  EXPECT_GT(ShownShare(4, 2), 0.9);
  const RankEstimate known = Independent({3, 2, 0}, {0, 0, 0});
  RankSetOptions options;
  options.ties_within = 1;
  ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(known, options));
  EXPECT_EQ(sets.simultaneous[0].high, 2) << "2 is within the tolerance, 0 is not";
  EXPECT_EQ(sets.simultaneous[2].low, 3);
  options.ties_within = -1;
  EXPECT_THAT(ComputeRankSets(known, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ties-within")));
}

TEST(RankSetsTest, PisaHasTheRankSetsOfCsranks) {
  RankSetOptions options;
  options.draws = 20'000;
  ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(Pisa(), options));
  const std::vector<int64_t> marginal_low = {15, 10, 5,  4,  35, 37, 10, 5,  1,  5,  12, 10, 32,
                                             25, 12, 10, 32, 19, 1,  1,  12, 25, 25, 35, 1,  12,
                                             10, 2,  12, 20, 5,  25, 7,  2,  32, 8,  25};
  const std::vector<int64_t> marginal_high = {26, 24, 18, 12, 36, 37, 24, 15, 6,  18, 26, 24, 34,
                                              31, 26, 24, 34, 31, 4,  6,  25, 31, 31, 36, 7,  26,
                                              23, 11, 26, 31, 14, 31, 23, 11, 34, 23, 31};
  const std::vector<int64_t> all_low = {12, 7,  4,  3,  35, 37, 7, 4,  1,  4,  12, 7, 32,
                                        23, 12, 8,  31, 15, 1,  1, 12, 23, 23, 35, 1, 12,
                                        7,  1,  12, 18, 4,  24, 5, 1,  32, 6,  23};
  const std::vector<int64_t> all_high = {30, 26, 18, 17, 36, 37, 25, 18, 6,  18, 26, 25, 34,
                                         31, 26, 25, 34, 31, 6,  7,  26, 31, 31, 36, 11, 26,
                                         24, 12, 31, 31, 18, 31, 24, 13, 34, 24, 32};
  int different = 0;
  for (size_t i = 0; i < all_low.size(); ++i) {
    for (const auto& [ours, theirs] : {std::pair(sets.marginal[i].low, marginal_low[i]),
                                       std::pair(sets.marginal[i].high, marginal_high[i]),
                                       std::pair(sets.simultaneous[i].low, all_low[i]),
                                       std::pair(sets.simultaneous[i].high, all_high[i])}) {
      EXPECT_LE(std::abs(ours - theirs), 1) << "country " << i;
      different += ours == theirs ? 0 : 1;
    }
  }
  EXPECT_LE(different, 8) << "of 148: bounds that lie within the error of the draws";
  constexpr size_t kUnitedKingdom = 35;
  EXPECT_EQ(sets.marginal[kUnitedKingdom].low, 8);
  EXPECT_EQ(sets.marginal[kUnitedKingdom].high, 23);
  // "Chile, Mexico and Colombia have sets that do not overlap with those of the other countries."
  EXPECT_EQ(sets.simultaneous[4].low, 35);
  EXPECT_GT(sets.neighbour_p[0], 0.9) << "Japan and Korea";
  EXPECT_EQ(std::count_if(sets.neighbour_p.begin(), sets.neighbour_p.end(),
                          [](double p) { return p <= 0.05; }),
            2);
}

TEST(RankSetsTest, NoTwoOfAGroupAreToldApart) {
  ASSERT_OK_AND_ASSIGN(
      const RankSets sets,
      ComputeRankSets(Independent({10, 9.9, 5, 4.9, 0}, {0.1, 0.1, 0.1, 0.1, 0.1}), {}));
  EXPECT_THAT(sets.groups, ElementsAre(1, 1, 2, 2, 3));
  EXPECT_EQ(sets.simultaneous[0].low, 1);
  EXPECT_EQ(sets.simultaneous[0].high, 2);
  EXPECT_EQ(sets.simultaneous[4].low, 5);
}

ScoreTable TableOfRanks(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

RankEstimate OverBenchmarks(const ScoreTable& table, std::vector<BenchmarkGroup> groups = {}) {
  groups = groups.empty() ? GroupsByGoal(table) : groups;
  std::vector<size_t> all(table.approaches().size());
  std::iota(all.begin(), all.end(), size_t{0});
  absl::StatusOr<RankEstimate> estimate = EstimateOverBenchmarks(table, groups, all);
  EXPECT_OK(estimate);
  return estimate.ok() ? *std::move(estimate) : RankEstimate();
}

TEST(RankSetsTest, OneErraticApproachKeepsNoOtherPairTogether) {
  const RankEstimate estimate = OverBenchmarks(
      TableOfRanks("a,A,B,C,D,E,F\nerratic,95,40,98,35,97,70\nsteady,70,70.4,70.1,70.3,70.2,70.2\n"
                   "slower,66,66.5,66.1,66.4,66.1,66.3\n"));
  ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(estimate, {}));
  EXPECT_THAT(sets.groups, ElementsAre(1, 1, 2)) << "was p = 0 within one group";
  EXPECT_GT(sets.neighbour_p[0], 0.5);
  EXPECT_LT(sets.neighbour_p[1], 0.001);
  EXPECT_EQ(sets.simultaneous[2].high, 3);
  EXPECT_EQ(sets.simultaneous[2].low, 2);
}

// Two means over few benchmarks: Student's t of the paired differences.
TEST(RankSetsTest, TwoApproachesHaveThePairedTTest) {
  RankSetOptions options;
  options.draws = 100'000;
  ASSERT_OK_AND_ASSIGN(
      const RankSets sets,
      ComputeRankSets(OverBenchmarks(TableOfRanks("a,A,B,C,D\nx,10,20,33,41\ny,8,19,30,41\n")),
                      options));
  // t.test(c(10, 20, 33, 41), c(8, 19, 30, 41), paired = TRUE)$p.value of R 4.2.2.
  EXPECT_NEAR(sets.neighbour_p[0], 0.102728078858399, 0.003);
}

TEST(RankSetsTest, SetsHoldAllTrueRanksAsOftenAsTheySay) {
  Random random(2, "rank_sets_test");
  constexpr int kTrials = 300;
  int all = 0;
  int own = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 8; ++i) {
      values.push_back(-0.8 * i + random.Normal());
    }
    RankSetOptions options;
    options.draws = 500;
    options.seed = static_cast<uint64_t>(trial);
    ASSERT_OK_AND_ASSIGN(
        const RankSets sets,
        ComputeRankSets(Independent(values, std::vector<double>(8, 1.0)), options));
    bool held = true;
    for (int i = 0; i < 8; ++i) {
      const RankSet& set = sets.simultaneous[static_cast<size_t>(i)];
      held = held && set.low <= i + 1 && i + 1 <= set.high;
    }
    all += held ? 1 : 0;
    own += sets.marginal[3].low <= 4 && 4 <= sets.marginal[3].high ? 1 : 0;
  }
  EXPECT_GT(all, 0.92 * kTrials);
  EXPECT_GT(own, 0.92 * kTrials);
}

// 20 to 98 % of such tables of equal approaches had a false statement. docs/coverage.md has more
// studies of each, and larger ones.
TEST(RankSetsTest, EqualApproachesAreNotToldApart) {
  for (const RankDesign& design : RankDesigns()) {
    if (design.approaches <= 10) {
      EXPECT_LE(FalseRankSets(design, 40, 300), 0.1)
          << design.name << ", " << design.approaches << " x " << design.benchmarks;
    }
  }
}

TEST(RankSetsTest, BenchmarksOfOneGroupAreOneUnit) {
  const ScoreTable table = TableOfRanks(
      "a,A,A2,B,B2,C,C2\nx,50,50.1,42,42.1,61,61\ny,47,47,40,40.1,57,57.1\nz,43,43,41,41,52,52\n"
      "w,44,44.1,36,36,51,51.1\nv,40,40.1,45,45,49,49.1\nu,51,51,38,38.1,47,47\n");
  const RankEstimate found = OverBenchmarks(table);
  EXPECT_THAT(found.factors, SizeIs(3));
  EXPECT_THAT(found.note, HasSubstr("as their scores vary alike: A, A2; B, B2; C, C2. --by TAG"));
  const RankEstimate declared = OverBenchmarks(
      table, {{"all", {0, 1, 2, 3, 4, 5}}, {"t=1", {0, 1}}, {"t=2", {2, 3}}, {"t=3", {4, 5}}});
  EXPECT_EQ(declared.factors, found.factors);
  EXPECT_NEAR(declared.degrees, 2, 1e-12);
  EXPECT_THAT(declared.note, HasSubstr("Count as one benchmark: A, A2; B, B2; C, C2."));
  EXPECT_THAT(OverBenchmarks(table, {{"all", {0, 2, 4}}, {"t=1", {0, 1}}}).factors, SizeIs(3));
}

TEST(RankSetsTest, TheBestOfALeaderboardIsToldFromItsLowerHalf) {
  // Every rank set was 1 to 340.
  const std::string path = concur::testing::SharedData("leaderboards/open-llm/v2.csv");
  if (path.empty()) {
    GTEST_SKIP() << "../shared is not on this machine";
  }
  ScoresCsvOptions csv;
  csv.keys = {"HFV2_IFEval"};
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const ParsedScores parsed, ParseScoresCsv(text, path, csv));
  const RankEstimate estimate = OverBenchmarks(parsed.table);
  RankSetOptions options;
  options.draws = 500;
  ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(estimate, options));
  EXPECT_LE(sets.marginal[sets.order[0]].high, static_cast<int64_t>(estimate.values.size()) / 2);
}

TEST(RankSetsTest, DifferencesWithoutErrorAreShown) {
  // Had p = 1 and one group.
  ASSERT_OK_AND_ASSIGN(const RankSets known,
                       ComputeRankSets(Independent({100, 0, 0}, {0, 0, 0}), {}));
  EXPECT_THAT(known.groups, ElementsAre(1, 2, 2));
  EXPECT_THAT(known.neighbour_p, ElementsAre(0, 1));
  EXPECT_EQ(known.marginal[0].high, 1);
}

// Was shown, p 0: with discrete scores false in 20 to 76 % of tables of equal approaches.
TEST(RankSetsTest, EqualDifferencesOfFewBenchmarksShowNothing) {
  const RankEstimate estimate =
      OverBenchmarks(TableOfRanks("a,A,B,C,D\nx,60.2,70.2,80.2,91.3\ny,50,60,70,81.1\n"));
  ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(estimate, {}));
  EXPECT_THAT(sets.neighbour_p, ElementsAre(1));
  EXPECT_THAT(sets.groups, ElementsAre(1, 1));
}

TEST(RankSetsTest, ExamplesCountInTheUnitOfTheScores) {
  // Scores from 0 to 1 had errors of percents.
  ExampleTable examples;
  examples.benchmark = "A";
  examples.approaches = {"x", "y"};
  examples.examples = 40;
  examples.values.assign(80, 0.0);
  std::fill_n(examples.values.begin(), 30, 1.0);
  std::fill_n(examples.values.begin() + 40, 12, 1.0);
  std::vector<std::vector<double>> p;
  for (const auto& [csv, unit] : std::vector<std::pair<std::string, double>>{
           {"a,A\nx,75\ny,30\n", 100}, {"a,A\nx,0.75\ny,0.3\n", 1}}) {
    examples.unit = unit;
    const ScoreTable table = TableOfRanks(csv);
    ASSERT_OK_AND_ASSIGN(
        const RankEstimate estimate,
        EstimateOverExamples(table, GroupsByGoal(table)[0], {0, 1}, {examples}, std::nullopt));
    ASSERT_OK_AND_ASSIGN(const RankSets sets, ComputeRankSets(estimate, {}));
    p.push_back(sets.neighbour_p);
  }
  EXPECT_LT(p[0][0], 0.001);
  EXPECT_NEAR(p[1][0], p[0][0], 1e-12);
}

TEST(RankSetsTest, BadInputIsRefused) {
  RankSetOptions options;
  options.level = 1;
  EXPECT_THAT(ComputeRankSets(Independent({1, 2}, {1, 1}), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval")));
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv("approach,A,B\nx,1,2\ny,2,3\n", "s.csv");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(EstimateOverBenchmarks(parsed->table, GroupsByGoal(parsed->table), {0, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 3")));
  absl::StatusOr<ParsedScores> errors = ParseScoresCsv("approach,A,B\nx,1,2\ny,2,\n", "e.csv");
  ASSERT_TRUE(errors.ok());
  EXPECT_THAT(
      EstimateFromErrors(parsed->table, GroupsByGoal(parsed->table)[0], {0, 1}, errors->table),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("expected the standard error of \"y\" on \"B\"")));
}

}  // namespace
}  // namespace concur::analysis
