// SPDX-License-Identifier: Apache-2.0
// Bidirectional recurrent layers, alone and stacked. Parameters have the names of torch's LSTM and
// GRU: weight_ih_l0, weight_hh_l0_reverse, …
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_RNN_H_
#define CONCUR_STUDIES_READERS_LAYERS_RNN_H_

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/layers/dropout.h"

namespace concur::readers {

enum class Cell { kLstm, kGru, kTanh };

// "lstm", "gru" or "rnn"; InvalidArgument for others.
absl::StatusOr<Cell> ParseCell(absl::string_view name);

// Layers that read a sequence in both directions; each reads both outputs of the one below.
class RnnImpl : public torch::nn::Module {
 public:
  // `dropout` falls between layers.
  RnnImpl(Cell cell, int64_t input, int64_t hidden, int64_t layers = 1, double dropout = 0);

  // x [B, T, input] → [B, T, 2 hidden]. Reads padding as if it were tokens.
  torch::Tensor Forward(const torch::Tensor& x);
  // Leaves padding out: the backward direction starts at the last token; zeros at padding.
  // REQUIRES: each row of the mask [B, T] is true up to its length.
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask);
  // The same with time first, [T, B, input] → [T, B, 2 hidden], for stacks; the mask may be
  // undefined.
  torch::Tensor ForwardTimeFirst(const torch::Tensor& x, const torch::Tensor& mask);
  // The states at the last step T alone, [B, 2 hidden]: the forward direction has read all, the
  // backward direction that step. REQUIRES: one layer.
  torch::Tensor LastStep(const torch::Tensor& x);
  using torch::nn::Module::to;
  void to(torch::Device device, bool non_blocking = false) override;

 private:
  torch::Tensor Run(const torch::Tensor& x, torch::TensorList weights, int64_t layers,
                    bool both_directions);

  Cell cell_;
  int64_t hidden_;
  int64_t layers_;
  double dropout_;
  std::vector<torch::Tensor> weights_;  // in the order of torch's functions
};
TORCH_MODULE(Rnn);

// Ways in which a stack treats padding.
enum class Padding {
  kRead,                 // as if it were tokens
  kLeftOut,              // always
  kLeftOutInEvaluation,  // but read in training
};

struct StackedRnnOptions {
  Cell cell = Cell::kLstm;
  int64_t input = 0;
  int64_t hidden = 0;  // for each direction
  int64_t layers = 1;
  Padding padding = Padding::kRead;
  DropoutKind dropout;              // applied to the input of each layer
  bool drop_output = false;         // the same for the output
  bool concatenate_layers = false;  // the output is that of all layers, otherwise of the last
  bool residual = false;            // adds a layer's input to its output, where sizes agree
  int64_t squeeze_excitation = 0;   // gates features by their mean; the reduction; 0: no gates

  int64_t output() const { return 2 * hidden * (concatenate_layers ? layers : 1); }
};

// One-layer RNNs `rnns.0`, `rnns.1`, … on top of each other, as DrQA introduced them.
class StackedRnnImpl : public torch::nn::Module {
 public:
  explicit StackedRnnImpl(const StackedRnnOptions& options);
  // x [B, T, input], mask [B, T] → [B, T, options.output()].
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask);
  // The states at the last step alone, padding or not: [B, T, input] → [B, options.output()].
  // REQUIRES: one layer, without `residual` and `squeeze_excitation`.
  torch::Tensor LastStep(const torch::Tensor& x);
  const StackedRnnOptions& options() const { return options_; }

 private:
  torch::Tensor DropInput(const torch::Tensor& x) const;  // [T, B, input]

  StackedRnnOptions options_;
  torch::nn::ModuleList rnns_;
  torch::nn::ModuleList gates_;  // `ses`
};
TORCH_MODULE(StackedRnn);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_RNN_H_
