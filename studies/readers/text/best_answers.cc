// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, data/metrics/squad_metrics.py (compute_predictions_logits,
// get_final_text) and examples/pytorch/question-answering/utils_qa.py.
#include "studies/readers/text/best_answers.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qa/normalize.h"
#include "studies/readers/text/bert_words.h"

namespace concur::readers {
namespace {

constexpr char kNoAnswer[] = "empty";

struct Candidate {
  size_t window = 0;
  int64_t first = 0, last = 0;  // positions
  float start_score = 0, end_score = 0;
  double score = 0;
};

// The positions of the largest scores. Equal ones: the first (run_squad), or the last (run_qa,
// whose order is that of a sort of numpy's, reversed).
std::vector<int64_t> BestPositions(absl::Span<const float> scores, int64_t best,
                                   Generation generation) {
  std::vector<int64_t> positions(scores.size());
  std::iota(positions.begin(), positions.end(), 0);
  const auto count = std::min(positions.size(), static_cast<size_t>(std::max<int64_t>(0, best)));
  std::partial_sort(positions.begin(), positions.begin() + static_cast<int64_t>(count),
                    positions.end(), [&](int64_t a, int64_t b) {
                      const float x = scores[static_cast<size_t>(a)];
                      const float y = scores[static_cast<size_t>(b)];
                      return x != y ? x > y : generation == Generation::kRunSquad ? a < b : a > b;
                    });
  positions.resize(count);
  return positions;
}

std::vector<Candidate> Candidates(const BestAnswersOptions& options,
                                  const std::vector<Window>& windows,
                                  absl::Span<const WindowScores> scores) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    const auto& [starts, ends] = scores[i];
    const std::vector<int64_t> lasts = BestPositions(ends, options.best, options.generation);
    for (const int64_t first : BestPositions(starts, options.best, options.generation)) {
      if (!window.InPassage(first) ||
          (options.generation == Generation::kRunSquad &&
           !window.most_context[static_cast<size_t>(first - window.passage_at)])) {
        continue;
      }
      for (const int64_t last : lasts) {
        if (!window.InPassage(last) || last < first || last - first + 1 > options.tokens_max) {
          continue;
        }
        const float start = starts[static_cast<size_t>(first)];
        const float end = ends[static_cast<size_t>(last)];
        // run_qa adds in single precision.
        const double score = options.generation == Generation::kRunSquad
                                 ? static_cast<double>(start) + static_cast<double>(end)
                                 : static_cast<double>(start + end);
        candidates.push_back({i, first, last, start, end, score});
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return candidates;
}

std::u32string CodePointsOf(absl::string_view text) {
  std::u32string code_points;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    code_points.push_back(static_cast<char32_t>(c));
  }
  return code_points;
}

std::string Utf8OfRange(const std::u32string& text, size_t first, size_t last) {
  std::string utf8;
  for (size_t i = first; i <= last && i < text.size(); ++i) {
    AppendCodePoint(static_cast<int32_t>(text[i]), utf8);
  }
  return utf8;
}

// The places of characters that are no space.
std::vector<size_t> PlacesOf(const std::u32string& text) {
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != U' ') {
      places.push_back(i);
    }
  }
  return places;
}

// Single spaces between words and none around, as " ".join(text.split()) has them.
std::string CleanSpaces(absl::string_view text) {
  std::string clean;
  bool space = false;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (qa::IsSpaceCodePoint(c)) {
      space = !clean.empty();
      continue;
    }
    if (space) {
      clean.push_back(' ');
      space = false;
    }
    AppendCodePoint(c, clean);
  }
  return clean;
}

