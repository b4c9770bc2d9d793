// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/matching.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "studies/approaches/math.h"

namespace concur::approaches {

void DocumentFrequency::Add(const PassageText& passage) {
  std::vector<uint32_t> seen;
  seen.reserve(passage.tokens.size());
  for (const Token& token : passage.tokens) {
    seen.push_back(static_cast<uint32_t>(token.stem % kCounters));
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const uint32_t counter : seen) {
    ++counts_[counter];
  }
  ++documents_;
}

double DocumentFrequency::Idf(Hash stem) const {
  return Log((documents_ + 1.0) / (counts_[stem % kCounters] + 0.5));
}

void DocumentFrequency::Save(ModelWriter& writer) const {
  writer.Number(documents_);
  writer.Numbers(counts_);
}

void DocumentFrequency::Load(ModelReader& reader) {
  documents_ = reader.Number<uint32_t>();
  counts_ = reader.Numbers<uint32_t>();
  reader.Require(counts_.size() == kCounters);
  counts_.resize(kCounters);
  for (const uint32_t count : counts_) {
    reader.Require(count <= documents_);
  }
}

Matching::Matching(const PassageText& passage, const QuestionText& question,
                   const DocumentFrequency& frequency)
    : term_of(passage.tokens.size(), -1),
      left(passage.tokens.size()),
      right(passage.tokens.size()),
      sentences(passage.sentence_starts.size() - 1),
      bigrams(passage.sentence_starts.size() - 1) {
  const auto add = [&](bool stop_words) {
    for (const Token& token : question.tokens) {
      const auto same = [&](const Term& term) { return term.stem == token.stem; };
      if (token.shape != Shape::kPunctuation && (stop_words || !token.stop) &&
          terms.size() < 1000 && std::none_of(terms.begin(), terms.end(), same)) {
        terms.push_back({token.stem, std::max(frequency.Idf(token.stem), 0.1), {}});
      }
    }
  };
  add(false);
  if (terms.empty()) {
    add(true);
  }
  for (const Term& term : terms) {
    weight_sum += term.weight;
  }
  for (size_t i = 0; i < passage.tokens.size(); ++i) {
    for (size_t k = 0; k < terms.size(); ++k) {
      if (terms[k].stem == passage.tokens[i].stem) {
        term_of[i] = static_cast<int16_t>(k);
        terms[k].positions.push_back(static_cast<int32_t>(i));
      }
    }
  }
  const int32_t n = passage.size();
  for (int32_t i = 0, last = -1; i < n; ++i) {
    left[static_cast<size_t>(i)] = last;
    last = Matched(i) ? i : last;
  }
  for (int32_t i = n - 1, next = n; i >= 0; --i) {
    right[static_cast<size_t>(i)] = next;
    next = Matched(i) ? i : next;
  }
  for (const Term& term : terms) {
    int32_t counted = -1;
    for (const int32_t position : term.positions) {
      const int32_t sentence = passage.sentence[static_cast<size_t>(position)];
      if (sentence != counted) {
        sentences[static_cast<size_t>(sentence)] += term.weight / weight_sum;
        counted = sentence;
      }
    }
  }
  for (size_t i = 0; i + 1 < passage.tokens.size(); ++i) {
    for (size_t k = 0; k + 1 < question.tokens.size(); ++k) {
      if (passage.tokens[i].stem == question.tokens[k].stem &&
          passage.tokens[i + 1].stem == question.tokens[k + 1].stem) {
        ++bigrams[static_cast<size_t>(passage.sentence[i])];
        break;
      }
    }
  }
}

double Matching::Proximity(const TokenSpan& span, double scale) const {
  double sum = 0;
  for (const Term& term : terms) {
    // Gaps to the nearest occurrence after the span and before it.
    double gap = 1e9;
    const auto after = std::upper_bound(term.positions.begin(), term.positions.end(), span.last);
    if (after != term.positions.end()) {
      gap = *after - span.last - 1;
    }
    const auto before = std::lower_bound(term.positions.begin(), term.positions.end(), span.first);
    if (before != term.positions.begin()) {
      gap = std::min<double>(gap, span.first - *(before - 1) - 1);
    }
    if (gap < 1e9) {
      sum += term.weight / (1 + gap / scale);
    }
  }
  return weight_sum > 0 ? sum / weight_sum : 0;
}

}  // namespace concur::approaches
