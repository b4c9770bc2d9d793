// SPDX-License-Identifier: Apache-2.0
// Every layer and every whole network against finite differences.
#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/contextual.h"
#include "studies/readers/layers/convolution_encoder.h"
#include "studies/readers/layers/coupled_lstm.h"
#include "studies/readers/layers/full_attention.h"
#include "studies/readers/layers/highway.h"
#include "studies/readers/layers/rnn.h"
#include "studies/readers/layers/semantic_fusion.h"
#include "studies/readers/layers/span_scorer.h"
#include "studies/readers/layers/text_embedder.h"
#include "studies/readers/layers/trilinear.h"
#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

torch::Tensor RandomInput(torch::IntArrayRef shape, bool differentiate = true) {
  return torch::randn(shape, torch::TensorOptions(torch::kFloat64).requires_grad(differentiate));
}

// [2, 5]: five tokens, and three.
torch::Tensor RaggedMask() {
  return torch::tensor({5, 3}).unsqueeze(1).gt(torch::arange(5).unsqueeze(0));
}

// A scalar of which every output value is a part with a weight of its own.
torch::Tensor Mixed(const torch::Tensor& output) {
  const torch::Tensor weights = torch::arange(1, output.numel() + 1, torch::kFloat64).cos();
  return (output.reshape(-1) * weights).sum();
}

// The layer's inputs and parameters.
std::vector<torch::Tensor> With(const torch::nn::Module& layer, std::vector<torch::Tensor> inputs) {
  for (const torch::Tensor& parameter : layer.parameters()) {
    if (parameter.requires_grad()) {
      inputs.push_back(parameter);
    }
  }
  return inputs;
}

template <typename Layer>
Layer InDouble(Layer layer) {
  layer->to(torch::kFloat64);
  return layer;
}

class LayerGradientsTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(3); }
  const torch::Tensor mask_ = RaggedMask();
};

TEST_F(LayerGradientsTest, RecurrentLayers) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kTanh}) {
    Rnn rnn = InDouble(Rnn(cell, 3, 2, 2));
    Rnn one = InDouble(Rnn(cell, 3, 2));
    const torch::Tensor x = RandomInput({2, 5, 3});
    ExpectDerivatives([&] { return Mixed(rnn->Forward(x)); }, With(*rnn, {x}), "padding read");
    ExpectDerivatives([&] { return Mixed(rnn->Forward(x, mask_)); }, With(*rnn, {x}), "left out");
    ExpectDerivatives([&] { return Mixed(one->LastStep(x)); }, With(*one, {x}), "last step");
  }
}

TEST_F(LayerGradientsTest, StackedRecurrentLayers) {
  StackedRnnOptions options;
  options.input = 4;
  options.hidden = 2;
  options.layers = 2;
  options.concatenate_layers = true;
  options.residual = true;
  options.squeeze_excitation = 2;
  for (const Padding padding : {Padding::kRead, Padding::kLeftOut}) {
    options.padding = padding;
    StackedRnn stack = InDouble(StackedRnn(options));
    const torch::Tensor x = RandomInput({2, 5, 4});
    ExpectDerivatives([&] { return Mixed(stack->Forward(x, mask_)); }, With(*stack, {x}), "stack");
  }
}

TEST_F(LayerGradientsTest, CoupledLstmWithAndWithoutCoupledGates) {
  for (const bool couple : {true, false}) {
    torch::nn::Module parent;
    CoupledLstmOptions options;
    options.input = 3;
    options.hidden = 2;
    options.layers = 2;
    options.couple_gates = couple;
    options.learn_initial_state = !couple;
    const CoupledLstm lstm(parent, "lstm", options);
    parent.to(torch::kFloat64);
    for (torch::Tensor& parameter : parent.parameters()) {
      torch::nn::init::uniform_(parameter, -1, 1);
    }
    const torch::Tensor x = RandomInput({2, 5, 3});
    ExpectDerivatives([&] { return Mixed(lstm.Forward(x, mask_, false)); }, With(parent, {x}),
                      "coupled LSTM");
  }
}

