// SPDX-License-Identifier: Apache-2.0
// Request for an import, and its result: models × tasks.
//
// Values.
#ifndef CONCUR_QA_RESULTS_IMPORTED_H_
#define CONCUR_QA_RESULTS_IMPORTED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/metric_meaning.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"

namespace concur::imports {

inline constexpr size_t kModelsMax = 10'000;
inline constexpr size_t kTasksMax = 10'000;
inline constexpr size_t kNameBytesMax = 200;
inline constexpr size_t kMetricsOfRunMax = 100;

// Treatment of runs of a model on a task that differ in a setting.
enum class Variants { kName, kFirst, kRefuse };

struct ImportRequest {
  std::string format;
  std::vector<std::string> paths;  // files and folders
  ReadOptions options;
  // Names of metrics: a task is compared by the first one that it has; else by the one that most
  // of its runs have first.
  std::vector<std::string> metrics;
  // Splits and subsets: a task is compared on the first split, and over those subsets, that it has
  // of them; else on those that most models have.
  std::vector<std::string> splits;
  std::vector<std::string> subsets;
  Variants variants = Variants::kName;
  // Revisions of a model as models of their own, "MODEL@REVISION". Else each task counts the first
  // revision, by name, with a score on the task's split.
  bool each_revision = false;
  // A file in a folder that cannot be read is an error, too, not only one that is named.
  bool strict = false;
  int threads = 2;
  std::function<void(size_t done, size_t files)> progress;  // may be null
};

struct SkippedCount {
  int64_t count = 0;
  std::string first_place;
};

struct ImportedAxis {
  std::string name;
  Tags tags;
  std::string metric;     // a task's
  MetricMeaning meaning;  // that metric's
};

struct ImportedRun {
  Run run;  // without model, task and their tags
  size_t file = 0;
};

struct ImportedCell {
  uint32_t model = 0;
  uint32_t task = 0;
  uint32_t seed = 0;  // number of the run within its cell, from 0
  size_t run = 0;
};

struct ImportedFile {
  std::string path;
  Digest digest;
  std::string original;  // to keep as they are, as FileResults says
  std::string samples;
};

struct ImportedResults {
  std::vector<ImportedAxis> models;  // sorted by name; of leaderboards in their order
  std::vector<ImportedAxis> tasks;
  std::vector<ImportedFile> files;
  std::vector<ImportedRun> runs;
  std::vector<ImportedCell> cells;  // by model, seed, task
  uint32_t seeds = 1;               // most runs of a cell
  int64_t files_read = 0;
  std::map<std::string, SkippedCount> skipped;  // by reason
  // Scores whose data set has another revision than that of most of the task's scores, where files
  // state one. They stay, since a revision often changes nothing that is scored.
  SkippedCount other_data;
  // Runs that count as repetitions although they differ in settings that are not compared; these.
  SkippedCount not_compared;
  std::set<std::string> names_not_compared;
  // Columns of tables that were read, but for their scores, which are those of `tasks`.
  std::vector<ColumnNote> columns;
};

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_IMPORTED_H_
