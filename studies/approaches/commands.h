// SPDX-License-Identifier: Apache-2.0
// The commands of `concur-qa`, without the parsing of its command line.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_APPROACHES_COMMANDS_H_
#define CONCUR_STUDIES_APPROACHES_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "qa/serve.h"

namespace concur::approaches {

struct TrainOptions {
  std::string approach;
  std::string train;  // data set
  std::string model;  // written
  uint64_t seed = 0;
  std::vector<std::string> assignments;  // name=value
};
// Trains and writes the model file atomically. The configuration is checked before the data is
// read.
absl::Status Train(const TrainOptions& options);

struct PredictOptions {
  std::string model;
  std::string data;
  std::string predictions;  // written: {"id": "answer"}
  std::string url = "";     // a served reader's, instead of a model
};
// Answers every question of the data set, in its order.
absl::Status Predict(const PredictOptions& options);

// Answers questions one by one.
absl::Status Serve(const std::string& model, qa::ServeLoop loop);

// A listing of approaches with their hyperparameters.
std::string ListApproaches();

// 0; 78 (configuration: a retry cannot help) for bad arguments, data sets and absent files; 75
// (retry later) when memory or disk space runs out; 1 otherwise.
int ExitCodeOf(const absl::Status& status);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_COMMANDS_H_
