// SPDX-License-Identifier: Apache-2.0
// A run among all others of an import, on its way to a cell.
//
// Values.
#ifndef CONCUR_QA_RESULTS_STORED_RUN_H_
#define CONCUR_QA_RESULTS_STORED_RUN_H_

#include <cstddef>
#include <functional>
#include <string>

#include "qa/results/results.h"

namespace concur::imports {

struct StoredRun {
  Run run;           // its settings moved to those below
  size_t file = 0;   // number in ImportedResults::files
  size_t order = 0;  // as they came
  // Owned by the Assembly: runs with equal settings share one object.
  const Settings* data_settings = nullptr;
  const Settings* model_settings = nullptr;
  const Settings* task_settings = nullptr;
  const Settings* not_compared = nullptr;
};

// Counts something of a run that is left out; `detail` goes behind its place, unless it is "".
using LeaveOut =
    std::function<void(const std::string& reason, const StoredRun& run, const std::string& detail)>;

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_STORED_RUN_H_
