// SPDX-License-Identifier: Apache-2.0
// Base of the comparisons of tokenizers and of windows: whose tokenizer a file's name means, its
// lines, and the count of what differs.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_COMPARISON_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/text/checkpoint_tokenizer.h"

namespace concur::readers {

using OriginalJson = nlohmann::json;

struct DataCheckResult {
  std::string name;  // folder and file
  int64_t compared = 0;
  int64_t different = 0;
  std::string first_difference;

  bool ok() const { return different == 0 && compared > 0; }
};

// The tokenizer that files call "bert-uncased", "bert-cased", "roberta", "albert", or
// "albert-cased-keepaccents", from vocabularies of the usual names in one of `folders`.
absl::StatusOr<CheckpointTokenizer> TokenizerCalled(absl::string_view name,
                                                    Implementation implementation,
                                                    const std::vector<std::string>& folders);

// Calls `on_line` with each line of the file as JSON, from line 1; its errors, with the place.
absl::Status ForEachLine(
    const std::string& path,
    const std::function<absl::Status(const OriginalJson& line, int64_t number)>& on_line);

// Counts a comparison; the first unequal one is kept with `place` and values.
void CompareValues(const std::string& place, const OriginalJson& computed,
                   const OriginalJson& expected, DataCheckResult& result);

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_ORIGINALS_COMPARISON_H_
