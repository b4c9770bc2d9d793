// SPDX-License-Identifier: Apache-2.0
// The sliding window of Richardson et al., "MCTest" (2013), algorithms 1 and 2, over candidate
// spans instead of given choices, in sentences chosen as by Rajpurkar et al. (2016): a candidate
// must lie in a sentence whose overlap with the question is largest.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/candidates.h"
#include "studies/approaches/math.h"

namespace concur::approaches {
namespace {

struct SlidingWindowOptions {
  int32_t tokens_max = 4;
  int32_t window_extra = 0;     // tokens added to the window beyond |question ∪ answer|
  bool best_sentences = true;   // only sentences of largest overlap
  double distance_weight = -1;  // below 0: algorithm 1, no distance
};

// Computes the scores of the candidates of one question.
class Scorer {
 public:
  Scorer(const PassageText& passage, const QuestionText& question) : passage_(passage) {
    absl::flat_hash_set<Hash> words;
    absl::flat_hash_set<Hash> content;
    for (const Token& token : question.tokens) {
      if (token.shape != Shape::kPunctuation) {
        words.insert(token.stem);
        if (!token.stop) {
          content.insert(token.stem);
        }
      }
    }
    question_size_ = static_cast<int32_t>(words.size());
    absl::flat_hash_map<Hash, int32_t> counts;
    for (const Token& token : passage.tokens) {
      ++counts[token.stem];
    }
    const auto n = static_cast<size_t>(passage.size());
    information_.resize(n);
    sums_.resize(n + 1);
    in_question_.resize(n);
    overlap_.resize(passage.sentence_starts.size() - 1);
    for (size_t i = 0; i < n; ++i) {
      const Hash stem = passage.tokens[i].stem;
      information_[i] = Log(1 + 1.0 / counts[stem]);  // inverse word count
      in_question_[i] = words.contains(stem);
      sums_[i + 1] = sums_[i] + (in_question_[i] ? information_[i] : 0);
      if (content.contains(stem)) {
        content_positions_.push_back(static_cast<int32_t>(i));
        ++overlap_[static_cast<size_t>(passage.sentence[i])];
      }
    }
  }

  // The largest information of question and answer words in a window that contains the span.
  double WindowScore(const TokenSpan& span, int32_t window_extra) const {
    double own = 0;
    int32_t fresh = 0;
    for (int32_t i = span.first; i <= span.last; ++i) {
      if (!in_question_[static_cast<size_t>(i)]) {
        own += information_[static_cast<size_t>(i)];
        ++fresh;
      }
    }
    const int32_t window =
        std::max(question_size_ + fresh + window_extra, span.last - span.first + 1);
    const int32_t n = passage_.size();
    double best = 0;
    for (int32_t begin = std::max(0, span.last + 1 - window); begin <= span.first; ++begin) {
      const int32_t end = std::min(n, begin + window);
      best = std::max(best, sums_[static_cast<size_t>(end)] - sums_[static_cast<size_t>(begin)]);
    }
    return best + own;
  }

  // The least distance between a question's content word and the span, as a share of the passage.
  double Distance(const TokenSpan& span) const {
    int32_t best = std::numeric_limits<int32_t>::max();
    for (const int32_t position : content_positions_) {
      if (position < span.first || position > span.last) {
        best = std::min(best, position < span.first ? span.first - position : position - span.last);
      }
    }
    if (best == std::numeric_limits<int32_t>::max() || passage_.size() < 2) {
      return 1;
    }
    return static_cast<double>(best) / (passage_.size() - 1);
  }

  int32_t Overlap(const TokenSpan& span) const {
    return overlap_[static_cast<size_t>(passage_.sentence[static_cast<size_t>(span.first)])];
  }
  // True if the span has no words but the question's.
  bool Repeats(const TokenSpan& span) const {
    for (int32_t i = span.first; i <= span.last; ++i) {
      if (!in_question_[static_cast<size_t>(i)]) {
        return false;
      }
    }
    return true;
  }

