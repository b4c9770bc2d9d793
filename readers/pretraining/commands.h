// SPDX-License-Identifier: Apache-2.0
// The command of concur-reader that pretrains a small encoder, and writes it as a checkpoint that
// is fine-tuned as any other: config.json, model.safetensors, vocab.txt, tokenizer_config.json.
//
// Thread-compatible: it sets torch's number of threads and its seed.
#ifndef CONCUR_READERS_PRETRAINING_COMMANDS_H_
#define CONCUR_READERS_PRETRAINING_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "readers/machine.h"
#include "readers/text/pretraining_text.h"
#include "readers/training/commands.h"

namespace concur::readers {

struct PretrainOptions {
  std::string family;  // see PretrainedFamilies
  TextSources sources;
  std::string out;  // directory, written
  uint64_t seed = 0;
  std::vector<std::string> assignments;  // name=value
  std::string time_budget = kNotGiven;   // of processor time: "40m"
  Machine machine;
};

// Learns a vocabulary from the text and pretrains; without updates the weights are those drawn by
// the seed. A checkpoint of the same pretraining (CheckpointPath) is gone on from; it is removed at
// the end. SIGTERM saves one and ends training: Cancelled. Writes pretraining.jsonl, a line for
// each report, and progress to standard error. `interrupted` as in PretrainRun, for tests.
absl::Status PretrainReader(const PretrainOptions& options,
                            const std::function<bool(int64_t update)>& interrupted = {});

}  // namespace concur::readers

#endif  // CONCUR_READERS_PRETRAINING_COMMANDS_H_
