// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/coupled_lstm.h"

#include "absl/strings/str_cat.h"
#include "studies/readers/layers/dropout.h"

namespace concur::readers {

CoupledLstm::CoupledLstm(torch::nn::Module& parent, const std::string& prefix,
                         const CoupledLstmOptions& options)
    : options_(options) {
  const int64_t columns = (options.couple_gates ? 3 : 4) * options.hidden;
  for (int64_t layer = 1; layer <= options.layers; ++layer) {
    const int64_t width = layer == 1 ? options.input : 2 * options.hidden;
    for (const char* name : {"fwd", "bck"}) {
      const auto add = [&](const char* part, torch::IntArrayRef shape) {
        return parent.register_parameter(absl::StrCat(prefix, "_l", layer, "_", name, "_", part),
                                         torch::zeros(shape));
      };
      Direction direction;
      direction.input = add("W", {width, columns});
      direction.bias = add("b", {columns});
      direction.state = add("U", {options.hidden, columns});
      if (options.learn_initial_state) {
        direction.first_state = add("h0", {options.hidden});
        direction.first_cell = add("c0", {options.hidden});
      }
      directions_.push_back(direction);
    }
  }
}

torch::Tensor CoupledLstm::Project(const Direction& direction, const torch::Tensor& x,
                                   bool training) const {
  const torch::Tensor dropped = options_.tie_input_dropout
                                    ? VariationalDropout(x, options_.drop_input, training)
                                    : Dropout(x, options_.drop_input, training);
  return dropped.matmul(direction.input) + direction.bias;
}

torch::Tensor CoupledLstm::Layer(const Direction& forward, const Direction& backward,
                                 const torch::Tensor& x, const torch::Tensor& mask,
                                 bool training) const {
  const int64_t batch = x.size(0);
  const int64_t length = x.size(1);
  const int64_t hidden = options_.hidden;
  // [T, 2, B, …]: the backward direction reads from the end, padding first.
  // Taken apart at once: the gradient of a step taken by its index is as long as the sequence.
  const std::vector<torch::Tensor> projected =
      torch::stack({Project(forward, x, training), Project(backward, x, training).flip({1})}, 0)
          .permute({2, 0, 1, 3})
          .contiguous()
          .unbind(0);
  const torch::Tensor kept =
      torch::stack({mask, mask.flip({1})}, 0).permute({2, 0, 1}).unsqueeze(3).contiguous();
  const torch::Tensor weights = torch::stack({forward.state, backward.state}, 0);
  const auto initial = [&](const torch::Tensor& first, const torch::Tensor& second) {
    return first.defined()
               ? torch::stack({first, second}, 0).unsqueeze(1).expand({2, batch, hidden})
               : torch::zeros({2, batch, hidden}, x.options());
  };
  torch::Tensor state = initial(forward.first_state, backward.first_state);
  torch::Tensor cell = initial(forward.first_cell, backward.first_cell);
  const bool drop = training && options_.drop_state > 0;
  const torch::Tensor noise = drop ? DropoutNoise(state, options_.drop_state) : torch::Tensor();
  const torch::Tensor full_steps = mask.all(0).to(torch::kCPU);
  const bool* full = full_steps.data_ptr<bool>();
  const int64_t gates = options_.couple_gates ? 2 : 3;
  std::vector<torch::Tensor> states;
  for (int64_t step = 0; step < length; ++step) {
    const torch::Tensor linear =
        torch::baddbmm(projected[static_cast<size_t>(step)], drop ? state * noise : state, weights);
    const std::vector<torch::Tensor> open =
        torch::sigmoid(linear.narrow(2, 0, gates * hidden)).chunk(gates, 2);
    const torch::Tensor candidate = torch::tanh(linear.narrow(2, gates * hidden, hidden));
    torch::Tensor next_cell = options_.couple_gates ? torch::lerp(candidate, cell, open[0])
                                                    : open[0] * cell + open[2] * candidate;
    torch::Tensor next_state = open[1] * torch::tanh(next_cell);
    if (!full[step] || !full[length - 1 - step]) {
      next_cell = torch::where(kept[step], next_cell, cell);
      next_state = torch::where(kept[step], next_state, state);
    }
    cell = next_cell;
    state = next_state;
    states.push_back(state);
  }
  const torch::Tensor all = torch::stack(states, 2);  // [2, B, T, h]
  return torch::cat({all[0], all[1].flip({1})}, 2);
}

torch::Tensor CoupledLstm::Forward(const torch::Tensor& x, const torch::Tensor& mask,
                                   bool training) const {
  torch::Tensor output = x;
  const torch::Tensor padding = mask.logical_not().unsqueeze(2);
  for (size_t i = 0; i < directions_.size(); i += 2) {
    output =
        Layer(directions_[i], directions_[i + 1], output, mask, training).masked_fill(padding, 0);
  }
  return output;
}

}  // namespace concur::readers
