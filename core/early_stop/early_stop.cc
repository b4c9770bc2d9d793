// SPDX-License-Identifier: Apache-2.0
#include "core/early_stop/early_stop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/metric_meaning.h"
#include "base/suggest.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 3> kMethodNames = {"asha", "median", "hyperband"};
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
  if (Halves(rule.method) && rule.eta < 2) {
    return absl::InvalidArgumentError(absl::StrCat("eta: expected at least 2, got ", rule.eta));
  }
  return absl::OkStatus();
}

std::vector<int64_t> EarlyStopRungs(const EarlyStopRule& rule) {
  std::vector<int64_t> rungs;
  for (int64_t steps = rule.min; steps < rule.max; steps *= rule.eta) {
    rungs.push_back(steps);
    if (steps > rule.max / rule.eta) {
      break;  // the next one would be beyond max, or beyond int64_t
    }
  }
  rungs.push_back(rule.max);
  return rungs;
}

EarlyStop::EarlyStop(const EarlyStopRule& rule, uint32_t settings)
    : rule_(rule), settings_(settings), taking_part_(settings) {
  CONCUR_CHECK(CheckEarlyStopRule(rule).ok() && rule.method != EarlyStopMethod::kHyperband);
  for (uint32_t s = 0; s < settings; ++s) {
    settings_[s].best = kWorst;
    waiting_.insert(waiting_.end(), s);
  }
  const std::vector<int64_t> rungs =
      Halves(rule.method) ? EarlyStopRungs(rule) : std::vector<int64_t>{rule.max};
  for (const int64_t steps : rungs) {
    rungs_.emplace_back().steps = steps;
  }
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
  bool is_closed = rungs_[0].reached.size() == taking_part_;  // nobody else can come there
  for (size_t rung = 0; rung + 1 < rungs_.size(); ++rung) {
    const std::optional<uint32_t> setting = PromotableFrom(rung, is_closed);
    if (setting) {
      furthest = setting;
    }
    is_closed = is_closed && !setting && rungs_[rung + 1].running == 0;
  }
  return !furthest && !waiting_.empty() ? *waiting_.begin() : furthest;
}

void EarlyStop::Begin(uint32_t index) {
  Setting& setting = settings_[index];
  setting.state = State::kRunning;
  ++running_;
  ++rungs_[setting.target].running;
}

std::optional<EarlyStop::Run> EarlyStop::Next() {
  while (const std::optional<uint32_t> next = Peek()) {
    Setting& setting = settings_[*next];
    if (setting.state == State::kPaused) {
      rungs_[setting.target].waiting.erase({setting.at[setting.target], *next});
      ++setting.target;
    } else {
      waiting_.erase(*next);
    }
    Begin(*next);
    if (setting.at.size() <= setting.target) {
      return Run{*next, setting.step, rungs_[setting.target].steps};
    }
    Reach(*next);  // it has no more to train, or has come as far already
  }
  return std::nullopt;
}

// Nothing but what the setting itself reported decides what is recorded.
void EarlyStop::Record(uint32_t index, int64_t step, double value) {
  Setting& setting = settings_[index];
  const double better = WithoutRounding(rule_.minimize ? -value : value);
  setting.step = step;
  setting.best = std::max(setting.best, better);
  setting.sum += better;
  ++setting.reports;
  while (setting.at.size() < rungs_.size() && step >= rungs_[setting.at.size()].steps) {
    setting.at.push_back(setting.best);
  }
  if (rule_.method == EarlyStopMethod::kMedian && step >= rule_.min && step < rule_.max) {
    setting.means.emplace_back(step,
                               WithoutRounding(setting.sum / static_cast<double>(setting.reports)));
    means_[step].insert(setting.means.back().second);
  }
}

// kMedian: a setting that was stopped has come to the end before it was told.
void EarlyStop::GoOnIfWhole(uint32_t index) {
  if (rule_.method == EarlyStopMethod::kMedian && settings_[index].state == State::kStopped &&
      !settings_[index].at.empty()) {
    Begin(index);
  }
}

void EarlyStop::RecordEnd(Setting& setting) {
  setting.ended = true;
  setting.at.resize(rungs_.size(), setting.best);
}

bool EarlyStop::Report(uint32_t index, int64_t step, double value) {
  Setting& setting = settings_[index];
  CONCUR_CHECK(setting.state != State::kWaiting && step > setting.step && std::isfinite(value));
  if (setting.state == State::kOut) {
    return true;
  }
  Record(index, step, value);
  GoOnIfWhole(index);
  if (setting.state != State::kRunning) {
    return false;
  }
  if (setting.at.size() > setting.target) {
    Reach(index);
    return false;
  }
  if (rule_.method == EarlyStopMethod::kMedian && step >= rule_.min &&
      IsBelowMedian(setting, step)) {
    Leave(index, State::kStopped);
    return false;
  }
  return true;
}

