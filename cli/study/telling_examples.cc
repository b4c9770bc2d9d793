// SPDX-License-Identifier: Apache-2.0
#include "cli/study/telling_examples.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/output/print.h"
#include "cli/study/example_runs.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/example_scores.h"
#include "qa/score.h"
#include "report/text.h"

namespace concur::cli {
namespace {

constexpr double kTellingDifference = 0.5;
constexpr size_t kQuestionColumns = 80;

struct Tally {
  double own = 0;
  double others = 0;
  int64_t own_runs = 0;
  int64_t other_runs = 0;
};

// By question: the scores of the approach and of all others, summed.
absl::StatusOr<std::map<std::string, Tally>> TallyQuestions(const Study& study,
                                                            const BenchmarkSpec& benchmark,
                                                            const std::string& approach) {
  const std::vector<std::string> names =
      ExampleNamesOf(study.spec, benchmark.name, benchmark.metric);
  std::map<std::string, Tally> tallies;
  for (const v1::Job& job : study.jobs) {
    const std::optional<Digest> digest = ExamplesOf(job);
    if (job.test_benchmark() != benchmark.name || !digest.has_value()) {
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(const std::string text, study.read_artifact(*digest));
    CONCUR_ASSIGN_OR_RETURN(const std::vector<qa::ExampleScore> scores,
                            qa::ParseExampleScores(text, job.id(), names));
    for (const qa::ExampleScore& score : scores) {
      Tally& tally = tallies[score.id];
      const bool is_own = job.approach() == approach;
      (is_own ? tally.own : tally.others) += score.value;
      ++(is_own ? tally.own_runs : tally.other_runs);
    }
  }
  return tallies;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TellingExamples(const Study& study,
                                                         const std::string& benchmark,
                                                         const std::string& approach, bool better,
                                                         const std::string& test,
                                                         size_t count_max) {
  const BenchmarkSpec* const spec = BenchmarkNamed(study.spec, benchmark);
  if (spec == nullptr || !IsQa(spec->format)) {
    return std::vector<std::string>();
  }
  CONCUR_ASSIGN_OR_RETURN(const auto tallies, TallyQuestions(study, *spec, approach));
  std::vector<std::tuple<double, std::string, std::string>> found;  // least first: text and id
  for (const auto& [id, tally] : tallies) {
    if (tally.own_runs == 0 || tally.other_runs == 0) {
      continue;
    }
    const double own = tally.own / static_cast<double>(tally.own_runs);
    const double others = tally.others / static_cast<double>(tally.other_runs);
    const double difference = better ? own - others : others - own;
    if (difference >= kTellingDifference) {
      found.emplace_back(
          -difference, id,
          absl::StrCat(analysis::Fixed(own, 2), ", others ", analysis::Fixed(others, 2)));
    }
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), count_max));
  std::map<std::string, std::string> questions;
  if (!found.empty()) {
    CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(test, [&](const qa::Passage& passage) {
      for (const qa::Question& question : passage.questions) {
        for (const auto& [order, id, scores] : found) {
          if (id == question.id) {
            questions[id] = LineText(question.text, kQuestionColumns);
          }
        }
      }
      return absl::OkStatus();
    }));
  }
  std::vector<std::string> examples;
  for (const auto& [order, id, scores] : found) {
    examples.push_back(
        absl::StrCat("\"", questions[id], "\" (", LineText(id, kQuestionColumns), "): ", scores));
  }
  return examples;
}

}  // namespace concur::cli
