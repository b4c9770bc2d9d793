// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/comparison/parts.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "core/job.h"

namespace concur {
namespace {

analysis::Select SelectOf(Selection selection) {
  switch (selection) {
    case Selection::kBest:
      return analysis::Select::kBest;
    case Selection::kDefault:
      return analysis::Select::kDefault;
    case Selection::kMean:
      return analysis::Select::kMean;
    case Selection::kEach:
      return analysis::Select::kEach;
    case Selection::kBestOnTest:
      return analysis::Select::kBestOnTest;
  }
  return analysis::Select::kBest;
}

// State as which a table counts the score; nullopt on a benchmark that is not scored by the metric.
std::optional<analysis::CellState> CellStateOf(const JobScore& score) {
  switch (score.state) {
    case JobState::kSucceeded:
      return score.value.has_value() ? std::optional(analysis::CellState::kValue) : std::nullopt;
    case JobState::kFailed:
    case JobState::kSkipped:
      return analysis::CellState::kFailed;
    case JobState::kCanceled:
      return analysis::CellState::kMissing;
    case JobState::kStopped:
      return analysis::CellState::kStopped;
    default:
      return analysis::CellState::kPending;
  }
}

// InvalidArgument for a metric that no job reported, though some have succeeded or no benchmark
// names it: it is misspelt.
absl::Status CheckMetric(const SweepSpec& spec, const std::vector<JobScore>& scores) {
  bool succeeded = false;
  for (const JobScore& score : scores) {
    if (score.value.has_value() || !score.parts.empty()) {
      return absl::OkStatus();
    }
    succeeded = succeeded || score.state == JobState::kSucceeded;
  }
  std::set<std::string> known;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    if (!benchmark.metric.empty()) {  // a benchmark to be trained on alone has none
      known.insert(benchmark.metric);
    }
    if (benchmark.format == DataFormat::kQa) {
      known.insert({"exact_match", "f1"});
    }
  }
  const auto unknown = std::find_if(scores.begin(), scores.end(), [&](const JobScore& score) {
    return succeeded ? score.state == JobState::kSucceeded : known.count(score.metric) == 0;
  });
  if (unknown == scores.end()) {
    return absl::OkStatus();
  }
  const std::vector<std::string> names(known.begin(), known.end());
  return absl::InvalidArgumentError(absl::StrCat(
      "metric: no job ", succeeded ? "reported \"" : "has reported \"", unknown->metric,
      succeeded ? "\"" : "\" yet", DidYouMean(unknown->metric, names), "; the benchmarks name ",
      absl::StrJoin(names, ", "), ", and concur job get JOB shows all that a job reported"));
}

// The parts of benchmarks that are divided into them.
using Divided = std::map<std::string, std::set<std::string>>;

// True if `columns` have the benchmark, as "NAME" or "TRAIN → NAME".
bool AsksForWhole(const std::vector<std::string>& columns, const std::string& benchmark) {
  return std::any_of(columns.begin(), columns.end(), [&](const std::string& column) {
    return column == benchmark || absl::EndsWith(column, absl::StrCat(" → ", benchmark));
  });
}

// Adds the parts to the options' benchmarks.
absl::StatusOr<Divided> Divide(const SweepSpec& spec, const std::vector<JobScore>& scores,
                               const SweepTableOptions& asked,
                               analysis::SelectionOptions& options) {
  Divided divided;
  if (!asked.divide) {
    return divided;
  }
  std::map<std::string, double> most;  // scores
  std::map<std::string, size_t> jobs;
  for (const JobScore& score : scores) {
    ++jobs[score.test_benchmark];
    for (const Metric& part : score.parts) {
      divided[score.test_benchmark].insert(part.part);
      double& high = most[score.test_benchmark];
      high = std::max(high, part.value);
    }
  }
  size_t cells = 0;
  for (size_t b = 0; b < spec.benchmarks.size(); ++b) {
    const std::string& name = spec.benchmarks[b].name;
    if (spec.benchmarks[b].validation_of || AsksForWhole(asked.columns, name)) {
      divided.erase(name);
    }
    const auto parts = divided.find(name);
    if (parts == divided.end()) {
      continue;
    }
    cells += jobs[name] * parts->second.size();
    for (const std::string& part : parts->second) {
      analysis::AxisEntry entry = options.benchmarks[b];
      entry.name = analysis::PartColumn(name, part);
      entry.tags[analysis::kPartTag] = name;
      // A hard part in percent may have no score above 1.
      if (MetricMeaning& meaning = entry.metric; meaning.scale.kind == Scale::Kind::kUnstated &&
                                                 meaning.goal == Goal::kMaximize &&
                                                 most[name] > 1 && most[name] <= 100) {
        meaning.scale.kind = Scale::Kind::kPercent;
      }
      options.part_of[options.benchmarks.size()] = b;
      options.benchmarks.push_back(std::move(entry));
    }
    if (cells > kPartCellsMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a table has at most ", kPartCellsMax, " scores of parts: ", name, " has ",
                       parts->second.size(), " parts and ", jobs[name], " jobs; --columns ", name,
                       " takes the whole benchmark's scores instead"));
    }
  }
  return divided;
}

