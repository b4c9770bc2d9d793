#include "cli/study.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/bundle.h"
#include "qa/example_scores.h"

namespace concur::cli {
namespace {

using analysis::CellState;

analysis::AxisEntry Axis(const std::string& name,
                         const google::protobuf::Map<std::string, std::string>& tags) {
  return {name, {tags.begin(), tags.end()}};
}

analysis::Select SelectOf(v1::SweepSpec::Selection selection) {
  switch (selection) {
    case v1::SweepSpec::SELECTION_DEFAULT:
      return analysis::Select::kDefault;
    case v1::SweepSpec::SELECTION_MEAN:
      return analysis::Select::kMean;
    case v1::SweepSpec::SELECTION_EACH:
      return analysis::Select::kEach;
    default:
      return analysis::Select::kBest;
  }
}

// An approach that needs no training counts as trained on what it is tested on.
const std::string& TrainOf(const v1::Job& job) {
  return job.train_set().empty() ? job.test_benchmark() : job.train_set();
}

const v1::Metric* FindMetric(const v1::Job& job, absl::string_view name) {
  for (const v1::Metric& metric : job.result().metrics()) {
    if (metric.name() == name) {
      return &metric;
    }
  }
  return nullptr;
}

// The metric of each benchmark, by its name.
std::map<std::string, std::string> MetricsOf(const v1::SweepSpec& spec, const std::string& metric) {
  std::map<std::string, std::string> metrics;
  for (const v1::Benchmark& benchmark : spec.benchmarks()) {
    metrics[benchmark.name()] = metric.empty() ? benchmark.metric() : metric;
  }
  return metrics;
}

size_t IndexOf(const std::vector<analysis::AxisEntry>& entries, const std::string& name) {
  return static_cast<size_t>(
      std::find_if(entries.begin(), entries.end(),
                   [&](const analysis::AxisEntry& entry) { return entry.name == name; }) -
      entries.begin());
}

// The eval jobs behind each cell of a table with train sets in columns.
class CellJobs {
 public:
  CellJobs(const Study& study, const analysis::ScoreTable& table) : table_(table) {
    for (const v1::Job& job : study.jobs) {
      if (job.kind() != v1::Job::KIND_EVAL || job.state() != v1::Job::STATE_SUCCEEDED) {
        continue;
      }
      const size_t column = ColumnOf(job);
      for (const std::string& name :
           {job.approach(), absl::StrCat(job.approach(), " #", job.setting_index())}) {
        const size_t row = IndexOf(table_.approaches(), name);
        if (row < table_.approaches().size() && column < table_.benchmarks().size()) {
          const int64_t chosen = table_.cell(row, column).setting;
          if (chosen < 0 || chosen == job.setting_index()) {
            jobs_[{row, column}].push_back(&job);
          }
        }
      }
    }
  }

  const std::vector<const v1::Job*>& Of(size_t row, size_t column) { return jobs_[{row, column}]; }

 private:
  // As BuildScoreTable names its columns.
  size_t ColumnOf(const v1::Job& job) const {
    if (TrainOf(job) != job.test_benchmark()) {
      const size_t column =
          IndexOf(table_.benchmarks(), absl::StrCat(TrainOf(job), " → ", job.test_benchmark()));
      if (column < table_.benchmarks().size()) {
        return column;
      }
    }
    return IndexOf(table_.benchmarks(), job.test_benchmark());
  }

