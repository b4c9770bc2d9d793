// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/rnn.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace concur::readers {
namespace {

int64_t GatesOf(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

}  // namespace

absl::StatusOr<Cell> ParseCell(absl::string_view name) {
  if (name == "lstm") {
    return Cell::kLstm;
  }
  if (name == "gru") {
    return Cell::kGru;
  }
  if (name == "rnn") {
    return Cell::kTanh;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected lstm, gru or rnn, got \"", std::string(name), "\""));
}

RnnImpl::RnnImpl(Cell cell, int64_t input, int64_t hidden, int64_t layers, double dropout)
    : cell_(cell), hidden_(hidden), layers_(layers), dropout_(dropout) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const int64_t rows = GatesOf(cell) * hidden;
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (const char* direction : {"", "_reverse"}) {
      const std::string suffix = absl::StrCat("_l", layer, direction);
      const int64_t width = layer == 0 ? input : 2 * hidden;
      const auto add = [&](const char* name, torch::IntArrayRef shape) {
        const torch::Tensor initial = torch::empty(shape).uniform_(-bound, bound);
        weights_.push_back(register_parameter(absl::StrCat(name, suffix), initial));
      };
      add("weight_ih", {rows, width});
      add("weight_hh", {rows, hidden});
      add("bias_ih", {rows});
      add("bias_hh", {rows});
    }
  }
}

// x has time first; `weights` are those of `layers` layers in one or both directions.
torch::Tensor RnnImpl::Run(const torch::Tensor& x, torch::TensorList weights, int64_t layers,
                           bool both_directions) {
  // cuDNN keeps what gradients need in training only.
  const bool training = is_training() || torch::GradMode::is_enabled();
  const double dropout = is_training() ? dropout_ : 0;
  const torch::Tensor zeros =
      torch::zeros({(both_directions ? 2 : 1) * layers, x.size(1), hidden_}, x.options());
  switch (cell_) {
    case Cell::kLstm:
      return std::get<0>(torch::lstm(x, {zeros, zeros}, weights, true, layers, dropout, training,
                                     both_directions, false));
    case Cell::kGru:
      return std::get<0>(
          torch::gru(x, zeros, weights, true, layers, dropout, training, both_directions, false));
    case Cell::kTanh:
      break;
  }
  return std::get<0>(
      torch::rnn_tanh(x, zeros, weights, true, layers, dropout, training, both_directions, false));
}

torch::Tensor RnnImpl::Forward(const torch::Tensor& x) { return Forward(x, torch::Tensor()); }

torch::Tensor RnnImpl::Forward(const torch::Tensor& x, const torch::Tensor& mask) {
  return ForwardTimeFirst(x.transpose(0, 1), mask).transpose(0, 1);
}

torch::Tensor RnnImpl::LastStep(const torch::Tensor& x) {
  const torch::TensorList weights(weights_);
  const int64_t last = x.size(1) - 1;
  const torch::Tensor forward = Run(x.transpose(0, 1), weights.slice(0, 4), 1, false)[last];
  const torch::Tensor backward =
      Run(x.select(1, last).unsqueeze(0), weights.slice(4, 4), 1, false)[0];
  return torch::cat({forward, backward}, 1);
}

// cuDNN wants the weights of a call side by side, and otherwise copies them, and warns, each time.
// On CUDA a call is always for one direction of one layer.
void RnnImpl::to(torch::Device device, bool non_blocking) {
  torch::nn::Module::to(device, non_blocking);
  if (!device.is_cuda()) {
    return;
  }
  const torch::NoGradGuard no_gradients;
  const int64_t mode = cell_ == Cell::kLstm ? 2 : cell_ == Cell::kGru ? 3 : 1;  // cudnnRNNMode_t
  for (size_t first = 0; first < weights_.size(); first += 4) {
    torch::_cudnn_rnn_flatten_weight(torch::TensorList(weights_).slice(first, 4), 4,
                                     weights_[first].size(1), mode, hidden_, 0, 1, false, false);
  }
}

