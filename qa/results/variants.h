// SPDX-License-Identifier: Apache-2.0
// The identity of a run: two runs of a model on a task are repetitions of each other, and so seeds
// of one cell, when all their settings are equal. Otherwise they are variants, which the policy
// tells apart by name, or of which it counts one, or which it refuses.
//
// - Data settings (examples shown, limit, version, arguments of the task) make benchmarks: they
//   count wherever two runs of a task differ, also of different models.
// - Model settings, then task settings, count where two runs of one model on one task differ.
//   Models are usually compared each with its own template and precision.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_VARIANTS_H_
#define CONCUR_QA_RESULTS_VARIANTS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/results/imported.h"
#include "qa/results/stored_run.h"

namespace concur::imports {

// The name of the data setting that is always part of a benchmark's name: a run on the first
// examples only is no full run, even where no other is there.
inline constexpr absl::string_view kLimitSetting = "limit";
// The same of a model: an experiment with it is not the model as it is.
inline constexpr absl::string_view kExperimentSetting = "experiment";
// Fields of a table's row that tell it from others of its model; names have its value alone.
inline constexpr absl::string_view kRowSetting = "row";

// By data settings: names of tasks become "TASK (5-shot, version 2)", in the fewest settings that
// tell them apart. Variants::kFirst keeps, for each task, the variant that most models have; of
// equals one without a limit, then the one with the fewest settings.
// InvalidArgument by Variants::kRefuse, naming two runs and a setting in which they differ.
absl::Status SeparateBenchmarks(Variants variants, const std::vector<ImportedFile>& files,
                                std::vector<StoredRun>& runs, const LeaveOut& leave_out);

// The same by the settings of models, then of tasks. Variants::kFirst keeps in each cell the
// variant that the model has on most tasks (that the task has of most models).
absl::Status SeparateVariants(Variants variants, const std::vector<ImportedFile>& files,
                              std::vector<StoredRun>& runs, const LeaveOut& leave_out);

// Few of `keys` that suffice: one, where one alone does; else none of them can be left out.
template <typename Key, typename Suffice>
std::vector<Key> FewestOf(std::vector<Key> keys, const Suffice& suffice) {
  for (const Key& key : keys) {
    if (suffice(std::vector<Key>{key})) {
      return {key};
    }
  }
  for (size_t i = keys.size(); i-- > 0;) {
    std::vector<Key> fewer = keys;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (suffice(fewer)) {
      keys = std::move(fewer);
    }
  }
  return keys;
}

bool AreRepetitions(const StoredRun& a, const StoredRun& b);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_VARIANTS_H_
