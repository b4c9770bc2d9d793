// SPDX-License-Identifier: Apache-2.0
#include "qa/score.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/decimal.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/normalize.h"

namespace concur::qa {
namespace {

// A normalized text and its words.
struct Normalized {
  explicit Normalized(absl::string_view raw) : text(NormalizeAnswer(raw)) {}

  // Sorted on the first computation of F1.
  const std::vector<absl::string_view>& Words() {
    if (words.empty()) {
      words = NormalizedWords(text);
      std::sort(words.begin(), words.end());
    }
    return words;
  }

  std::string text;
  std::vector<absl::string_view> words;
};

// Size of the intersection of two sorted multisets.
int64_t CountShared(const std::vector<absl::string_view>& a,
                    const std::vector<absl::string_view>& b) {
  int64_t shared = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int order = a[i].compare(b[j]);
    shared += order == 0 ? 1 : 0;
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
  return shared;
}

double F1Of(Normalized& prediction, Normalized& gold) {
  const int64_t shared = CountShared(prediction.Words(), gold.Words());
  if (shared == 0) {
    return 0;
  }
  const double precision =
      static_cast<double>(shared) / static_cast<double>(prediction.words.size());
  const double recall = static_cast<double>(shared) / static_cast<double>(gold.words.size());
  return (2 * precision * recall) / (precision + recall);
}

// Without the id.
ExampleScore ScoreQuestion(const Question& question, const Predictions& predictions) {
  ExampleScore score;
  const std::optional<absl::string_view> answer = predictions.Find(question.id);
  if (!answer.has_value()) {
    score.missing = true;
    return score;
  }
  Normalized prediction(*answer);
  for (size_t i = 0; i < question.answers.size(); ++i) {
    if (i > 0 && question.answers[i] == question.answers[i - 1]) {
      continue;
    }
    Normalized gold(question.answers[i]);
    if (prediction.text == gold.text) {
      // F1 of equal texts is 1, or 0 without words; other answers cannot give more.
      score.exact_match = true;
      score.f1 = std::max(score.f1, gold.text.empty() ? 0.0 : 1.0);
      if (score.f1 == 1) {
        break;
      }
    } else if (score.f1 < 1) {
      score.f1 = std::max(score.f1, F1Of(prediction, gold));
    }
  }
  return score;
}

int64_t PredictionsWithoutQuestion(const Dataset& dataset, const Predictions& predictions) {
  auto extra = static_cast<int64_t>(predictions.size());
  for (const Passage& passage : dataset.passages) {
    for (const Question& question : passage.questions) {
      extra -= predictions.Find(question.id).has_value() ? 1 : 0;
    }
  }
  return extra;
}

ScoreReport ReportOf(std::vector<ExampleScore> examples, int64_t extra) {
  CONCUR_CHECK(!examples.empty());
  ScoreReport report;
  report.n = static_cast<int64_t>(examples.size());
  report.extra = extra;
  double f1_sum = 0;
  for (const ExampleScore& score : examples) {
    report.exact_matches += score.exact_match ? 1 : 0;
    report.missing += score.missing ? 1 : 0;
    f1_sum += score.f1;
  }
  const auto n = static_cast<double>(report.n);
  report.exact_match = 100.0 * static_cast<double>(report.exact_matches) / n;
  report.f1 = 100.0 * f1_sum / n;
  report.examples = std::move(examples);
  return report;
}

// Numbers passages and documents in the order they come.
class Places {
 public:
  void Next(const Passage& passage) {
    ++passage_;
    document_ = -1;
    if (!passage.title.empty()) {
      const auto number = static_cast<int64_t>(documents_.size());
      document_ = documents_.emplace(passage.title, number).first->second;
    }
  }
  void Mark(ExampleScore& score) const {
    score.passage = passage_;
    score.document = document_;
  }

 private:
  int64_t passage_ = -1;
  int64_t document_ = -1;
  absl::flat_hash_map<std::string, int64_t> documents_;
};

}  // namespace

bool ExactMatch(absl::string_view prediction, absl::string_view gold) {
  return NormalizeAnswer(prediction) == NormalizeAnswer(gold);
}

double F1(absl::string_view prediction, absl::string_view gold) {
  Normalized a(prediction);
  Normalized b(gold);
  return F1Of(a, b);
}

ScoreReport Score(const Dataset& dataset, const Predictions& predictions) {
  std::vector<ExampleScore> examples;
  examples.reserve(static_cast<size_t>(dataset.QuestionCount()));
  Places places;
  for (const Passage& passage : dataset.passages) {
    places.Next(passage);
    for (const Question& question : passage.questions) {
      examples.push_back(ScoreQuestion(question, predictions));
      examples.back().id = question.id;
      places.Mark(examples.back());
    }
  }
  return ReportOf(std::move(examples), PredictionsWithoutQuestion(dataset, predictions));
}

absl::StatusOr<ScoreReport> ScoreFile(const std::string& path, const Predictions& predictions) {
  std::vector<ExampleScore> examples;
  examples.reserve(predictions.size());
  int64_t found = 0;
  Places places;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](Passage passage) {
    places.Next(passage);
    for (Question& question : passage.questions) {
      examples.push_back(ScoreQuestion(question, predictions));
      examples.back().id = std::move(question.id);
      places.Mark(examples.back());
      found += examples.back().missing ? 0 : 1;
    }
    return absl::OkStatus();
  }));
  if (examples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at least one question, found none"));
  }
  return ReportOf(std::move(examples), static_cast<int64_t>(predictions.size()) - found);
}

ScoreReport ScoreWorstOfVariants(const Dataset& dataset, const Predictions& predictions) {
  struct Worst {
    size_t example = 0;
    bool original = false;  // the score is the original's own
  };
  absl::flat_hash_map<std::string, Worst> worst_of;
  std::vector<ExampleScore> examples;
  Places places;
  for (const Passage& passage : dataset.passages) {
    places.Next(passage);
    for (const Question& question : passage.questions) {
      ExampleScore score = ScoreQuestion(question, predictions);
      score.id = question.id.substr(0, question.id.find('-'));
      places.Mark(score);
      const bool original = score.id == question.id;
      const auto [it, fresh] = worst_of.emplace(score.id, Worst{examples.size(), original});
      if (fresh) {
        examples.push_back(std::move(score));
        continue;
      }
      ExampleScore& worst = examples[it->second.example];
      if (!original && (it->second.original || score.f1 < worst.f1)) {
        score.passage = worst.passage;  // variants of one passage belong together
        worst = std::move(score);
        it->second.original = false;
      }
    }
  }
  return ReportOf(std::move(examples), PredictionsWithoutQuestion(dataset, predictions));
}

std::string PerExampleJsonLines(const ScoreReport& report) {
  std::string out;
  out.reserve(report.examples.size() * 80);
  for (const ExampleScore& example : report.examples) {
    out.append("{\"id\": ");
    AppendJsonString(example.id, out);
    out.append(example.exact_match ? ", \"exact_match\": 1, \"f1\": "
                                   : ", \"exact_match\": 0, \"f1\": ");
    AppendShortestDecimal(example.f1, &out);
    if (example.passage >= 0) {
      absl::StrAppend(&out, ", \"passage\": ", example.passage);
    }
    if (example.document >= 0) {
      absl::StrAppend(&out, ", \"document\": ", example.document);
    }
    out.append("}\n");
  }
  return out;
}

}  // namespace concur::qa