std::string SquadText(const CheckpointTokenizer& tokenizer, const BestAnswersOptions& options,
                      const TokenizedPassage& passage, const Window& window,
                      const Candidate& candidate) {
  const auto first = static_cast<size_t>(candidate.first);
  const auto last = static_cast<size_t>(candidate.last);
  const std::string tokens = CleanSpaces(
      tokenizer.Joined(absl::MakeConstSpan(window.ids).subspan(first, last - first + 1)));
  const auto word = [&](int64_t position) {
    return passage.word_of[static_cast<size_t>(position - window.passage_at + window.first_piece)];
  };
  std::vector<absl::string_view> words;
  for (size_t i = word(candidate.first); i <= word(candidate.last); ++i) {
    const auto [begin, end] = passage.words[i];
    words.push_back(absl::string_view(passage.text).substr(begin, end - begin));
  }
  return FinalText(tokens, absl::StrJoin(words, " "), options.lower_case);
}

std::string QaText(const TokenizedPassage& passage, const Window& window,
                   const Candidate& candidate) {
  const auto piece = [&](int64_t position) -> const Piece& {
    return passage.pieces[static_cast<size_t>(position - window.passage_at + window.first_piece)];
  };
  const uint32_t begin = piece(candidate.first).begin;
  return passage.text.substr(begin, std::max(begin, piece(candidate.last).end) - begin);
}

void AddProbabilities(std::vector<BestAnswer>& answers) {
  double most = answers.front().start_score + answers.front().end_score;
  for (const BestAnswer& answer : answers) {
    most = std::max(most, answer.start_score + answer.end_score);
  }
  double sum = 0;
  for (BestAnswer& answer : answers) {
    answer.probability = std::exp(answer.start_score + answer.end_score - most);
    sum += answer.probability;
  }
  for (BestAnswer& answer : answers) {
    answer.probability /= sum;
  }
}

}  // namespace

std::string FinalText(absl::string_view tokens, absl::string_view original, bool lower_case) {
  const std::u32string whole = CodePointsOf(original);
  const std::u32string words =
      CodePointsOf(absl::StrJoin(BertWords(original, {.lower_case = lower_case}), " "));
  const std::u32string wanted = CodePointsOf(tokens);
  const size_t first = words.find(wanted);
  if (first == std::u32string::npos || wanted.empty()) {
    return std::string(original);
  }
  const std::vector<size_t> whole_places = PlacesOf(whole);
  const std::vector<size_t> word_places = PlacesOf(words);
  if (whole_places.size() != word_places.size()) {
    return std::string(original);
  }
  const auto place = [&](size_t position) -> std::optional<size_t> {
    const auto found = std::lower_bound(word_places.begin(), word_places.end(), position);
    return found == word_places.end() || *found != position
               ? std::nullopt
               : std::optional(whole_places[static_cast<size_t>(found - word_places.begin())]);
  };
  const std::optional<size_t> begin = place(first);
  const std::optional<size_t> end = place(first + wanted.size() - 1);
  return begin.has_value() && end.has_value() ? Utf8OfRange(whole, *begin, *end)
                                              : std::string(original);
}

std::vector<BestAnswer> BestAnswers(const CheckpointTokenizer& tokenizer,
                                    const BestAnswersOptions& options,
                                    const TokenizedPassage& passage,
                                    const std::vector<Window>& windows,
                                    absl::Span<const WindowScores> scores) {
  const bool squad = options.generation == Generation::kRunSquad;
  std::vector<BestAnswer> answers;
  absl::flat_hash_set<std::string> seen;
  for (const Candidate& candidate : Candidates(options, windows, scores)) {
    if (static_cast<int64_t>(answers.size()) >= options.best) {
      break;
    }
    const Window& window = windows[candidate.window];
    std::string text = squad ? SquadText(tokenizer, options, passage, window, candidate)
                             : QaText(passage, window, candidate);
    if (!squad || seen.insert(text).second) {
      answers.push_back({std::move(text), 0, static_cast<double>(candidate.start_score),
                         static_cast<double>(candidate.end_score)});
    }
  }
  if (answers.empty() || (!squad && answers.size() == 1 && answers[0].text.empty())) {
    answers.insert(answers.begin(), {kNoAnswer, 0, 0, 0});
  }
  AddProbabilities(answers);
  return answers;
}

}  // namespace concur::readers
