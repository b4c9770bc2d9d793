// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/word_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "qa/builders/vector_lines.h"
#include "qa/builders/vector_products.h"

namespace concur::qa {
namespace {

constexpr size_t kLanes = 16;
constexpr double kScale = 16384;  // inner products of unit vectors stay below 2^29

// Accumulates the rows of a vectors file.
class VectorsParser {
 public:
  VectorsParser(const std::string& path, size_t words_max)
      : path_(path), words_max_(words_max), lines_(path) {}

  absl::Status TakeLine(absl::string_view line, int64_t number) {
    CONCUR_ASSIGN_OR_RETURN(const bool row, lines_.Take(line, number));
    if (!row) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(lines_.Parse(row_));
    const bool zero = std::all_of(row_.begin(), row_.end(), [](float x) { return x == 0; });
    if (zero || !IsAnswerable(lines_.word()) || !seen_.insert(std::string(lines_.word())).second) {
      ++dropped_;
      return absl::OkStatus();
    }
    words_.emplace_back(lines_.word());
    values_.insert(values_.end(), row_.begin(), row_.end());
    return absl::OkStatus();
  }

  bool full() const { return words_.size() == words_max_; }

  absl::StatusOr<VectorsFile> Finish() && {
    if (words_.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": expected at least two words with vectors, got ", words_.size()));
    }
    return VectorsFile{WordVectors(std::move(words_), values_, lines_.dimensions()),
                       dropped_ + lines_.skipped()};
  }

 private:
  const std::string& path_;
  size_t words_max_;
  VectorLines lines_;
  std::vector<float> row_;
  std::vector<std::string> words_;
  std::vector<float> values_;
  absl::flat_hash_set<std::string> seen_;
  int64_t dropped_ = 0;
};

}  // namespace

WordVectors::WordVectors(std::vector<std::string> words, const std::vector<float>& values,
                         size_t dimensions)
    : words_(std::move(words)), stride_((dimensions + kLanes - 1) / kLanes * kLanes) {
  CONCUR_CHECK(dimensions > 0 && dimensions <= kDimensionsMax);
  CONCUR_CHECK(values.size() == words_.size() * dimensions);
  rows_.assign(words_.size() * stride_, 0);
  for (size_t w = 0; w < words_.size(); ++w) {
    const float* const row = values.data() + w * dimensions;
    double squares = 0;
    for (size_t i = 0; i < dimensions; ++i) {
      squares += double{row[i]} * double{row[i]};
    }
    CONCUR_CHECK(squares > 0 && std::isfinite(squares));
    const double factor = kScale / std::sqrt(squares);
    for (size_t i = 0; i < dimensions; ++i) {
      // floor(x + 0.5) instead of rounding functions, whose mode is the environment's.
      rows_[w * stride_ + i] = static_cast<int16_t>(std::floor(double{row[i]} * factor + 0.5));
    }
  }
}

int32_t WordVectors::Product(size_t a, size_t b) const {
  std::array<int32_t, 1> product;
  Dots<1>(row(a), {row(b)}, stride_, product);
  return product[0];
}

bool IsAnswerable(absl::string_view word) {
  const std::string lower = absl::AsciiStrToLower(word);
  if (lower == "a" || lower == "an" || lower == "the") {
    return false;
  }
  return std::any_of(word.begin(), word.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || absl::ascii_isalnum(byte);
  });
}

absl::StatusOr<VectorsFile> ParseVectors(absl::string_view contents, const std::string& path,
                                         size_t words_max) {
  VectorsParser parser(path, words_max);
  int64_t number = 0;
  while (!contents.empty() && !parser.full()) {
    const size_t end = contents.find('\n');
    const absl::Status status = parser.TakeLine(contents.substr(0, end), ++number);
    if (!status.ok()) {
      return status;
    }
    contents.remove_prefix(end == absl::string_view::npos ? contents.size() : end + 1);
  }
  return std::move(parser).Finish();
}

}  // namespace concur::qa
