// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9 (BertLMPredictionHead, AlbertMLMHead, ElectraDiscriminatorPredictions);
// facebookresearch/SpanBERT, pretraining/fairseq/models/pair_bert.py; google-research/electra,
// run_pretraining.py.
#include "readers/pretraining/network.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "base/check.h"

namespace concur::readers {
namespace {

torch::nn::LayerNorm NormOf(int64_t width, double epsilon) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(epsilon));
}

double Sum(const torch::Tensor& flags) { return flags.sum().item<double>(); }

}  // namespace

PretrainingBatch BatchOfRows(absl::Span<const PretrainingRow> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const auto length = static_cast<int64_t>(rows[0].ids.size());
  PretrainingBatch batch;
  batch.ids = torch::empty({count, length}, torch::kInt64);
  batch.original = torch::empty_like(batch.ids);
  batch.segments = torch::zeros_like(batch.ids);
  batch.swapped = torch::zeros({count});
  std::vector<int64_t> masked, before, after, within;
  for (int64_t b = 0; b < count; ++b) {
    const PretrainingRow& row = rows[static_cast<size_t>(b)];
    CONCUR_CHECK(static_cast<int64_t>(row.ids.size()) == length);
    const int64_t at = b * length;
    std::copy(row.ids.begin(), row.ids.end(), batch.ids.data_ptr<int64_t>() + at);
    std::copy(row.original.begin(), row.original.end(), batch.original.data_ptr<int64_t>() + at);
    std::fill(batch.segments.data_ptr<int64_t>() + at + static_cast<int64_t>(row.second_at),
              batch.segments.data_ptr<int64_t>() + at + length, 1);
    batch.swapped[b] = row.swapped ? 1 : 0;
    for (const TokenSpan& span : row.spans) {
      for (size_t i = span.begin; i < span.end; ++i) {
        masked.push_back(at + static_cast<int64_t>(i));
        before.push_back(at + static_cast<int64_t>(span.begin) - 1);
        after.push_back(at + static_cast<int64_t>(span.end));
        within.push_back(static_cast<int64_t>(i - span.begin));
      }
    }
  }
  batch.masked = torch::tensor(masked, torch::kInt64);
  batch.before = torch::tensor(before, torch::kInt64);
  batch.after = torch::tensor(after, torch::kInt64);
  batch.within = torch::tensor(within, torch::kInt64);
  return batch;
}

WordScores::WordScores(const EncoderConfig& config)
    : tanh_(config.activation == Activation::kGeluTanh),
      dense_(register_module("dense", torch::nn::Linear(config.width, config.embedding_width))),
      norm_(register_module("norm", NormOf(config.embedding_width, config.norm_epsilon))),
      bias_(register_parameter("bias", torch::zeros({config.vocabulary}))) {}

torch::Tensor WordScores::Forward(const torch::Tensor& states, const torch::Tensor& words) {
  const torch::Tensor active = torch::gelu(dense_(states), tanh_ ? "tanh" : "none");
  return torch::linear(norm_(active), words, bias_);
}

SpanBoundary::SpanBoundary(int64_t width, int64_t places, double norm_epsilon)
    : places_(places),
      embedding_(register_module("places", torch::nn::Embedding(places, width))),
      first_(register_module("first", torch::nn::Linear(3 * width, width))),
      second_(register_module("second", torch::nn::Linear(width, width))),
      first_norm_(register_module("first_norm", NormOf(width, norm_epsilon))),
      second_norm_(register_module("second_norm", NormOf(width, norm_epsilon))) {}

torch::Tensor SpanBoundary::Forward(const torch::Tensor& before, const torch::Tensor& after,
                                    const torch::Tensor& within) {
  const torch::Tensor place = embedding_(within.clamp_max(places_ - 1));
  const torch::Tensor hidden =
      first_norm_(torch::gelu(first_(torch::cat({before, after, place}, 1))));
  return second_norm_(torch::gelu(second_(hidden)));
}

PretrainingNetwork::PretrainingNetwork(const PretrainSettings& settings)
    : settings_(settings),
      encoder_(register_module("encoder", std::make_shared<Encoder>(settings.config))) {
  const EncoderConfig& config = settings.config;
  const Objective objective = settings.rows.objective;
  const bool replaced = objective == Objective::kReplaced;
  if (replaced) {
    generator_ = register_module("generator", std::make_shared<Encoder>(settings.generator));
    replaced_dense_ =
        register_module("replaced_dense", torch::nn::Linear(config.width, config.width));
    replaced_ = register_module("replaced", torch::nn::Linear(config.width, 1));
  }
  words_ = register_module("words",
                           std::make_shared<WordScores>(replaced ? settings.generator : config));
  if (objective == Objective::kSpans) {
    boundary_ = register_module(
        "boundary",
        std::make_shared<SpanBoundary>(config.width, config.positions, config.norm_epsilon));
    boundary_words_ = register_module("boundary_words", std::make_shared<WordScores>(config));
  }
  if (settings.rows.sentence_order) {
    pooler_ = register_module("pooler", torch::nn::Linear(config.width, config.width));
    order_ = register_module("order", torch::nn::Linear(config.width, 1));
  }
  const torch::NoGradGuard no_gradients;
  for (auto& parameter : named_parameters()) {
    if (parameter->dim() > 1) {
      parameter->normal_(0, config.initial_deviation);
    } else {
      const bool scale = absl::StrContains(parameter.key(), "norm.weight");
      parameter->fill_(scale ? 1 : 0);
    }
  }
  encoder_->Initialise();
  if (replaced) {
    generator_->Initialise();
    generator_->ShareEmbeddings(*encoder_);
  }
}

