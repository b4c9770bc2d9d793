// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/word_vectors.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "qa/builders/sources.h"
#include "qa/builders/vector_lines.h"
#include "qa/builders/wordnet.h"
#include "qa/normalize.h"
#include "qa/raw_stream.h"

namespace concur::readers {

absl::StatusOr<WordVectorRows> WordVectorRows::Read(const std::string& path, int64_t width,
                                                    const absl::flat_hash_set<std::string>& forms,
                                                    VectorsCase letters) {
  WordVectorRows rows;
  rows.letters_ = letters;
  absl::flat_hash_set<std::string> wanted = forms;
  if (letters == VectorsCase::kLemma) {
    qa::SourceLog log{qa::SourcePaths()};
    CONCUR_ASSIGN_OR_RETURN(rows.lemmas_, qa::WordClasses::Load(log));
  }
  for (const std::string& form : forms) {
    for (std::string& substitute : rows.Substitutes(form)) {
      wanted.insert(std::move(substitute));
    }
  }
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
    if (!wanted.contains(lines.word()) || rows.index_.contains(lines.word())) {
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

std::vector<std::string> WordVectorRows::Substitutes(absl::string_view word) const {
  std::vector<std::string> words;
  if (letters_ != VectorsCase::kExact) {
    words.push_back(qa::LowerCase(word));
  }
  if (letters_ == VectorsCase::kLemma) {
    words.push_back(lemmas_.Lemma(words.front()));
  }
  return words;
}

absl::Span<const float> WordVectorRows::Find(absl::string_view word) const {
  auto found = index_.find(word);
  if (found == index_.end()) {
    for (const std::string& substitute : Substitutes(word)) {
      found = index_.find(substitute);
      if (found != index_.end()) {
        break;
      }
    }
  }
  return found == index_.end()
             ? absl::Span<const float>()
             : absl::MakeConstSpan(values_).subspan(found->second, static_cast<size_t>(width_));
}

}  // namespace concur::readers
