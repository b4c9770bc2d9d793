// SPDX-License-Identifier: Apache-2.0
// Stages: train jobs that start from a system that another approach's train job made
// (ApproachSpec::train_from; docs/design/017-training-from-a-trained-system.md).
//
// Thread-safe (stateless).
#ifndef CONCUR_CORE_SWEEP_TRAIN_FROM_H_
#define CONCUR_CORE_SWEEP_TRAIN_FROM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "core/fields.h"
#include "core/sweep/sweep.h"

namespace concur {

// Train jobs before a train job, of which each starts from the one before it.
inline constexpr uint32_t kStagesMax = 8;

// InvalidArgument, naming the field within `path`, when an approach starts from one that does not
// train, from itself by way of others, or by more than kStagesMax stages; when its train command
// has {start} without train_from, or train_from without {start}; and when an approach has no
// predict command although none starts from it. Expansion::Make asks it.
// REQUIRES: ValidateSweepSpec was OK.
absl::Status CheckTrainFrom(const SweepSpec& spec, const FieldPath& path = FieldPath());

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_TRAIN_FROM_H_
