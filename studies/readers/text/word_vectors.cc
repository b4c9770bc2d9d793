// SPDX-License-Identifier: Apache-2.0
#include "readers/text/word_vectors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "qa/builders/vector_lines.h"
#include "qa/raw_stream.h"

namespace concur::readers {

absl::StatusOr<WordVectorRows> WordVectorRows::Read(
    const std::string& path, int64_t width,
    const std::function<bool(absl::string_view word)>& wanted) {
  WordVectorRows rows;
  qa::VectorLines lines(path);
  std::vector<float> row;
  const auto take = [&](const qa::LineReader& line) -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const bool has_word, lines.Take(line.line(), line.number()));
    if (!has_word) {
      return absl::OkStatus();
    }
    if (width != 0 && static_cast<int64_t>(lines.dimensions()) != width) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": vectors of ", lines.dimensions(),
                                                     " numbers, expected ", width,
                                                     "; give a file of that width"));
    }
    if (!wanted(lines.word()) || rows.index_.contains(lines.word())) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(lines.Parse(row));
    rows.index_.emplace(lines.word(), rows.values_.size());
    rows.values_.insert(rows.values_.end(), row.begin(), row.end());
    return absl::OkStatus();
  };
  CONCUR_RETURN_IF_ERROR(qa::ForEachTextLine(path, take));
  rows.width_ = static_cast<int64_t>(lines.dimensions());
  return rows;
}

std::vector<std::string> WordVectorRows::Words() const {
  std::vector<std::string> words;
  for (const auto& [word, row] : index_) {
    words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  return words;
}

absl::Span<const float> WordVectorRows::Find(absl::string_view word) const {
  const auto found = index_.find(word);
  return found == index_.end()
             ? absl::Span<const float>()
             : absl::MakeConstSpan(values_).subspan(found->second, static_cast<size_t>(width_));
}

}  // namespace concur::readers
