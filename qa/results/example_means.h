// SPDX-License-Identifier: Apache-2.0
// The per-example scores of one run, gathered: the mean of each example over its repetitions.
//
// Thread-compatible.
#ifndef CONCUR_QA_RESULTS_EXAMPLE_MEANS_H_
#define CONCUR_QA_RESULTS_EXAMPLE_MEANS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/results/results.h"

namespace concur::imports {

class ExampleMeans {
 public:
  static constexpr size_t kExamplesMax = 10'000'000;

  // `score` absent: the example has none, or none that is a number. ResourceExhausted beyond
  // kExamplesMax.
  absl::Status Add(const std::string& id, std::optional<double> score, absl::string_view place);
  bool empty() const { return order_.empty(); }

  // Gives the run its examples, with their values, when they explain its main metric: every one has
  // a number, and UnitOfMean finds the metric in their mean. Otherwise adds a reason.
  void Store(const std::string& path, Run& run, std::vector<Skipped>& skipped) const;

 private:
  struct Sum {
    double total = 0;
    int64_t count = 0;
    int64_t without = 0;
  };
  std::map<std::string, Sum> sums_;
  std::vector<std::string> order_;
};

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_EXAMPLE_MEANS_H_
