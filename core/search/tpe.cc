// SPDX-License-Identifier: Apache-2.0
#include "core/search/tpe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"

namespace concur {
namespace {

// One of so many finished trials, rounded up, is among the best.
constexpr size_t kBestOneOf = 10;
constexpr size_t kBestMax = 25;
constexpr int kCandidates = 24;
constexpr int kDrawsMax = 100;  // draws of one value within its ends

using Point = std::vector<double>;  // one coordinate an axis

// One parameter. A range has the coordinates [low, high], a choice the places of its values.
struct Axis {
  const Distribution* distribution = nullptr;
  double low = 0;
  double high = 0;
  size_t choices = 0;  // 0: a range
  bool is_discrete = false;
};

Axis AxisOf(const Distribution& distribution) {
  Axis axis{.distribution = &distribution};
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    axis.choices = choice->values.size();
    axis.is_discrete = true;
  } else if (const auto* uniform = std::get_if<UniformRange>(&distribution)) {
    axis.low = uniform->low;
    axis.high = uniform->high;
  } else if (const auto* log_uniform = std::get_if<LogUniformRange>(&distribution)) {
    axis.low = std::log(log_uniform->low);
    axis.high = std::log(log_uniform->high);
  } else {
    // Half a step more on both sides, so that the first and the last step are as wide as others.
    const auto& range = std::get<IntegerRange>(distribution);
    axis.low = -0.5;
    axis.high = std::floor((static_cast<double>(range.high) - static_cast<double>(range.low)) /
                           static_cast<double>(range.step)) +
                0.5;
    axis.is_discrete = true;
  }
  return axis;
}

std::optional<double> NumberOf(const ParamValue& value) {
  double number = 0;
  if (const auto* real = std::get_if<double>(&value)) {
    return *real;
  }
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  const auto* written = std::get_if<WrittenNumber>(&value);
  return written != nullptr && absl::SimpleAtod(written->text, &number) ? std::optional(number)
                                                                        : std::nullopt;
}

// nullopt of a value outside the space.
std::optional<double> CoordinateOf(const Axis& axis, const ParamValue& value) {
  if (const auto* choice = std::get_if<Choice>(axis.distribution)) {
    const auto it = std::find(choice->values.begin(), choice->values.end(), value);
    return it == choice->values.end()
               ? std::nullopt
               : std::optional(static_cast<double>(it - choice->values.begin()));
  }
  std::optional<double> number = NumberOf(value);
  if (number && std::holds_alternative<LogUniformRange>(*axis.distribution)) {
    number = *number > 0 ? std::optional(std::log(*number)) : std::nullopt;
  } else if (const auto* range = std::get_if<IntegerRange>(axis.distribution); number && range) {
    number = (*number - static_cast<double>(range->low)) / static_cast<double>(range->step);
  }
  return number && *number >= axis.low && *number <= axis.high ? number : std::nullopt;
}

ParamValue ValueAt(const Axis& axis, double coordinate) {
  if (const auto* choice = std::get_if<Choice>(axis.distribution)) {
    return choice->values[static_cast<size_t>(coordinate)];
  }
  if (const auto* uniform = std::get_if<UniformRange>(axis.distribution)) {
    return RoundedWithin(coordinate, uniform->low, uniform->high);
  }
  if (const auto* log_uniform = std::get_if<LogUniformRange>(axis.distribution)) {
    return RoundedWithin(std::exp(coordinate), log_uniform->low, log_uniform->high);
  }
  const auto& range = std::get<IntegerRange>(*axis.distribution);
  const uint64_t steps = (static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low)) /
                         static_cast<uint64_t>(range.step);
  // A double of more than 2^53 steps may round up to one too many.
  const uint64_t step = coordinate <= 0 ? 0
                        : coordinate >= static_cast<double>(steps)
                            ? steps
                            : static_cast<uint64_t>(coordinate);
  return static_cast<int64_t>(static_cast<uint64_t>(range.low) +
                              step * static_cast<uint64_t>(range.step));
}

// The normal distribution's function, between two points.
double NormalMass(double from, double to) {
  // On the upper side both are near 1, and their difference would vanish.
  return from > 0 ? NormalMass(-to, -from)
                  : (std::erfc(-to / std::sqrt(2.0)) - std::erfc(-from / std::sqrt(2.0))) / 2;
}

// The density of a part of the trials. The last kernel is the prior's.
class Density {
 public:
  Density(const std::vector<Axis>& axes, std::vector<Point> points)
      : axes_(axes), points_(std::move(points)) {
    // Scott's rule for as many dimensions, but not so narrow that the search would never leave
    // where it is.
    const double kernels = static_cast<double>(points_.size()) + 1;
    width_ = std::max(0.2 * std::pow(kernels, -1.0 / (static_cast<double>(axes_.size()) + 4)),
                      1 / std::min(100.0, 1 + kernels));
    other_ = 1 / kernels;
  }

  Point Draw(Random& random) const {
    const size_t kernel = random.Below(points_.size() + 1);
    Point point;
    for (size_t i = 0; i < axes_.size(); ++i) {
      point.push_back(axes_[i].choices > 0 ? DrawChoice(i, kernel, random)
                                           : DrawInRange(i, kernel, random));
    }
    return point;
  }

