// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/training_state.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "studies/readers/machine.h"
#include "studies/readers/training/checkpoint.h"

namespace concur::readers {

TrainingState::TrainingState(const UpdateRule& rule, std::vector<Trained> trained,
                             CheckpointPlan plan, bool scaled_loss)
    : plan_(std::move(plan)),
      trained_(std::move(trained)),
      updates_(rule, trained_),
      scale_(scaled_loss ? std::make_optional<LossScale>() : std::nullopt),
      started_(ProcessorTime()),
      saved_(absl::Now()) {}

absl::Duration TrainingState::Used() const { return used_before_ + ProcessorTime() - started_; }

void TrainingState::ZeroGradients() {
  for (const Trained& parameter : trained_) {
    parameter.tensor.mutable_grad() = torch::Tensor();
  }
}

void TrainingState::Backward(const torch::Tensor& loss) const {
  (scale_.has_value() ? loss * scale_->value() : loss).backward();
}

absl::StatusOr<bool> TrainingState::Update(double gradient_norm_max, double learning_rate) {
  if (scale_.has_value()) {
    ScaleGradients(trained_, 1 / scale_->value());
  }
  const double norm = ClipGradients(trained_, gradient_norm_max);
  if (scale_.has_value() && !std::isfinite(norm)) {
    if (!scale_->Lower()) {
      return absl::InvalidArgumentError(
          absl::StrCat("update ", steps() + 1,
                       ": gradients are not finite in half precision, however small the ",
                       "loss is; choose a smaller learning_rate, another seed, or precision=full"));
    }
    return false;
  }
  updates_.Step(learning_rate);
  if (scale_.has_value()) {
    scale_->NoteFinite();
  }
  return true;
}

TrainingState::Tensors TrainingState::All(Tensors more) const {
  more.merge(updates_.State());
  for (const Trained& parameter : trained_) {
    more["weight." + parameter.name] = parameter.tensor;
  }
  return more;
}

absl::Status TrainingState::Save(bool at_once, absl::FunctionRef<Tensors()> more,
                                 absl::FunctionRef<void(nlohmann::json&)> add) {
  if (plan_.path.empty() || (!at_once && absl::Now() - saved_ < plan_.period)) {
    return absl::OkStatus();
  }
  nlohmann::json state = {{"updates", steps()}, {"seconds", absl::ToDoubleSeconds(Used())}};
  if (scale_.has_value()) {
    state["loss_scale"] = {scale_->value(), scale_->good_updates()};
  }
  add(state);
  absl::Status status = WriteCheckpoint(
      plan_.path, {All(more()), {{kFingerprint, plan_.fingerprint}, {"state", state.dump()}}});
  saved_ = absl::Now();
  return status;
}

absl::StatusOr<bool> TrainingState::Resume(const Tensors& more,
                                           absl::FunctionRef<bool(const nlohmann::json&)> read) {
  if (plan_.path.empty()) {
    return false;
  }
  auto numbers = ReadCheckpoint(plan_.path, plan_.fingerprint, All(more));
  if (absl::IsNotFound(numbers.status())) {
    return false;
  }
  CONCUR_RETURN_IF_ERROR(numbers.status());
  try {
    const nlohmann::json state = nlohmann::json::parse((*numbers)["state"]);
    updates_.SetSteps(state.at("updates").get<int64_t>());
    used_before_ = absl::Seconds(state.at("seconds").get<double>());
    if (scale_.has_value()) {
      const nlohmann::json& scale = state.at("loss_scale");
      scale_ = LossScale::From(scale.at(0).get<double>(), scale.at(1).get<int64_t>());
      if (!scale_.has_value()) {
        return Damaged("its loss_scale");
      }
    }
    if (steps() < 0 || !read(state)) {
      return Damaged("its updates");
    }
  } catch (const nlohmann::json::exception& error) {
    return Damaged(JsonReason(error.what()));
  }
  return true;
}

absl::Status TrainingState::Damaged(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(plan_.path, ": damaged: ", what));
}

absl::Status Diverged(double loss, absl::string_view where) {
  return absl::InvalidArgumentError(
      absl::StrFormat("the loss became %f in %s: training diverged; choose a smaller "
                      "learning_rate, or another seed",
                      loss, where));
}

}  // namespace concur::readers
