// SPDX-License-Identifier: Apache-2.0
// Contents of result files of evaluation programs and leaderboards, in one form.
//
// Values.
#ifndef CONCUR_QA_RESULTS_RESULTS_H_
#define CONCUR_QA_RESULTS_RESULTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/metric_meaning.h"
#include "qa/score.h"

namespace concur::imports {

using Tags = std::map<std::string, std::string>;
using Settings = std::map<std::string, std::string>;  // qa/results/settings.h adds to them

struct Metric {
  std::string name;  // "acc"; with a filter other than "none", "exact_match,strict-match"
  double value = 0;  // finite, in the unit of the file
  std::optional<double> standard_error;
  int64_t examples = 0;  // 0: unknown
  MetricMeaning meaning;
  bool is_goal_stated = false;  // else it is guessed by the metric's name
};

// Scores of one model on one task from one evaluation.
struct Run {
  std::string model;
  Tags model_tags;  // "family", "organization", …
  std::string task;
  Tags task_tags;
  std::string revision;       // the model's; "": unknown
  std::string version;        // the task's; runs of other versions are other benchmarks
  std::string data_revision;  // the data set's
  std::string split;          // the data set's
  std::string tool;           // program and version that evaluated
  std::string repeat;         // orders the runs of one cell, which become seeds: time or number
  std::string place;          // within the file: "line 3", "results.arc_easy"; "": all of it
  std::optional<int64_t> shots;
  std::optional<double> seconds;  // that the evaluation took
  std::optional<double> tokens;
  std::optional<double> co2_kg;
  std::optional<double> cost_usd;  // that was paid for it
  // Settings that can change a score, and no seed: by which a task's data is another (the data set,
  // "limit"), those of the model (adapter, precision, template), and others (the task's prompt, the
  // judge).
  Settings data_settings;
  Settings model_settings;
  Settings task_settings;
  Settings not_compared;  // settings of those three, after MoveNotCompared
  // Scores of the parts of which the main metric is the mean; none where it stands for itself.
  std::map<std::string, double> subsets;
  std::vector<Metric> metrics;             // at least one; the main one first
  std::vector<qa::ExampleScore> examples;  // `value`: of the main metric
};

struct Skipped {
  std::string reason;
  std::string place;  // FILE, or FILE:LINE, or FILE: FIELD; of several the first
  int64_t count = 1;
};

// A column of a table, and the part that it has in the import.
struct ColumnNote {
  std::string kind;  // "model", "benchmark", "score", "setting", "goal", "repeat", "tag", …
  std::string name;
  int64_t count = 0;  // number of values
  std::string why;    // it is of that kind; what was assumed
};

// One file, read.
struct FileResults {
  std::string path;
  Digest digest;
  // Names the evaluation among all others; "": unknown. Of several files of one, the first counts.
  std::string evaluation;
  std::vector<Run> runs;
  std::vector<Skipped> skipped;
  std::vector<ColumnNote> columns;  // a table's columns
  // Files to keep beside the scores, as they are: the file itself and that of its samples ("":
  // none). Empty where the scores say all.
  std::string original;
  std::string samples;
};

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_RESULTS_H_
