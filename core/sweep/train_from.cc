// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/train_from.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"

namespace concur {
namespace {

// REQUIRES: all train_from of the sweep have valid indices.
absl::Status CheckChain(const FieldPath& path, const SweepSpec& spec, uint32_t first) {
  std::vector<uint32_t> chain = {first};
  while (spec.approaches[chain.back()].train_from) {
    const uint32_t next = spec.approaches[chain.back()].train_from->approach;
    const bool is_circle = std::find(chain.begin(), chain.end(), next) != chain.end();
    chain.push_back(next);
    const std::string names =
        absl::StrJoin(chain, " from ", [&spec](std::string* text, uint32_t approach) {
          absl::StrAppend(text, "\"", spec.approaches[approach].name, "\"");
        });
    if (is_circle) {
      return FieldError(path, absl::StrCat("expected no circle, got ", names));
    }
    if (chain.size() > kStagesMax + 1) {
      return FieldError(path, absl::StrCat("expected at most ", kStagesMax,
                                           " trainings before one, got more: ", names));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const FieldPath& path, const SweepSpec& spec, const TrainFrom& from) {
  CONCUR_RETURN_IF_ERROR(CheckIndex(path.Field("approach"), from.approach, spec.approaches.size()));
  const ApproachSpec& source = spec.approaches[from.approach];
  if (source.train_command.empty()) {
    return FieldError(path.Field("approach"),
                      absl::StrCat("expected an approach that trains, got \"", source.name, "\""));
  }
  return from.train_set
             ? CheckIndex(path.Field("train_set"), *from.train_set, spec.train_sets.size())
             : absl::OkStatus();
}

}  // namespace

absl::Status CheckTrainFrom(const SweepSpec& spec, const FieldPath& path) {
  std::vector<bool> is_source(spec.approaches.size());
  for (size_t i = 0; i < spec.approaches.size(); ++i) {
    const ApproachSpec& approach = spec.approaches[i];
    const FieldPath here = path.Field("approaches", i);
    const bool has_start = UsesPlaceholder(approach.train_command, "start");
    if (!approach.train_from) {
      if (has_start) {
        return FieldError(here.Field("train.command"),
                          "expected the field train_from beside {start}: the approach and the "
                          "benchmark whose system that is");
      }
      continue;
    }
    CONCUR_RETURN_IF_ERROR(CheckSource(here.Field("train_from"), spec, *approach.train_from));
    is_source[approach.train_from->approach] = true;
    if (!has_start) {
      return FieldError(here.Field("train_from"),
                        "expected {start} in the train command, for the system that it starts "
                        "from, got none");
    }
  }
  for (size_t i = 0; i < spec.approaches.size(); ++i) {
    const FieldPath here = path.Field("approaches", i);
    CONCUR_RETURN_IF_ERROR(CheckChain(here.Field("train_from"), spec, static_cast<uint32_t>(i)));
    if (!spec.imported && !IsEvaluated(spec.approaches[i]) &&
        !spec.approaches[i].train_command.empty() && !is_source[i]) {
      return FieldError(here.Field("predict.command"),
                        "expected the command that predicts, got none; an approach without one is "
                        "there for others to start from, and no train_from names this one");
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
