// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::readers {
namespace {

constexpr double kMany = 1e9;

const std::vector<std::string>& OptimizerNames() {
  static const auto& names = *new std::vector<std::string>{"adam", "adamax", "adadelta", "sgd"};
  return names;
}
const std::vector<std::string>& ScheduleNames() {
  static const auto& names =
      *new std::vector<std::string>{"constant", "decay_every_steps", "on_plateau"};
  return names;
}
const std::vector<std::string>& SelectionNames() {
  static const auto& names = *new std::vector<std::string>{"exact_match", "f1"};
  return names;
}
const std::vector<std::string>& VectorsCaseNames() {
  static const auto& names = *new std::vector<std::string>{"exact", "lower", "lemma"};
  return names;
}

// Calls `visit` with each setting: Real and Int with the least and greatest value allowed, Choice
// with the names of an enumeration's values.
template <typename Settings, typename Visitor>
void VisitSettings(Settings& s, Visitor& visit) {
  visit.Choice("optimizer", s.optimizer, OptimizerNames());
  visit.Real("learning_rate", s.learning_rate, 1e-9, 100);
  visit.Real("beta1", s.beta1, 0, 0.9999999);
  visit.Real("beta2", s.beta2, 0, 0.9999999);
  visit.Real("epsilon", s.epsilon, 1e-30, 1);
  visit.Real("rho", s.rho, 0, 0.9999999);
  visit.Real("momentum", s.momentum, 0, 0.9999999);
  visit.Real("weight_decay", s.weight_decay, 0, 1);
  visit.Choice("schedule", s.schedule, ScheduleNames());
  visit.Real("schedule_factor", s.schedule_factor, 1e-6, 1);
  visit.Int("schedule_period", s.schedule_period, 0, kMany);
  visit.Int("batch", s.batch, 1, 4096);
  visit.Int("epochs", s.epochs, 1, 10000);
  visit.Int("patience", s.patience, 0, 10000);
  visit.Choice("selection", s.selection, SelectionNames());
  visit.Real("gradient_norm_max", s.gradient_norm_max, 0, kMany);
  visit.Real("average_decay", s.average_decay, 0, 0.9999999);
  visit.Int("passage_tokens_max", s.passage_tokens_max, 0, kMany);
  visit.Int("question_tokens_max", s.question_tokens_max, 0, kMany);
  visit.Int("train_answer_tokens_max", s.train_answer_tokens_max, 0, kMany);
  visit.Int("answer_tokens_max", s.answer_tokens_max, 0, kMany);
  visit.Choice("vectors_case", s.vectors_case, VectorsCaseNames());
  visit.Real("answer_vectors_min", s.answer_vectors_min, 0, 100);
  visit.Int("tuned_words", s.tuned_words, -1, kMany);
}

struct Describer {
  Options options = {};

  template <typename Enum>
  void Choice(const char* name, const Enum& value, const std::vector<std::string>& names) {
    options.Set(name, names[static_cast<size_t>(value)]);
  }
  void Real(const char* name, const double& value, double, double) { options.Set(name, value); }
  void Int(const char* name, const int64_t& value, double, double) { options.Set(name, value); }
};

// Takes the values of options that have every setting.
struct Taker {
  const Options& options;
  absl::Status status = absl::OkStatus();

  void Check(const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat(name, ": expected a number from ", low, " to ", high, ", got ", value)));
    }
  }
  template <typename Enum>
  void Choice(const char* name, Enum& value, const std::vector<std::string>& names) {
    const auto found = std::find(names.begin(), names.end(), options.Text(name));
    if (found == names.end()) {
      status.Update(
          absl::InvalidArgumentError(absl::StrCat(name, ": expected ", absl::StrJoin(names, " or "),
                                                  ", got \"", options.Text(name), "\"")));
      return;
    }
    value = static_cast<Enum>(found - names.begin());
  }
  void Real(const char* name, double& value, double low, double high) {
    value = options.Real(name);
    Check(name, value, low, high);
  }
  void Int(const char* name, int64_t& value, double low, double high) {
    value = options.Int(name);
    Check(name, static_cast<double>(value), low, high);
  }
};

}  // namespace

