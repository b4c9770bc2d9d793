// SPDX-License-Identifier: Apache-2.0
// Compares the pieces of strings with those of the original library.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_TOKENIZER_CHECK_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_TOKENIZER_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/studies/readers/check/originals/comparison.h"

namespace concur::readers {

// `path` is a file such as fast-bert-cased.jsonl.
absl::StatusOr<DataCheckResult> CheckTokenizerFile(const std::string& path,
                                                   const std::vector<std::string>& folders);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_TOKENIZER_CHECK_H_
