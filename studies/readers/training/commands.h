// SPDX-License-Identifier: Apache-2.0
// The commands of concur-reader that train and predict, without the parsing of its command line.
//
// Thread-compatible: they set torch's number of threads and its seed.
#ifndef CONCUR_STUDIES_READERS_TRAINING_COMMANDS_H_
#define CONCUR_STUDIES_READERS_TRAINING_COMMANDS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "qa/serve.h"
#include "studies/readers/machine.h"

namespace concur::readers {

// The value of options that may be left out, for commands that always give them.
inline constexpr char kNotGiven[] = "none";

struct TrainOptions {
  std::string approach;
  std::string train;            // data set
  std::string dev = kNotGiven;  // data set for validation; kNotGiven: a tenth of the train passages
  std::string model;            // directory, written
  // For pretrained approaches: the folder that training starts from, and one with tokenizer files
  // ("": the same).
  std::string checkpoint, tokenizer;
  // A file of word vectors; kNotGiven: random ones, which are trained.
  std::string vectors = kNotGiven;
  int64_t word_dim = 0;  // width of random word vectors; 0: that of the authors' file
  uint64_t seed = 0;
  std::vector<std::string> assignments;  // name=value
  std::string time_budget = kNotGiven;   // processor time: "30m"
  Machine machine;
};
// Trains and writes the model. A checkpoint of the same training (CheckpointPath) is gone on from;
// it is removed at the end. SIGTERM saves one and ends training: Cancelled. Writes training.jsonl,
// a line of metrics for each epoch, and progress to standard error.
absl::Status TrainReader(const TrainOptions& options);

struct PredictOptions {
  std::string model;
  std::string test;         // data set
  std::string predictions;  // written: {"id": "answer"}
  std::string best;  // written by pretrained readers: {"id": [the best answers]}; "" for none
  std::string vectors =
      kNotGiven;  // for words that training has not seen, which stay unknown without
  Machine machine;
};
absl::Status PredictAnswers(const PredictOptions& options);

struct ServeOptions {
  std::string model;
  Machine machine;
};
// Answers questions one by one. Words that training has not seen are unknown:
// what will be asked is not known when word vectors would be read.
absl::Status ServeReader(const ServeOptions& options, qa::ServeLoop loop);

// {"id": "answer"} in the order of the questions, as a file.
std::string PredictionsText(const std::vector<std::pair<std::string, std::string>>& answers);

// Progress, as a line on standard error.
void Say(absl::string_view line);

// Inside a job, reports values of a step on standard output, as docs/job-environment.md has it.
void ReportStep(int64_t step, const std::vector<std::pair<std::string, double>>& values);

// The time budget that --time-budget says.
absl::StatusOr<absl::Duration> TimeBudgetOf(const std::string& text);

// Returns what `work` returns, or torch's errors as statuses.
absl::Status CatchTorch(absl::FunctionRef<absl::Status()> work);

// 0; 78 when trying again cannot help: bad arguments, data and settings, absent or damaged files;
// 75 when memory or disk space runs out; 1 otherwise.
int ExitCodeOf(const absl::Status& status);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_COMMANDS_H_