Options OptionsOf(const Settings& settings) {
  Describer describer;
  VisitSettings(settings, describer);
  return describer.options;
}

Options NetworkOptionsOf(const Approach& approach) {
  const Approach::SizeNames& sizes = approach.sizes;
  const std::set<absl::string_view> of_data = {sizes.words,    sizes.word_dim, sizes.characters,
                                               sizes.features, sizes.pos_tags, sizes.entity_tags};
  Options options;
  for (const auto& [name, value] : approach.options.values()) {
    if (!of_data.contains(name)) {
      options.Set(name, value);
    }
  }
  return options;
}

absl::StatusOr<Plan> MakePlan(const Approach& approach,
                              const std::vector<std::string>& assignments) {
  Plan plan{approach.settings, NetworkOptionsOf(approach)};
  Options settings = OptionsOf(approach.settings);
  CONCUR_ASSIGN_OR_RETURN(const auto parsed, ParseAssignments(assignments));
  for (const auto& [name, value] : parsed) {
    if (!settings.Has(name) && !plan.options.Has(name)) {
      std::vector<std::string> names;
      for (const Options* options : {&settings, &plan.options}) {
        for (const auto& [known, preset] : options->values()) {
          names.push_back(known);
        }
      }
      return absl::InvalidArgumentError(absl::StrCat("--setting ", name, ": no such setting of ",
                                                     approach.name, DidYouMean(name, names),
                                                     "; `concur-reader list` shows all"));
    }
    Options& target = settings.Has(name) ? settings : plan.options;
    const absl::Status status = target.Parse(name, value);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("--setting ", status.message()));
    }
  }
  Taker taker{settings};
  VisitSettings(plan.settings, taker);
  if (!taker.status.ok()) {
    return absl::Status(taker.status.code(), absl::StrCat("--setting ", taker.status.message()));
  }
  return plan;
}

UpdateRule RuleOf(const Settings& settings) {
  UpdateRule rule;
  switch (settings.optimizer) {
    case Optimizer::kAdam:
      rule.kind = UpdateRule::Kind::kAdam;
      break;
    case Optimizer::kAdamax:
      rule.kind = UpdateRule::Kind::kAdamax;
      break;
    case Optimizer::kAdadelta:
      rule.kind = UpdateRule::Kind::kAdadelta;
      break;
    case Optimizer::kSgd:
      rule.kind = UpdateRule::Kind::kSgd;
      break;
  }
  rule.beta1 = settings.beta1;
  rule.beta2 = settings.beta2;
  rule.epsilon = settings.epsilon;
  rule.rho = settings.rho;
  rule.momentum = settings.momentum;
  return rule;
}

double LearningRate::At(int64_t update) const {
  switch (settings_.schedule) {
    case Schedule::kConstant:
      return settings_.learning_rate;
    case Schedule::kDecayEverySteps: {
      const int64_t period = std::max<int64_t>(1, settings_.schedule_period);
      return settings_.learning_rate *
             std::pow(settings_.schedule_factor, static_cast<double>((update - 1) / period));
    }
    case Schedule::kOnPlateau:
      return settings_.learning_rate * factor_;
  }
  return settings_.learning_rate;
}

bool LearningRate::EpochEnded(double score) {
  if (score > best_) {
    best_ = score;
    stale_ = 0;
    stale_since_change_ = 0;
    return true;
  }
  ++stale_;
  // As PyTorch's ReduceLROnPlateau: patience epochs without a better score are borne.
  if (settings_.schedule == Schedule::kOnPlateau &&
      ++stale_since_change_ > settings_.schedule_period) {
    factor_ *= settings_.schedule_factor;
    stale_since_change_ = 0;
  }
  return false;
}

void LearningRate::Restore(const State& state) {
  best_ = state.best;
  stale_ = state.stale;
  stale_since_change_ = state.stale_since_change;
  factor_ = state.factor;
}

}  // namespace concur::readers