// Padding is at the end, so that the forward direction need not know of it, and the backward
// direction is a forward one over each row's tokens in reverse order. That computes what torch's
// packed sequences do, whose gradients take time with the square of the length.
torch::Tensor RnnImpl::ForwardTimeFirst(const torch::Tensor& x, const torch::Tensor& mask) {
  if (!x.is_cuda() && (!mask.defined() || mask.all().item<bool>())) {
    return Run(x, weights_, layers_, true);
  }
  const int64_t batch = x.size(1);
  const torch::Tensor present =
      mask.defined() ? mask : torch::ones({batch, x.size(0)}, x.options().dtype(torch::kBool));
  const torch::Tensor lengths = present.sum(1).unsqueeze(0);                             // [1, B]
  const torch::Tensor steps = torch::arange(x.size(0), lengths.options()).unsqueeze(1);  // [T, 1]
  const torch::Tensor sources = torch::where(steps.lt(lengths), lengths - 1 - steps, steps);
  const torch::Tensor places =
      (sources * batch + torch::arange(batch, lengths.options()).unsqueeze(0)).view(-1);
  const auto reversed = [&places](const torch::Tensor& sequence) {
    return sequence.flatten(0, 1).index_select(0, places).view(sequence.sizes());
  };
  const torch::TensorList weights(weights_);
  torch::Tensor output = x;
  for (int64_t layer = 0; layer < layers_; ++layer) {
    const torch::Tensor input = layer == 0 ? x : Dropout(output, dropout_, is_training());
    const auto first = static_cast<size_t>(8 * layer);
    const torch::Tensor forward = Run(input, weights.slice(first, 4), 1, false);
    const torch::Tensor backward =
        reversed(Run(reversed(input), weights.slice(first + 4, 4), 1, false));
    output = torch::cat({forward, backward}, 2);
  }
  return output.masked_fill(present.logical_not().transpose(0, 1).unsqueeze(2), 0);
}

StackedRnnImpl::StackedRnnImpl(const StackedRnnOptions& options) : options_(options) {
  register_module("rnns", rnns_);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    rnns_->push_back(
        Rnn(options.cell, layer == 0 ? options.input : 2 * options.hidden, options.hidden));
  }
  if (options.squeeze_excitation > 0) {
    register_module("ses", gates_);
    const int64_t width = 2 * options.hidden;
    for (int64_t layer = 0; layer < options.layers; ++layer) {
      gates_->push_back(torch::nn::Sequential(
          torch::nn::Linear(width, width / options.squeeze_excitation), torch::nn::ReLU(),
          torch::nn::Linear(width / options.squeeze_excitation, width), torch::nn::Sigmoid()));
    }
  }
}

// FastFusionNet's variational dropout is called here with time first, so that a mask holds for a
// step of all sequences rather than for a sequence; elsewhere it is as published.
torch::Tensor StackedRnnImpl::DropInput(const torch::Tensor& x) const {
  return options_.dropout(x, is_training());
}

torch::Tensor StackedRnnImpl::Forward(const torch::Tensor& x, const torch::Tensor& mask) {
  const bool leave_out = options_.padding == Padding::kLeftOut ||
                         (options_.padding == Padding::kLeftOutInEvaluation && !is_training());
  std::vector<torch::Tensor> outputs;
  torch::Tensor below = x.transpose(0, 1);
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    torch::Tensor output = rnns_->ptr<RnnImpl>(layer)->ForwardTimeFirst(
        DropInput(below), leave_out ? mask : torch::Tensor());
    if (options_.residual && output.sizes() == below.sizes()) {
      output = output + below;
    }
    if (options_.squeeze_excitation > 0) {
      const torch::Tensor mean = output.sum(0) / mask.sum(1, true).to(output.dtype());
      output = output * gates_->ptr<torch::nn::SequentialImpl>(layer)->forward(mean).unsqueeze(0);
    }
    outputs.push_back(output);
    below = output;
  }
  const torch::Tensor output =
      (options_.concatenate_layers ? torch::cat(outputs, 2) : outputs.back()).transpose(0, 1);
  return options_.drop_output ? options_.dropout(output, is_training()) : output;
}

torch::Tensor StackedRnnImpl::LastStep(const torch::Tensor& x) {
  const torch::Tensor dropped = DropInput(x.transpose(0, 1)).transpose(0, 1);
  const torch::Tensor output = rnns_->ptr<RnnImpl>(0)->LastStep(dropped);
  return options_.drop_output ? options_.dropout(output, is_training()) : output;
}

}  // namespace concur::readers
