// SPDX-License-Identifier: Apache-2.0
// RaSoR's LSTM: gates in the order forget, output, (input,) and candidate; the input gate may be
// one minus the forget gate; dropout of the recurrent state with one mask for a sequence; padding
// carries the state over. Parameters: PREFIX_l1_fwd_W [in, 3h], _b [3h], _U [h, 3h], then _bck,
// _l2.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_COUPLED_LSTM_H_
#define CONCUR_STUDIES_READERS_LAYERS_COUPLED_LSTM_H_

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace concur::readers {

struct CoupledLstmOptions {
  int64_t input = 0;
  int64_t hidden = 0;  // for each direction
  int64_t layers = 1;
  bool couple_gates = true;
  bool learn_initial_state = false;  // h0 and c0
  double drop_input = 0;
  bool tie_input_dropout = true;  // one mask for all steps of a sequence
  double drop_state = 0;
};

class CoupledLstm {
 public:
  // Registers its parameters in `parent`, where the original has them, with zeros in them.
  CoupledLstm(torch::nn::Module& parent, const std::string& prefix,
              const CoupledLstmOptions& options);
  // x [B, T, input], mask [B, T] → [B, T, 2 hidden], zero at padding.
  torch::Tensor Forward(const torch::Tensor& x, const torch::Tensor& mask, bool training) const;

 private:
  struct Direction {
    torch::Tensor input, bias, state;  // W, b, U
    torch::Tensor first_state, first_cell;
  };
  // Both directions of a layer side by side, so that they share the loop over time.
  torch::Tensor Layer(const Direction& forward, const Direction& backward, const torch::Tensor& x,
                      const torch::Tensor& mask, bool training) const;
  torch::Tensor Project(const Direction& direction, const torch::Tensor& x, bool training) const;

  CoupledLstmOptions options_;
  std::vector<Direction> directions_;  // forward and backward of each layer
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_COUPLED_LSTM_H_