void PretrainingNetwork::SetProductType(std::optional<torch::ScalarType> type) {
  encoder_->SetProductType(type);
  if (generator_ != nullptr) {
    generator_->SetProductType(type);
  }
}

// The mean loss of the targets. `scores` gets those of all entries.
torch::Tensor PretrainingNetwork::Predict(WordScores& head, const torch::Tensor& states,
                                          const torch::Tensor& targets, PretrainingCounts* counts,
                                          torch::Tensor* scores) {
  const torch::Tensor logits = head.Forward(states, encoder_->words());
  if (counts != nullptr) {
    counts->masked += static_cast<double>(targets.size(0));
    counts->masked_right += Sum(logits.detach().argmax(1).eq(targets));
  }
  if (scores != nullptr) {
    *scores = logits.detach();
  }
  return torch::nll_loss(torch::log_softmax(logits, 1), targets);
}

torch::Tensor PretrainingNetwork::OrderLoss(const torch::Tensor& states,
                                            const torch::Tensor& swapped,
                                            PretrainingCounts& counts) {
  const torch::Tensor score = order_(torch::tanh(pooler_(states.select(1, 0)))).squeeze(1);
  counts.segments += static_cast<double>(swapped.size(0));
  counts.segments_right += Sum(score.detach().gt(0).eq(swapped.gt(0.5)));
  return torch::binary_cross_entropy_with_logits(score, swapped.to(score.dtype()));
}

// The generator's loss, and the weighted one of telling its samples from the text. What it samples
// by chance as it was is not replaced, and its choice has no gradient.
torch::Tensor PretrainingNetwork::ReplacedLoss(const PretrainingBatch& batch,
                                               PretrainingCounts& counts) {
  const torch::Tensor targets = batch.original.view(-1).index_select(0, batch.masked);
  const torch::Tensor states = generator_->Encode({batch.ids, {}, batch.segments})
                                   .flatten(0, 1)
                                   .index_select(0, batch.masked);
  torch::Tensor scores;
  const torch::Tensor words_loss = Predict(*words_, states, targets, &counts, &scores);
  if (!std::isfinite(words_loss.item<double>())) {
    return words_loss;  // nothing can be sampled
  }
  const torch::Tensor sampled = torch::multinomial(torch::softmax(scores, 1), 1).squeeze(1);
  const torch::Tensor read =
      batch.original.view(-1).index_copy(0, batch.masked, sampled).view_as(batch.original);
  const torch::Tensor labels = read.ne(batch.original);
  const torch::Tensor encoded = encoder_->Encode({read, {}, batch.segments});
  const torch::Tensor found = replaced_(torch::gelu(replaced_dense_(encoded))).squeeze(2);
  counts.tokens += static_cast<double>(labels.numel());
  counts.tokens_right += Sum(found.detach().gt(0).eq(labels));
  return words_loss + settings_.discriminator_weight *
                          torch::binary_cross_entropy_with_logits(found, labels.to(found.dtype()));
}

torch::Tensor PretrainingNetwork::Loss(const PretrainingBatch& batch, PretrainingCounts& counts) {
  CONCUR_CHECK(batch.masked.numel() > 0);
  if (settings_.rows.objective == Objective::kReplaced) {
    return ReplacedLoss(batch, counts);
  }
  const torch::Tensor targets = batch.original.view(-1).index_select(0, batch.masked);
  const torch::Tensor states = encoder_->Encode({batch.ids, {}, batch.segments});
  const torch::Tensor flat = states.flatten(0, 1);
  torch::Tensor loss = Predict(*words_, flat.index_select(0, batch.masked), targets, &counts);
  if (boundary_ != nullptr) {
    const torch::Tensor around = boundary_->Forward(
        flat.index_select(0, batch.before), flat.index_select(0, batch.after), batch.within);
    loss = loss + Predict(*boundary_words_, around, targets, nullptr);
  }
  if (settings_.rows.sentence_order) {
    loss = loss + OrderLoss(states, batch.swapped, counts);
  }
  return loss;
}

std::vector<Trained> PretrainingNetwork::Parameters(double weight_decay) const {
  std::vector<Trained> trained;
  for (const auto& parameter : named_parameters()) {
    const std::string& name = parameter.key();
    const bool of_answers = absl::StrContains(name, ".qa_outputs.");
    const bool shared = absl::StartsWith(name, "generator.") &&
                        absl::StrContains(name, "embeddings.") &&
                        !absl::StrContains(name, "LayerNorm");
    if (!of_answers && !shared) {
      trained.push_back({name, parameter.value(), parameter->dim() > 1 ? weight_decay : 0.0});
    }
  }
  return trained;
}

}  // namespace concur::readers
