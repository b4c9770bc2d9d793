// SPDX-License-Identifier: Apache-2.0
// Compares windows, labels and answers with those of the original library's two programs.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_WINDOWS_CHECK_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_WINDOWS_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/studies/readers/check/originals/comparison.h"

namespace concur::readers {

// `path` is a file such as legacy.bert-cased.L384.s128.q64.jsonl. Answers are compared where logits
// and predictions lie beside it.
absl::StatusOr<std::vector<DataCheckResult>> CheckWindowsFile(
    const std::string& path, const std::vector<std::string>& folders);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_WINDOWS_CHECK_H_
