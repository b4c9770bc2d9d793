// SPDX-License-Identifier: Apache-2.0
// The learning curves of a study, as a report shows them.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_STEP_FIGURE_H_
#define CONCUR_CLI_STUDY_STEP_FIGURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/study/open_study.h"
#include "report/figures/step_figure.h"

namespace concur::cli {

struct StepFigureOptions {
  // The reported name that is drawn; empty: that of early_stop, else the one that most curves have,
  // of several one that begins with "validation_", else the first.
  std::string metric;
  // By approach and train set.
  std::map<std::pair<std::string, std::string>, int64_t> selected;
  // True if an approach's curves on a train set are asked for, once for each pair; empty: all are.
  std::function<bool(const std::string& approach, const std::string& train_set)> is_shown;
};

// nullopt when no train job that is asked for has reported anything; only notes when all that was
// reported is left out. What jobs reported is read for the curves that a page can hold, whatever
// the size of the sweep. InvalidArgument for a metric that none of them reported.
absl::StatusOr<std::optional<analysis::StepFigure>> StepFigureOf(const OpenedStudy& opened,
                                                                 const StepFigureOptions& options);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_STEP_FIGURE_H_
