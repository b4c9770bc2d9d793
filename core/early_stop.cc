// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/suggest.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 2> kMethodNames = {"asha", "median"};
constexpr double kWorst = -std::numeric_limits<double>::infinity();

}  // namespace

absl::string_view EarlyStopMethodName(EarlyStopMethod method) {
  return kMethodNames[static_cast<size_t>(method)];
}

absl::StatusOr<EarlyStopMethod> EarlyStopMethodFromName(absl::string_view name) {
  const auto found = std::find(kMethodNames.begin(), kMethodNames.end(), name);
  if (found == kMethodNames.end()) {
    return absl::InvalidArgumentError(
        ExpectedOneOf({kMethodNames.begin(), kMethodNames.end()}, name));
  }
  return static_cast<EarlyStopMethod>(found - kMethodNames.begin());
}

absl::Status CheckEarlyStopRule(const EarlyStopRule& rule) {
  if (rule.min < 1) {
    return absl::InvalidArgumentError(absl::StrCat("min: expected at least 1, got ", rule.min));
  }
  if (rule.max < rule.min) {
    return absl::InvalidArgumentError(
        absl::StrCat("max: expected at least min, ", rule.min, ", got ", rule.max));
  }
  if (rule.eta < 2) {
    return absl::InvalidArgumentError(absl::StrCat("eta: expected at least 2, got ", rule.eta));
  }
  return absl::OkStatus();
}

EarlyStop::EarlyStop(const EarlyStopRule& rule, uint32_t settings)
    : rule_(rule), settings_(settings) {
  CONCUR_CHECK(CheckEarlyStopRule(rule).ok());
  for (Setting& setting : settings_) {
    setting.best = kWorst;
  }
  if (rule.method == EarlyStopMethod::kAsha) {
    for (int64_t steps = rule.min; steps < rule.max; steps *= rule.eta) {
      rungs_.emplace_back().steps = steps;
      if (steps > rule.max / rule.eta) {
        break;  // the next one would be beyond max, or beyond int64_t
      }
    }
  }
  rungs_.emplace_back().steps = rule.max;
}

std::optional<uint32_t> EarlyStop::PromotableFrom(size_t rung, bool is_closed) const {
  const Rung& from = rungs_[rung];
  if (from.waiting.empty()) {
    return std::nullopt;
  }
  const Place& best = *from.waiting.begin();
  const auto rank = static_cast<size_t>(
      std::lower_bound(from.reached.begin(), from.reached.end(), best) - from.reached.begin());
  const auto eta = static_cast<size_t>(rule_.eta);
  const size_t quota =
      is_closed ? (from.reached.size() + eta - 1) / eta : from.reached.size() / eta;
  return rank < quota ? std::make_optional(best.setting) : std::nullopt;
}

std::optional<uint32_t> EarlyStop::Peek() const {
  std::optional<uint32_t> furthest;
  bool is_closed = rungs_[0].reached.size() == settings_.size();  // nobody else can come there
  for (size_t rung = 0; rung + 1 < rungs_.size(); ++rung) {
    const std::optional<uint32_t> setting = PromotableFrom(rung, is_closed);
    if (setting) {
      furthest = setting;
    }
    is_closed = is_closed && !setting && rungs_[rung + 1].running == 0;
  }
  return !furthest && begun_ < settings_.size() ? begun_ : furthest;
}

std::optional<EarlyStop::Run> EarlyStop::Next() {
  while (const std::optional<uint32_t> next = Peek()) {
    Setting& setting = settings_[*next];
    if (setting.state == State::kPaused) {
      rungs_[setting.target].waiting.erase({setting.best, *next});
      ++setting.target;
    } else {
      ++begun_;
    }
    setting.state = State::kRunning;
    ++running_;
    ++rungs_[setting.target].running;
    if (!setting.ended && setting.step < rungs_[setting.target].steps) {
      return Run{*next, setting.step, rungs_[setting.target].steps};
    }
    Reach(*next);  // it has no more to train, or has come as far already
  }
  return std::nullopt;
}

bool EarlyStop::Report(uint32_t index, int64_t step, double value) {
  Setting& setting = settings_[index];
  CONCUR_CHECK(setting.state == State::kRunning && step > setting.step && std::isfinite(value));
  const double better = rule_.minimize ? -value : value;
  setting.step = step;
  setting.best = std::max(setting.best, better);
  setting.sum += better;
  ++setting.reports;
  if (step >= rungs_[setting.target].steps) {
    Reach(index);
    return false;
  }
  if (rule_.method != EarlyStopMethod::kMedian) {
    return true;
  }
  const bool stop = step >= rule_.min && IsBelowMedian(setting, step);
  means_[step].insert(setting.sum / static_cast<double>(setting.reports));
  if (stop) {
    Leave(index, State::kStopped);
  }
  return !stop;
}

void EarlyStop::End(uint32_t index) {
  CONCUR_CHECK(settings_[index].state == State::kRunning);
  settings_[index].ended = true;
  Reach(index);
}

// The setting's own mean is not in means_ yet: only others are counted.
bool EarlyStop::IsBelowMedian(const Setting& setting, int64_t step) const {
  const auto found = means_.find(step);
  if (found == means_.end() || found->second.size() < kMedianOthersMin) {
    return false;
  }
  const std::multiset<double>& means = found->second;
  const auto upper = std::next(means.begin(), static_cast<std::ptrdiff_t>(means.size() / 2));
  const double median = means.size() % 2 == 1 ? *upper : (*upper + *std::prev(upper)) / 2;
  return setting.best < median;
}

void EarlyStop::Reach(uint32_t index) {
  Setting& setting = settings_[index];
  Rung& rung = rungs_[setting.target];
  const Place place{setting.best, index};
  rung.reached.insert(std::lower_bound(rung.reached.begin(), rung.reached.end(), place), place);
  const bool is_last = setting.target + 1 == rungs_.size();
  if (!is_last) {
    rung.waiting.insert(place);
  }
  Leave(index, is_last ? State::kFinished : State::kPaused);
}

void EarlyStop::Leave(uint32_t index, State state) {
  settings_[index].state = state;
  --running_;
  --rungs_[settings_[index].target].running;
}

std::optional<uint32_t> EarlyStop::Selected() const {
  const std::vector<Place>& finished = rungs_.back().reached;
  return finished.empty() || finished[0].value == kWorst ? std::nullopt
                                                         : std::make_optional(finished[0].setting);
}

}  // namespace concur
