// SPDX-License-Identifier: Apache-2.0
// Fine-tunes an encoder on windows, and asks it. The same windows, settings and seed give the same
// weights, bit for bit, on one device and number of threads; so does training that was interrupted
// and goes on from its checkpoint.
//
// Thread-compatible; sets the seed of torch's default generator.
#ifndef CONCUR_STUDIES_READERS_FINE_TUNING_FINE_TUNER_H_
#define CONCUR_STUDIES_READERS_FINE_TUNING_FINE_TUNER_H_

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/pretrained/encoder.h"
#include "studies/readers/text/windows.h"

namespace concur::readers {

struct TrainWindow {
  Window window;
  Label label;
};

struct FineTuneRun {
  torch::Device device = torch::kCPU;
  // Type of the layers' matrix products, for half precision; the loss is scaled then. nullopt: that
  // of the weights, and no scale.
  std::optional<torch::ScalarType> product_type = {};
  // Training ends with the update in which it has taken so much processor time, that before an
  // interruption included. With a limit, results depend on the machine's speed.
  absl::Duration time_max = absl::InfiniteDuration();
  std::string checkpoint;  // file; "" for none
  absl::Duration checkpoint_period = absl::Minutes(5);
  std::string fingerprint;  // digest of all the result depends on: a checkpoint's must be equal
  std::function<void(absl::string_view line)> progress;
  std::function<void(int64_t epoch, double loss)> epoch_ended = {};  // epochs from 1
  // After each update; true saves and ends training at once.
  std::function<bool(int64_t update)> interrupted = {};
};

// Windows as a batch, padded to the longest, or to `length`.
TokenBatch BatchOfWindows(absl::Span<const Window* const> windows, int64_t padding_id,
                          int64_t length = 0);

// Trains; returns the mean loss of each epoch. InvalidArgument when there is no window, for a loss
// that is not a number, and for layer_decay where layers are shared; the checkpoint's errors;
// Cancelled when it was interrupted.
absl::StatusOr<std::vector<double>> FineTune(Encoder& encoder,
                                             const std::vector<TrainWindow>& windows,
                                             const FineTuneSettings& settings, uint64_t seed,
                                             const FineTuneRun& run);

// The scores of windows in evaluation mode, [2, positions] each, on the CPU. `length` as above.
std::vector<torch::Tensor> ScoreWindows(Encoder& encoder, absl::Span<const Window* const> windows,
                                        int64_t length, torch::Device device);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FINE_TUNING_FINE_TUNER_H_
