// SPDX-License-Identifier: Apache-2.0
// The config.json of a pretrained encoder's checkpoint, and which tensors belong to it. The five
// families (BERT, which SpanBERT is too, ALBERT, RoBERTa, ELECTRA) are rows of one table.
//
// Configurations are hostile input: sizes have limits, and nothing is allocated by them here.
// Immutable.
#ifndef CONCUR_STUDIES_READERS_FILES_ENCODER_CONFIG_H_
#define CONCUR_STUDIES_READERS_FILES_ENCODER_CONFIG_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/files/safetensors.h"

namespace concur::readers {

inline constexpr int64_t kEncoderConfigBytesMax = 1 << 20;

// The parts of a layer, each a weight and a bias.
enum LayerPart : size_t {
  kQuery,
  kKey,
  kValue,
  kAttentionOutput,
  kAttentionNorm,
  kUp,    // from the hidden to the intermediate size
  kDown,  // and back
  kNorm,
  kLayerParts
};

struct Family {
  const char* name;    // config.json's model_type
  const char* prefix;  // start of the encoder's tensor names: "bert."
  // The names of a layer's parts within the layer.
  std::array<const char*, kLayerParts> parts;
  // Embeddings are `embedding_size` wide, and `projection` takes them to the hidden size: always,
  // or only where the sizes differ. "" where embeddings have the hidden size.
  const char* projection;
  bool always_projects;
  bool shares_layers;  // layers are applications of num_hidden_groups groups of inner_group_num
  bool segments;       // reads segments; without, all tokens are in segment 0
  // Positions count the tokens that are not padding, from pad_token_id + 1; padding is at
  // pad_token_id. Otherwise they count all tokens from 0.
  bool positions_after_padding;
  bool drops_after_feed_forward;  // true if dropout follows the second product of a layer
};

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

struct EncoderConfig {
  const Family* family = nullptr;
  int64_t vocabulary = 0, positions = 0, segments = 0;  // rows of the embeddings
  int64_t embedding_width = 0, width = 0, intermediate_width = 0;
  int64_t layers = 0, heads = 0;
  int64_t groups = 0, layers_of_group = 0;  // where layers are shared
  int64_t padding_id = 0;
  Activation activation = Activation::kGelu;
  double norm_epsilon = 0;
  double dropout = 0, attention_dropout = 0;
  double initial_deviation = 0;  // standard deviation of weights that are drawn

  bool projects() const;
  // The path of each stored layer: "bert.encoder.layer.0.".
  std::vector<std::string> LayerPaths() const;
  // For each of `layers` steps, the stored layers that it applies, as indices of LayerPaths.
  std::vector<std::vector<size_t>> Steps() const;
  // Every tensor of the encoder and its question-answering head, by the name that the original
  // library gives it.
  TensorShapes Tensors() const;
};

// The configuration in `json`. Without model_type it is BERT's, as in the first checkpoints.
// InvalidArgument, with `place` and field, for values of other types, for sizes that are too large
// or do not fit each other, and for what would compute something else (position_embedding_type,
// is_decoder).
absl::StatusOr<EncoderConfig> ParseEncoderConfig(absl::string_view json, absl::string_view place);

// The family that the folder's config.json names as its model_type; null when it names none here.
const Family* FamilyOfCheckpoint(const std::string& directory);

// The name under which EncoderConfig::Tensors has a tensor that a checkpoint calls `stored`; ""
// for what question answering does not read: positions' numbers, poolers, and the heads of
// pretraining. LayerNorm's gamma and beta are weight and bias; a model without head that was stored
// alone lacks the family's prefix.
std::string EncoderTensorName(const Family& family, absl::string_view stored);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_ENCODER_CONFIG_H_
