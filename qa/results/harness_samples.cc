// SPDX-License-Identifier: Apache-2.0
#include "qa/results/harness_samples.h"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/raw_stream.h"
#include "qa/results/example_means.h"
#include "qa/results/json.h"
#include "qa/results/results.h"

namespace concur::imports {

std::string FindHarnessSamples(const std::string& results_path, absl::string_view task) {
  const std::filesystem::path results(results_path);
  const std::string name = results.stem().string();
  absl::string_view time = name;
  if (!absl::ConsumePrefix(&time, "results") || absl::StrContains(task, '/')) {
    return "";
  }
  const std::string samples =
      (results.parent_path() / absl::StrCat("samples_", task, time, ".jsonl")).string();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(samples, ignored)) {
    return samples;
  }
  for (const absl::string_view suffix : qa::kPackedSuffixes) {
    if (std::string packed = absl::StrCat(samples, suffix);
        std::filesystem::is_regular_file(packed, ignored)) {
      return packed;
    }
  }
  return "";
}

absl::Status ReadHarnessSamples(const std::string& samples_path, Run& run,
                                std::vector<Skipped>& skipped) {
  const std::vector<std::string> wanted =
      absl::StrSplit(run.metrics[0].name, absl::MaxSplits(',', 1));
  const std::string filter = wanted.size() > 1 ? wanted[1] : "none";
  ExampleMeans means;
  JsonDocument document;
  CONCUR_ASSIGN_OR_RETURN(qa::LineReader lines, qa::LineReader::Open(samples_path));
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const MaybeJson sample, NextLine(lines, document));
    if (!sample.has_value()) {
      break;
    }
    const std::string of_filter = Text(Field(sample, "filter"));
    if (!of_filter.empty() && of_filter != filter) {
      continue;
    }
    const std::string id = Text(Field(sample, "doc_id"));
    if (id.empty()) {
      return WrongField(lines.place(), "doc_id", "a number", Field(sample, "doc_id"));
    }
    const MaybeJson value = Field(sample, wanted[0]);
    std::optional<double> score = Number(value);
    if (const std::optional<bool> truth = Boolean(value)) {
      score = *truth ? 1 : 0;
    }
    CONCUR_RETURN_IF_ERROR(means.Add(id, score, lines.place()));
  }
  means.Store(samples_path, run, skipped);
  return absl::OkStatus();
}

}  // namespace concur::imports
