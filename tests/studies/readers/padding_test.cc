// SPDX-License-Identifier: Apache-2.0
// Padding changes nothing, except where an original reads it.
#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "studies/readers/layers/text_embedder.h"
#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

// Scores that a reader gives the real tokens and spans of a batch.
std::vector<torch::Tensor> RealScores(Reader& network, const Batch& batch) {
  torch::NoGradGuard no_gradients;
  const Scores scores = network.Forward(batch);
  if (scores.spans.defined()) {
    return {scores.spans.masked_select(scores.spans_mask)};
  }
  return {torch::softmax(scores.starts, 1).masked_select(batch.passage_mask),
          torch::softmax(scores.ends, 1).masked_select(batch.passage_mask)};
}

// The largest change of a score when two slots of padding are added to each text.
double ChangeByPadding(const std::string& name, const std::map<std::string, Options::Value>& set,
                       bool training = false) {
  const Approach& approach = **FindApproach(name);
  Options options = SmallOptions(approach);
  for (const auto& [option, value] : set) {
    options.Set(option, value);
  }
  const std::shared_ptr<Reader> network = MakeNetwork(approach, options);
  network->train(training);
  const std::vector<torch::Tensor> tight =
      RealScores(*network, RandomBatch(options, {6, 3}, {4, 2}));
  const std::vector<torch::Tensor> loose =
      RealScores(*network, RandomBatch(options, {6, 3}, {4, 2}, 2));
  double change = 0;
  for (size_t i = 0; i < tight.size(); ++i) {
    EXPECT_EQ(tight[i].sizes(), loose[i].sizes());
    change = std::max(change, (tight[i] - loose[i]).abs().max().item<double>());
  }
  return change;
}

constexpr double kNothing = 1e-12;
constexpr double kSomething = 1e-6;

TEST(PaddingTest, ReadersThatLeaveItOut) {
  EXPECT_LT(ChangeByPadding("rasor", {}), kNothing);
  EXPECT_LT(ChangeByPadding("rasor", {{"objective", std::string("span_endpoints")}}), kNothing);
  EXPECT_LT(ChangeByPadding("bidaf", {}), kNothing);
  EXPECT_LT(ChangeByPadding("bidaf-plus-plus", {}), kNothing);
  EXPECT_LT(ChangeByPadding("drqa", {}), kNothing);
}

TEST(PaddingTest, ReadersThatLeaveItOutWhenTold) {
  for (const char* name : {"document-reader", "fusionnet", "bidaf-fastfusionnet"}) {
    EXPECT_LT(ChangeByPadding(name, {{"rnn_padding", true}, {"use_cove", true}}), kNothing) << name;
  }
  EXPECT_LT(ChangeByPadding("drqa", {{"rnn_padding", true}}, true), kNothing);
}

// As their originals do: an answer depends on the lengths of the other texts of its batch.
TEST(PaddingTest, ReadersWhoseOriginalsReadIt) {
  for (const char* name :
       {"document-reader", "document-reader-no-features", "fusionnet", "fusionnet-no-features",
        "mnemonic-reader", "qanet", "bidaf-fastfusionnet"}) {
    EXPECT_GT(ChangeByPadding(name, {}), kSomething) << name;
  }
  EXPECT_GT(ChangeByPadding("drqa", {}, true), kSomething) << "in training only";
  EXPECT_GT(ChangeByPadding("bidaf", {{"mask_lstms", false}}), kSomething);
}

TEST(PaddingTest, CharactersOfAShortWordAreZeroInAllenNlp2Only) {
  const Options options = {{"vocab", int64_t{6}},        {"word_dim", int64_t{2}},
                           {"char_vocab", int64_t{8}},   {"char_dim", int64_t{3}},
                           {"char_filters", int64_t{9}}, {"char_ngram", int64_t{3}}};
  torch::NoGradGuard no_gradients;
  const torch::Tensor ids = torch::ones({1, 2}, torch::kInt64);
  const torch::Tensor characters =  // tokens of two characters, and of four
      torch::tensor({3, 4, 0, 0, 0, 3, 4, 5, 6, 0}, torch::kInt64).view({1, 2, 5});
  torch::manual_seed(1);
  const torch::Tensor masked = TextEmbedder(options, 0, true)->Forward(ids, characters);
  torch::manual_seed(1);
  const torch::Tensor read = TextEmbedder(options, 0, false)->Forward(ids, characters);
  EXPECT_EQ(masked[0][0].narrow(0, 0, 9).abs().sum().item<double>(), 0);
  EXPECT_GT(masked[0][1].narrow(0, 0, 9).abs().sum().item<double>(), 0);
  EXPECT_GT(read[0][0].narrow(0, 0, 9).abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace concur::readers
