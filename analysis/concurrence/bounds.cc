// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/weighted_rank.h"
#include "base/random.h"

namespace concur::analysis {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::quiet_NaN();

double PlainTau(const std::vector<double>& x, const std::vector<double>& y) {
  int64_t difference = 0;
  int64_t differ_x = 0;
  int64_t differ_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int64_t sign_x = (x[i] > x[j]) - (x[i] < x[j]);
      const int64_t sign_y = (y[i] > y[j]) - (y[i] < y[j]);
      difference += sign_x * sign_y;
      differ_x += sign_x * sign_x;
      differ_y += sign_y * sign_y;
    }
  }
  return differ_x > 0 && differ_y > 0
             ? static_cast<double>(difference) /
                   std::sqrt(static_cast<double>(differ_x) * static_cast<double>(differ_y))
             : kNoBound;
}

double PlainPearson(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> dx = ScaledDeviations(x);
  const std::vector<double> dy = ScaledDeviations(y);
  const auto dot = [](const std::vector<double>& u, const std::vector<double>& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  const Correlation r =
      PearsonFromSums(static_cast<int64_t>(x.size()), dot(dx, dx), dot(dy, dy), dot(dx, dy));
  return r.defined() ? r.value : kNoBound;
}

// One score to fill in.
struct Hole {
  size_t approach = 0;
  size_t side = 0;  // 0: benchmark a, 1: benchmark b
};

class Search {
 public:
  Search(const ScoreTable& table, Coefficient coefficient, size_t a, size_t b,
         const BoundsOptions& options)
      : coefficient_(coefficient), top_(options.top) {
    const size_t n = table.approaches().size();
    const size_t benchmarks[2] = {a, b};
    for (size_t side = 0; side < 2; ++side) {
      range_[side] = table.range(benchmarks[side]);
      values_[side].resize(n);
      placed_[side].assign(n, true);
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        const ScoreCell& cell = table.cell(i, benchmarks[side]);
        placed_[side][i] = cell.state == CellState::kValue;
        values_[side][i] = placed_[side][i] ? cell.value : 0;
        if (!placed_[side][i]) {
          holes_.push_back({i, side});
        }
      }
    }
    counts_.assign(n, 1.0);
    ranks_only_ = coefficient != Coefficient::kPearson;
  }

  std::optional<CoefficientBounds> Run() {
    CoefficientBounds bounds;
    bounds.missing = static_cast<int64_t>(holes_.size());
    Note(Value());
    for (const Hole& hole : holes_) {
      if (!ranks_only_ && !range_[hole.side].has_value()) {
        return std::nullopt;
      }
    }
    if (!holes_.empty()) {
      low_ = high_ = kNoBound;
      bounds.exact = ranks_only_ ? OrdersAreFew() : holes_.size() == 1;
      if (ranks_only_ && bounds.exact) {
        TryAllOrders(0);
      } else {
        // One score at a time gets stuck; of small tables more starts cost little.
        constexpr size_t kSmallTable = 32;
        constexpr int kRandomStarts = 24;
        const int random_starts = values_[0].size() <= kSmallTable ? kRandomStarts : 0;
        for (const double sign : {-1.0, 1.0}) {
          for (const Start start : {Start::kLow, Start::kHigh, Start::kAligned, Start::kReversed}) {
            Climb(start, sign);
          }
          for (int i = 0; i < random_starts; ++i) {
            Climb(Start::kRandom, sign);
          }
        }
      }
    }
    if (std::isnan(low_)) {
      return std::nullopt;
    }
    bounds.low = low_;
    bounds.high = high_;
    return bounds;
  }

 private:
  enum class Start { kLow, kHigh, kAligned, kReversed, kRandom };

  double Value() {
    switch (coefficient_) {
      case Coefficient::kKendall: {
        constexpr size_t kPlainMax = 64;
        if (values_[0].size() <= kPlainMax) {
          return PlainTau(values_[0], values_[1]);
        }
        const Correlation tau = KendallTauB(values_[0], values_[1]);
        return tau.defined() ? tau.value : kNoBound;
      }
      case Coefficient::kPearson:
        return PlainPearson(values_[0], values_[1]);
      case Coefficient::kSpearman:
        return PlainPearson(AverageRanks(values_[0]), AverageRanks(values_[1]));
      case Coefficient::kWeightedKendall:
        return WeightedKendallValue(values_[0], values_[1], counts_, scratch_);
      case Coefficient::kTopK:
        return TopKValue(values_[0], values_[1], counts_, top_, scratch_);
      case Coefficient::kRbo:
        return RankBiasedOverlapValue(values_[0], values_[1], counts_, scratch_);
    }
    return kNoBound;
  }

  void Note(double value) {
    if (!std::isnan(value)) {
      low_ = std::isnan(low_) ? value : std::min(low_, value);
      high_ = std::isnan(high_) ? value : std::max(high_, value);
    }
  }

  // Values that make every order and tie of one score with those in place.
  std::vector<double> Places(const Hole& hole) const {
    std::vector<double> others;
    for (size_t i = 0; i < values_[hole.side].size(); ++i) {
      if (i != hole.approach && placed_[hole.side][i]) {
        others.push_back(values_[hole.side][i]);
      }
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    if (others.empty()) {
      return {0};
    }
    std::vector<double> places = {others.front() - 1};
    for (size_t i = 0; i < others.size(); ++i) {
      places.push_back(others[i]);
      places.push_back(i + 1 < others.size() ? others[i] + (others[i + 1] - others[i]) / 2
                                             : others[i] + 1);
    }
    return places;
  }

  // Spreads the placed values of a side over even numbers, so that there is always room between.
  void Respace(size_t side) {
    std::vector<double>& values = values_[side];
    std::vector<double> sorted;
    for (size_t i = 0; i < values.size(); ++i) {
      if (placed_[side][i]) {
        sorted.push_back(values[i]);
      }
    }
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (size_t i = 0; i < values.size(); ++i) {
      if (placed_[side][i]) {
        values[i] =
            2.0 * static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), values[i]) -
                                      sorted.begin());
      }
    }
  }

  bool OrdersAreFew() const {
    constexpr double kOrdersMax = 2500;
    double orders = 1;
    double size[2] = {0, 0};
    for (size_t side = 0; side < 2; ++side) {
      size[side] =
          static_cast<double>(std::count(placed_[side].begin(), placed_[side].end(), true));
    }
    for (const Hole& hole : holes_) {
      orders *= 2 * size[hole.side]++ + 1;
    }
    return orders <= kOrdersMax;
  }

  void TryAllOrders(size_t next) {
    if (next == holes_.size()) {
      Note(Value());
      return;
    }
    const Hole& hole = holes_[next];
    Respace(hole.side);
    const std::vector<double> kept = values_[hole.side];
    placed_[hole.side][hole.approach] = true;
    for (const double place : Places(hole)) {
      values_[hole.side] = kept;
      values_[hole.side][hole.approach] = place;
      TryAllOrders(next + 1);
    }
    placed_[hole.side][hole.approach] = false;
    values_[hole.side] = kept;
  }

  // Fills in all missing scores. Aligned: at the rank of the approach's other score.
  void Fill(Start start) {
    for (size_t side = 0; side < 2; ++side) {
      if (ranks_only_) {
        Respace(side);
      }
    }
    for (const Hole& hole : holes_) {
      const double top =
          ranks_only_ ? 2.0 * static_cast<double>(values_[0].size()) : range_[hole.side]->high;
      const double bottom = ranks_only_ ? -2 : range_[hole.side]->low;
      double share = start == Start::kHigh ? 1 : start == Start::kRandom ? random_.Uniform() : 0;
      if (start == Start::kAligned || start == Start::kReversed) {
        const size_t other = 1 - hole.side;
        double below = 0;
        double count = 0;
        for (size_t i = 0; i < values_[other].size(); ++i) {
          if (original_placed_[other][i]) {
            below += values_[other][i] < values_[other][hole.approach] ? 1 : 0;
            ++count;
          }
        }
        const bool known = original_placed_[other][hole.approach];
        share = !known ? static_cast<double>(hole.side) : below / std::max(1.0, count);
        share = start == Start::kAligned ? (known ? share : 1) : 1 - share;
      }
      values_[hole.side][hole.approach] = bottom + share * (top - bottom);
      placed_[hole.side][hole.approach] = true;
    }
  }

  // Ends of one score's range, and the one stationary point of Pearson's r as a function of it.
  std::vector<double> PearsonPlaces(const Hole& hole) const {
    const std::vector<double>& y = values_[hole.side];
    const std::vector<double> dx = ScaledDeviations(values_[1 - hole.side]);
    const auto n = static_cast<double>(y.size());
    double cross = 0;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      if (i != hole.approach) {
        cross += dx[i] * y[i];
        sum += y[i];
        squares += y[i] * y[i];
      }
    }
    const double e = 1 - 1 / n;
    const double d = -2 * sum / n;
    const double c = squares - sum * sum / n;
    const double own = dx[hole.approach];
    const auto [low, high] = *range_[hole.side];
    std::vector<double> places = {low, high};
    const double stationary = (cross * d / 2 - own * c) / (own * d / 2 - cross * e);
    if (stationary > low && stationary < high) {  // false for NaN
      places.push_back(stationary);
    }
    return places;
  }

  // Moves one score at a time to where sign * coefficient is greatest, until none moves.
  void Climb(Start start, double sign) {
    const auto values = std::make_pair(values_[0], values_[1]);
    const auto placed = std::make_pair(placed_[0], placed_[1]);
    original_placed_[0] = placed_[0];
    original_placed_[1] = placed_[1];
    Fill(start);
    constexpr int kPassesMax = 30;
    constexpr double kGain = 1e-12;
    double best = Value();
    for (int pass = 0; pass < kPassesMax; ++pass) {
      bool moved = false;
      for (const Hole& hole : holes_) {
        if (ranks_only_) {
          Respace(hole.side);
        }
        double& value = values_[hole.side][hole.approach];
        double kept = value;
        for (const double place : ranks_only_ ? Places(hole) : PearsonPlaces(hole)) {
          value = place;
          const double here = Value();
          if (!std::isnan(here) && (std::isnan(best) || sign * (here - best) > kGain)) {
            best = here;
            kept = place;
            moved = true;
          }
        }
        value = kept;
      }
      if (!moved) {
        break;
      }
    }
    Note(best);
    std::tie(values_[0], values_[1]) = values;
    std::tie(placed_[0], placed_[1]) = placed;
  }

  Coefficient coefficient_;
  Random random_{1, "analysis/bounds"};  // fixed: the same table has the same bounds
  size_t top_;
  std::optional<ScoreRange> range_[2];
  bool ranks_only_ = true;
  std::vector<double> values_[2];
  std::vector<bool> placed_[2];
  std::vector<bool> original_placed_[2];
  std::vector<Hole> holes_;
  std::vector<double> counts_;
  RankScratch scratch_;
  double low_ = kNoBound;
  double high_ = kNoBound;
};

}  // namespace

absl::StatusOr<std::optional<CoefficientBounds>> BoundsOfPair(const ScoreTable& table,
                                                              Coefficient coefficient, size_t a,
                                                              size_t b,
                                                              const BoundsOptions& options) {
  if (table.approaches().size() > kBoundsApproachesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("bounds: expected at most ", kBoundsApproachesMax, " approaches, got ",
                     table.approaches().size(), "; choose some with --where"));
  }
  return Search(table, coefficient, a, b, options).Run();
}

}  // namespace concur::analysis
