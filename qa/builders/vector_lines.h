// SPDX-License-Identifier: Apache-2.0
// The lines of a file of word vectors, in the text form of word2vec and GloVe: a word and its
// numbers, with or without a first line "ROWS DIMENSIONS". The numbers are read on request, as most
// readers want few of a large file's words.
//
// Thread-compatible.
#ifndef CONCUR_QA_BUILDERS_VECTOR_LINES_H_
#define CONCUR_QA_BUILDERS_VECTOR_LINES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::qa {

class VectorLines {
 public:
  static constexpr size_t kDimensionsMax = 4096;

  // `path` is for messages.
  explicit VectorLines(std::string path) : path_(std::move(path)) {}

  // Reads the word of a line and counts its numbers; the first row says how many a row has. False
  // for a header, a blank line, and a "word" with spaces, of which some published files have a few.
  // InvalidArgument as "PATH:LINE: …" for another count of numbers.
  absl::StatusOr<bool> Take(absl::string_view line, int64_t number);

  // The numbers of the line. InvalidArgument when one is not finite. REQUIRES: Take returned true
  // and the line still exists.
  absl::Status Parse(std::vector<float>& row) const;

  absl::string_view word() const { return fields_[0]; }
  size_t dimensions() const { return dimensions_; }
  int64_t skipped() const { return skipped_; }  // "words" with spaces

 private:
  absl::Status Wrong(absl::string_view what) const;

  std::string path_;
  int64_t number_ = 0;
  size_t dimensions_ = 0;
  int64_t skipped_ = 0;
  std::vector<absl::string_view> fields_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_VECTOR_LINES_H_
