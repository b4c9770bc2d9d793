// SPDX-License-Identifier: Apache-2.0
// Questions that set one approach apart from the others.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_TELLING_EXAMPLES_H_
#define CONCUR_CLI_STUDY_TELLING_EXAMPLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/study/study.h"

namespace concur::cli {

// Up to `count_max` questions of a benchmark on which the approach scores at least half of full
// marks more (or, unless `better`, less) than the others do on average, the widest differences
// first: `"TEXT" (ID): 1.00, others 0.10`. Their text is read from the data set `test`. Empty where
// there are no per-example scores. Errors: those of reading artifacts and the data set.
absl::StatusOr<std::vector<std::string>> TellingExamples(const Study& study,
                                                         const std::string& benchmark,
                                                         const std::string& approach, bool better,
                                                         const std::string& test, size_t count_max);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_TELLING_EXAMPLES_H_
