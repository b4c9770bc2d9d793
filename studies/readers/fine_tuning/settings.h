// SPDX-License-Identifier: Apache-2.0
// Settings to fine-tune and to ask a pretrained encoder: those of its publication by name.
//
// Pure functions over values.
#ifndef CONCUR_STUDIES_READERS_FINE_TUNING_SETTINGS_H_
#define CONCUR_STUDIES_READERS_FINE_TUNING_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/options.h"
#include "studies/readers/text/best_answers.h"
#include "studies/readers/text/windows.h"
#include "studies/readers/training/optimizer.h"

namespace concur::readers {

struct PretrainedApproach {
  std::string name;     // "spanbert"
  std::string family;   // config.json's model_type: "bert"
  std::string summary;  // one line
  Options options;      // with the values of the publication
};

// BERT, ALBERT, RoBERTa, ELECTRA, SpanBERT.
const std::vector<PretrainedApproach>& PretrainedApproaches();
// Null for other names.
const PretrainedApproach* FindPretrained(absl::string_view name);

struct FineTuneSettings {
  UpdateRule rule;
  double learning_rate = 0, weight_decay = 0;
  double warmup = 0;  // the share of updates in which the rate rises from 0
  int64_t epochs = 0;
  int64_t batch = 0;       // windows of an update
  int64_t step_batch = 0;  // windows at once; 0: all of an update
  double gradient_norm_max = 0;
  bool half_precision = false;
  double layer_decay = 1;  // factor of the rate, for each layer below the head
  WindowOptions windows;
  bool answerless_windows = true;  // windows without the answer train too: their label is [CLS]
  BestAnswersOptions answers;
  std::optional<bool> lower_case;  // as the tokenizer's files say

  Options options;  // all of these by name
};

// The approach's values with assignments "name=value". InvalidArgument for unknown names, with a
// suggestion, repeated ones, and values of another type or out of range.
absl::StatusOr<FineTuneSettings> MakeFineTuneSettings(const PretrainedApproach& approach,
                                                      const std::vector<std::string>& assignments);

// The factor of the learning rate at an update, counted from 0: it rises from 0 over the warm-up,
// then falls to 0 at `total`. AdamW's program counts whole updates of warm-up; BertAdam's does not.
double ScheduleFactor(const FineTuneSettings& settings, int64_t update, int64_t total);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FINE_TUNING_SETTINGS_H_
