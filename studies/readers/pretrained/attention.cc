// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/pretrained/attention.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "studies/readers/layers/dropout.h"

namespace concur::readers {
namespace {

torch::ScalarType SoftmaxType(torch::ScalarType type) {
  return type == torch::kFloat16 || type == torch::kBFloat16 ? torch::kFloat32 : type;
}

torch::Tensor AttendAtOnce(const torch::Tensor& query, const torch::Tensor& key,
                           const torch::Tensor& value, const torch::Tensor& bias, double dropout,
                           torch::Tensor* kept_weights) {
  torch::Tensor scores = query.matmul(key.transpose(2, 3));
  if (bias.defined()) {
    scores = scores + bias;
  }
  const torch::Tensor weights = torch::softmax(scores, -1, SoftmaxType(value.scalar_type()));
  if (kept_weights != nullptr) {
    *kept_weights = weights;
  }
  return Dropout(weights, dropout, true).to(value.scalar_type()).matmul(value);
}

at::Generator GeneratorOf(const torch::Tensor& x) {
  return at::globalContext().defaultGenerator(x.device());
}

torch::Tensor StateOfGenerator(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void SetGenerator(at::Generator generator, const torch::Tensor& state) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

// Inputs without gradients of attention in blocks.
struct Blocks {
  torch::Tensor bias;  // undefined: none
  double dropout = 0;
  int64_t rows = 0;  // queries of a block
};

// Attention in blocks of queries, of which gradients need the inputs alone, and the state
// of the generator that dropout was drawn from.
class BlockedAttention : public torch::autograd::Function<BlockedAttention> {
 public:
  using Context = torch::autograd::AutogradContext;
  using Tensors = torch::autograd::variable_list;

  // NOLINTNEXTLINE(readability-identifier-naming): torch calls it by this name.
  static torch::Tensor forward(Context* context, const torch::Tensor& query,
                               const torch::Tensor& key, const torch::Tensor& value,
                               const Blocks& blocks) {
    context->save_for_backward({query, key, value});
    if (blocks.bias.defined()) {
      context->saved_data["bias"] = blocks.bias;
    }
    context->saved_data["dropout"] = blocks.dropout;
    context->saved_data["rows"] = blocks.rows;
    context->saved_data["generator"] = StateOfGenerator(GeneratorOf(query));
    std::vector<torch::Tensor> parts;
    for (int64_t begin = 0; begin < query.size(2); begin += blocks.rows) {
      parts.push_back(AttendAtOnce(BlockAt(query, begin, blocks.rows), key, value, blocks.bias,
                                   blocks.dropout, nullptr));
    }
    return torch::cat(parts, 2);
  }

  // NOLINTNEXTLINE(readability-identifier-naming): torch calls it by this name.
  static Tensors backward(Context* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const torch::Tensor query = saved[0].detach();
    const torch::Tensor key = saved[1].detach().requires_grad_();
    const torch::Tensor value = saved[2].detach().requires_grad_();
    const auto bias = context->saved_data.find("bias");
    const torch::Tensor added =
        bias == context->saved_data.end() ? torch::Tensor() : bias->second.toTensor();
    const double dropout = context->saved_data["dropout"].toDouble();
    const int64_t rows = context->saved_data["rows"].toInt();
    const torch::Tensor later = StateOfGenerator(GeneratorOf(query));
    SetGenerator(GeneratorOf(query), context->saved_data["generator"].toTensor());
    // Sums over blocks are in 32 bits where the keys have fewer.
    const auto sums = torch::TensorOptions(query.device()).dtype(SoftmaxType(key.scalar_type()));
    torch::Tensor of_key = torch::zeros(key.sizes(), sums);
    torch::Tensor of_value = torch::zeros(value.sizes(), sums);
    std::vector<torch::Tensor> of_query;
    for (int64_t begin = 0; begin < query.size(2); begin += rows) {
      const torch::AutoGradMode with_gradients(true);
      const torch::Tensor some = BlockAt(query, begin, rows).requires_grad_();
      const torch::Tensor out = AttendAtOnce(some, key, value, added, dropout, nullptr);
      const Tensors of_inputs =
          torch::autograd::grad({out}, {some, key, value}, {BlockAt(gradients[0], begin, rows)});
      of_query.push_back(of_inputs[0]);
      const torch::NoGradGuard sums_have_none;
      of_key.add_(of_inputs[1]);
      of_value.add_(of_inputs[2]);
    }
    SetGenerator(GeneratorOf(query), later);
    return {torch::cat(of_query, 2), of_key.to(key.scalar_type()), of_value.to(value.scalar_type()),
            torch::Tensor()};
  }

 private:
  static torch::Tensor BlockAt(const torch::Tensor& x, int64_t begin, int64_t rows) {
    return x.narrow(2, begin, std::min(rows, x.size(2) - begin));
  }
};

}  // namespace

torch::Tensor Attention(const torch::Tensor& query, const torch::Tensor& key,
                        const torch::Tensor& value, const torch::Tensor& bias,
                        const AttentionOptions& options, torch::Tensor* weights) {
  const double dropout = options.training ? options.dropout : 0;
  const int64_t scores_of_query = query.size(0) * query.size(1) * key.size(2);
  if (weights != nullptr || scores_of_query * query.size(2) <= options.scores_max) {
    return AttendAtOnce(query, key, value, bias, dropout, weights);
  }
  const int64_t rows =
      std::max<int64_t>(1, std::min(options.scores_max, kBlockScores) / scores_of_query);
  return BlockedAttention::apply(query, key, value, Blocks{bias, dropout, rows});
}

}  // namespace concur::readers
