// SPDX-License-Identifier: Apache-2.0
#include "analysis/example_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

// Every example alone unless at least two share a group.
ExampleClusters GroupedBy(const std::vector<int64_t>& groups, ExampleUnit unit) {
  ExampleClusters clusters;
  absl::flat_hash_map<int64_t, uint32_t> numbers;
  for (const int64_t group : groups) {
    clusters.of.push_back(
        numbers.emplace(group, static_cast<uint32_t>(numbers.size())).first->second);
  }
  clusters.count = numbers.size();
  clusters.unit = unit;
  return clusters;
}

}  // namespace

absl::string_view ExampleUnitName(ExampleUnit unit) {
  return unit == ExampleUnit::kDocument  ? "document"
         : unit == ExampleUnit::kPassage ? "passage"
                                         : "question";
}

absl::StatusOr<ExampleUnit> ParseExampleUnit(absl::string_view name) {
  for (const ExampleUnit unit :
       {ExampleUnit::kExample, ExampleUnit::kPassage, ExampleUnit::kDocument}) {
    if (ExampleUnitName(unit) == name) {
      return unit;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cluster: expected question, passage or document, got \"", name, "\""));
}

ExampleClusters ClustersOf(const ExamplePlaces& places, size_t examples,
                           std::optional<ExampleUnit> unit) {
  for (const ExampleUnit coarse : {ExampleUnit::kDocument, ExampleUnit::kPassage}) {
    const std::vector<int64_t>& groups =
        coarse == ExampleUnit::kDocument ? places.documents : places.passages;
    if (groups.size() != examples || unit.value_or(coarse) != coarse) {
      continue;
    }
    ExampleClusters clusters = GroupedBy(groups, coarse);
    const size_t least = unit.has_value() ? 2 : kClustersMin;
    if (clusters.count >= least && clusters.count < examples) {
      return clusters;
    }
  }
  ExampleClusters alone;
  alone.count = examples;
  return alone;
}

absl::Status Minimize(absl::Span<const std::string> patterns, ExampleRuns& runs) {
  std::vector<AxisEntry> names;
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    names.push_back({benchmark.benchmark, {}});
  }
  CONCUR_ASSIGN_OR_RETURN(ScoreTable table, ScoreTable::Create({}, std::move(names)));
  CONCUR_RETURN_IF_ERROR(table.Minimize(patterns));
  for (size_t b = 0; b < runs.benchmarks.size(); ++b) {
    if (table.sign(b) < 0) {
      runs.benchmarks[b].goal = Goal::kMinimize;
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> Orient(ExampleRuns& runs) {
  std::vector<std::string> minimized;
  for (BenchmarkRuns& benchmark : runs.benchmarks) {
    if (benchmark.goal != Goal::kMinimize) {
      continue;
    }
    minimized.push_back(benchmark.benchmark);
    for (std::vector<std::vector<double>>& approach : benchmark.runs) {
      for (std::vector<double>& run : approach) {
        std::transform(run.begin(), run.end(), run.begin(), std::negate<>());
      }
    }
  }
  return minimized;
}

std::vector<std::pair<std::string, std::string>> LeftOutOf(const ExampleRuns& runs,
                                                           const BenchmarkRuns& benchmark) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [approach, reason] : benchmark.left_out) {
    std::vector<std::string>& alike = names[reason];
    if (alike.empty()) {
      reasons.push_back(reason);
    }
    alike.push_back(runs.approaches[approach]);
  }
  std::vector<std::pair<std::string, std::string>> left_out;
  for (std::string& reason : reasons) {
    const std::vector<std::string>& alike = names[reason];
    const bool is_everyone = alike.size() > 1 && alike.size() == runs.approaches.size();
    left_out.emplace_back(is_everyone ? "all approaches" : FirstNames(alike), std::move(reason));
  }
  return left_out;
}

std::vector<ExampleTable> MeansOverRuns(const ExampleRuns& runs) {
  std::vector<ExampleTable> tables;
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    ExampleTable table;
    table.benchmark = benchmark.benchmark;
    table.metric = benchmark.metric;
    table.goal = benchmark.goal;
    table.unit = benchmark.unit;
    table.examples = benchmark.examples;
    table.places = benchmark.places;
    for (size_t a = 0; a < benchmark.runs.size(); ++a) {
      const std::vector<std::vector<double>>& of_approach = benchmark.runs[a];
      if (of_approach.empty()) {
        continue;
      }
      table.approaches.push_back(runs.approaches[a]);
      for (size_t i = 0; i < benchmark.examples; ++i) {
        double sum = 0;
        for (const std::vector<double>& run : of_approach) {
          sum += run[i];
        }
        table.values.push_back(sum / static_cast<double>(of_approach.size()));
      }
    }
    for (const auto& [who, reason] : LeftOutOf(runs, benchmark)) {
      table.left_out.push_back(absl::StrCat(who, ": ", reason));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace concur::analysis
