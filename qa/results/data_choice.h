// SPDX-License-Identifier: Apache-2.0
// The data that a column has scores on: one split and one set of subsets for all models of a task,
// those that most models have, unless others are asked for. And their one unit and goal.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_DATA_CHOICE_H_
#define CONCUR_QA_RESULTS_DATA_CHOICE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "qa/results/stored_run.h"

namespace concur::imports {

// InvalidArgument when a name that `option` asks for is none of `known`: "--split: no score has the
// split "tst"; did you mean …".
absl::Status CheckAskedFor(absl::string_view option, absl::string_view noun,
                           const std::vector<std::string>& asked,
                           const std::set<std::string>& known);

// The split of each task: the first of `asked` that it has, else the one of most models; of equals,
// test before validation, then by name. InvalidArgument as of CheckAskedFor.
absl::StatusOr<std::map<std::string, std::string>> ChooseSplits(
    const std::vector<std::string>& asked, const std::vector<StoredRun>& runs);

// Makes the score of each run that has subsets the mean over those of `asked` that its task has,
// else over the set that most models have, of equals the larger one. Runs that lack one of them,
// and subsets that a run has beyond them, are left out. InvalidArgument as of CheckAskedFor.
absl::Status ChooseSubsets(const std::vector<std::string>& asked, std::vector<StoredRun>& runs,
                           const LeaveOut& leave_out);

// The meaning of the first metric of `runs`, all of one task and metric: the goal and the scale
// that most of them state; where none states a goal, that of the metric's name. Scores of which
// some are stated in percent and some as fractions become fractions. Appends to `assumed` that
// a goal is guessed, and what runs contradict each other in. REQUIRES: a run.
MetricMeaning SettleMeaning(const std::vector<StoredRun*>& runs, std::vector<std::string>& assumed);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_DATA_CHOICE_H_
