// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/neighbour_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "base/check.h"
#include "qa/builders/vector_products.h"

namespace concur::qa {
namespace {

constexpr size_t kQueryBlock = 4;
// Words that an approximate search compares.
constexpr size_t kCandidatesPerNeighbour = 40;
constexpr size_t kCandidatesMin = 2000;

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

}  // namespace

NeighbourTable::NeighbourTable(const WordVectors& vectors, size_t neighbours,
                               NeighbourSearch search)
    : vectors_(vectors),
      neighbours_(std::min(neighbours, vectors.size() - 1)),
      slots_(vectors.size(), kUnknown) {
  CONCUR_CHECK(neighbours_ > 0);
  if (search == NeighbourSearch::kApproximate) {
    forest_.emplace(vectors);
  }
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
  if (forest_) {
    for (const uint32_t word : unknown) {
      SearchForest(word);
    }
    return;
  }
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

void NeighbourTable::SearchForest(uint32_t query) {
  const size_t candidates = std::max(kCandidatesMin, kCandidatesPerNeighbour * neighbours_);
  Best best(neighbours_);
  for (const uint32_t word : forest_->Near(query, candidates)) {
    best.Offer(vectors_.Product(query, word), word);
  }
  slots_[query] = static_cast<uint32_t>(found_.size() / neighbours_);
  for (const Candidate& candidate : best.Sorted()) {
    found_.push_back(candidate.word);
  }
}

}  // namespace concur::qa
