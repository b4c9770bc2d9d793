// SPDX-License-Identifier: Apache-2.0
#include "readers/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace concur::readers {
namespace {

// The part of a parameter that changes.
torch::Tensor RowsOf(const torch::Tensor& tensor, int64_t rows) {
  return rows < 0 || rows >= tensor.size(0) ? tensor : tensor.narrow(0, 0, rows);
}

}  // namespace

ParameterUpdates::ParameterUpdates(const UpdateRule& rule, std::vector<Trained> parameters)
    : rule_(rule) {
  const torch::NoGradGuard no_gradients;
  for (Trained& parameter : parameters) {
    Slot slot;
    const torch::Tensor value = RowsOf(parameter.tensor, parameter.rows);
    slot.first = torch::zeros_like(value, torch::MemoryFormat::Contiguous);
    if (rule.kind != UpdateRule::Kind::kSgd) {
      slot.second = torch::zeros_like(value, torch::MemoryFormat::Contiguous);
    }
    slot.parameter = std::move(parameter);
    slots_.push_back(std::move(slot));
  }
}

void ParameterUpdates::Step(double learning_rate) {
  const torch::NoGradGuard no_gradients;
  ++steps_;
  for (Slot& slot : slots_) {
    const Trained& parameter = slot.parameter;
    if (parameter.tensor.grad().defined()) {
      Update(slot, RowsOf(parameter.tensor, parameter.rows),
             RowsOf(parameter.tensor.grad(), parameter.rows), learning_rate * parameter.rate_scale);
    }
  }
}

void ParameterUpdates::Update(Slot& slot, torch::Tensor value, torch::Tensor gradient,
                              double learning_rate) {
  using Kind = UpdateRule::Kind;
  const double decay = slot.parameter.weight_decay;
  const double beta1 = rule_.beta1;
  const double beta2 = rule_.beta2;
  const auto steps = static_cast<double>(steps_);
  if (decay != 0 && rule_.kind != Kind::kAdamW && rule_.kind != Kind::kBertAdam) {
    gradient = gradient.add(value, decay);
  }
  switch (rule_.kind) {
    case Kind::kAdam: {
      slot.first.mul_(beta1).add_(gradient, 1 - beta1);
      slot.second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
      const torch::Tensor divisor =
          (slot.second.sqrt() / std::sqrt(1 - std::pow(beta2, steps))).add_(rule_.epsilon);
      value.addcdiv_(slot.first, divisor, -learning_rate / (1 - std::pow(beta1, steps)));
      return;
    }
    case Kind::kAdamax: {
      // With no gradient yet the second is epsilon and the first 0: the value stays.
      slot.first.mul_(beta1).add_(gradient, 1 - beta1);
      torch::maximum_out(slot.second, slot.second.mul_(beta2), gradient.abs().add_(rule_.epsilon));
      value.addcdiv_(slot.first, slot.second, -learning_rate / (1 - std::pow(beta1, steps)));
      return;
    }
    case Kind::kAdadelta: {
      slot.first.mul_(rule_.rho).addcmul_(gradient, gradient, 1 - rule_.rho);
      const torch::Tensor delta = slot.second.add(rule_.epsilon)
                                      .sqrt_()
                                      .div_(slot.first.add(rule_.epsilon).sqrt_())
                                      .mul_(gradient);
      slot.second.mul_(rule_.rho).addcmul_(delta, delta, 1 - rule_.rho);
      value.add_(delta, -learning_rate);
      return;
    }
    case Kind::kSgd:
      slot.first.mul_(rule_.momentum).add_(gradient);
      value.add_(slot.first, -learning_rate);
      return;
    case Kind::kAdamW: {
      slot.first.mul_(beta1).add_(gradient, 1 - beta1);
      slot.second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
      double rate = learning_rate;
      if (rule_.correct_bias) {
        rate *= std::sqrt(1 - std::pow(beta2, steps)) / (1 - std::pow(beta1, steps));
      }
      value.addcdiv_(slot.first, slot.second.sqrt().add_(rule_.epsilon), -rate);
      if (decay != 0) {
        value.add_(value, -learning_rate * decay);
      }
      return;
    }
    case Kind::kBertAdam: {
      if (rule_.parameter_norm_max > 0) {
        const double norm = gradient.norm().item<double>();
        gradient = gradient * std::min(1.0, rule_.parameter_norm_max / (norm + 1e-6));
      }
      slot.first.mul_(beta1).add_(gradient, 1 - beta1);
      slot.second.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
      torch::Tensor update = slot.first / slot.second.sqrt().add_(rule_.epsilon);
      if (decay != 0) {
        update.add_(value, decay);
      }
      value.add_(update, -learning_rate);
      return;
    }
  }
}

std::map<std::string, torch::Tensor> ParameterUpdates::State() const {
  std::map<std::string, torch::Tensor> state;
  for (const Slot& slot : slots_) {
    state["first." + slot.parameter.name] = slot.first;
    if (slot.second.defined()) {
      state["second." + slot.parameter.name] = slot.second;
    }
  }
  return state;
}

double ClipGradients(const std::vector<Trained>& parameters, double norm_max) {
  const torch::NoGradGuard no_gradients;
  std::vector<torch::Tensor> norms;
  for (const Trained& parameter : parameters) {
    if (parameter.tensor.grad().defined()) {
      norms.push_back(parameter.tensor.grad().norm());
    }
  }
  if (norms.empty()) {
    return 0;
  }
  const double norm = torch::stack(norms).norm().item<double>();
  const double factor = norm_max / (norm + 1e-6);
  if (norm_max > 0 && std::isfinite(norm) && factor < 1) {
    for (const Trained& parameter : parameters) {
      if (parameter.tensor.grad().defined()) {
        parameter.tensor.grad().mul_(factor);
      }
    }
  }
  return norm;
}

WeightAverage::WeightAverage(double decay, const std::vector<Trained>& parameters)
    : decay_(decay), parameters_(parameters) {
  for (const Trained& parameter : parameters_) {
    averages_.push_back(parameter.tensor.detach().clone());
  }
}

void WeightAverage::Update(int64_t step) {
  const torch::NoGradGuard no_gradients;
  const auto n = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    averages_[i].mul_(decay).add_(parameters_[i].tensor, 1 - decay);
  }
}

void WeightAverage::Swap() {
  const torch::NoGradGuard no_gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const torch::Tensor weights = parameters_[i].tensor.detach().clone();
    parameters_[i].tensor.copy_(averages_[i]);
    averages_[i].copy_(weights);
  }
}

std::map<std::string, torch::Tensor> WeightAverage::State() const {
  std::map<std::string, torch::Tensor> state;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    state["average." + parameters_[i].name] = averages_[i];
  }
  return state;
}

}  // namespace concur::readers
