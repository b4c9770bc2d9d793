// SPDX-License-Identifier: Apache-2.0
#include "readers/training/training_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "readers/machine.h"
#include "readers/training/checkpoint.h"

namespace concur::readers {

TrainingState::TrainingState(const UpdateRule& rule, std::vector<Trained> trained,
                             CheckpointPlan plan)
    : plan_(std::move(plan)),
      trained_(std::move(trained)),
      updates_(rule, trained_),
      started_(ProcessorTime()),
      saved_(absl::Now()) {}

absl::Duration TrainingState::Used() const { return used_before_ + ProcessorTime() - started_; }

void TrainingState::ZeroGradients() {
  for (const Trained& parameter : trained_) {
    parameter.tensor.mutable_grad() = torch::Tensor();
  }
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
    if (steps() < 0 || !read(state)) {
      return Damaged("its updates");
    }
  } catch (const nlohmann::json::exception& error) {
    return Damaged(error.what());
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
