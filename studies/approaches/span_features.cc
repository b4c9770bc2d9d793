// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "studies/approaches/feature_builder.h"
#include "studies/approaches/linear_ranker.h"

namespace concur::approaches {
namespace {

// A distance in tokens, coarser with distance.
uint32_t Gap(int32_t distance) {
  return distance <= 4    ? static_cast<uint32_t>(distance)
         : distance <= 6  ? 5
         : distance <= 9  ? 6
         : distance <= 14 ? 7
         : distance <= 24 ? 8
                          : 9;
}

class SpanFeatureBuilder : public FeatureBuilder {
 public:
  SpanFeatureBuilder(const PassageText& passage, const QuestionText& question,
                     const Matching& matching, const std::vector<TokenSpan>& candidates,
                     FeatureGroups& groups)
      : FeatureBuilder(passage, question, matching, 77, groups) {
    for (const Token& token : p_.tokens) {
      ++counts_[token.stem];
    }
    near_.reserve(candidates.size());
    wide_.reserve(candidates.size());
    for (const TokenSpan& span : candidates) {
      near_.push_back(m_.Proximity(span, 2));
      wide_.push_back(m_.Proximity(span, 12));
      near_max_ = std::max(near_max_, near_.back());
      wide_max_ = std::max(wide_max_, wide_.back());
    }
  }

 private:
  Hash WordAt(int32_t i) const { return At(i) == nullptr ? kEdge : At(i)->word; }
  Hash ShapeAt(int32_t i) const {
    return At(i) == nullptr                      ? 99
           : At(i)->shape == Shape::kPunctuation ? 100U + static_cast<uint8_t>(At(i)->first)
                                                 : static_cast<Hash>(At(i)->shape);
  }
  Hash MatchedAt(int32_t i) const { return At(i) != nullptr && m_.Matched(i) ? 1 : 0; }
  Hash BlankNeighbour(int32_t offset) const {
    const int32_t i = q_.blank + offset;
    return i >= 0 && i < static_cast<int32_t>(q_.tokens.size())
               ? q_.tokens[static_cast<size_t>(i)].stem
               : kEdge;
  }
  // Distance from token `i` to the stem `stem` going by `step`, at most 10.
  uint32_t DistanceTo(Hash stem, int32_t i, int32_t step) const {
    for (uint32_t d = 0; d < 10 && stem != 0; ++d) {
      const Token* token = At(i + static_cast<int32_t>(d) * step);
      if (token == nullptr) {
        break;
      }
      if (token->stem == stem) {
        return d;
      }
    }
    return 10;
  }

  int32_t Boundary(int32_t i, int32_t step) override;
  int32_t Sentence(int32_t s) override;
  int32_t Span(const TokenSpan& span, size_t candidate) override;

