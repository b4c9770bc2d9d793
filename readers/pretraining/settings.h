// SPDX-License-Identifier: Apache-2.0
// How a small encoder is pretrained: sizes, objective and optimizer by name, with values for each
// family that its publication or this machine's size suggests.
//
// Pure functions over values.
#ifndef CONCUR_READERS_PRETRAINING_SETTINGS_H_
#define CONCUR_READERS_PRETRAINING_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "readers/files/encoder_config.h"
#include "readers/options.h"
#include "readers/text/pretraining_rows.h"
#include "readers/training/optimizer.h"

namespace concur::readers {

struct PretrainedFamily {
  std::string name;        // as the approach that is fine-tuned from it: "spanbert"
  std::string model_type;  // of config.json: "bert"
  std::string summary;     // one line
  Options options;
};

// ALBERT, BERT, ELECTRA, RoBERTa, SpanBERT.
const std::vector<PretrainedFamily>& PretrainedFamilies();
// InvalidArgument, with the names, for another one.
absl::StatusOr<const PretrainedFamily*> FindFamily(absl::string_view name);

struct PretrainSettings {
  std::string model_type;
  RowOptions rows;
  int64_t vocabulary = 0;  // entries
  bool lower_case = true;
  int64_t batch = 0;  // rows of an update
  int64_t updates = 0;
  UpdateRule rule;
  double learning_rate = 0, weight_decay = 0;
  double warmup = 0;  // the share of training in which the rate rises from 0
  double gradient_norm_max = 0;
  bool half_precision = false;
  double discriminator_weight = 0;  // of its loss, beside the generator's

  std::string config_json;  // the encoder's, as it is written
  EncoderConfig config;
  EncoderConfig generator;  // of replaced-token detection

  Options options;  // all of these by name
};

// The family's values with assignments "name=value". InvalidArgument for unknown names, with a
// suggestion, repeated ones, and values of another type, out of range or that do not fit together.
absl::StatusOr<PretrainSettings> MakePretrainSettings(const PretrainedFamily& family,
                                                      const std::vector<std::string>& assignments);

// The factor of the learning rate when a share of training is done: it rises from 0 over the
// warm-up, then falls to 0.
double RateFactor(const PretrainSettings& settings, double done);

}  // namespace concur::readers

#endif  // CONCUR_READERS_PRETRAINING_SETTINGS_H_