TEST_F(LayerGradientsTest, Attentions) {
  const torch::Tensor x = RandomInput({2, 5, 4});
  const torch::Tensor y = RandomInput({2, 5, 4});
  AlignedAttention aligned = InDouble(AlignedAttention(4, true));
  ExpectDerivatives([&] { return Mixed(aligned->Forward(x, y, mask_)); }, With(*aligned, {x, y}),
                    "aligned");
  ExpectDerivatives([&] { return Mixed(SelfAlignment(x, mask_)); }, {x}, "self");
  const torch::Tensor values = RandomInput({2, 5, 6});
  FullAttention full = InDouble(FullAttention(4, 6, 3, DropoutKind()));
  ExpectDerivatives([&] { return Mixed(full->Forward(x, y, values, mask_)); },
                    With(*full, {x, y, values}), "fully aware");
  Trilinear trilinear = InDouble(Trilinear(4));
  const torch::Tensor kept = mask_.unsqueeze(1);
  ExpectDerivatives([&] { return Mixed(RenormalisedSoftmax(trilinear->Forward(x, y), kept)); },
                    With(*trilinear, {x, y}), "trilinear, renormalised");
  ExpectDerivatives([&] { return Mixed(LowestSoftmax(trilinear->Forward(x, y), kept)); },
                    With(*trilinear, {x, y}), "trilinear, lowest");
}

TEST_F(LayerGradientsTest, ScoresOfTokensAndSpans) {
  const torch::Tensor x = RandomInput({2, 5, 4});
  const torch::Tensor question = RandomInput({2, 3});
  LinearScores linear = InDouble(LinearScores(4));
  BilinearScores bilinear = InDouble(BilinearScores(4, 3));
  ExpectDerivatives([&] { return Mixed(torch::softmax(linear->Forward(x, mask_), 1)); },
                    With(*linear, {x}), "linear");
  ExpectDerivatives([&] { return Mixed(torch::softmax(bilinear->Forward(x, question, mask_), 1)); },
                    With(*bilinear, {x, question}), "bilinear");
  const torch::Tensor ends = RandomInput({2, 5, 4});
  const torch::Tensor weights = RandomInput({4});
  ExpectDerivatives([&] { return Mixed(ScoreSpans(x, ends, weights, 3)); }, {x, ends, weights},
                    "spans");
}

TEST_F(LayerGradientsTest, GatesAndFusion) {
  const torch::Tensor x = RandomInput({2, 5, 4});
  const torch::Tensor fused = RandomInput({2, 5, 3});
  Highway highway = InDouble(Highway(4, 2));
  SemanticFusion fusion = InDouble(SemanticFusion(4, 3));
  ExpectDerivatives([&] { return Mixed(highway->Forward(x)); }, With(*highway, {x}), "highway");
  ExpectDerivatives([&] { return Mixed(fusion->Forward(x, fused)); }, With(*fusion, {x, fused}),
                    "fusion");
}

TEST_F(LayerGradientsTest, ConvolutionEncoder) {
  ConvolutionEncoderOptions options;
  options.width = options.attention_width = 4;
  options.heads = 2;
  options.feedforward_width = 3;
  options.blocks = 2;
  options.convolutions = 2;
  options.kernel = 4;  // even: the padding of both sides differs
  options.dropout = 0;
  ConvolutionEncoder encoder = InDouble(ConvolutionEncoder(options));
  encoder->eval();
  const torch::Tensor x = RandomInput({2, 5, 4});
  ExpectDerivatives([&] { return Mixed(encoder->Forward(x, mask_)); }, With(*encoder, {x}),
                    "encoder", 15);
}

