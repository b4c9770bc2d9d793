// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/concurrence_check.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/concurrence/uncertainty.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "qa/builders/benchmark_check.h"

namespace concur::cli {
namespace {

// Beyond these shares of passages or questions the check warns.
constexpr double kSharedMax = 0.1;
constexpr double kRepeatedMax = 0.05;
constexpr double kAnswerableMin = 0.95;
// Panels extract answers: with fewer in the passages all of them fail alike.
constexpr double kAnswerableLeast = 0.5;

double ShareOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

absl::Status CheckCounts(const std::string& path, const qa::QuestionCounts& test) {
  const int64_t different = test.questions - test.repeated;
  if (different < analysis::kIntervalExamplesMin) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": expected at least ", analysis::kIntervalExamplesMin,
        " different test questions to rank approaches by, got ", different, "; add questions"));
  }
  if (ShareOf(test.answerable, test.questions) < kAnswerableLeast) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": expected answers that stand in their passages, as the panel extracts them, got ",
        test.answerable, " of ", test.questions,
        " questions with one; mend the passages (concur data validate lists problems)"));
  }
  return absl::OkStatus();
}

void WarnOfCounts(absl::string_view set, const qa::QuestionCounts& counts, BenchmarkCheck& check) {
  if (ShareOf(counts.repeated, counts.questions) > kRepeatedMax) {
    check.warnings.push_back(absl::StrCat(set, ": ", counts.repeated, " of ", counts.questions,
                                          " questions repeat an earlier one on the same passage"));
  }
  if (ShareOf(counts.answerable, counts.questions) < kAnswerableMin) {
    check.warnings.push_back(absl::StrCat(set, ": ", counts.questions - counts.answerable, " of ",
                                          counts.questions,
                                          " questions have no answer that stands in the passage"));
  }
}

absl::Status AddShared(absl::string_view set, const std::optional<DataFile>& file,
                       absl::string_view with, const std::optional<DataFile>& other,
                       BenchmarkCheck& check) {
  if (!file.has_value() || !other.has_value()) {
    return absl::OkStatus();
  }
  SharedText shared{std::string(set), std::string(with), {}};
  CONCUR_ASSIGN_OR_RETURN(shared.counts, qa::CountSharedPassages(file->path, other->path));
  if (ShareOf(shared.counts.shared, shared.counts.passages) > kSharedMax) {
    check.warnings.push_back(absl::StrCat(set, ": ", shared.counts.shared, " of ",
                                          shared.counts.passages, " passages share ",
                                          qa::kSharedWords, " words in a row with ", with));
  }
  check.shared.push_back(std::move(shared));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchmarkCheck> CheckNewBenchmark(const BenchmarkSpec& added,
                                                 const BenchmarkSpec* reference) {
  for (const BenchmarkSpec* benchmark : {&added, reference}) {
    if (benchmark == nullptr) {
      continue;
    }
    for (const auto& [field, file] :
         {std::pair("test", &benchmark->test), std::pair("train", &benchmark->train)}) {
      if (!file->has_value()) {
        return absl::FailedPreconditionError(
            absl::StrCat("benchmark ", benchmark->name, ": spec.", field,
                         ": expected a data set, got none: the "
                         "panel is trained and evaluated on each benchmark; add ",
                         field, ": FILE"));
      }
    }
  }
  if (reference != nullptr && added.test->digest == reference->test->digest) {
    return absl::FailedPreconditionError(
        absl::StrCat(added.test->path, ": expected other test data than that of ", reference->name,
                     ", got the same bytes; name two benchmarks"));
  }
  BenchmarkCheck check;
  if (!IsQa(added.format) || (reference != nullptr && !IsQa(reference->format))) {
    return check;
  }
  CONCUR_ASSIGN_OR_RETURN(check.test, qa::CountQuestions(added.test->path));
  CONCUR_RETURN_IF_ERROR(CheckCounts(added.test->path, check.test));
  CONCUR_ASSIGN_OR_RETURN(check.train, qa::CountQuestions(added.train->path));
  WarnOfCounts("new test", check.test, check);
  WarnOfCounts("new train", check.train, check);
  CONCUR_RETURN_IF_ERROR(AddShared("new test", added.test, "new train", added.train, check));
  if (reference == nullptr) {
    return check;
  }
  CONCUR_RETURN_IF_ERROR(
      AddShared("new test", added.test, "reference train", reference->train, check));
  CONCUR_RETURN_IF_ERROR(
      AddShared("new test", added.test, "reference test", reference->test, check));
  CONCUR_RETURN_IF_ERROR(
      AddShared("new train", added.train, "reference test", reference->test, check));
  return check;
}

}  // namespace concur::cli