  const analysis::ScoreTable& table_;
  std::map<std::pair<size_t, size_t>, std::vector<const v1::Job*>> jobs_;
};

// The per-example scores of one cell; the reason where it has none.
absl::StatusOr<NamedExamples> ReadCell(const Study& study, const std::string& approach,
                                       const std::vector<const v1::Job*>& jobs) {
  NamedExamples cell;
  cell.approach = approach;
  for (const v1::Job* job : jobs) {
    const std::optional<Digest> digest = ExamplesOf(*job);
    if (!digest.has_value()) {
      return absl::NotFoundError(absl::StrCat(job->id(), " has no per-example scores"));
    }
    const absl::StatusOr<std::string> text = study.read_artifact(*digest);
    if (absl::IsNotFound(text.status())) {
      return absl::NotFoundError(
          absl::StrCat("the per-example scores of ", job->id(), " are not kept any more"));
    }
    CONCUR_RETURN_IF_ERROR(text.status());
    CONCUR_ASSIGN_OR_RETURN(
        std::vector<qa::ExampleScore> examples,
        qa::ParseExampleScores(*text, absl::StrCat("per-example scores of ", job->id())));
    cell.runs.push_back(std::move(examples));
  }
  if (cell.runs.empty()) {
    return absl::NotFoundError("no score");
  }
  return cell;
}

// Adds `values` of one run, in the order of `positions`, to `sums`.
absl::Status AddRun(const NamedExamples& approach, const std::vector<qa::ExampleScore>& run,
                    const std::vector<qa::ExampleScore>& reference,
                    const absl::flat_hash_map<absl::string_view, size_t>& positions,
                    bool exact_match, absl::string_view benchmark, double* sums) {
  if (run.size() != reference.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        benchmark, ": ", approach.approach, " has ", run.size(), " examples where others have ",
        reference.size(), "; compare approaches on one and the same test set"));
  }
  for (size_t i = 0; i < run.size(); ++i) {
    size_t at = i;
    if (run[i].id != reference[i].id) {
      const auto found = positions.find(run[i].id);
      if (found == positions.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(benchmark, ": ", approach.approach, " has the example \"", run[i].id,
                         "\", which others lack; compare approaches on one and the same test set"));
      }
      at = found->second;
    }
    sums[at] += exact_match ? (run[i].exact_match ? 1.0 : 0.0) : run[i].f1;
  }
  return absl::OkStatus();
}

