// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "studies/approaches/feature_builder.h"
#include "studies/approaches/linear_ranker.h"

namespace concur::approaches {
namespace {

// A signed distance in tokens, coarser with distance.
uint32_t Side(int32_t distance) {
  const uint32_t size =
      distance < 0 ? static_cast<uint32_t>(-distance) : static_cast<uint32_t>(distance);
  const uint32_t step = size <= 3 ? size : size <= 6 ? 4 : size <= 12 ? 5 : 6;
  return distance < 0 ? 10 + step : step;
}

class PairFeatureBuilder : public FeatureBuilder {
 public:
  PairFeatureBuilder(const PassageText& passage, const QuestionText& question,
                     const Matching& matching, FeatureGroups& groups)
      : FeatureBuilder(passage, question, matching, 177, groups) {
    place_.resize(m_.terms.size());
    for (size_t k = 0; k < m_.terms.size(); ++k) {
      for (size_t i = 0; i < q_.tokens.size(); ++i) {
        if (q_.tokens[i].stem == m_.terms[k].stem) {
          place_[k] = Side(static_cast<int32_t>(i) - q_.blank);
          break;
        }
      }
    }
  }

 private:
  Hash StemAt(int32_t i) const { return At(i) == nullptr ? kEdge : At(i)->stem; }

  int32_t Boundary(int32_t i, int32_t step) override;
  int32_t Sentence(int32_t s) override;
  int32_t Span(const TokenSpan& span, size_t candidate) override;

  std::vector<uint32_t> place_;  // position of each term relative to the question word
};

int32_t PairFeatureBuilder::Boundary(int32_t i, int32_t step) {
  const int32_t group = out_.Begin();
  const uint32_t base = step < 0 ? 1100 : 1200;
  const Token& token = *At(i);
  const Hash side = step < 0 ? 5 : 6;
  out_.Add(base + 1, kind_, Mix(static_cast<Hash>(token.shape), StemAt(i + step)));
  out_.Add(base + 2, focus_, static_cast<Hash>(token.shape));
  out_.Add(base + 3, kind_, token.suffix);
  for (int32_t d = 1; d <= 3; ++d) {
    const Hash outer = StemAt(i + d * step);
    out_.Add(base + 10, Mix(kind_, static_cast<Hash>(d)), outer);
    out_.Add(base + 11, focus_, outer);
    out_.Add(base + 12, q_.verb, outer);
    // Pairs every word of the question with every word around the span, to learn paraphrases
    // ("located" and "in").
    for (const Matching::Term& term : m_.terms) {
      if (outer != kEdge) {
        out_.Add(base + 13, Mix(term.stem, side), outer);
      }
    }
  }
  // The question words nearest to this end, and their positions in the question.
  int32_t at = i;
  for (uint32_t n = 0; n < 2; ++n) {
    at = at < 0 || at >= p_.size() ? at
         : step < 0                ? m_.left[static_cast<size_t>(at)]
                                   : m_.right[static_cast<size_t>(at)];
    if (at < 0 || at >= p_.size()) {
      out_.Add(base + 20 + n, kind_);
      break;
    }
    const Hash place = place_[static_cast<size_t>(m_.term_of[static_cast<size_t>(at)])];
    out_.Add(base + 22 + n, Mix(kind_, place), Side(at - i));
    out_.Add(base + 24 + n, place, Side(at - i));
  }
  out_.Add(base + 26, kind_, m_.Matched(i) ? 1 : 0);
  return group;
}

int32_t PairFeatureBuilder::Sentence(int32_t s) {
  const int32_t group = out_.Begin();
  const auto index = static_cast<size_t>(s);
  const double best = *std::max_element(m_.sentences.begin(), m_.sentences.end());
  out_.Add(1001, Step(m_.sentences[index], 8), Step(best - m_.sentences[index], 8));
  out_.Add(1002, Step(best - m_.sentences[index], 20));
  out_.Add(1003, kind_, static_cast<Hash>(std::min(m_.bigrams[index], 4)));
  return group;
}

int32_t PairFeatureBuilder::Span(const TokenSpan& span, size_t) {
  const int32_t group = out_.Begin();
  const auto length = static_cast<uint32_t>(span.last - span.first + 1);
  uint32_t matched = 0;
  uint32_t upper = 0;
  uint32_t digits = 0;
  for (int32_t i = span.first; i <= span.last; ++i) {
    const Token& token = *At(i);
    out_.Add(1020, kind_, token.stem);
    matched += m_.Matched(i) ? 1 : 0;
    upper += token.shape == Shape::kTitle || token.shape == Shape::kUpper ? 1 : 0;
    digits += token.shape == Shape::kNumber || token.shape == Shape::kYear ||
                      token.shape == Shape::kNumeral || token.shape == Shape::kMonth
                  ? 1
                  : 0;
  }
  const Hash form = (upper == 0        ? 0
                     : upper == length ? 2
                                       : 1) +
                    3 * static_cast<Hash>(digits == 0        ? 0
                                          : digits == length ? 2
                                                             : 1);
  const Hash coverage = matched == 0 ? 0 : matched == length ? 2 : 1;
  out_.Add(1021, kind_, Mix(form, length));
  out_.Add(1022, focus_, form);
  out_.Add(1023, focus_, At(span.last)->stem);
  out_.Add(1024, focus_, At(span.last)->suffix);
  out_.Add(1025, Mix(kind_, coverage), std::min(length, 3U));
  out_.Add(1026, Mix(focus_, form), length);
  // The distance of each question word from the span.
  uint32_t close = 0;
  for (size_t k = 0; k < m_.terms.size() && k < 16; ++k) {
    int32_t best = 1000;
    for (const int32_t position : m_.terms[k].positions) {
      const int32_t distance = position < span.first  ? position - span.first
                               : position > span.last ? position - span.last
                                                      : 0;
      best = std::abs(distance) < std::abs(best) ? distance : best;
    }
    const Hash found = best == 1000 ? 99 : Side(best);
    out_.Add(1030, place_[k], found);
    out_.Add(1031, Mix(kind_, m_.terms[k].weight > 3 ? 1 : 0), found);
    close += best != 0 && std::abs(best) <= 8 ? 1 : 0;
  }
  const double share = m_.terms.empty() ? 0 : close / static_cast<double>(m_.terms.size());
  out_.Add(1032, Step(share, 10));
  out_.Add(1033, Step(m_.Proximity(span, 4), 15));
  out_.Add(1034, kind_, Step(m_.Proximity(span, 4), 6));
  return group;
}

}  // namespace

void PairFeatures(const PassageText& passage, const QuestionText& question,
                  const Matching& matching, const std::vector<TokenSpan>& candidates,
                  FeatureGroups& groups) {
  PairFeatureBuilder(passage, question, matching, groups).Build(candidates);
}

}  // namespace concur::approaches
