// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/examples.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/passage_groups.h"
#include "qa/score.h"

namespace concur::readers {
namespace {

// The tokens that bytes [begin, end) touch; an empty range when they touch none.
TokenRange RangeOf(const std::vector<Token>& tokens, int64_t begin, int64_t end) {
  const auto first = std::partition_point(tokens.begin(), tokens.end(),
                                          [&](const Token& token) { return token.end <= begin; });
  const auto after = std::partition_point(first, tokens.end(),
                                          [&](const Token& token) { return token.begin < end; });
  return {first - tokens.begin(), after - tokens.begin() - 1};
}

}  // namespace

absl::string_view Examples::TextOf(size_t passage, const TokenRange& range) const {
  const AnnotatedText& text = passages[passage];
  const uint32_t begin = text.tokens[static_cast<size_t>(range.first)].begin;
  const uint32_t end = text.tokens[static_cast<size_t>(range.last)].end;
  return absl::string_view(text.text).substr(begin, end - begin);
}

std::vector<TokenRange> AnswersOf(const AnnotatedText& passage, const qa::Question& question) {
  std::vector<TokenRange> ranges;
  const auto add = [&](const TokenRange& range) {
    if (range.size() > 0 && std::find(ranges.begin(), ranges.end(), range) == ranges.end()) {
      ranges.push_back(range);
    }
  };
  for (const qa::Span& span : question.spans) {
    add(RangeOf(passage.tokens, span.begin, span.end));
  }
  if (!question.spans.empty()) {
    return ranges;
  }
  for (const std::string& answer : question.answers) {
    const absl::string_view text = passage.text;
    for (size_t at = answer.empty() ? text.npos : text.find(answer); at != text.npos;
         at = text.find(answer, at + 1)) {
      const TokenRange range = RangeOf(passage.tokens, static_cast<int64_t>(at),
                                       static_cast<int64_t>(at + answer.size()));
      const bool whole = range.size() > 0 &&
                         passage.tokens[static_cast<size_t>(range.first)].begin == at &&
                         passage.tokens[static_cast<size_t>(range.last)].end == at + answer.size();
      if (whole) {
        add(range);
      }
    }
  }
  return ranges;
}

absl::StatusOr<Examples> ReadExamples(const std::string& path, Annotator& annotator) {
  Examples examples;
  qa::PassageGroups groups;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, [&](qa::Passage passage) {
    groups.Add(passage.context);
    const AnnotatedText& text =
        examples.passages.emplace_back(annotator.Annotate(std::move(passage.context)));
    for (qa::Question& question : passage.questions) {
      ExampleQuestion& example = examples.questions.emplace_back();
      example.answers = AnswersOf(text, question);
      example.id = std::move(question.id);
      example.text = annotator.Annotate(std::move(question.text));
      example.passage = examples.passages.size() - 1;
      example.gold = std::move(question.answers);
    }
    return absl::OkStatus();
  }));
  examples.groups = groups.Numbers();
  if (examples.questions.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected questions, got none"));
  }
  return examples;
}

Split HoldOut(Examples examples, int64_t nth, uint64_t seed) {
  CONCUR_CHECK(nth >= 2);
  const size_t groups =
      examples.groups.empty()
          ? 0
          : *std::max_element(examples.groups.begin(), examples.groups.end()) + size_t{1};
  const bool by_group = groups >= static_cast<size_t>(2 * nth);
  const size_t units = by_group ? groups : examples.questions.size();
  std::vector<size_t> order(units);
  for (size_t i = 0; i < units; ++i) {
    order[i] = i;
  }
  Random(seed, "held-out questions").Shuffle(order);
  std::vector<bool> held_out(units, false);
  const size_t count = std::max<size_t>(1, units / static_cast<size_t>(nth));
  for (size_t i = 0; i < count && units > 1; ++i) {
    held_out[order[i]] = true;
  }
  Split split;
  for (size_t i = 0; i < examples.questions.size(); ++i) {
    const bool out = held_out[by_group ? examples.groups[examples.questions[i].passage] : i];
    (out ? split.held_out : split.train).questions.push_back(std::move(examples.questions[i]));
  }
  split.held_out.passages = examples.passages;
  split.train.passages = std::move(examples.passages);
  return split;
}

AnswerScores ScoreAnswers(const Examples& examples, const std::vector<std::string>& answers) {
  CONCUR_CHECK(answers.size() == examples.questions.size() && !answers.empty());
  AnswerScores scores;
  for (size_t i = 0; i < answers.size(); ++i) {
    double exact = 0;
    double f1 = 0;
    for (const std::string& gold : examples.questions[i].gold) {
      exact = std::max(exact, qa::ExactMatch(answers[i], gold) ? 1.0 : 0.0);
      f1 = std::max(f1, qa::F1(answers[i], gold));
    }
    scores.exact_match += exact;
    scores.f1 += f1;
  }
  scores.exact_match *= 100.0 / static_cast<double>(answers.size());
  scores.f1 *= 100.0 / static_cast<double>(answers.size());
  return scores;
}

}  // namespace concur::readers