absl::Status CheckExampleMetric(absl::string_view benchmark, absl::string_view metric) {
  if (metric != "exact_match" && metric != "f1") {
    return absl::InvalidArgumentError(absl::StrCat(
        benchmark, ": per-example scores have exact_match and f1, not \"", metric, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Study::Name() const { return absl::StrCat(sweep.id(), " ", sweep.name()); }

absl::StatusOr<Study> FetchStudy(Client& client, const std::string& sweep) {
  Study study;
  CONCUR_ASSIGN_OR_RETURN(study.sweep, client.GetSweep(sweep, /*include_spec=*/true));
  v1::ListJobsRequest request;
  // By id from here on: a newer sweep may take the name meanwhile.
  request.set_sweep(study.sweep.id());
  CONCUR_ASSIGN_OR_RETURN(study.jobs, client.ListJobs(request, 0));
  study.read_artifact = [&client](const Digest& digest) {
    constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
    return client.DownloadArtifact(digest, kExamplesBytesMax);
  };
  return study;
}

absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name) {
  OpenedStudy opened;
  if (IsBundlePath(name)) {
    CONCUR_ASSIGN_OR_RETURN(opened.study, LoadBundle(name));
    return opened;
  }
  CONCUR_ASSIGN_OR_RETURN(opened.client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(opened.study, FetchStudy(*opened.client, name));
  return opened;
}

analysis::SelectionOptions SelectionOptionsOf(const v1::SweepSpec& spec) {
  analysis::SelectionOptions options;
  options.select = SelectOf(spec.select());
  for (const v1::Approach& approach : spec.approaches()) {
    options.approaches.push_back(Axis(approach.name(), approach.tags()));
  }
  std::set<std::string> names;
  for (const v1::Benchmark& benchmark : spec.benchmarks()) {
    options.benchmarks.push_back(Axis(benchmark.name(), benchmark.tags()));
    names.insert(benchmark.name());
  }
  for (const v1::TrainSet& train_set : spec.train_sets()) {
    if (names.insert(train_set.name()).second) {
      options.benchmarks.push_back(Axis(train_set.name(), train_set.tags()));
    }
  }
  return options;
}

std::optional<CellState> CellStateOf(v1::Job::State state, bool has_value) {
  switch (state) {
    case v1::Job::STATE_SUCCEEDED:
      return has_value ? std::optional(CellState::kValue) : std::nullopt;
    case v1::Job::STATE_FAILED:
    case v1::Job::STATE_SKIPPED:
      return CellState::kFailed;
    case v1::Job::STATE_CANCELED:
      return std::nullopt;
    default:
      return CellState::kPending;
  }
}

std::vector<analysis::ScoreRecord> ScoreRecordsOf(const Study& study, const std::string& metric) {
  const std::map<std::string, std::string> metrics = MetricsOf(study.sweep.spec(), metric);
  std::vector<analysis::ScoreRecord> records;
  for (const v1::Job& job : study.jobs) {
    if (job.kind() != v1::Job::KIND_EVAL) {
      continue;
    }
    const auto wanted = metrics.find(job.test_benchmark());
    const v1::Metric* found = job.state() == v1::Job::STATE_SUCCEEDED && wanted != metrics.end()
                                  ? FindMetric(job, wanted->second)
                                  : nullptr;
    const std::optional<CellState> state = CellStateOf(job.state(), found != nullptr);
    if (!state.has_value()) {
      continue;
    }
    analysis::ScoreRecord record;
    record.approach = job.approach();
    record.train = TrainOf(job);
    record.setting = job.setting_index();
    record.seed = job.seed();
    record.test = job.test_benchmark();
    record.state = *state;
    if (found != nullptr) {
      record.value = found->value();
      record.examples = found->examples();
    }
    records.push_back(std::move(record));
  }
  return records;
}

absl::StatusOr<analysis::ScoreTable> ScoreTableOf(const Study& study, const std::string& metric,
                                                  const std::string& select,
                                                  analysis::Layout layout) {
  analysis::SelectionOptions options = SelectionOptionsOf(study.sweep.spec());
  options.layout = layout;
  if (!select.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.select, analysis::ParseSelect(select));
  }
  return analysis::BuildScoreTable(ScoreRecordsOf(study, metric), options);
}

std::optional<Digest> ExamplesOf(const v1::Job& job) {
  for (const v1::Artifact& artifact : job.result().artifacts()) {
    if (artifact.kind() == v1::Artifact::KIND_EXAMPLES) {
      const absl::StatusOr<Digest> digest = Digest::FromBytes(artifact.digest());
      return digest.ok() ? std::optional(*digest) : std::nullopt;
    }
  }
  return std::nullopt;
}

absl::StatusOr<analysis::ExampleTable> AlignExamples(absl::string_view benchmark,
                                                     absl::string_view metric,
                                                     const std::vector<NamedExamples>& approaches) {
  CONCUR_RETURN_IF_ERROR(CheckExampleMetric(benchmark, metric));
  analysis::ExampleTable table;
  table.benchmark = std::string(benchmark);
  table.metric = std::string(metric);
  if (approaches.empty()) {
    return table;
  }
  const std::vector<qa::ExampleScore>& reference = approaches[0].runs[0];
  absl::flat_hash_map<absl::string_view, size_t> positions;
  for (size_t i = 0; i < reference.size(); ++i) {
    positions.emplace(reference[i].id, i);
  }
  table.examples = reference.size();
  table.values.assign(approaches.size() * table.examples, 0);
  for (size_t a = 0; a < approaches.size(); ++a) {
    const NamedExamples& approach = approaches[a];
    table.approaches.push_back(approach.approach);
    double* sums = table.values.data() + a * table.examples;
    for (const std::vector<qa::ExampleScore>& run : approach.runs) {
      CONCUR_RETURN_IF_ERROR(
          AddRun(approach, run, reference, positions, metric == "exact_match", benchmark, sums));
    }
    const auto runs = static_cast<double>(approach.runs.size());
    for (size_t i = 0; i < table.examples; ++i) {
      sums[i] = std::min(1.0, sums[i] / runs);
    }
  }
  return table;
}

absl::StatusOr<analysis::BenchmarkRuns> AlignRuns(absl::string_view benchmark,
                                                  absl::string_view metric,
                                                  const std::vector<NamedExamples>& approaches) {
  CONCUR_RETURN_IF_ERROR(CheckExampleMetric(benchmark, metric));
  analysis::BenchmarkRuns aligned;
  aligned.benchmark = std::string(benchmark);
  aligned.runs.resize(approaches.size());
  const auto first =
      std::find_if(approaches.begin(), approaches.end(),
                   [](const NamedExamples& approach) { return !approach.runs.empty(); });
  if (first == approaches.end()) {
    return aligned;
  }
  const std::vector<qa::ExampleScore>& reference = first->runs[0];
  absl::flat_hash_map<absl::string_view, size_t> positions;
  std::string ids;
  for (size_t i = 0; i < reference.size(); ++i) {
    positions.emplace(reference[i].id, i);
    absl::StrAppend(&ids, reference[i].id, "\n");
  }
  aligned.test_set = Sha256Of(ids).ToHex();
  aligned.examples = reference.size();
  for (size_t a = 0; a < approaches.size(); ++a) {
    for (const std::vector<qa::ExampleScore>& run : approaches[a].runs) {
      std::vector<double> values(reference.size(), 0.0);
      CONCUR_RETURN_IF_ERROR(AddRun(approaches[a], run, reference, positions,
                                    metric == "exact_match", benchmark, values.data()));
      aligned.runs[a].push_back(std::move(values));
    }
  }
  return aligned;
}

absl::StatusOr<analysis::ExampleRuns> ExampleRunsOf(const Study& study, const std::string& metric,
                                                    const std::string& select,
                                                    const std::vector<std::string>& columns) {
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, ScoreTableOf(study, metric, select));
  if (!columns.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, table.SelectBenchmarks(columns));
  }
  const std::map<std::string, std::string> metrics = MetricsOf(study.sweep.spec(), metric);
  CellJobs cell_jobs(study, table);
  analysis::ExampleRuns runs;
  for (const analysis::AxisEntry& approach : table.approaches()) {
    runs.approaches.push_back(approach.name);
  }
  for (size_t column = 0; column < table.benchmarks().size(); ++column) {
    const std::string& name = table.benchmarks()[column].name;
    std::vector<NamedExamples> approaches;
    std::string column_metric = "exact_match";
    std::string systems;
    for (size_t row = 0; row < table.approaches().size(); ++row) {
      const std::string& approach = table.approaches()[row].name;
      const std::vector<const v1::Job*>& jobs = cell_jobs.Of(row, column);
      absl::StatusOr<NamedExamples> cell = ReadCell(study, approach, jobs);
      if (absl::IsNotFound(cell.status())) {
        runs.left_out.push_back(
            absl::StrCat(approach, " on ", name, ": ", cell.status().message()));
        approaches.push_back({approach, {}});
        continue;
      }
      CONCUR_RETURN_IF_ERROR(cell.status());
      column_metric = metrics.at(jobs.front()->test_benchmark());
      systems = TrainOf(*jobs.front());
      approaches.push_back(*std::move(cell));
    }
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkRuns aligned,
                            AlignRuns(name, column_metric, approaches));
    aligned.systems = systems;
    runs.benchmarks.push_back(std::move(aligned));
  }
  return runs;
}

