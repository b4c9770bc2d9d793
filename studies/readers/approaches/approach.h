// SPDX-License-Identifier: Apache-2.0
// An approach: a network, what it reads, and how its authors train it.
//
// Immutable.
#ifndef CONCUR_STUDIES_READERS_APPROACHES_APPROACH_H_
#define CONCUR_STUDIES_READERS_APPROACHES_APPROACH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/options.h"
#include "studies/readers/reader.h"
#include "studies/readers/text/word_vectors.h"

namespace concur::readers {

enum class Characters {
  kNone,
  kBytes,       // UTF-8 bytes + 1, between begin (259) and end (260); at least 5 for each word
  kVocabulary,  // characters of the training data, at least 5 for each word
  kFixed,       // characters of the training data, words cut or padded to 13
};

// Rules by which words get ids and vectors.
enum class UnknownWords {
  kDropped,      // only words with a vector are in the vocabulary; all others share id 1
  kRandom,       // frequent words without a vector get a random one
  kFixedRandom,  // each gets a random vector, with mean and covariance of the known; never trained
};

// Which tensors of a Batch the network reads, and what stands in them.
struct Inputs {
  bool lower_case_words = false;
  UnknownWords unknown_words = UnknownWords::kDropped;
  Characters characters = Characters::kNone;
  // Columns of passage_features: exact match (cased, lower-cased, lemma), then term frequency.
  bool match_features = false;
  bool question_features = false;  // the same for the question, matched against the passage
  // Part of speech and entity: as one-hot columns of the features, or as ids that are embedded.
  enum class Tags { kNone, kColumns, kIds } tags = Tags::kNone;
};

enum class Optimizer { kAdam, kAdamax, kAdadelta, kSgd };
enum class Schedule {
  kConstant,
  kDecayEverySteps,  // times schedule_factor every schedule_period updates
  kOnPlateau,        // times schedule_factor after schedule_period epochs without a better score
};
enum class Selection { kExactMatch, kF1 };  // the validation score that chooses the epoch

// The training of the authors' program; sources of the values stand with each approach.
struct Settings {
  Optimizer optimizer = Optimizer::kAdamax;
  double learning_rate = 2e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // Adam, Adamax
  double rho = 0.95;                                  // Adadelta; `epsilon` counts, too
  double momentum = 0;                                // SGD
  double weight_decay = 0;
  Schedule schedule = Schedule::kConstant;
  double schedule_factor = 1;
  int64_t schedule_period = 0;
  int64_t batch = 32;
  int64_t epochs = 40;
  int64_t patience = 0;  // epochs without a better score before training ends; 0: all epochs
  Selection selection = Selection::kF1;
  double gradient_norm_max = 0;  // 0: no clipping
  double average_decay = 0;      // decay of the moving average of weights that predicts; 0: none
  // In training longer texts are cut, and questions with answers behind the cut left out; 0: no
  // limit.
  int64_t passage_tokens_max = 0, question_tokens_max = 0;
  int64_t train_answer_tokens_max = 0;  // questions with longer answers are left out; 0: none
  int64_t answer_tokens_max = 0;        // in decoding; 0: no limit
  std::string vectors = "glove.840B.300d";
  VectorsCase vectors_case = VectorsCase::kLower;
  // Train answers' words that must have a vector, in percent.
  double answer_vectors_min = 60;
  // Rows of word vectors that are trained: of the most frequent words; 0: none, -1: all.
  int64_t tuned_words = 0;
};

// Sizes that only the data gives; `WithSizes` puts them among the options.
struct InputSizes {
  int64_t words = 0;  // with padding and unknown
  int64_t word_dim = 0;
  int64_t characters = 0;
  int64_t features = 0;  // columns
  int64_t pos_tags = 0, entity_tags = 0;
};

struct Approach {
  std::string name;     // "document-reader"
  std::string summary;  // one line
  Inputs inputs;
  Settings settings;
  Options options;  // the network's, with the authors' values; sizes of the data are 0
  // InvalidArgument for a value that the network does not know.
  std::function<absl::StatusOr<std::shared_ptr<Reader>>(const Options&)> make;
  // By which models of the original are recognised (RecogniseApproach): keys of its configuration,
  // or prefixes of parameters' names.
  std::vector<std::string> signs;
  // The options' names for the data's sizes; "" for what the network does not read.
  struct SizeNames {
    std::string words, word_dim, characters, features, pos_tags, entity_tags;
  } sizes;

  // `options` with the data's sizes.
  Options WithSizes(const InputSizes& input_sizes) const;
};

// Every approach, in the order of listings.
const std::vector<Approach>& AllApproaches();
// NotFound, with a suggestion, for unknown names.
absl::StatusOr<const Approach*> FindApproach(absl::string_view name);

// InvalidArgument, naming the option, when its value is not one of `words`.
absl::Status CheckOneOf(const Options& options, absl::string_view name,
                        const std::vector<std::string>& words);

// The approaches, each in a file of its own; those with external features also without part of
// speech and entity (term frequency and exact match stay).
Approach RasorApproach();
Approach BidafApproach();
Approach DocumentReaderApproach(bool external_features);
Approach BidafPlusPlusApproach();
Approach MnemonicReaderApproach(bool external_features);
Approach QanetApproach();
Approach FusionNetApproach(bool external_features);
// Beside those ten: DrQA's own network, and the BiDAF without characters of FastFusionNet.
Approach DrqaApproach();
Approach FusionBidafApproach();

// Where options of FastFusionNet's readers hold the data's sizes.
Approach::SizeNames FusionSizes();

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_APPROACHES_APPROACH_H_
