// SPDX-License-Identifier: Apache-2.0
// Pretrains a network on a text. The same text, settings and seed give the same weights, bit for
// bit, on one device and number of threads; so does pretraining that was interrupted and goes on
// from its checkpoint.
//
// Thread-compatible; sets the seed of torch's default generator.
#ifndef CONCUR_READERS_PRETRAINING_PRETRAINER_H_
#define CONCUR_READERS_PRETRAINING_PRETRAINER_H_

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "readers/pretraining/network.h"
#include "readers/pretraining/settings.h"
#include "readers/text/pretraining_rows.h"

namespace concur::readers {

// A report comes after so many updates, and after the last one.
inline constexpr int64_t kReportUpdates = 100;

// Means since the report before: "loss", "masked_accuracy", and what else the objective has, in
// percent.
struct PretrainingReport {
  int64_t update = 0;
  std::vector<std::pair<std::string, double>> values;
};

struct PretrainRun {
  torch::Device device = torch::kCPU;
  // Of the layers' matrix products, for half precision; the loss is scaled then. nullopt: that of
  // the weights, and no scale.
  std::optional<torch::ScalarType> product_type = {};
  // Training ends with the update in which it has taken so much processor time, that before an
  // interruption included; the learning rate falls to 0 by then. With a limit, results depend on
  // the machine's speed.
  absl::Duration time_max = absl::InfiniteDuration();
  std::string checkpoint;  // file; "" for none
  absl::Duration checkpoint_period = absl::Minutes(5);
  std::string fingerprint;  // of all that the result depends on: a checkpoint's must be equal
  std::function<void(absl::string_view line)> progress;
  std::function<void(const PretrainingReport&)> reported;
  // After each update; true saves and ends training at once.
  std::function<bool(int64_t update)> interrupted = {};
};

// InvalidArgument for a text shorter than a row, for rows of unknown words alone, and for a loss
// that is not a number; the checkpoint's errors; Cancelled when it was interrupted.
absl::Status Pretrain(PretrainingNetwork& network, absl::Span<const int32_t> pieces,
                      const RowEntries& entries, const PretrainSettings& settings, uint64_t seed,
                      const PretrainRun& run);

}  // namespace concur::readers

#endif  // CONCUR_READERS_PRETRAINING_PRETRAINER_H_
