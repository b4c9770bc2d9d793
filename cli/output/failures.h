// SPDX-License-Identifier: Apache-2.0
// Failed jobs that are alike: one line for all that failed in the same way, with their number.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_FAILURES_H_
#define CONCUR_CLI_OUTPUT_FAILURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "concur/v1/coordinator.pb.h"
#include "report/table.h"

namespace concur::cli {

// Failed jobs by approach, benchmark (the train set of train jobs, the test benchmark of eval jobs)
// and failure group. Memory is bounded: beyond kGroupsMax groups, failures of a new kind are only
// counted.
class FailureGroups {
 public:
  static constexpr size_t kGroupsMax = 1000;

  void Add(const v1::Job& job);
  // Failures that are in no group.
  uint64_t others() const { return others_; }
  // A row for each group, the largest first: jobs, approach, benchmark, kind, failure, an example
  // job, and that job's message. With `summed`, for people, equal failures are one row: of an
  // approach on "12 benchmarks", of "a, b" or "5 approaches" on the same benchmarks.
  static constexpr size_t kNamesMax = 3;
  analysis::Table ToTable(bool summed) const;

 private:
  struct Group {
    uint64_t jobs = 0;
    size_t number = 0;  // in the order in which they came
    v1::Job example;    // the first, without its metrics and artifacts
    std::set<std::string> approaches;
    std::set<std::string> benchmarks;
  };
  std::vector<Group> SummedGroups() const;

  std::map<std::vector<std::string>, size_t> numbers_;  // indices in groups_, by what groups share
  std::vector<Group> groups_;                           // as they came
  uint64_t others_ = 0;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_FAILURES_H_
