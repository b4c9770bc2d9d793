// SPDX-License-Identifier: Apache-2.0
// The rules by which gradients change parameters, clipping, and moving averages of weights.
// libtorch has neither Adamax nor Adadelta, and other forms of AdamW than the readers' authors
// used.
//
// Thread-compatible. Formulae are those of PyTorch 1.13 (Adam, Adamax, Adadelta, SGD), of
// transformers 4 (AdamW) and of the BERT authors' optimizer (BertAdam).
#ifndef CONCUR_STUDIES_READERS_TRAINING_OPTIMIZER_H_
#define CONCUR_STUDIES_READERS_TRAINING_OPTIMIZER_H_

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace concur::readers {

struct UpdateRule {
  enum class Kind {
    kAdam,      // weight decay is added to the gradient
    kAdamax,    // the same
    kAdadelta,  // the same
    kSgd,       // the same
    kAdamW,     // the decay follows the step: p -= lr * decay * p
    kBertAdam,  // no bias correction; each parameter's gradient is clipped; decay within the step
  };
  Kind kind = Kind::kAdam;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // Adadelta uses only epsilon
  double rho = 0.95;                                  // Adadelta
  double momentum = 0;                                // SGD
  bool correct_bias = true;                           // AdamW
  double parameter_norm_max = 0;                      // BertAdam: 0 does not clip
};

// A parameter that is trained.
struct Trained {
  std::string name;
  torch::Tensor tensor;
  double weight_decay = 0;
  int64_t rows = -1;      // only so many rows change; -1: all
  double rate_scale = 1;  // factor of the learning rate
};

class ParameterUpdates {
 public:
  ParameterUpdates(const UpdateRule& rule, std::vector<Trained> parameters);
  // The same, and says how many elements are changed together at most; a larger parameter is
  // changed alone. The other one knows what is fast where the parameters are.
  ParameterUpdates(const UpdateRule& rule, std::vector<Trained> parameters, int64_t group_elements);

  // Changes each parameter that has a gradient.
  void Step(double learning_rate);

  // Tensors that a checkpoint must hold, by name; they share the optimizer's memory. REQUIRES for
  // SetSteps: the state was restored, too.
  std::map<std::string, torch::Tensor> State() const;
  int64_t steps() const { return steps_; }
  void SetSteps(int64_t steps) { steps_ = steps; }

 private:
  struct Slot {
    Trained parameter;
    torch::Tensor first, second;  // running means, by rule
  };
  // Parameters that are changed together.
  struct Group {
    std::vector<torch::Tensor> values, gradients, first, second;
    std::vector<double> rates, decays;
  };
  void Update(Group group) const;
  void MoveMeans(torch::TensorList first, torch::TensorList second,
                 torch::TensorList gradients) const;

  UpdateRule rule_;
  int64_t group_elements_;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

// Scales all gradients by min(1, norm_max / (norm + 1e-6)), where `norm` is that of all of them
// together, which is returned; norm_max 0 scales nothing. Infinite or NaN norms are returned as
// they are.
double ClipGradients(const std::vector<Trained>& parameters, double norm_max);

void ScaleGradients(const std::vector<Trained>& parameters, double factor);

// The average m = d m + (1 - d) p of each parameter, d = min(decay, (1 + n) / (10 + n)) at the n-th
// update, as AllenNLP's.
class WeightAverage {
 public:
  WeightAverage(double decay, const std::vector<Trained>& parameters);

  void Update(int64_t step);
  // Exchanges weights and averages.
  void Swap();
  std::map<std::string, torch::Tensor> State() const;

 private:
  double decay_;
  std::vector<Trained> parameters_;
  std::vector<torch::Tensor> weights_, averages_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_OPTIMIZER_H_
