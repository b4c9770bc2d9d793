// SPDX-License-Identifier: Apache-2.0
#include "cli/study/example_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/comparison/parts.h"
#include "analysis/comparison/selection.h"
#include "analysis/score_table.h"
#include "base/csv.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/job_score.h"
#include "core/sweep/sweep.h"
#include "qa/example_intervals.h"
#include "qa/example_scores.h"
#include "report/notes.h"

namespace concur::cli {
namespace {

using PlaceByName = absl::flat_hash_map<std::string, size_t>;

PlaceByName PlacesByName(const std::vector<analysis::AxisEntry>& entries) {
  PlaceByName places;
  for (const analysis::AxisEntry& entry : entries) {
    places.emplace(entry.name, places.size());
  }
  return places;
}

// The number of places for a name that has none.
size_t IndexOf(const PlaceByName& places, const std::string& name) {
  const auto found = places.find(name);
  return found == places.end() ? places.size() : found->second;
}

// The table whose cells' jobs are read.
struct CellTable {
  analysis::ScoreTable table;
  PlaceByName all_columns;  // also of the columns that were not asked for
};

// `columns` empty: all.
absl::StatusOr<CellTable> TableOfCells(const Study& study, const std::string& metric,
                                       const SweepTableOptions& options,
                                       const std::vector<std::string>& columns) {
  if (options.select == analysis::SelectName(analysis::Select::kBestOnOtherSeeds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--select ", options.select,
                     " chooses a setting for each seed, and here a cell stands for "
                     "one setting, or for all; use best or best-on-test"));
  }
  SweepTableOptions asked = options;
  asked.columns.insert(asked.columns.end(), columns.begin(), columns.end());
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, ScoreTableOf(study, metric, asked));
  PlaceByName all_columns = PlacesByName(table.benchmarks());
  if (!columns.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, table.SelectBenchmarks(columns));
  }
  return CellTable{std::move(table), std::move(all_columns)};
}

// The succeeded eval jobs behind each cell of a table with train sets in columns.
class CellJobs {
 public:
  CellJobs(const std::vector<EvalJob>& jobs, const CellTable& cells)
      : table_(cells.table),
        all_columns_(cells.all_columns),
        rows_(PlacesByName(table_.approaches())),
        columns_(PlacesByName(table_.benchmarks())) {
    for (const EvalJob& job : jobs) {
      if (job.score.state != JobState::kSucceeded) {
        continue;
      }
      EvalJob one = job;
      one.score.parts.clear();
      Add(one, ColumnOf(one.score, one.score.test_benchmark));
      for (const Metric& part : job.score.parts) {
        one.part = part.part;
        one.score.value = part.value;
        one.score.examples = part.examples;
        Add(one, ColumnOf(one.score, analysis::PartColumn(one.score.test_benchmark, part.part)));
      }
    }
  }

  const std::vector<EvalJob>& Of(size_t row, size_t column) { return jobs_[{row, column}]; }

 private:
  // As BuildScoreTable names its columns.
  size_t ColumnOf(const JobScore& score, const std::string& test) const {
    const std::string name = absl::StrCat(score.TrainedOn(), " → ", test);
    return IndexOf(columns_, all_columns_.contains(name) ? name : test);
  }

  void Add(const EvalJob& job, size_t column) {
    if (column == table_.benchmarks().size()) {
      return;
    }
    const JobScore& score = job.score;
    for (const std::string& name :
         {score.approach, absl::StrCat(score.approach, " #", score.setting)}) {
      const size_t row = IndexOf(rows_, name);
      if (row < table_.approaches().size()) {
        const int64_t chosen = table_.cell(row, column).setting;
        if (chosen < 0 || chosen == score.setting) {
          jobs_[{row, column}].push_back(job);
        }
      }
    }
  }

  const analysis::ScoreTable& table_;
  const PlaceByName& all_columns_;
  const PlaceByName rows_;
  const PlaceByName columns_;
  std::map<std::pair<size_t, size_t>, std::vector<EvalJob>> jobs_;
};

// The per-example scores of jobs, parsed once for all parts of a benchmark.
class ExampleReader {
 public:
  explicit ExampleReader(const Study& study) : study_(study) {}

