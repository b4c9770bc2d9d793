// SPDX-License-Identifier: Apache-2.0
// Small networks and batches for tests of readers, and derivatives by finite differences.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_STUDIES_READERS_NETWORKS_H_
#define CONCUR_TESTS_STUDIES_READERS_NETWORKS_H_

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/reader.h"

namespace concur::readers {

// Every approach's options with few units: a network of a few thousand weights.
inline Options SmallOptions(const Approach& approach) {
  static const auto& small = *new std::map<std::string, int64_t>{
      {"vocab_size", 20},
      {"vocab", 20},
      {"embedding_dim", 4},
      {"word_dim", 4},
      {"emb_dim", 4},
      {"num_features", 2},
      {"pos_size", 5},
      {"ner_size", 4},
      {"pos_dim", 2},
      {"ner_dim", 2},
      {"hidden_size", 3},
      {"hidden", 4},
      {"hidden_dim", 3},
      {"ff_dims", 4},
      {"char_size", 12},
      {"char_vocab", 12},
      {"char_dim", 3},
      {"char_filters", 4},
      {"char_ngram", 3},
      {"char_embedding_dim", 3},
      {"num_heads", 2},
      {"max_ans_len", 3},
      {"char_hidden_size", 2},
      {"phrase_convs", 2},
      {"modeling_blocks", 2},
      {"attention_projection_dim", 4},
      {"feedforward_hidden_dim", 5},
  };
  Options options = approach.options;
  for (const auto& [name, value] : small) {
    if (options.Has(name)) {
      options.Set(name, value);
    }
  }
  for (const auto& [name, value] : approach.options.values()) {
    if (std::holds_alternative<double>(value) && name.find("drop") != std::string::npos) {
      options.Set(name, 0.0);
    }
  }
  if (options.Has("init_scale")) {
    options.Set("init_scale", 0.5);  // RaSoR's own leaves all scores nearly equal
  }
  return options;
}

// Matrices from a normal distribution, by torch's default generator; biases 0, and 1 for what else
// has one dimension, the scales of layer norms.
inline void DrawWeights(const torch::nn::Module& network, double deviation) {
  const torch::NoGradGuard no_gradients;
  for (auto& parameter : network.named_parameters()) {
    if (parameter->dim() > 1) {
      parameter->normal_(0, deviation);
    } else {
      parameter->fill_(parameter.key().ends_with("bias") ? 0 : 1);
    }
  }
}

inline std::shared_ptr<Reader> MakeNetwork(const Approach& approach, const Options& options) {
  torch::manual_seed(7);
  absl::StatusOr<std::shared_ptr<Reader>> network = approach.make(options);
  CONCUR_CHECK_OK(network.status());
  torch::NoGradGuard no_gradients;
  (*network)->WordVectors().normal_();
  (*network)->WordVectorsChanged();
  (*network)->to(torch::kFloat64);
  return *network;
}

// Questions with passages of the given lengths, which are padded by `padding` more than needed.
inline Batch RandomBatch(const Options& options, const std::vector<int64_t>& passage_lengths,
                         const std::vector<int64_t>& question_lengths, int64_t padding = 0) {
  const auto count = static_cast<int64_t>(passage_lengths.size());
  const auto mask_of = [&](const std::vector<int64_t>& lengths) {
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    return torch::arange(longest + padding)
        .unsqueeze(0)
        .lt(torch::tensor(lengths, torch::kInt64).unsqueeze(1));
  };
  const int64_t features = options.Has("num_features") ? options.Int("num_features") : 0;
  Batch batch;
  batch.passage_mask = mask_of(passage_lengths);
  batch.question_mask = mask_of(question_lengths);
  // One generator for each kind of value, drawn in the order of tokens: a token has the same
  // values whatever is padded.
  const auto fill = [&](const torch::Tensor& mask, int64_t high, int64_t seed, int64_t width) {
    auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
    torch::Tensor all = torch::zeros({count, mask.size(1), width}, torch::kInt64);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t t = 0; t < mask[row].sum().item<int64_t>(); ++t) {
        all[row][t] = torch::randint(1, high, {width}, generator, torch::kInt64);
      }
    }
    return all;
  };
  constexpr int64_t kWords = 20;
  batch.passage = fill(batch.passage_mask, kWords, 1, 1).squeeze(2);
  batch.question = fill(batch.question_mask, kWords, 2, 1).squeeze(2);
  batch.passage_characters = fill(batch.passage_mask, 12, 3, 5);
  batch.question_characters = fill(batch.question_mask, 12, 4, 5);
  batch.passage_pos = fill(batch.passage_mask, 5, 5, 1).squeeze(2);
  batch.passage_entities = fill(batch.passage_mask, 4, 6, 1).squeeze(2);
  if (features > 0) {
    batch.passage_features = fill(batch.passage_mask, 10, 7, features).to(torch::kFloat64) / 10;
    batch.question_features = fill(batch.question_mask, 10, 8, features).to(torch::kFloat64) / 10;
  }
  batch.starts = torch::zeros({count}, torch::kInt64);
  batch.ends = torch::ones({count}, torch::kInt64);
  return batch;
}

// Compares the derivatives of `loss` by each of `inputs` with central differences, in double
// precision, at up to `values_max` values of each.
inline void ExpectDerivatives(const std::function<torch::Tensor()>& loss,
                              const std::vector<torch::Tensor>& inputs, const std::string& what,
                              int64_t values_max = 40) {
  constexpr double kStep = 1e-5;
  for (const torch::Tensor& input : inputs) {
    ASSERT_EQ(input.scalar_type(), torch::kFloat64) << what;
    if (input.grad().defined()) {
      input.mutable_grad().zero_();
    }
  }
  loss().backward();
  torch::NoGradGuard no_gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const torch::Tensor gradient =
        inputs[i].grad().defined() ? inputs[i].grad().clone() : torch::zeros_like(inputs[i]);
    torch::Tensor values = inputs[i].detach().view(-1);
    const int64_t stride = std::max<int64_t>(1, values.numel() / values_max);
    for (int64_t k = 0; k < values.numel(); k += stride) {
      const double value = values[k].item<double>();
      values[k] = value + kStep;
      const double above = loss().item<double>();
      values[k] = value - kStep;
      const double below = loss().item<double>();
      values[k] = value;
      const double expected = (above - below) / (2 * kStep);
      const double computed = gradient.view(-1)[k].item<double>();
      EXPECT_NEAR(computed, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << what << ": input " << i << ", value " << k;
    }
  }
}

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_NETWORKS_H_