void EarlyStop::End(uint32_t index) {
  Setting& setting = settings_[index];
  CONCUR_CHECK(setting.state != State::kWaiting);
  if (setting.state == State::kOut) {
    return;
  }
  RecordEnd(setting);
  GoOnIfWhole(index);
  if (setting.state == State::kRunning) {
    Reach(index);
  }
}

// Compares with the median of the others: the setting's own mean, its latest, is left out.
bool EarlyStop::IsBelowMedian(const Setting& setting, int64_t step) const {
  const std::multiset<double>& means = means_.at(step);
  const size_t others = means.size() - 1;
  if (others < kMedianOthersMin) {
    return false;
  }
  const double own = setting.means.back().second;
  const auto nth_other = [&](size_t n) {
    const auto it = std::next(means.begin(), static_cast<std::ptrdiff_t>(n));
    return *it < own ? *it : *std::next(it);
  };
  const double upper = nth_other(others / 2);
  const double median = others % 2 == 1 ? upper : (upper + nth_other(others / 2 - 1)) / 2;
  return setting.best < WithoutRounding(median);
}

void EarlyStop::Reach(uint32_t index) {
  Setting& setting = settings_[index];
  Rung& rung = rungs_[setting.target];
  const Place place{setting.at[setting.target], index};
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

// Takes the setting out of everything, as it was before it began.
void EarlyStop::Withdraw(uint32_t index) {
  Setting& setting = settings_[index];
  if (setting.state == State::kOut) {
    return;
  }
  if (setting.state == State::kRunning) {
    Leave(index, State::kWaiting);
  }
  waiting_.erase(index);
  for (size_t rung = 0; rung < std::min(setting.at.size(), setting.target + 1); ++rung) {
    const Place place{setting.at[rung], index};
    std::vector<Place>& reached = rungs_[rung].reached;
    reached.erase(std::lower_bound(reached.begin(), reached.end(), place));
    rungs_[rung].waiting.erase(place);
  }
  for (const auto& [step, mean] : setting.means) {
    means_[step].erase(means_[step].find(mean));
  }
  setting = Setting{};
  setting.best = kWorst;
  setting.state = State::kOut;
  --taking_part_;
}

void EarlyStop::Return(uint32_t index) {
  Withdraw(index);
  settings_[index].state = State::kWaiting;
  waiting_.insert(index);
  ++taking_part_;
}

void EarlyStop::Stop(uint32_t index) {
  Setting& setting = settings_[index];
  CONCUR_CHECK(setting.state == State::kPaused);
  rungs_[setting.target].waiting.erase({setting.at[setting.target], index});
  setting.state = State::kStopped;
}

absl::Status EarlyStop::Restore(uint32_t index, size_t rung, const std::vector<Point>& points,
                                bool ended, bool stopped) {
  Setting& setting = settings_[index];
  CONCUR_CHECK(setting.state == State::kWaiting);
  for (const Point& point : points) {
    if (point.step <= setting.step || !std::isfinite(point.value)) {
      return absl::DataLossError("its steps do not grow, or a value is not finite");
    }
    Record(index, point.step, point.value);
  }
  if (ended) {
    RecordEnd(setting);
  }
  if (rung >= rungs_.size() || setting.at.size() < rung) {
    return absl::DataLossError(absl::StrCat("it was let go on to rung ", rung, " of ",
                                            rungs_.size(), ", but has reached ",
                                            setting.at.size()));
  }
  waiting_.erase(index);
  for (; setting.target < rung; ++setting.target) {
    std::vector<Place>& reached = rungs_[setting.target].reached;
    const Place place{setting.at[setting.target], index};
    reached.insert(std::lower_bound(reached.begin(), reached.end(), place), place);
  }
  Begin(index);
  if (setting.at.size() > rung) {
    Reach(index);
  }
  if (stopped && setting.state == State::kPaused) {
    Stop(index);
  } else if (stopped && setting.state == State::kRunning &&
             rule_.method == EarlyStopMethod::kMedian) {
    Leave(index, State::kStopped);
  } else if (stopped) {
    return absl::DataLossError("it was stopped, but had not come to a rung or had finished");
  }
  return absl::OkStatus();
}

std::optional<uint32_t> EarlyStop::Selected() const {
  const std::vector<Place>& finished = rungs_.back().reached;
  return finished.empty() || finished[0].value == kWorst ? std::nullopt
                                                         : std::make_optional(finished[0].setting);
}

}  // namespace concur
