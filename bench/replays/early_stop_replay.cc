// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/early_stop_replay.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/early_stop/early_stop_brackets.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 6> kEventNames = {"begin", "go on", "report",
                                                          "pause", "stop",  "finish"};

class Replay {
 public:
  Replay(const EarlyStopRule& rule, const std::vector<LearningCurve>& curves, uint32_t workers)
      : rule_(rule),
        brackets_(rule, static_cast<uint32_t>(curves.size())),
        idle_(workers),
        next_point_(curves.size(), 0) {
    const auto settings = static_cast<uint32_t>(curves.size());
    for (uint32_t bracket = 0; bracket < brackets_.CountFor(settings); ++bracket) {
      early_stops_.emplace_back(brackets_.rules()[bracket], brackets_.SizeOf(bracket, settings));
    }
    for (const LearningCurve& curve : curves) {
      LearningCurve& kept = curves_.emplace_back(curve);
      std::erase_if(kept.points,
                    [&](const LearningCurve::Point& point) { return point.step > rule.max; });
    }
  }

  EarlyStopReplay Run() {
    Train();
    while (!arrivals_.empty()) {
      const auto [time, setting] = *arrivals_.begin();
      arrivals_.erase(arrivals_.begin());
      Arrive(time, setting);
      now_ = time;
      Train();
    }
    Select();
    for (uint32_t s = 0; s < curves_.size(); ++s) {
      result_.finished += StateOf(s) == EarlyStop::State::kFinished ? 1 : 0;
      if (curves_[s].points.empty()) {
        continue;
      }
      const double value = BestOf(s);
      result_.full_cost += CostOf(s, 0, curves_[s].points.back().step);
      if (!result_.best || IsBetter(value, result_.best_value)) {
        result_.best = s;
        result_.best_value = value;
      }
    }
    return std::move(result_);
  }

 private:
  double CostOf(uint32_t setting, int64_t from, int64_t to) const {
    return curves_[setting].cost_per_step * static_cast<double>(to - from);
  }
  double BestOf(uint32_t setting) const {
    const auto less = [](const LearningCurve::Point& a, const LearningCurve::Point& b) {
      return a.value < b.value;
    };
    const auto& points = curves_[setting].points;
    return rule_.minimize ? std::min_element(points.begin(), points.end(), less)->value
                          : std::max_element(points.begin(), points.end(), less)->value;
  }

  bool IsBetter(double value, double other) const {
    return rule_.minimize ? value < other : value > other;
  }

  EarlyStop& RuleOf(uint32_t setting) { return early_stops_[brackets_.PlaceOf(setting).bracket]; }
  EarlyStop::State StateOf(uint32_t setting) {
    return RuleOf(setting).StateOf(brackets_.PlaceOf(setting).number);
  }

  // The best of what the brackets select; of equals the first setting.
  void Select() {
    for (uint32_t bracket = 0; bracket < early_stops_.size(); ++bracket) {
      const std::optional<uint32_t> number = early_stops_[bracket].Selected();
      if (!number) {
        continue;
      }
      const uint32_t setting = brackets_.SettingAt({bracket, *number});
      const double value = BestOf(setting);
      const bool is_tie = result_.selected && value == result_.selected_value;
      if (!result_.selected || IsBetter(value, result_.selected_value) ||
          (is_tie && setting < *result_.selected)) {
        result_.selected = setting;
        result_.selected_value = value;
      }
    }
  }

  // Next run of the first bracket that has something to train.
  std::optional<EarlyStop::Run> Next() {
    for (uint32_t bracket = 0; bracket < early_stops_.size(); ++bracket) {
      if (std::optional<EarlyStop::Run> run = early_stops_[bracket].Next()) {
        run->setting = brackets_.SettingAt({bracket, run->setting});
        return run;
      }
    }
    return std::nullopt;
  }

  // Gives idle workers what there is to train.
  void Train() {
    while (idle_ > 0) {
      const std::optional<EarlyStop::Run> run = Next();
      if (!run) {
        return;
      }
      --idle_;
      Note(run->from == 0 ? EarlyStopEvent::Kind::kBegin : EarlyStopEvent::Kind::kGoOn, now_,
           run->setting, run->from);
      Await(now_, run->setting, run->from);
    }
  }

  // The setting's next report, or its end, arrives when it has trained so far.
  void Await(double now, uint32_t setting, int64_t step) {
    const auto& points = curves_[setting].points;
    const double cost = next_point_[setting] < points.size()
                            ? CostOf(setting, step, points[next_point_[setting]].step)
                            : 0;
    result_.cost += cost;
    arrivals_.emplace(now + cost, setting);
  }

  void Arrive(double time, uint32_t setting) {
    const auto& points = curves_[setting].points;
    if (next_point_[setting] == points.size()) {
      RuleOf(setting).End(brackets_.PlaceOf(setting).number);
      Rest(time, setting);
      return;
    }
    const LearningCurve::Point& point = points[next_point_[setting]++];
    Note(EarlyStopEvent::Kind::kReport, time, setting, point.step, point.value);
    if (RuleOf(setting).Report(brackets_.PlaceOf(setting).number, point.step, point.value)) {
      Await(time, setting, point.step);
    } else {
      Rest(time, setting);
    }
  }

  void Rest(double time, uint32_t setting) {
    ++idle_;
    const EarlyStop::State state = StateOf(setting);
    const auto& points = curves_[setting].points;
    const size_t done = next_point_[setting];
    Note(state == EarlyStop::State::kPaused    ? EarlyStopEvent::Kind::kPause
         : state == EarlyStop::State::kStopped ? EarlyStopEvent::Kind::kStop
                                               : EarlyStopEvent::Kind::kFinish,
         time, setting, done == 0 ? 0 : points[done - 1].step);
  }

  void Note(EarlyStopEvent::Kind kind, double time, uint32_t setting, int64_t step,
            double value = 0) {
    result_.events.push_back({kind, time, setting, step, value});
  }

  const EarlyStopRule& rule_;
  std::vector<LearningCurve> curves_;
  const EarlyStopBrackets brackets_;
  std::vector<EarlyStop> early_stops_;  // by bracket
  uint32_t idle_;
  std::vector<size_t> next_point_;                  // [setting]
  std::set<std::pair<double, uint32_t>> arrivals_;  // (time, setting)
  double now_ = 0;
  EarlyStopReplay result_;
};

}  // namespace

absl::string_view EarlyStopEventName(EarlyStopEvent::Kind kind) {
  return kEventNames[static_cast<size_t>(kind)];
}

EarlyStopReplay ReplayEarlyStop(const EarlyStopRule& rule, const std::vector<LearningCurve>& curves,
                                uint32_t workers) {
  return Replay(rule, curves, workers).Run();
}

}  // namespace concur
