// SPDX-License-Identifier: Apache-2.0
// The settings of an approach's training as named options, beside those of its network.
//
// Pure functions over values.
#ifndef CONCUR_STUDIES_READERS_TRAINING_SETTINGS_H_
#define CONCUR_STUDIES_READERS_TRAINING_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/options.h"
#include "studies/readers/training/optimizer.h"

namespace concur::readers {

// Settings and options of one training of an approach.
struct Plan {
  Settings settings;
  Options options;  // the network's; without the data's sizes
};

// The approach's values with assignments "name=value", of settings or network options.
// InvalidArgument for unknown names, with a suggestion, repeated ones, values of another type and
// settings out of range.
absl::StatusOr<Plan> MakePlan(const Approach& approach,
                              const std::vector<std::string>& assignments);

// All settings by name.
Options OptionsOf(const Settings& settings);

// The options of the network that are not for the data to say.
Options NetworkOptionsOf(const Approach& approach);

UpdateRule RuleOf(const Settings& settings);

// The learning rate over time. Its state is part of a checkpoint.
class LearningRate {
 public:
  explicit LearningRate(const Settings& settings) : settings_(settings) {}

  // At an update, counted from 1.
  double At(int64_t update) const;
  // Takes the validation score of an epoch: whether it is better than all before.
  bool EpochEnded(double score);
  // Epochs since the best one.
  int64_t stale_epochs() const { return stale_; }

  struct State {
    double best = -1;
    int64_t stale = 0, stale_since_change = 0;
    double factor = 1;  // factor of the learning rate after plateaus
  };
  State state() const { return {best_, stale_, stale_since_change_, factor_}; }
  void Restore(const State& state);

 private:
  Settings settings_;
  double best_ = -1;
  int64_t stale_ = 0, stale_since_change_ = 0;
  double factor_ = 1;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_SETTINGS_H_
