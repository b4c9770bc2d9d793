// SPDX-License-Identifier: Apache-2.0
// The commands of concur-reader that fine-tune a pretrained encoder and ask it. A model is a
// checkpoint again: config.json, model.safetensors, the tokenizer's files, and reader.json, which
// says how it was trained and is to be asked.
//
// Thread-compatible: they set torch's number of threads and its seed.
#ifndef CONCUR_STUDIES_READERS_FINE_TUNING_COMMANDS_H_
#define CONCUR_STUDIES_READERS_FINE_TUNING_COMMANDS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "qa/serve.h"
#include "studies/readers/training/commands.h"

namespace concur::readers {

// As TrainReader, from `options.checkpoint`. REQUIRES: FindPretrained(options.approach).
// `interrupted` as in FineTuneRun, for tests.
absl::Status FineTuneReader(const TrainOptions& options,
                            const std::function<bool(int64_t update)>& interrupted = {});

// True if the folder is one that FineTuneReader wrote, or another checkpoint that answers.
bool IsPretrainedModel(const std::string& directory);

// As PredictAnswers. A checkpoint without reader.json is asked as its family's approach.
absl::Status PredictWithPretrained(const PredictOptions& options);
// As ServeReader.
absl::Status ServeWithPretrained(const ServeOptions& options, qa::ServeLoop loop);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FINE_TUNING_COMMANDS_H_