// One for each part: missing where a job that succeeded has no score of it. `record` names the
// job's approach, train set, setting and seed.
void AddPartRecords(const JobScore& score, const std::set<std::string>& parts,
                    analysis::CellState state, const analysis::ScoreRecord& record,
                    std::vector<analysis::ScoreRecord>& records) {
  std::map<absl::string_view, const Metric*> found;
  for (const Metric& metric : score.parts) {
    found[metric.part] = &metric;
  }
  for (const std::string& part : parts) {
    analysis::ScoreRecord& one = records.emplace_back(record);
    one.test = analysis::PartColumn(score.test_benchmark, part);
    const auto metric = found.find(part);
    one.state = state == analysis::CellState::kValue ? analysis::CellState::kMissing : state;
    if (score.state == JobState::kSucceeded && metric != found.end()) {
      one.state = analysis::CellState::kValue;
      one.value = metric->second->value;
      one.examples = metric->second->examples;
    }
  }
}

}  // namespace

analysis::SelectionOptions SelectionOptionsOf(const SweepSpec& spec) {
  analysis::SelectionOptions options;
  options.select = SelectOf(spec.select);
  for (const ApproachSpec& approach : spec.approaches) {
    if (IsEvaluated(approach)) {
      options.approaches.push_back({approach.name, approach.tags});
    }
  }
  std::set<std::string> names;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    options.benchmarks.push_back(
        {benchmark.name, benchmark.tags, MeaningOf(spec, benchmark, benchmark.metric)});
    names.insert(benchmark.name);
  }
  for (size_t b = 0; b < spec.benchmarks.size(); ++b) {
    if (spec.benchmarks[b].validation_of) {
      options.validation_of[b] = *spec.benchmarks[b].validation_of;
    }
  }
  for (const TrainSet& train_set : spec.train_sets) {
    if (names.insert(train_set.name).second) {
      std::vector<size_t>& parts = options.parts[options.benchmarks.size()];
      for (const TrainSet::Part& part : train_set.parts) {
        parts.push_back(part.benchmark);
      }
      options.benchmarks.push_back({train_set.name, train_set.tags});
    }
  }
  return options;
}

absl::StatusOr<analysis::ScoreTable> SweepTable(const SweepSpec& spec,
                                                const std::vector<JobScore>& scores,
                                                const SweepTableOptions& asked) {
  analysis::SelectionOptions options = SelectionOptionsOf(spec);
  options.layout = asked.layout;
  options.minimize = asked.minimize;
  options.show_validation = asked.show_validation;
  if (!asked.select.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.select, analysis::ParseSelect(asked.select));
  }
  CONCUR_RETURN_IF_ERROR(CheckMetric(spec, scores));
  // The scores may be of another metric than the benchmark's own.
  std::map<std::string, std::string> metrics;
  std::set<std::string> untrained;
  for (const JobScore& score : scores) {
    metrics[score.test_benchmark] = score.metric;
    if (score.train_set.empty()) {
      untrained.insert(score.approach);
    }
  }
  for (size_t a = 0; a < options.approaches.size(); ++a) {
    if (untrained.count(options.approaches[a].name) > 0) {
      options.untrained.insert(a);
    }
  }
  for (size_t b = 0; b < spec.benchmarks.size(); ++b) {
    if (const auto metric = metrics.find(spec.benchmarks[b].name); metric != metrics.end()) {
      options.benchmarks[b].metric = MeaningOf(spec, spec.benchmarks[b], metric->second);
    }
  }
  // An approach that needs no training counts as trained on what it is validated for.
  std::map<std::string, std::string> owners;
  for (const auto& [validation, owner] : options.validation_of) {
    owners[spec.benchmarks[validation].name] = spec.benchmarks[owner].name;
  }
  CONCUR_ASSIGN_OR_RETURN(const Divided divided, Divide(spec, scores, asked, options));
  std::vector<analysis::ScoreRecord> records;
  records.reserve(scores.size());
  for (const JobScore& score : scores) {
    const std::optional<analysis::CellState> state = CellStateOf(score);
    const auto parts = divided.find(score.test_benchmark);
    if (!state.has_value() && parts == divided.end()) {
      continue;
    }
    analysis::ScoreRecord record;
    record.approach = score.approach;
    record.train = score.TrainedOn();
    if (const auto owner = owners.find(record.train); owner != owners.end()) {
      record.train = owner->second;
    }
    record.setting = score.setting;
    record.seed = score.seed;
    if (parts != divided.end()) {
      AddPartRecords(score, parts->second, state.value_or(analysis::CellState::kMissing), record,
                     records);
    }
    record.test = score.test_benchmark;
    record.value = score.value.value_or(0);
    record.examples = score.examples;
    if (state.has_value()) {
      record.state = *state;
      records.push_back(std::move(record));
    }
  }
  return analysis::BuildScoreTable(records, options);
}

}  // namespace concur