 private:
  const PassageText& passage_;
  int32_t question_size_ = 0;
  std::vector<double> information_;  // one value for each token
  std::vector<double> sums_;         // prefix sums of the question words' information
  std::vector<bool> in_question_;
  std::vector<int32_t> content_positions_;
  std::vector<int32_t> overlap_;  // one value for each sentence
};

class SlidingWindowModel : public Model {
 public:
  explicit SlidingWindowModel(const SlidingWindowOptions& options) : options_(options) {}

  void Save(ModelWriter& writer) const override {
    writer.Number(options_.tokens_max);
    writer.Number(options_.window_extra);
    writer.Number<uint8_t>(options_.best_sentences ? 1 : 0);
    writer.Number(options_.distance_weight);
  }

  TokenSpan Answer(const PassageText& passage, const qa::Question& question) const override {
    const Scorer scorer(passage, QuestionText(question.text));
    const std::vector<TokenSpan> candidates = Candidates(passage, options_.tokens_max);
    int32_t overlap_max = 0;
    for (const TokenSpan& span : candidates) {
      overlap_max = std::max(overlap_max, scorer.Overlap(span));
    }
    TokenSpan best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (const TokenSpan& span : candidates) {
      if (options_.best_sentences && scorer.Overlap(span) < overlap_max) {
        continue;
      }
      double score = scorer.WindowScore(span, options_.window_extra);
      if (options_.distance_weight >= 0) {
        score -= options_.distance_weight * scorer.Distance(span);
      }
      if (scorer.Repeats(span)) {
        score -= 1000;  // spans of question words only are a last resort
      }
      if (score > best_score) {
        best_score = score;
        best = span;
      }
    }
    return best;
  }

 private:
  const SlidingWindowOptions options_;
};

class SlidingWindow : public Approach {
 public:
  explicit SlidingWindow(bool with_distance) : with_distance_(with_distance) {}

  std::string name() const override {
    return with_distance_ ? "sliding-window-distance" : "sliding-window";
  }
  std::string summary() const override {
    return with_distance_
               ? "sliding window less the distance to the question's words"
               : "largest overlap of a window of the passage; learns only how long answers are";
  }
  uint32_t version() const override { return 1; }
  std::vector<ParameterSpec> parameters() const override {
    std::vector<ParameterSpec> specs = {
        SpanTokensParameter(2),
        {.name = "window_extra",
         .kind = ParameterSpec::Kind::kInteger,
         .default_value = 0,
         .low = 0,
         .high = 100,
         .help = "tokens that the window has beyond those of question and answer"},
        {.name = "sentences",
         .kind = ParameterSpec::Kind::kChoice,
         .default_value = 0,
         .choices = {"best", "all"},
         .help = "take candidates from sentences of largest overlap, or from all"}};
    if (with_distance_) {
      specs.push_back({.name = "distance_weight",
                       .kind = ParameterSpec::Kind::kReal,
                       .default_value = 20,
                       .low = 0,
                       .high = 1000,
                       .help = "weight of the distance, which is a share of the passage"});
    }
    return specs;
  }
  absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                               const Parameters& parameters,
                                               uint64_t) const override {
    SlidingWindowOptions options;
    options.tokens_max =
        LongestCandidate(data, static_cast<int32_t>(parameters.Integer("max_span_tokens")));
    options.window_extra = static_cast<int32_t>(parameters.Integer("window_extra"));
    options.best_sentences = parameters.Choice("sentences") == 0;
    options.distance_weight = with_distance_ ? parameters.Real("distance_weight") : -1;
    return std::make_unique<SlidingWindowModel>(options);
  }
  absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const override {
    SlidingWindowOptions options;
    options.tokens_max = reader.Number<int32_t>();
    options.window_extra = reader.Number<int32_t>();
    options.best_sentences = reader.Number<uint8_t>() != 0;
    options.distance_weight = reader.Number<double>();
    reader.Require(options.tokens_max >= 1 && options.tokens_max <= kSpanTokensMax &&
                   options.window_extra >= 0 && options.window_extra <= 100);
    return std::make_unique<SlidingWindowModel>(options);
  }

 private:
  const bool with_distance_;
};

}  // namespace

std::unique_ptr<Approach> MakeSlidingWindow(bool with_distance) {
  return std::make_unique<SlidingWindow>(with_distance);
}

}  // namespace concur::approaches