absl::StatusOr<std::vector<analysis::ExampleTable>> ExampleTablesOf(
    const Study& study, const std::string& metric, const std::string& select,
    const std::vector<std::string>& columns) {
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, ScoreTableOf(study, metric, select));
  if (!columns.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, table.SelectBenchmarks(columns));
  }
  const std::map<std::string, std::string> metrics = MetricsOf(study.sweep.spec(), metric);
  CellJobs cell_jobs(study, table);
  std::vector<analysis::ExampleTable> tables;
  for (size_t column = 0; column < table.benchmarks().size(); ++column) {
    const std::string& name = table.benchmarks()[column].name;
    std::vector<NamedExamples> approaches;
    std::vector<std::string> left_out;
    std::string column_metric;
    for (size_t row = 0; row < table.approaches().size(); ++row) {
      const std::string& approach = table.approaches()[row].name;
      const std::vector<const v1::Job*>& jobs = cell_jobs.Of(row, column);
      absl::StatusOr<NamedExamples> cell = ReadCell(study, approach, jobs);
      if (absl::IsNotFound(cell.status())) {
        left_out.push_back(absl::StrCat(approach, ": ", cell.status().message()));
        continue;
      }
      CONCUR_RETURN_IF_ERROR(cell.status());
      column_metric = metrics.at(jobs.front()->test_benchmark());
      approaches.push_back(*std::move(cell));
    }
    CONCUR_ASSIGN_OR_RETURN(
        analysis::ExampleTable examples,
        AlignExamples(name, column_metric.empty() ? "exact_match" : column_metric, approaches));
    examples.left_out = std::move(left_out);
    tables.push_back(std::move(examples));
  }
  return tables;
}

}  // namespace concur::cli
