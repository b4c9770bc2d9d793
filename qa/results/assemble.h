// SPDX-License-Identifier: Apache-2.0
// From runs, as files have them, to models × tasks.
//
// Thread-compatible.
#ifndef CONCUR_IMPORTS_ASSEMBLE_H_
#define CONCUR_IMPORTS_ASSEMBLE_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "imports/imported.h"
#include "imports/results.h"

namespace concur::imports {

class Assembly {
 public:
  explicit Assembly(const ImportRequest& request) : request_(request) {}

  void Add(FileResults file);
  void Skip(const std::string& reason, const std::string& place);

  // REQUIRES: is called once. InvalidArgument when there is no score, or too much of something.
  absl::StatusOr<ImportedResults> Finish();

 private:
  struct Stored {
    Run run;
    size_t file = 0;
    size_t order = 0;  // as they came
  };
  // What a task is compared by. Not every run of the task has it.
  struct TaskMetric {
    std::string name;
    MetricMeaning meaning;  // as the first run with it says
  };

  // Tasks that differ in version or number of examples shown are different ones.
  void NameVariants();
  void ChooseRevisions();
  // Fills task_metrics_, and puts each run's metric of its task first.
  absl::Status ChooseMetrics();
  void AlignExamples();
  absl::Status NumberCells();
  uint32_t AxisOf(std::vector<ImportedAxis>& axes, std::map<std::string, uint32_t>& numbers,
                  const std::string& name, const Tags& tags);

  const ImportRequest& request_;
  ImportedResults results_;
  std::vector<Stored> runs_;
  std::set<Digest> files_;                          // by bytes and first run
  std::map<std::string, TaskMetric> task_metrics_;  // by task; after ChooseMetrics of every task
};

}  // namespace concur::imports

#endif  // CONCUR_IMPORTS_ASSEMBLE_H_