  // NotFound with the reason where there are none.
  absl::StatusOr<std::vector<qa::ExampleScore>> Read(const EvalJob& job) {
    if (job.part.empty()) {
      return Parse(job);
    }
    if (benchmark_ != job.score.test_benchmark) {
      benchmark_ = job.score.test_benchmark;
      by_part_.clear();
    }
    const auto [of_job, is_new] = by_part_.try_emplace(job.score.job);
    if (is_new) {
      absl::StatusOr<std::vector<qa::ExampleScore>> all = Parse(job);
      if (!all.ok()) {
        by_part_.erase(of_job);
        return all.status();
      }
      of_job->second = qa::ByPart(*std::move(all));
    }
    const auto found = of_job->second.find(job.part);
    return found == of_job->second.end()
               ? absl::NotFoundError(absl::StrCat(
                     "its per-example scores ({examples}) have no \"part\": \"", job.part, "\""))
               : absl::StatusOr<std::vector<qa::ExampleScore>>(found->second);
  }

 private:
  absl::StatusOr<std::vector<qa::ExampleScore>> Parse(const EvalJob& job) const {
    const std::string id = job.score.job.ToString();
    if (!job.examples.has_value()) {
      return absl::NotFoundError(study_.imported()
                                     ? "imported without per-example scores"
                                     : "the commands wrote no per-example scores ({examples})");
    }
    const absl::StatusOr<std::string> text = study_.read_artifact(*job.examples);
    if (absl::IsNotFound(text.status())) {
      return absl::NotFoundError(
          absl::StrCat("the per-example scores of ", id, " are not kept any more"));
    }
    CONCUR_RETURN_IF_ERROR(text.status());
    return qa::ParseExampleScores(
        *text, absl::StrCat("per-example scores of ", id),
        ExampleNamesOf(study_.spec, job.score.test_benchmark, job.score.metric));
  }

  const Study& study_;
  std::string benchmark_;  // that `by_part_` is of
  std::map<JobId, std::map<std::string, std::vector<qa::ExampleScore>>> by_part_;
};

// The per-example scores of one cell; the reason where it has none. `unit` is that of the column,
// unset before its first run; runs of another one are brought to it.
absl::StatusOr<NamedExamples> ReadCell(ExampleReader& reader, const std::string& approach,
                                       const std::vector<EvalJob>& jobs,
                                       std::optional<double>& unit) {
  NamedExamples cell;
  cell.approach = approach;
  for (const EvalJob& job : jobs) {
    CONCUR_ASSIGN_OR_RETURN(std::vector<qa::ExampleScore> examples, reader.Read(job));
    if (job.score.value.has_value()) {
      const absl::StatusOr<double> own =
          qa::UnitOfMean(examples, job.score.metric, *job.score.value);
      if (!own.ok()) {
        return absl::NotFoundError(own.status().message());
      }
      unit = unit.value_or(*own);
      for (qa::ExampleScore& example : examples) {
        example.value *= *own / *unit;
      }
    }
    cell.runs.push_back(std::move(examples));
  }
  if (cell.runs.empty()) {
    return absl::NotFoundError("no score");
  }
  return cell;
}

// Writes the scores of one run, in the order of `reference`, to `values`.
absl::Status FillRun(const NamedExamples& approach, const std::vector<qa::ExampleScore>& run,
                     const std::vector<qa::ExampleScore>& reference,
                     const absl::flat_hash_map<absl::string_view, size_t>& positions,
                     absl::string_view benchmark, std::vector<double>& values) {
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
    values[at] = run[i].value;
  }
  return absl::OkStatus();
}

// Names in the order of first appearance.
struct NumberedNames {
  std::vector<std::string> names;
  std::map<std::string, size_t> numbers;
};

