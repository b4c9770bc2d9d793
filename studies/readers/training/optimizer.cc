// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace concur::readers {
namespace {

// On CUDA, libtorch's operators on lists need one kernel for all tensors of a list, where each
// tensor alone needs one. They also need memory for a result of each.
constexpr int64_t kCudaGroupElements = int64_t{1} << 22;

int64_t GroupElements(const std::vector<Trained>& parameters) {
  return !parameters.empty() && parameters.front().tensor.is_cuda() ? kCudaGroupElements : 0;
}

// The part of a parameter that changes.
torch::Tensor RowsOf(const torch::Tensor& tensor, int64_t rows) {
  return rows < 0 || rows >= tensor.size(0) ? tensor : tensor.narrow(0, 0, rows);
}

std::vector<at::Scalar> Scalars(const std::vector<double>& numbers) {
  return std::vector<at::Scalar>(numbers.begin(), numbers.end());
}

// Adds to each of `sums` its tensor times its factor.
void AddProducts(torch::TensorList sums, torch::TensorList tensors,
                 const std::vector<double>& factors) {
  if (std::adjacent_find(factors.begin(), factors.end(), std::not_equal_to<>()) == factors.end()) {
    at::_foreach_add_(sums, tensors, factors.front());
  } else {
    at::_foreach_add_(sums, at::_foreach_mul(tensors, Scalars(factors)));
  }
}

std::vector<double> Negated(std::vector<double> numbers, double divisor = 1) {
  std::transform(numbers.begin(), numbers.end(), numbers.begin(),
                 [divisor](double number) { return -number / divisor; });
  return numbers;
}

std::vector<torch::Tensor> RootsOfSums(torch::TensorList tensors, double epsilon) {
  std::vector<torch::Tensor> sums = at::_foreach_add(tensors, epsilon);
  at::_foreach_sqrt_(sums);
  return sums;
}

std::vector<torch::Tensor> GradientsOf(const std::vector<Trained>& parameters) {
  std::vector<torch::Tensor> gradients;
  for (const Trained& parameter : parameters) {
    if (parameter.tensor.grad().defined()) {
      gradients.push_back(parameter.tensor.grad());
    }
  }
  return gradients;
}

}  // namespace

ParameterUpdates::ParameterUpdates(const UpdateRule& rule, std::vector<Trained> parameters)
    : ParameterUpdates(rule, parameters, GroupElements(parameters)) {}

ParameterUpdates::ParameterUpdates(const UpdateRule& rule, std::vector<Trained> parameters,
                                   int64_t group_elements)
    : rule_(rule), group_elements_(group_elements) {
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
  Group group;
  int64_t elements = 0;
  const auto update = [&] {
    if (!group.values.empty()) {
      Update(std::exchange(group, {}));
      elements = 0;
    }
  };
  for (const Slot& slot : slots_) {
    const Trained& parameter = slot.parameter;
    if (!parameter.tensor.grad().defined()) {
      continue;
    }
    torch::Tensor value = RowsOf(parameter.tensor, parameter.rows);
    if (elements + value.numel() > group_elements_) {
      update();
    }
    elements += value.numel();
    group.values.push_back(std::move(value));
    group.gradients.push_back(RowsOf(parameter.tensor.grad(), parameter.rows));
    group.first.push_back(slot.first);
    group.second.push_back(slot.second);
    group.rates.push_back(learning_rate * parameter.rate_scale);
    group.decays.push_back(parameter.weight_decay);
  }
  update();
}