  std::vector<double> near_;  // nearness of the question's words to each candidate
  std::vector<double> wide_;  // the same, with a wider window
  double near_max_ = 0;
  double wide_max_ = 0;
  absl::flat_hash_map<Hash, int32_t> counts_;
};

int32_t SpanFeatureBuilder::Boundary(int32_t i, int32_t step) {
  const int32_t group = out_.Begin();
  const uint32_t base = step < 0 ? 100 : 200;
  const Token& token = *At(i);
  const Hash outer = WordAt(i + step);
  const Hash outer2 = WordAt(i + 2 * step);
  out_.Add(base + 1, kind_, outer);
  out_.Add(base + 2, kind_, token.word);
  out_.Add(base + 3, kind_, Mix(ShapeAt(i), ShapeAt(i + step)));
  out_.Add(base + 4, focus_, ShapeAt(i));
  out_.Add(base + 5, focus_, outer);
  out_.Add(base + 6, kind_,
           MatchedAt(i) * 8 + MatchedAt(i + step) * 4 + MatchedAt(i + 2 * step) * 2 +
               MatchedAt(i + 3 * step));
  const int32_t nearest =
      step < 0 ? m_.left[static_cast<size_t>(i)] : m_.right[static_cast<size_t>(i)];
  const bool none = nearest < 0 || nearest >= p_.size();
  const uint32_t gap = none ? 10 : Gap(std::abs(nearest - i));
  out_.Add(base + 7, kind_, gap);
  out_.Add(base + 8, Mix(kind_, ShapeAt(i + step)), gap);
  out_.Add(base + 9, outer);
  out_.Add(base + 10, kind_, Mix(outer, outer2));
  out_.Add(base + 11, kind_, token.suffix);
  out_.Add(base + 12, focus_, token.stem);
  out_.Add(base + 13, focus_, token.suffix);
  // Checks if words next to the question's blank are next to the span.
  const Hash beside = outer == kEdge ? kEdge : At(i + step)->stem;
  const bool first = beside == BlankNeighbour(step);
  const bool second =
      At(i + 2 * step) != nullptr && At(i + 2 * step)->stem == BlankNeighbour(2 * step);
  const bool crossed = beside == BlankNeighbour(-step);
  out_.Add(base + 14, kind_, (first ? 4 : 0) + (second ? 2 : 0) + (crossed ? 1 : 0));
  out_.Add(base + 15, kind_, DistanceTo(q_.verb, i + step, step));
  out_.Add(base + 16, kind_, DistanceTo(q_.focus, i + step, step));
  out_.Add(base + 17, kind_, Mix(outer, none ? kEdge : static_cast<Hash>(gap <= 2 ? gap : 3)));
  out_.Add(base + 18, Mix(kind_, outer), MatchedAt(i + 2 * step) * 2 + MatchedAt(i + 3 * step));
  return group;
}

int32_t SpanFeatureBuilder::Sentence(int32_t s) {
  const int32_t group = out_.Begin();
  const auto index = static_cast<size_t>(s);
  const double share = m_.sentences[index];
  double best = 0;
  uint32_t rank = 0;
  for (const double other : m_.sentences) {
    best = std::max(best, other);
    rank += other > share ? 1 : 0;
  }
  int32_t bigrams_best = 0;
  for (const int32_t other : m_.bigrams) {
    bigrams_best = std::max(bigrams_best, other);
  }
  out_.Add(1, Step(share, 10));
  out_.Add(2, std::min(rank, 4U));
  out_.Add(3, Step(best - share, 10), rank == 0 ? 1 : 0);
  out_.Add(4, static_cast<Hash>(std::min(m_.bigrams[index], 6)));
  out_.Add(5, static_cast<Hash>(std::min(bigrams_best - m_.bigrams[index], 6)));
  out_.Add(6, kind_,
           Hash{std::min(rank, 2U)} * 3 + static_cast<Hash>(std::min(m_.bigrams[index], 2)));
  out_.Add(7, std::min(index, size_t{6}));
  return group;
}

int32_t SpanFeatureBuilder::Span(const TokenSpan& span, size_t candidate) {
  const double near = near_[candidate];
  const double wide = wide_[candidate];
  const int32_t group = out_.Begin();
  const auto length = static_cast<uint32_t>(span.last - span.first + 1);
  Hash shapes = 0;
  Hash previous = 1000;
  Hash text = 0;
  uint32_t matched = 0;
  int32_t rarest = std::numeric_limits<int32_t>::max();
  bool has_focus = false;
  for (int32_t i = span.first; i <= span.last; ++i) {
    const Token& token = *At(i);
    const Hash shape = token.stop ? 50 : ShapeAt(i);
    if (shape != previous) {
      shapes = Mix(shapes, shape);
    }
    previous = shape;
    text = Mix(text, token.stem);
    matched += static_cast<uint32_t>(MatchedAt(i));
    has_focus = has_focus || (q_.focus != 0 && token.stem == q_.focus);
    rarest = std::min(rarest, counts_.at(token.stem));
  }
  out_.Add(20, kind_, length);
  out_.Add(21, focus_, std::min(length, 4U));
  out_.Add(22, kind_, shapes);
  out_.Add(23, focus_, shapes);
  out_.Add(24, shapes, length);
  const Hash coverage = matched == 0 ? 0 : matched == length ? 3 : 2 * matched >= length ? 2 : 1;
  out_.Add(25, kind_, coverage);
  out_.Add(26, coverage, Mix(length, has_focus ? 1 : 0));
  const auto is_name = [&](int32_t i) {
    return At(i) != nullptr && (At(i)->shape == Shape::kTitle || At(i)->shape == Shape::kUpper);
  };
  const auto is_number = [&](int32_t i) {
    return At(i) != nullptr && (At(i)->shape == Shape::kNumber || At(i)->shape == Shape::kYear ||
                                At(i)->shape == Shape::kNumeral || At(i)->shape == Shape::kMonth);
  };
  const bool name_cut = (is_name(span.first) && is_name(span.first - 1) ? 1 : 0) +
                            (is_name(span.last) && is_name(span.last + 1) ? 2 : 0) !=
                        0;
  const bool number_cut = (is_number(span.first) && is_number(span.first - 1)) ||
                          (is_number(span.last) && is_number(span.last + 1));
  const bool all_names = is_name(span.first) && is_name(span.last);
  out_.Add(27, kind_, (name_cut ? 4 : 0) + (number_cut ? 2 : 0) + (all_names ? 1 : 0));
  out_.Add(28, kind_, Mix(WordAt(span.first - 1), WordAt(span.last + 1)));
  out_.Add(29, Mix(ShapeAt(span.first - 1), ShapeAt(span.last + 1)));
  out_.Add(30, kind_, text);
  out_.Add(31, text);
  out_.Add(32, static_cast<Hash>(std::min(rarest, 5)), length == 1 ? 1 : 0);
  out_.Add(33, Step(near, 12));
  out_.Add(34, Step(wide, 12));
  out_.Add(35, Step((near_max_ - near) / std::max(near_max_, 1e-9), 12));
  out_.Add(36, Step((wide_max_ - wide) / std::max(wide_max_, 1e-9), 12));
  out_.Add(37, kind_, Step((near_max_ - near) / std::max(near_max_, 1e-9), 5));
  out_.Add(38, kind_, Step((wide_max_ - wide) / std::max(wide_max_, 1e-9), 5));
  const int32_t l = m_.left[static_cast<size_t>(span.first)];
  const int32_t r = m_.right[static_cast<size_t>(span.last)];
  const Hash left_gap = l < 0 ? 4 : static_cast<Hash>(std::min(span.first - l, 4));
  const Hash right_gap = r >= p_.size() ? 4 : static_cast<Hash>(std::min(r - span.last, 4));
  out_.Add(39, kind_, left_gap * 5 + right_gap);
  out_.Add(40, Mix(kind_, static_cast<Hash>(At(span.first)->shape)),
           Mix(left_gap * 5 + right_gap, coverage));
  return group;
}

}  // namespace

void SpanFeatures(const PassageText& passage, const QuestionText& question,
                  const Matching& matching, const std::vector<TokenSpan>& candidates,
                  FeatureGroups& groups) {
  SpanFeatureBuilder(passage, question, matching, candidates, groups).Build(candidates);
}

}  // namespace concur::approaches
