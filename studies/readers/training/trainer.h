// SPDX-License-Identifier: Apache-2.0
// Trains a network: epochs of shuffled batches, validation after each, the best epoch's weights
// kept. An epoch is best when its score exceeds all before, so that training ends at 100. The same
// model, data and seed give the same weights, bit for bit, on one device and number of threads; so
// does training that was interrupted and goes on from its checkpoint.
//
// Thread-compatible; sets the seed of torch's default generator.
#ifndef CONCUR_STUDIES_READERS_TRAINING_TRAINER_H_
#define CONCUR_STUDIES_READERS_TRAINING_TRAINER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "studies/readers/text/examples.h"
#include "studies/readers/training/model.h"

namespace concur::readers {

struct Epoch {
  int64_t number = 0;  // from 1
  double loss = 0;     // mean over batches
  AnswerScores validation;
  bool best = false;
  double seconds = 0;
};

struct TrainingRun {
  torch::Device device = torch::kCPU;
  // Training ends in the epoch in which it has taken so much processor time, that before an
  // interruption included; the epoch's weights are still validated. With a limit, results depend on
  // the machine's speed.
  absl::Duration time_max = absl::InfiniteDuration();
  std::string checkpoint;  // file; "" for none
  absl::Duration checkpoint_period = absl::Minutes(1);
  std::string
      fingerprint;  // digest of everything that the result depends on: a checkpoint's must be equal
  std::function<void(absl::string_view line)> progress;
  std::function<void(const Epoch&)> epoch_ended = {};
  // After each update; true saves and ends training at once.
  std::function<bool(int64_t update)> interrupted = {};
};

// Trains on the questions of `train` that have an answer within the settings' limits; `model` has
// the weights of the best epoch afterwards. Returns the epochs, those before an interruption
// included. InvalidArgument when no question can be learned from, and for a loss that is not a
// number; the checkpoint's errors; Cancelled when it was interrupted.
absl::StatusOr<std::vector<Epoch>> TrainModel(Model& model, const Examples& train,
                                              const Examples& validation, const TrainingRun& run);

// The best span of each question, as text; "" where the passage has no token.
std::vector<std::string> AnswerQuestions(const Model& model, const Examples& examples,
                                         torch::Device device);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_TRAINER_H_
