// SPDX-License-Identifier: Apache-2.0
// What the comparisons of tokenizers and of windows share: whose tokenizer a file's name means, its
// lines, and places in code points.
//
// Thread-safe (stateless).
#ifndef CONCUR_READERS_ORIGINALS_ORIGINALS_OF_H_
#define CONCUR_READERS_ORIGINALS_ORIGINALS_OF_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "readers/originals/data_check.h"
#include "readers/text/checkpoint_tokenizer.h"

namespace concur::readers {

using OriginalJson = nlohmann::json;

// The tokenizer that files call "bert-uncased", "bert-cased", "roberta", "albert", or
// "albert-cased-keepaccents", from vocabularies of the usual names in one of `folders`.
absl::StatusOr<CheckpointTokenizer> TokenizerCalled(absl::string_view name,
                                                    Implementation implementation,
                                                    const std::vector<std::string>& folders);

// Calls `on_line` with each line of the file as JSON, from line 1; its errors, with the place.
absl::Status ForEachLine(
    const std::string& path,
    const std::function<absl::Status(const OriginalJson& line, int64_t number)>& on_line);

// How many code points begin before each byte of the text, and in all of it.
std::vector<uint32_t> CodePointsBefore(absl::string_view text);

// Counts a comparison; unequal ones are kept with `place` and values.
void CompareValues(const std::string& place, const OriginalJson& computed,
                   const OriginalJson& expected, DataCheckResult& result);

absl::StatusOr<DataCheckResult> CheckTokenizerFile(const std::string& path,
                                                   const std::vector<std::string>& folders);
// Windows, labels, answers, as far as their files are there.
absl::StatusOr<std::vector<DataCheckResult>> CheckWindowsFile(
    const std::string& path, const std::vector<std::string>& folders);

}  // namespace concur::readers

#endif  // CONCUR_READERS_ORIGINALS_ORIGINALS_OF_H_