// A row of a file of repeats.
struct CsvRow {
  const std::string& file;
  const CsvRecord& record;

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", record.line, ": ", what));
  }
  absl::StatusOr<size_t> Number(size_t field, NumberedNames& names) const {
    if (field >= record.fields.size() || record.fields[field].empty()) {
      return Error(absl::StrCat("column ", field + 1, ": expected a name, got nothing"));
    }
    const auto [at, is_new] = names.numbers.emplace(record.fields[field], names.names.size());
    if (is_new) {
      names.names.push_back(record.fields[field]);
    }
    return at->second;
  }
  absl::StatusOr<double> Score(size_t field) const {
    double score = 0;
    if (field >= record.fields.size() || !absl::SimpleAtod(record.fields[field], &score) ||
        !std::isfinite(score)) {
      return Error(absl::StrCat(
          "column ", field + 1, ": expected a number, got \"",
          field < record.fields.size() ? record.fields[field].substr(0, 60) : "", "\""));
    }
    return score;
  }
};

struct RepeatColumns {
  size_t approach = 0;
  size_t benchmark = 0;
  size_t repeat = 0;
  size_t score = 0;
};

absl::StatusOr<RepeatColumns> FindRepeatColumns(const std::string& file,
                                                const std::vector<CsvRecord>& records) {
  std::map<std::string, size_t> places;
  if (!records.empty()) {
    for (size_t i = 0; i < records[0].fields.size(); ++i) {
      places.emplace(records[0].fields[i], i);
    }
  }
  RepeatColumns columns;
  size_t named = 0;
  for (const auto& [name, place] :
       std::vector<std::pair<const char*, size_t*>>{{"approach", &columns.approach},
                                                    {"benchmark", &columns.benchmark},
                                                    {"repeat", &columns.repeat}}) {
    const auto found = places.find(name);
    if (found != places.end()) {
      *place = found->second;
      ++named;
      places.erase(found);
    }
  }
  if (named != 3 || places.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1: expected the columns approach, benchmark, repeat and one score"));
  }
  columns.score = places.begin()->second;
  return columns;
}

// Names of the folders in a folder, or of its files that end in ".jsonl", sorted.
absl::StatusOr<std::vector<std::string>> Entries(const std::string& path, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    const bool fits = folders ? entries->is_directory(ignored)
                              : entries->is_regular_file(ignored) && absl::EndsWith(name, ".jsonl");
    if (fits && name[0] != '.') {
      names.push_back(name);
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot list the folder: ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<NamedExamples> ReadFolderRuns(const std::string& approach, const std::string& folder,
                                             const std::vector<std::string>& names) {
  constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
  NamedExamples cell;
  cell.approach = approach;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return cell;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> files, Entries(folder, false));
  for (const std::string& file : files) {
    const std::string path = absl::StrCat(folder, "/", file);
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kExamplesBytesMax));
    CONCUR_ASSIGN_OR_RETURN(std::vector<qa::ExampleScore> run,
                            qa::ParseExampleScores(text, path, names));
    cell.runs.push_back(std::move(run));
  }
  return cell;
}

// Runs of a table's approaches, of no benchmark yet.
analysis::ExampleRuns NoRunsOf(const analysis::ScoreTable& table) {
  analysis::ExampleRuns runs;
  runs.choices = analysis::ChoiceNotes(table.benchmarks());
  for (const analysis::AxisEntry& approach : table.approaches()) {
    runs.approaches.push_back(approach.name);
  }
  return runs;
}

}  // namespace

const BenchmarkSpec* BenchmarkNamed(const SweepSpec& spec, const std::string& name) {
  const auto found =
      std::find_if(spec.benchmarks.begin(), spec.benchmarks.end(),
                   [&](const BenchmarkSpec& candidate) { return candidate.name == name; });
  return found == spec.benchmarks.end() ? nullptr : &*found;
}

std::vector<std::string> ExampleNamesOf(const SweepSpec& spec, const std::string& benchmark,
                                        const std::string& metric) {
  const BenchmarkSpec* found = BenchmarkNamed(spec, benchmark);
  std::vector<std::string> names = {metric};
  if (found != nullptr && !IsQa(found->format) && found->metric == metric) {
    names.insert(names.end(), {"score", "f1"});
  }
  return names;
}