void ParameterUpdates::Update(Group group) const {
  using Kind = UpdateRule::Kind;
  auto& [values, gradients, first, second, rates, decays] = group;
  const double beta1 = rule_.beta1;
  const double beta2 = rule_.beta2;
  const double bias1 = 1 - std::pow(beta1, static_cast<double>(steps_));
  const double bias2 = 1 - std::pow(beta2, static_cast<double>(steps_));
  const bool decaying = std::any_of(decays.begin(), decays.end(), [](double d) { return d != 0; });
  if (decaying && rule_.kind != Kind::kAdamW && rule_.kind != Kind::kBertAdam) {
    gradients = at::_foreach_add(gradients, 0);  // those of the caller stay
    AddProducts(gradients, values, decays);
  }
  if (rule_.kind == Kind::kBertAdam && rule_.parameter_norm_max > 0) {
    const torch::Tensor norms = torch::stack(at::_foreach_norm(gradients)).to(torch::kFloat64);
    const torch::Tensor factors = (rule_.parameter_norm_max / (norms + 1e-6)).clamp_max(1);
    gradients = at::_foreach_mul(gradients, factors.unbind());
  }
  switch (rule_.kind) {
    case Kind::kAdam: {
      MoveMeans(first, second, gradients);
      std::vector<torch::Tensor> divisors = at::_foreach_sqrt(second);
      at::_foreach_div_(divisors, std::sqrt(bias2));
      at::_foreach_add_(divisors, rule_.epsilon);
      at::_foreach_addcdiv_(values, first, divisors, Scalars(Negated(rates, bias1)));
      return;
    }
    case Kind::kAdamax: {
      // With no gradient yet the second is epsilon and the first 0: the value stays.
      at::_foreach_mul_(first, beta1);
      at::_foreach_add_(first, gradients, 1 - beta1);
      std::vector<torch::Tensor> sizes = at::_foreach_abs(gradients);
      at::_foreach_add_(sizes, rule_.epsilon);
      at::_foreach_mul_(second, beta2);
      at::_foreach_maximum_(second, sizes);
      at::_foreach_addcdiv_(values, first, second, Scalars(Negated(rates, bias1)));
      return;
    }
    case Kind::kAdadelta: {
      at::_foreach_mul_(first, rule_.rho);
      at::_foreach_addcmul_(first, gradients, gradients, 1 - rule_.rho);
      std::vector<torch::Tensor> deltas = RootsOfSums(second, rule_.epsilon);
      at::_foreach_div_(deltas, RootsOfSums(first, rule_.epsilon));
      at::_foreach_mul_(deltas, gradients);
      at::_foreach_mul_(second, rule_.rho);
      at::_foreach_addcmul_(second, deltas, deltas, 1 - rule_.rho);
      AddProducts(values, deltas, Negated(rates));
      return;
    }
    case Kind::kSgd:
      at::_foreach_mul_(first, rule_.momentum);
      at::_foreach_add_(first, gradients);
      AddProducts(values, first, Negated(rates));
      return;
    case Kind::kAdamW: {
      MoveMeans(first, second, gradients);
      std::vector<torch::Tensor> divisors = at::_foreach_sqrt(second);
      at::_foreach_add_(divisors, rule_.epsilon);
      const double correction = rule_.correct_bias ? bias1 / std::sqrt(bias2) : 1;
      at::_foreach_addcdiv_(values, first, divisors, Scalars(Negated(rates, correction)));
      if (decaying) {
        std::transform(decays.begin(), decays.end(), rates.begin(), decays.begin(),
                       [](double decay, double rate) { return -decay * rate; });
        AddProducts(values, values, decays);
      }
      return;
    }
    case Kind::kBertAdam: {
      MoveMeans(first, second, gradients);
      std::vector<torch::Tensor> divisors = at::_foreach_sqrt(second);
      at::_foreach_add_(divisors, rule_.epsilon);
      std::vector<torch::Tensor> updates = at::_foreach_div(first, divisors);
      if (decaying) {
        AddProducts(updates, values, decays);
      }
      AddProducts(values, updates, Negated(rates));
      return;
    }
  }
}

// Adam's running means of gradients and of their squares.
void ParameterUpdates::MoveMeans(torch::TensorList first, torch::TensorList second,
                                 torch::TensorList gradients) const {
  at::_foreach_mul_(first, rule_.beta1);
  at::_foreach_add_(first, gradients, 1 - rule_.beta1);
  at::_foreach_mul_(second, rule_.beta2);
  at::_foreach_addcmul_(second, gradients, gradients, 1 - rule_.beta2);
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
  const std::vector<torch::Tensor> gradients = GradientsOf(parameters);
  if (gradients.empty()) {
    return 0;
  }
  const double norm = torch::stack(at::_foreach_norm(gradients)).norm().item<double>();
  const double factor = norm_max / (norm + 1e-6);
  if (norm_max > 0 && std::isfinite(norm) && factor < 1) {
    at::_foreach_mul_(gradients, factor);
  }
  return norm;
}

void ScaleGradients(const std::vector<Trained>& parameters, double factor) {
  const torch::NoGradGuard no_gradients;
  if (const std::vector<torch::Tensor> gradients = GradientsOf(parameters); !gradients.empty()) {
    at::_foreach_mul_(gradients, factor);
  }
}

WeightAverage::WeightAverage(double decay, const std::vector<Trained>& parameters)
    : decay_(decay), parameters_(parameters) {
  for (const Trained& parameter : parameters_) {
    weights_.push_back(parameter.tensor);
    averages_.push_back(parameter.tensor.detach().clone());
  }
}

void WeightAverage::Update(int64_t step) {
  const torch::NoGradGuard no_gradients;
  const auto n = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  if (!averages_.empty()) {
    at::_foreach_mul_(averages_, decay);
    at::_foreach_add_(averages_, weights_, 1 - decay);
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