  // The logarithm, up to a constant that is the same for every density over the axes.
  double LogAt(const Point& point) const {
    double most = -std::numeric_limits<double>::infinity();
    std::vector<double> logs;
    for (size_t kernel = 0; kernel <= points_.size(); ++kernel) {
      double log = 0;
      for (size_t i = 0; i < axes_.size(); ++i) {
        log += std::log(std::max(At(i, kernel, point[i]), std::numeric_limits<double>::min()));
      }
      logs.push_back(log);
      most = std::max(most, log);
    }
    double sum = 0;
    for (const double log : logs) {
      sum += std::exp(log - most);
    }
    return most + std::log(sum / static_cast<double>(logs.size()));
  }

 private:
  bool IsPrior(size_t kernel) const { return kernel == points_.size(); }
  // The mean and width of a normal distribution. The prior's is as wide as the range.
  std::pair<double, double> NormalOf(size_t axis, size_t kernel) const {
    const auto [low, high] = std::pair(axes_[axis].low, axes_[axis].high);
    return IsPrior(kernel) ? std::pair((low + high) / 2, high - low)
                           : std::pair(points_[kernel][axis], (high - low) * width_);
  }

  double DrawChoice(size_t axis, size_t kernel, Random& random) const {
    const size_t choices = axes_[axis].choices;
    const bool is_own = !IsPrior(kernel) && random.Uniform() * (1 + other_) < 1;
    return is_own ? points_[kernel][axis] : static_cast<double>(random.Below(choices));
  }

  double DrawInRange(size_t axis, size_t kernel, Random& random) const {
    const Axis& range = axes_[axis];
    const auto [mean, width] = NormalOf(axis, kernel);
    double drawn = mean;
    for (int i = 0; i < kDrawsMax; ++i) {
      drawn = mean + width * random.Normal();
      if (drawn >= range.low && drawn < range.high) {
        break;
      }
      drawn = mean;
    }
    return range.is_discrete ? std::round(std::clamp(drawn, range.low + 0.5, range.high - 0.5))
                             : drawn;
  }

  double At(size_t axis, size_t kernel, double coordinate) const {
    const Axis& own = axes_[axis];
    if (own.choices > 0) {
      const double other = other_ / static_cast<double>(own.choices);
      return IsPrior(kernel)
                 ? 1 / static_cast<double>(own.choices)
                 : ((coordinate == points_[kernel][axis] ? 1 : 0) + other) / (1 + other_);
    }
    const auto [mean, width] = NormalOf(axis, kernel);
    const double whole = NormalMass((own.low - mean) / width, (own.high - mean) / width);
    if (own.is_discrete) {
      return NormalMass((coordinate - 0.5 - mean) / width, (coordinate + 0.5 - mean) / width) /
             whole;
    }
    const double z = (coordinate - mean) / width;
    return std::exp(-z * z / 2) / (width * whole);
  }

  const std::vector<Axis>& axes_;
  const std::vector<Point> points_;
  double width_;  // a kernel's, as a part of the range
  double other_;  // a choice's: the weight of all values beside that of the trial's own
};

std::optional<Point> PointOf(const std::vector<Axis>& axes, const Hyperparameters& hyperparameters,
                             const Setting& setting) {
  Point point;
  size_t axis = 0;
  for (const auto& [name, distribution] : hyperparameters.space) {
    const auto it = setting.find(name);
    const auto coordinate =
        it == setting.end() ? std::nullopt : CoordinateOf(axes[axis], it->second);
    if (!coordinate) {
      return std::nullopt;
    }
    point.push_back(*coordinate);
    ++axis;
  }
  return point;
}

}  // namespace

std::optional<Setting> ChooseByTpe(const Hyperparameters& hyperparameters, Goal goal,
                                   absl::Span<const Trial> trials, Random& random) {
  std::vector<Axis> axes;
  for (const auto& [name, distribution] : hyperparameters.space) {
    axes.push_back(AxisOf(distribution));
  }
  std::vector<std::pair<double, Point>> scored;
  std::vector<Point> others;
  for (const Trial& trial : trials) {
    std::optional<Point> point = PointOf(axes, hyperparameters, trial.setting);
    if (point && trial.state == Trial::State::kScored) {
      scored.emplace_back(goal == Goal::kMinimize ? trial.score : -trial.score, *std::move(point));
    } else if (point) {
      others.push_back(*std::move(point));
    }
  }
  if (scored.size() < 2) {
    return std::nullopt;
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t best_count = std::min((scored.size() + kBestOneOf - 1) / kBestOneOf, kBestMax);
  std::vector<Point> best;
  for (auto& [score, point] : scored) {
    (best.size() < best_count ? best : others).push_back(std::move(point));
  }
  const Density good(axes, std::move(best));
  const Density bad(axes, std::move(others));
  std::optional<Setting> chosen;
  std::pair<bool, double> chosen_rank;  // new or not, and its ratio
  for (int i = 0; i < kCandidates; ++i) {
    const Point point = good.Draw(random);
    Setting setting = hyperparameters.defaults;
    size_t axis = 0;
    for (const auto& [name, distribution] : hyperparameters.space) {
      setting[name] = ValueAt(axes[axis], point[axis]);
      ++axis;
    }
    const bool is_new = std::none_of(trials.begin(), trials.end(),
                                     [&](const Trial& trial) { return trial.setting == setting; });
    const std::pair<bool, double> rank(is_new, good.LogAt(point) - bad.LogAt(point));
    if (!chosen || rank > chosen_rank) {
      chosen = std::move(setting);
      chosen_rank = rank;
    }
  }
  return chosen;
}

}  // namespace concur