absl::StatusOr<analysis::BenchmarkRuns> AlignRuns(absl::string_view benchmark,
                                                  absl::string_view metric,
                                                  const std::vector<NamedExamples>& approaches) {
  analysis::BenchmarkRuns aligned;
  aligned.benchmark = std::string(benchmark);
  aligned.metric = std::string(metric);
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
  aligned.places = PlacesOf(reference);
  for (size_t a = 0; a < approaches.size(); ++a) {
    for (const std::vector<qa::ExampleScore>& run : approaches[a].runs) {
      std::vector<double> values(reference.size(), 0.0);
      CONCUR_RETURN_IF_ERROR(FillRun(approaches[a], run, reference, positions, benchmark, values));
      aligned.runs[a].push_back(std::move(values));
    }
  }
  return aligned;
}

absl::StatusOr<analysis::ExampleRuns> ExampleRunsOf(const Study& study, const std::string& metric,
                                                    const SweepTableOptions& options,
                                                    const std::vector<std::string>& columns) {
  CONCUR_ASSIGN_OR_RETURN(const CellTable cells, TableOfCells(study, metric, options, columns));
  const analysis::ScoreTable& table = cells.table;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<EvalJob> eval_jobs, EvalJobsOf(study, metric));
  CellJobs cell_jobs(eval_jobs, cells);
  ExampleReader reader(study);
  analysis::ExampleRuns runs = NoRunsOf(table);
  for (size_t column = 0; column < table.benchmarks().size(); ++column) {
    const std::string& name = table.benchmarks()[column].name;
    std::vector<NamedExamples> approaches;
    std::vector<std::pair<size_t, std::string>> left_out;
    std::string column_metric = "exact_match";
    bool is_own = true;  // the benchmark's own metric
    std::string systems;
    std::optional<double> unit;
    for (size_t row = 0; row < table.approaches().size(); ++row) {
      const std::string& approach = table.approaches()[row].name;
      const std::vector<EvalJob>& jobs = cell_jobs.Of(row, column);
      absl::StatusOr<NamedExamples> cell = ReadCell(reader, approach, jobs, unit);
      if (absl::IsNotFound(cell.status())) {
        left_out.emplace_back(row, cell.status().message());
        approaches.push_back({approach, {}});
        continue;
      }
      CONCUR_RETURN_IF_ERROR(cell.status());
      column_metric = jobs.front().score.metric;
      systems = jobs.front().score.TrainedOn();
      // Right or wrong, whatever the benchmark's own metric is.
      const BenchmarkSpec* spec = BenchmarkNamed(study.spec, jobs.front().score.test_benchmark);
      is_own = column_metric != "exact_match" || spec == nullptr || spec->metric == column_metric;
      approaches.push_back(*std::move(cell));
    }
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkRuns aligned,
                            AlignRuns(name, column_metric, approaches));
    aligned.unit = unit.value_or(aligned.unit);
    aligned.goal = is_own ? table.benchmarks()[column].metric.goal : Goal::kMaximize;
    aligned.systems = systems;
    aligned.left_out = std::move(left_out);
    runs.benchmarks.push_back(std::move(aligned));
  }
  return runs;
}

bool HasExamples(const Study& study) {
  return std::any_of(study.jobs.begin(), study.jobs.end(),
                     [](const v1::Job& job) { return ExamplesOf(job).has_value(); });
}

absl::StatusOr<analysis::ExampleRuns> RepeatsOf(const Study& study, const std::string& metric,
                                                const SweepTableOptions& options,
                                                const std::vector<std::string>& columns) {
  CONCUR_ASSIGN_OR_RETURN(const CellTable cells, TableOfCells(study, metric, options, columns));
  const analysis::ScoreTable& table = cells.table;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<EvalJob> eval_jobs, EvalJobsOf(study, metric));
  CellJobs cell_jobs(eval_jobs, cells);
  analysis::ExampleRuns runs = NoRunsOf(table);
  for (size_t column = 0; column < table.benchmarks().size(); ++column) {
    analysis::BenchmarkRuns& benchmark = runs.benchmarks.emplace_back();
    benchmark.benchmark = table.benchmarks()[column].name;
    benchmark.goal = table.benchmarks()[column].metric.goal;
    benchmark.metric = "score";
    benchmark.examples = 1;
    benchmark.runs.resize(table.approaches().size());
    for (size_t row = 0; row < table.approaches().size(); ++row) {
      for (const EvalJob& job : cell_jobs.Of(row, column)) {
        if (job.score.value.has_value()) {
          benchmark.runs[row].push_back({*job.score.value});
        }
      }
    }
  }
  return runs;
}

