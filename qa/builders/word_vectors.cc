// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/word_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "qa/builders/vector_lines.h"

namespace concur::qa {
namespace {

constexpr size_t kLanes = 16;
constexpr double kScale = 16384;  // inner products of unit vectors stay below 2^29
constexpr size_t kQueryBlock = 4;

// Inner products of one row with kQueryBlock queries. `stride` is a multiple of kLanes.
void Dots(const int16_t* row, const std::array<const int16_t*, kQueryBlock>& queries, size_t stride,
          std::array<int32_t, kQueryBlock>& out) {
#if defined(__SSE2__)
  __m128i sums[kQueryBlock];
  for (auto& sum : sums) {
    sum = _mm_setzero_si128();
  }
  for (size_t i = 0; i < stride; i += 8) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
    for (size_t q = 0; q < kQueryBlock; ++q) {
      const __m128i query = _mm_loadu_si128(reinterpret_cast<const __m128i*>(queries[q] + i));
      sums[q] = _mm_add_epi32(sums[q], _mm_madd_epi16(values, query));
    }
  }
  for (size_t q = 0; q < kQueryBlock; ++q) {
    __m128i sum = sums[q];
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
    out[q] = _mm_cvtsi128_si32(sum);
  }
#else
  for (size_t q = 0; q < kQueryBlock; ++q) {
    int32_t sum = 0;
    for (size_t i = 0; i < stride; ++i) {
      sum += int32_t{row[i]} * int32_t{queries[q][i]};
    }
    out[q] = sum;
  }
#endif
}

struct Candidate {
  int32_t product = 0;
  uint32_t word = 0;

  // Nearer first.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.product != b.product ? a.product > b.product : a.word < b.word;
  }
};

// The best `count` of the candidates offered, in increasing word order, so far.
class Best {
 public:
  explicit Best(size_t count) : count_(count) { kept_.reserve(2 * count); }

  void Offer(int32_t product, uint32_t word) {
    // A later word loses ties, so that equality with the threshold cannot enter.
    if (product <= threshold_) {
      return;
    }
    kept_.push_back(Candidate{product, word});
    if (kept_.size() == 2 * count_) {
      Cut();
      threshold_ = kept_[count_ - 1].product;
    }
  }

  const std::vector<Candidate>& Sorted() {
    std::sort(kept_.begin(), kept_.end());
    kept_.resize(std::min(kept_.size(), count_));
    return kept_;
  }

 private:
  void Cut() {
    const auto last = kept_.begin() + static_cast<int64_t>(count_) - 1;
    std::nth_element(kept_.begin(), last, kept_.end());
    kept_.resize(count_);
  }

  size_t count_;
  int32_t threshold_ = std::numeric_limits<int32_t>::min();
  std::vector<Candidate> kept_;
};

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

NeighbourTable::NeighbourTable(const WordVectors& vectors, size_t neighbours)
    : vectors_(vectors),
      neighbours_(std::min(neighbours, vectors.size() - 1)),
      slots_(vectors.size(), kUnknown) {
  CONCUR_CHECK(neighbours_ > 0);
}

absl::Span<const uint32_t> NeighbourTable::Of(uint32_t word) const {
  CONCUR_CHECK(slots_[word] != kUnknown);
  return {found_.data() + size_t{slots_[word]} * neighbours_, neighbours_};
}

void NeighbourTable::Fill(const std::vector<uint32_t>& words) {
  std::vector<uint32_t> unknown;
  for (const uint32_t word : words) {
    if (slots_[word] == kUnknown) {
      unknown.push_back(word);
    }
  }
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  for (size_t i = 0; i < unknown.size(); i += kQueryBlock) {
    Search(unknown.data() + i, std::min(kQueryBlock, unknown.size() - i));
  }
}

void NeighbourTable::Search(const uint32_t* queries, size_t count) {
  std::array<const int16_t*, kQueryBlock> rows;
  std::vector<Best> best(count, Best(neighbours_));
  for (size_t q = 0; q < kQueryBlock; ++q) {
    rows[q] = vectors_.row(queries[std::min(q, count - 1)]);
  }
  std::array<int32_t, kQueryBlock> products;
  for (size_t word = 0; word < vectors_.size(); ++word) {
    Dots(vectors_.row(word), rows, vectors_.stride(), products);
    for (size_t q = 0; q < count; ++q) {
      if (word != queries[q]) {
        best[q].Offer(products[q], static_cast<uint32_t>(word));
      }
    }
  }
  for (size_t q = 0; q < count; ++q) {
    slots_[queries[q]] = static_cast<uint32_t>(found_.size() / neighbours_);
    for (const Candidate& candidate : best[q].Sorted()) {
      found_.push_back(candidate.word);
    }
  }
}

}  // namespace concur::qa
