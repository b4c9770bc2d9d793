// SPDX-License-Identifier: Apache-2.0
// Compares tokenizers, windows and answers with what the originals made of texts: folders with
// lines such as bert-uncased.jsonl (strings and their pieces), or with examples.json and
// legacy.bert-uncased.L384.s128.q64.jsonl (windows of questions).
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_DATA_CHECK_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_DATA_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/studies/readers/check/originals/comparison.h"

namespace concur::readers {

// The folder's own name.
std::string FixtureName(const std::string& directory);

// The comparisons of a folder, in order of name; none when it has no such file. Vocabularies are
// looked for in `vocabularies` ("": not given), in the folder, and in "tokenizers" beside it.
// NotFound names one that is absent; InvalidArgument a damaged line or a name that says no length.
absl::StatusOr<std::vector<DataCheckResult>> CheckData(const std::string& directory,
                                                       const std::string& vocabularies);

// The same of a folder and of the folders in it.
absl::StatusOr<std::vector<DataCheckResult>> CheckDataIn(const std::string& directory,
                                                         const std::string& vocabularies);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_DATA_CHECK_H_