absl::StatusOr<analysis::ExampleRuns> ReadRepeats(const std::string& path,
                                                  std::vector<std::string> columns) {
  constexpr int64_t kRepeatsBytesMax = int64_t{1} << 28;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kRepeatsBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text, path));
  CONCUR_ASSIGN_OR_RETURN(const RepeatColumns at, FindRepeatColumns(path, records));
  NumberedNames approaches;
  NumberedNames benchmarks;
  NumberedNames repeats;
  std::map<std::vector<size_t>, double> scores;  // by benchmark, approach, repeat
  for (size_t r = 1; r < records.size(); ++r) {
    const CsvRow row{path, records[r]};
    CONCUR_ASSIGN_OR_RETURN(const size_t approach, row.Number(at.approach, approaches));
    CONCUR_ASSIGN_OR_RETURN(const size_t benchmark, row.Number(at.benchmark, benchmarks));
    CONCUR_ASSIGN_OR_RETURN(const size_t repeat, row.Number(at.repeat, repeats));
    CONCUR_ASSIGN_OR_RETURN(const double score, row.Score(at.score));
    if (!scores.emplace(std::vector<size_t>{benchmark, approach, repeat}, score).second) {
      return row.Error("this approach, benchmark and repeat came before");
    }
  }
  analysis::ExampleRuns runs;
  runs.approaches = approaches.names;
  if (columns.empty()) {
    columns = benchmarks.names;
  }
  if (columns.size() >
      analysis::ScoreTable::kCellsMax / std::max<size_t>(1, approaches.names.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at most ", analysis::ScoreTable::kCellsMax, " cells, got ",
                     approaches.names.size(), " approaches × ", columns.size(), " benchmarks"));
  }
  for (const std::string& name : columns) {
    const auto found = benchmarks.numbers.find(name);
    if (found == benchmarks.numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no score on the benchmark \"", name, "\""));
    }
    analysis::BenchmarkRuns& benchmark = runs.benchmarks.emplace_back();
    benchmark.benchmark = name;
    benchmark.metric = "score";
    benchmark.examples = 1;
    benchmark.runs.resize(runs.approaches.size());
    for (auto score = scores.lower_bound({found->second});
         score != scores.end() && score->first[0] == found->second; ++score) {
      benchmark.runs[score->first[1]].push_back({score->second});
    }
  }
  return runs;
}

absl::StatusOr<analysis::ExampleRuns> ReadExampleFolder(const std::string& path,
                                                        std::vector<std::string> columns,
                                                        absl::string_view metric) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> approaches, Entries(path, true));
  std::set<std::string> found;
  for (const std::string& approach : approaches) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            Entries(absl::StrCat(path, "/", approach), true));
    found.insert(names.begin(), names.end());
  }
  if (columns.empty()) {
    columns.assign(found.begin(), found.end());
  }
  analysis::ExampleRuns runs;
  runs.approaches = approaches;
  for (const std::string& name : columns) {
    if (found.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no approach has a folder for the benchmark \"", name, "\""));
    }
    std::vector<NamedExamples> cells;
    std::vector<std::pair<size_t, std::string>> left_out;
    for (const std::string& approach : approaches) {
      CONCUR_ASSIGN_OR_RETURN(NamedExamples cell,
                              ReadFolderRuns(approach, absl::StrCat(path, "/", approach, "/", name),
                                             {std::string(metric), "score"}));
      if (cell.runs.empty()) {
        left_out.emplace_back(cells.size(), "no .jsonl file");
      }
      cells.push_back(std::move(cell));
    }
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkRuns aligned, AlignRuns(name, metric, cells));
    aligned.left_out = std::move(left_out);
    runs.benchmarks.push_back(std::move(aligned));
  }
  return runs;
}

}  // namespace concur::cli
