// SPDX-License-Identifier: Apache-2.0
// State that every training keeps from update to update, whatever its loop is: parameters and what
// changes them, the processor time that it took, and the checkpoint of all that.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TRAINING_TRAINING_STATE_H_
#define CONCUR_STUDIES_READERS_TRAINING_TRAINING_STATE_H_

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "studies/readers/training/loss_scale.h"
#include "studies/readers/training/optimizer.h"

namespace concur::readers {

struct CheckpointPlan {
  std::string path;  // "" for none
  std::string fingerprint;
  absl::Duration period;
};

class TrainingState {
 public:
  using Tensors = std::map<std::string, torch::Tensor>;

  // With `scaled_loss`, for half precision, gradients are those of the loss times a LossScale.
  TrainingState(const UpdateRule& rule, std::vector<Trained> trained, CheckpointPlan plan,
                bool scaled_loss = false);

  const std::vector<Trained>& trained() const { return trained_; }
  ParameterUpdates& updates() { return updates_; }
  int64_t steps() const { return updates_.steps(); }
  // Processor time of the training, that before an interruption included.
  absl::Duration Used() const;

  void ZeroGradients();
  // Adds the gradients of the loss.
  void Backward(const torch::Tensor& loss) const;
  // Clips the gradients (as ClipGradients) and updates the parameters. False when the loss was
  // scaled and gradients overflowed: nothing has changed but the scale, which is smaller, and the
  // gradients are to be computed again. InvalidArgument when it cannot be smaller.
  absl::StatusOr<bool> Update(double gradient_norm_max, double learning_rate);

  // Writes the checkpoint at once, or when its period is over: with `more` tensors, and what the
  // training adds to the JSON.
  absl::Status Save(bool at_once, absl::FunctionRef<Tensors()> more,
                    absl::FunctionRef<void(nlohmann::json&)> add);
  // Goes on from the checkpoint; false when there is none. `more` tensors are overwritten; `read`
  // gets the JSON, and says whether it makes sense: DataLoss when it does not, or when an exception
  // of nlohmann says so. Else errors as ReadCheckpoint's.
  absl::StatusOr<bool> Resume(const Tensors& more,
                              absl::FunctionRef<bool(const nlohmann::json&)> read);

  absl::Status Damaged(absl::string_view what) const;

 private:
  Tensors All(Tensors more) const;

  CheckpointPlan plan_;
  std::vector<Trained> trained_;
  ParameterUpdates updates_;
  std::optional<LossScale> scale_;
  absl::Duration started_;
  absl::Duration used_before_ = absl::ZeroDuration();
  absl::Time saved_;
};

// The error for a loss that is not a number, in "update 3".
absl::Status Diverged(double loss, absl::string_view where);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_TRAINING_STATE_H_