TEST_F(LayerGradientsTest, EmbeddingsOfWordsAndCharacters) {
  const Options options = {{"vocab", int64_t{6}},        {"word_dim", int64_t{2}},
                           {"char_vocab", int64_t{8}},   {"char_dim", int64_t{3}},
                           {"char_filters", int64_t{4}}, {"char_ngram", int64_t{3}}};
  const torch::Tensor ids = torch::randint(1, 6, {2, 5}, torch::kInt64) * mask_;
  const torch::Tensor characters =
      torch::randint(1, 8, {2, 5, 6}, torch::kInt64) * mask_.unsqueeze(2);
  for (const bool mask_windows : {true, false}) {
    TextEmbedder embedder = InDouble(TextEmbedder(options, 0, mask_windows));
    ExpectDerivatives([&] { return Mixed(embedder->Forward(ids, characters)); },
                      With(*embedder, {}), "words and characters");
  }
}

TEST_F(LayerGradientsTest, ContextualVectorsAreNotTrained) {
  ContextualVectors contextual = InDouble(ContextualVectors(6, 3));
  const torch::Tensor ids = torch::randint(1, 6, {2, 5}, torch::kInt64) * mask_;
  EXPECT_FALSE(contextual->Forward(ids, mask_).requires_grad());
}

// Weights that training changes, except vectors of words and characters: originals never train
// those of padding, although their RNNs read them.
std::vector<torch::Tensor> WithoutVectors(const torch::nn::Module& network) {
  std::vector<torch::Tensor> weights;
  for (const auto& parameter : network.named_parameters()) {
    if (parameter.value().requires_grad() && parameter.key().find("embedding.weight") != 0 &&
        parameter.key().find("char_embedding.weight") != 0) {
      weights.push_back(parameter.value());
    }
  }
  return weights;
}

// The loss of each approach by each of its weights: in evaluation on texts with padding, in
// training, without dropout, on texts without.
TEST(NetworkGradientsTest, EveryApproach) {
  for (const Approach& approach : AllApproaches()) {
    const Options options = SmallOptions(approach);
    const std::shared_ptr<Reader> network = MakeNetwork(approach, options);
    const Batch ragged = RandomBatch(options, {6, 4}, {4, 3});
    const Batch full = RandomBatch(options, {5, 5}, {3, 3});
    const auto loss_of = [&network](const Batch& batch) {
      return [&network, &batch] { return network->Loss(network->Forward(batch), batch); };
    };
    network->eval();
    ExpectDerivatives(loss_of(ragged), WithoutVectors(*network), approach.name, 2);
    network->train();
    ExpectDerivatives(loss_of(full), With(*network, {}), approach.name, 2);
  }
}

TEST(NetworkGradientsTest, OptionsOfFastFusionNetsReaders) {
  for (const Approach& approach : AllApproaches()) {
    if (!approach.options.Has("use_demb")) {
      continue;
    }
    Options options = SmallOptions(approach);
    for (const char* name : {"use_demb", "use_cove", "residual", "rnn_padding", "end_gru"}) {
      options.Set(name, true);
    }
    options.Set("squeeze_excitation", int64_t{2});
    if (options.Has("fusion_self_boost_times")) {
      options.Set("fusion_self_boost_times", int64_t{2});
    }
    const std::shared_ptr<Reader> network = MakeNetwork(approach, options);
    const Batch batch = RandomBatch(options, {6, 4}, {4, 3});
    ExpectDerivatives([&] { return network->Loss(network->Forward(batch), batch); },
                      With(*network, {}), approach.name, 1);
  }
}

TEST(NetworkGradientsTest, ObjectivesOfRasor) {
  const Approach& approach = **FindApproach("rasor");
  for (const char* objective : {"span_endpoints", "span_binary"}) {
    Options options = SmallOptions(approach);
    options.Set("objective", std::string(objective));
    options.Set("q_aln_ff_tie", false);
    const std::shared_ptr<Reader> network = MakeNetwork(approach, options);
    const Batch batch = RandomBatch(options, {6, 4}, {4, 3});
    ExpectDerivatives([&] { return network->Loss(network->Forward(batch), batch); },
                      With(*network, {}), objective, 4);
  }
}

}  // namespace
}  // namespace concur::readers
