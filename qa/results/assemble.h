// SPDX-License-Identifier: Apache-2.0
// From runs, as files have them, to models × tasks.
//
// Thread-compatible.
#ifndef CONCUR_QA_RESULTS_ASSEMBLE_H_
#define CONCUR_QA_RESULTS_ASSEMBLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"
#include "qa/results/stored_run.h"

namespace concur::imports {

class Assembly {
 public:
  explicit Assembly(const ImportRequest& request);

  void Add(FileResults file);
  void Skip(const std::string& reason, const std::string& place, int64_t count = 1);

  // REQUIRES: is called once. InvalidArgument when there is no score, or too much of something.
  absl::StatusOr<ImportedResults> Finish();

 private:
  // Metric that a task is compared by. Not every run of the task has it.
  struct TaskMetric {
    std::string name;
    MetricMeaning meaning;  // as most runs with it state, else as they guess
  };

  const Settings* Shared(Settings& settings);
  absl::Status CheckNotEmpty() const;
  // Leaves out tasks that are means of others by their name, where there are others.
  void LeaveOutMeans();
  // Keeps one split of each task, and one revision of each model on it.
  absl::Status ChooseSplitsAndRevisions();
  // Fills task_metrics_, and puts each run's metric of its task first.
  absl::Status ChooseMetrics();
  // Fills the meanings of task_metrics_, notes what was assumed, and brings scores that are stated
  // in percent and as fractions to fractions.
  void SettleMeanings();
  void AlignExamples();
  void CountOtherData();
  // Counts `other` when it is a repetition of `first` with other settings that are not compared.
  void CountNotCompared(const StoredRun& first, const StoredRun& other);
  absl::Status NumberCells();
  uint32_t AxisOf(std::vector<ImportedAxis>& axes, std::map<std::string, uint32_t>& numbers,
                  const std::string& name, const Tags& tags);

  const ImportRequest& request_;
  ImportedResults results_;
  std::vector<StoredRun> runs_;
  std::set<Settings> settings_;  // settings of runs_, each once
  const LeaveOut leave_out_;
  std::set<Digest> files_;                          // by bytes and first run
  std::map<std::string, TaskMetric> task_metrics_;  // by task; after ChooseMetrics of every task
};

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_ASSEMBLE_H_
